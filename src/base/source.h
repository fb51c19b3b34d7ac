#pragma once
// Script text and places in it. A SourceFile is immutable and outlives everything that points into it: SourceFiles owns
// them all for the life of the program. Offsets, lines and columns count bytes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spile {

class SourceFile {
 public:
  // name: as shown in messages: a path, or "<input>" for -e.
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  struct Position {
    uint32_t line;    // from 1
    uint32_t column;  // from 1, in bytes
  };
  Position position(uint32_t offset) const;
  // The text of the line (from 1), without its end.
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
  // The smallest range that covers both; the other one where one is nowhere.
  SourceRange through(const SourceRange& last) const;
  std::string_view text() const;
  // "file:line:column", or "" for nowhere.
  std::string to_string() const;
};

class SourceFiles {
 public:
  const SourceFile& add(std::string name, std::string text);

 private:
  std::vector<std::unique_ptr<SourceFile>> files_;
};

}  // namespace spile
