#include "bpf/object_lines.h"

#include <linux/bpf.h>
#include <linux/btf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace spile::bpf {
namespace {

// The begin of struct btf_ext_header, which linux/btf.h lacks.
struct ExtensionHeader {
  uint16_t magic;
  uint8_t version, flags;
  uint32_t header_size;  // bytes; the offsets below count from there
  uint32_t functions_offset, functions_size;
  uint32_t lines_offset, lines_size;
};

struct SectionHeader {
  uint32_t name;   // offset of a string
  uint32_t count;  // of lines
};

// As bpf_line_info, but the offset of the instruction is one of bytes.
struct LineRecord {
  uint32_t offset, file, text, place;  // place: line << 10 | column
};

template <typename T>
std::optional<T> read_at(std::span<const uint8_t> bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return {};
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<std::span<const uint8_t>> part(std::span<const uint8_t> bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.subspan(offset, size);
}

Error damaged(const char* what) {
  return Error{std::string("kernel object: lines of the script: ") + what + " can't be read", ""};
}

// The string at an offset; none: it does not end.
std::optional<std::string> string_at(std::span<const uint8_t> strings, uint32_t offset) {
  if (offset >= strings.size()) return {};
  const uint8_t* begin = strings.data() + offset;
  const void* end = std::memchr(begin, 0, strings.size() - offset);
  if (!end) return {};
  return std::string(reinterpret_cast<const char*>(begin), static_cast<size_t>(static_cast<const uint8_t*>(end) - begin));
}

void add_line(const LineRecord& record, std::span<const uint8_t> strings, Section& section) {
  const std::optional<std::string> file = string_at(strings, record.file), text = string_at(strings, record.text);
  if (!file || !text || record.offset % sizeof(bpf_insn) != 0 || record.offset >= section.bytes.size()) return;
  const uint32_t instruction = record.offset / static_cast<uint32_t>(sizeof(bpf_insn));
  section.lines.push_back(
      {instruction, *file, *text, BPF_LINE_INFO_LINE_NUM(record.place), BPF_LINE_INFO_LINE_COL(record.place)});
}

// The last of several lines of one instruction is where it ended up.
void sort_lines(std::vector<ScriptLine>& lines) {
  std::ranges::stable_sort(lines, {}, &ScriptLine::instruction);
  std::vector<ScriptLine> unique;
  for (ScriptLine& line : lines) {
    if (!unique.empty() && unique.back().instruction == line.instruction) unique.back() = std::move(line);
    else unique.push_back(std::move(line));
  }
  lines = std::move(unique);
}

}  // namespace

Result<void> read_lines(Object& object) {
  const Section *types_section = object.find_section(kTypesSection), *lines_section = object.find_section(kLinesSection);
  if (!types_section || !lines_section) return {};
  const std::span<const uint8_t> btf = types_section->bytes, extension = lines_section->bytes;
  const auto types = read_at<btf_header>(btf, 0);
  if (!types || types->magic != BTF_MAGIC) return damaged(".BTF");
  const auto strings = part(btf, uint64_t{types->hdr_len} + types->str_off, types->str_len);
  if (!strings) return damaged("the strings of .BTF");
  const auto header = read_at<ExtensionHeader>(extension, 0);
  if (!header || header->magic != BTF_MAGIC) return damaged(".BTF.ext");
  const auto lines = part(extension, uint64_t{header->header_size} + header->lines_offset, header->lines_size);
  if (!lines) return damaged("the lines of .BTF.ext");
  if (lines->empty()) return {};
  const auto record_size = read_at<uint32_t>(*lines, 0);
  if (!record_size || *record_size < sizeof(LineRecord)) return damaged("the size of a line in .BTF.ext");
  for (size_t at = sizeof *record_size; at < lines->size();) {
    const auto section_header = read_at<SectionHeader>(*lines, at);
    if (!section_header) return damaged("a section of .BTF.ext");
    at += sizeof *section_header;
    const auto records = part(*lines, at, uint64_t{section_header->count} * *record_size);
    const auto name = string_at(*strings, section_header->name);
    if (!records || !name) return damaged("a section of .BTF.ext");
    at += records->size();
    auto section = std::ranges::find(object.sections, *name, &Section::name);
    if (section == object.sections.end() || !section->code) continue;
    for (size_t i = 0; i < section_header->count; ++i)
      add_line(*read_at<LineRecord>(*records, i * *record_size), *strings, *section);
    sort_lines(section->lines);
  }
  return {};
}

}  // namespace spile::bpf
