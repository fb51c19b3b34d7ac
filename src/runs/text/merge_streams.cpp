#include "runs/text/merge_streams.h"

#include <errno.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <queue>

#include "base/messages.h"
#include "runs/text/output_file.h"
#include "runs/text/printf_text.h"
#include "runs/text/stream_file.h"

namespace spile::runs {

namespace {

// Reads one file, which may come from anywhere: sizes are checked, and a record that is cut off ends the stream.
class StreamReader {
 public:
  static Result<std::unique_ptr<StreamReader>> open(const std::string& path) {
    auto reader = std::make_unique<StreamReader>();
    reader->path_ = path;
    reader->file_.open(path, std::ios::binary);
    StreamHeader header{};
    if (!reader->file_) return Error::from_errno("open " + path, errno);
    if (!reader->file_.read(reinterpret_cast<char*>(&header), sizeof header) || std::memcmp(header.magic, "SPILESTR", 8) != 0) {
      return Error{path + ": not written by spile -b", {}};
    }
    if (header.version != kStreamVersion && header.version != kStreamWithoutThreads)
      return Error{fmt::format("{}: format version {} is not supported", path, header.version), {}};
    if (header.version == kStreamWithoutThreads) reader->header_size_ = sizeof(abi::RecordHeader);
    constexpr uint32_t kMostJson = 64 << 20;
    std::string json(std::min(header.json_length, kMostJson), '\0');
    if (!reader->file_.read(json.data(), static_cast<std::streamsize>(json.size())))
      return Error{path + ": truncated in its header", {}};
    auto formats = formats_from_json(json);
    if (!formats.ok()) return std::move(formats).error().within(path);
    reader->formats_ = std::move(*formats);
    reader->next();
    return reader;
  }

  bool at_end() const { return ended_; }
  uint64_t time() const { return header_.time; }
  uint64_t lost() const { return lost_; }
  const std::string& path() const { return path_; }
  bool cut_off() const { return cut_off_; }
  // The stream does not say which text is the script's own.
  void append_text(std::string& out, TerminalText* terminal) const {
    append_record_text(out, formats_, header_, payload_.data(), payload_.size(), {true, terminal, nullptr});
  }

  void next() {
    do {
      file_.read(reinterpret_cast<char*>(&header_), header_size_);
      if (file_.gcount() == 0) return end(false);
      constexpr uint32_t kMostRecord = 64 << 20;  // more than any ring has room for
      if (!file_ || header_.size < header_size_ || header_.size % 8 != 0 || header_.size > kMostRecord) return end(true);
      payload_.resize(header_.size - static_cast<size_t>(header_size_));
      if (!file_.read(payload_.data(), static_cast<std::streamsize>(payload_.size()))) return end(true);
      if (header_.kind == kStreamLost && payload_.size() >= 8) std::memcpy(&lost_, payload_.data(), 8);
    } while (header_.kind == kStreamLost);
  }

 private:
  void end(bool cut_off) {
    ended_ = true;
    cut_off_ = cut_off;
  }

  std::string path_;
  std::ifstream file_;
  std::vector<syntax::OutputFormat> formats_;
  abi::OwnedHeader header_{};
  std::streamsize header_size_ = sizeof header_;
  std::vector<char> payload_;
  uint64_t lost_ = 0;
  bool ended_ = false, cut_off_ = false;
};

Result<void> merge(const std::vector<std::string>& files, const std::string& output_file) {
  std::vector<std::unique_ptr<StreamReader>> readers;
  for (const std::string& path : files) {
    TRY(auto reader, StreamReader::open(path));
    readers.push_back(std::move(reader));
  }
  TRY(auto output, OutputFile::open(output_file));
  auto later = [&](size_t a, size_t b) { return std::pair(readers[a]->time(), a) > std::pair(readers[b]->time(), b); };
  std::priority_queue<size_t, std::vector<size_t>, decltype(later)> next(later);
  for (size_t i = 0; i < readers.size(); ++i) {
    if (!readers[i]->at_end()) next.push(i);
  }
  std::string text;
  TerminalText terminal;
  while (!next.empty() && output->usable()) {
    size_t i = next.top();
    next.pop();
    text.clear();
    readers[i]->append_text(text, output->is_terminal() ? &terminal : nullptr);
    output->write(text);
    readers[i]->next();
    if (!readers[i]->at_end()) next.push(i);
  }
  output->flush();
  for (const auto& reader : readers) {
    if (reader->cut_off()) warn(reader->path() + ": the last record is truncated");
    if (reader->lost() > 0) warn(fmt::format("{}: {} records lost", reader->path(), reader->lost()));
  }
  return !output->failed() ? Result<void>() : Error{"a part of the output was not written", {}};
}

}  // namespace

int merge_streams(const std::vector<std::string>& files, const std::string& output_file) {
  TerminalGuard guard;
  Result<void> merged = merge(files, output_file);
  if (!merged.ok()) refuse(merged.error().message);
  return merged.ok() ? 0 : 1;
}

}  // namespace spile::runs
