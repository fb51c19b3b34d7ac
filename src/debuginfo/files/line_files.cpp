#include "debuginfo/files/line_files.h"

#include <dwarf.h>

#include <cstring>

namespace spile::debuginfo {
namespace {

constexpr uint64_t kMostFiles = 1 << 20;

// Reads zeros once the bytes have ended.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  uint64_t fixed(size_t size) {
    uint64_t value = 0;
    const std::string_view raw = take(size);
    if (!raw.empty()) memcpy(&value, raw.data(), std::min(raw.size(), sizeof value));
    return value;
  }
  uint64_t leb() {
    uint64_t value = 0;
    for (unsigned shift = 0; !ended(); shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) break;
    }
    return value;
  }
  std::string_view text() {
    const size_t end = bytes_.find('\0');
    if (end == bytes_.npos) {
      bytes_ = {};
      return {};
    }
    std::string_view found = bytes_.substr(0, end);
    bytes_.remove_prefix(end + 1);
    return found;
  }
  std::string_view take(uint64_t size) {
    std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  bool ended() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::string joined(const std::string& directory, std::string_view name) {
  if (directory.empty() || name.starts_with('/')) return std::string(name);
  return directory + "/" + std::string(name);
}

// A directory of the table. A relative compilation directory was made so by -ffile-prefix-map, and the others then are
// relative to the same root, not to it.
std::string directory_in(const std::string& compilation_directory, std::string_view name) {
  return compilation_directory.starts_with('/') ? joined(compilation_directory, name) : std::string(name);
}

class HeaderReader {
 public:
  HeaderReader(const LineSections& sections, uint64_t offset, const std::string& compilation_directory)
      : sections_(sections),
        bytes_(offset < sections.line.size() ? sections.line.substr(offset) : ""),
        compilation_directory_(compilation_directory) {}

  std::vector<std::string> read() {
    offset_size_ = 4;
    uint64_t length = bytes_.fixed(4);
    if (length == 0xffffffff) {
      offset_size_ = 8;
      length = bytes_.fixed(8);
    }
    bytes_ = Bytes(bytes_.take(length));
    const uint64_t version = bytes_.fixed(2);
    if (version < 2 || version > 5) return {};
    if (version == 5) bytes_.fixed(2);   // sizes of addresses and segment selectors
    bytes_.fixed(offset_size_);          // length of the header
    bytes_.fixed(version >= 4 ? 2 : 1);  // minimum instruction length, operations an instruction
    bytes_.fixed(3);                     // is_stmt by default, line base, line range
    if (const uint64_t opcodes = bytes_.fixed(1)) bytes_.take(opcodes - 1);
    version == 5 ? read_5() : read_4();
    return std::move(files_);
  }

 private:
  void read_4() {
    directories_.push_back(compilation_directory_);
    for (std::string_view directory = bytes_.text(); !directory.empty(); directory = bytes_.text())
      directories_.push_back(directory_in(compilation_directory_, directory));
    files_.emplace_back();
    for (std::string_view name = bytes_.text(); !name.empty() && files_.size() < kMostFiles; name = bytes_.text()) {
      add_file(name, bytes_.leb());
      bytes_.leb();  // time of change
      bytes_.leb();  // length
    }
  }

  void read_5() {
    for (const Entry& entry : read_entries())
      directories_.push_back(directory_in(directories_.empty() ? compilation_directory_ : directories_[0], entry.name));
    for (const Entry& entry : read_entries()) add_file(entry.name, entry.directory);
  }

  void add_file(std::string_view name, uint64_t directory) {
    files_.push_back(joined(directory < directories_.size() ? directories_[directory] : "", name));
  }

  struct Entry {
    std::string_view name;
    uint64_t directory = 0;
  };
  std::vector<Entry> read_entries() {
    struct Format {
      uint64_t content, form;
    };
    std::vector<Format> formats;
    for (uint64_t n = bytes_.fixed(1); n > 0; --n) {
      const uint64_t content = bytes_.leb();
      formats.push_back({content, bytes_.leb()});
    }
    std::vector<Entry> entries;
    for (uint64_t n = bytes_.leb(); n > 0 && !bytes_.ended() && entries.size() < kMostFiles; --n) {
      Entry entry;
      for (const Format& format : formats) {
        std::string_view text;
        uint64_t number = 0;
        if (!read_form(format.form, text, number)) return {};
        if (format.content == DW_LNCT_path) entry.name = text;
        if (format.content == DW_LNCT_directory_index) entry.directory = number;
      }
      entries.push_back(entry);
    }
    return entries;
  }

  static std::string_view string_at(std::string_view section, uint64_t offset) {
    return offset < section.size() ? Bytes(section.substr(offset)).text() : std::string_view();
  }

  // False: a form that can't be skipped.
  bool read_form(uint64_t form, std::string_view& text, uint64_t& number) {
    switch (form) {
      case DW_FORM_string: text = bytes_.text(); return true;
      case DW_FORM_line_strp: text = string_at(sections_.line_strings, bytes_.fixed(offset_size_)); return true;
      case DW_FORM_strp: text = string_at(sections_.strings, bytes_.fixed(offset_size_)); return true;
      case DW_FORM_udata: number = bytes_.leb(); return true;
      case DW_FORM_data1: number = bytes_.fixed(1); return true;
      case DW_FORM_data2: number = bytes_.fixed(2); return true;
      case DW_FORM_data4: number = bytes_.fixed(4); return true;
      case DW_FORM_data8: number = bytes_.fixed(8); return true;
      case DW_FORM_data16: bytes_.take(16); return true;  // MD5
      case DW_FORM_block: bytes_.take(bytes_.leb()); return true;
      default: return false;
    }
  }

  const LineSections& sections_;
  Bytes bytes_;
  std::string compilation_directory_;
  size_t offset_size_ = 4;
  std::vector<std::string> directories_, files_;
};

}  // namespace

std::vector<std::string> line_table_files(const LineSections& sections, uint64_t offset,
                                          const std::string& compilation_directory) {
  return HeaderReader(sections, offset, compilation_directory).read();
}

}  // namespace spile::debuginfo
