#pragma once
// Script text and places in it. A SourceFile is immutable, so any thread may read it, and outlives everything that points into it
// (ranges, tokens, trees): its owner, mostly a SourceFiles, lives longer than those. Offsets and columns count bytes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spile {

class SourceFile {
 public:
  // name: as shown in messages: a path, or "<input>" for -e. REQUIRES: text of less than 4 GiB.
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  // Returns the verb's words of a script that a verb has made, "spile top 'f*'": its first line has them. "": another script.
  std::string_view verb() const;

  struct Position {
    uint32_t line;    // from 1
    uint32_t column;  // from 1, in bytes
  };
  // Returns the line and column of an offset; of an offset behind the text, those of its end.
  Position position(uint32_t offset) const;
  // Returns the text of the line (from 1), without its line feed and a carriage return before that; "": the file has fewer lines.
  std::string_view line(uint32_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

// [begin, end) of one file. A default-made range is "nowhere": file is null.
struct SourceRange {
  const SourceFile* file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return file != nullptr; }
  // Returns the smallest range that covers both; the other one where one is nowhere, and this one where they lie in different
  // files.
  SourceRange through(const SourceRange& last) const;
  // Returns the script's text in the range; "" for nowhere.
  std::string_view text() const;
  // Returns "file:line:column" of its beginning, or "" for nowhere.
  std::string to_string() const;
};

// Owns files. Not thread-safe.
class SourceFiles {
 public:
  // Makes a file; the reference is valid as long as this object.
  const SourceFile& add(std::string name, std::string text);

 private:
  std::vector<std::unique_ptr<SourceFile>> files_;
};

}  // namespace spile
