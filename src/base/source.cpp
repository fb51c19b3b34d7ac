#include "base/source.h"

#include <algorithm>

#include "base/check.h"

namespace spile {

SourceFile::SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  CHECK(text_.size() < UINT32_MAX);
  line_starts_.reserve(text_.size() / 32 + 1);
  line_starts_.push_back(0);
  for (size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    line_starts_.push_back(static_cast<uint32_t>(at + 1));
}

std::string_view SourceFile::verb() const {
  return name_ == "<input>" && text_.starts_with("# spile ") ? line(1).substr(2) : std::string_view();
}

SourceFile::Position SourceFile::position(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(text_.size()));
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  auto line = static_cast<uint32_t>(after - line_starts_.begin());
  return {line, offset - line_starts_[line - 1] + 1};
}

std::string_view SourceFile::line(uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  std::string_view rest = std::string_view(text_).substr(line_starts_[number - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

SourceRange SourceRange::through(const SourceRange& last) const {
  if (!file) return last;
  if (!last.file || last.file != file) return *this;
  return {file, std::min(begin, last.begin), std::max(end, last.end)};
}

std::string_view SourceRange::text() const { return file ? file->text().substr(begin, end - begin) : std::string_view(); }

std::string SourceRange::to_string() const {
  if (!file) return {};
  auto position = file->position(begin);
  return file->name() + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

const SourceFile& SourceFiles::add(std::string name, std::string text) {
  files_.push_back(std::make_unique<SourceFile>(std::move(name), std::move(text)));
  return *files_.back();
}

}  // namespace spile
