#include "debuginfo/files/line_files.h"

#include <dwarf.h>

#include <algorithm>

#include "base/files/bytes.h"

namespace spile::debuginfo {
namespace {

constexpr uint64_t kMostFiles = 1 << 20;

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
      : sections_(sections), bytes_(sections.line, offset), compilation_directory_(compilation_directory) {}

  std::vector<std::string> read() {
    offset_size_ = 4;
    uint64_t length = bytes_.number(4);
    if (length == 0xffffffff) {
      offset_size_ = 8;
      length = bytes_.number(8);
    }
    bytes_ = ByteCursor(bytes_.take(std::min<uint64_t>(length, bytes_.left())));
    const uint64_t version = bytes_.number(2);
    if (version < 2 || version > 5) return {};
    if (version == 5) bytes_.number(2);   // sizes of addresses and segment selectors
    bytes_.number(offset_size_);          // length of the header
    bytes_.number(version >= 4 ? 2 : 1);  // minimum instruction length, operations an instruction
    bytes_.number(3);                     // is_stmt by default, line base, line range
    if (const uint64_t opcodes = bytes_.number(1)) bytes_.skip(opcodes - 1);
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
      add_file(name, bytes_.uleb());
      bytes_.uleb();  // time of change
      bytes_.uleb();  // length
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
    for (uint64_t n = bytes_.number(1); n > 0; --n) {
      const uint64_t content = bytes_.uleb();
      formats.push_back({content, bytes_.uleb()});
    }
    std::vector<Entry> entries;
    for (uint64_t n = bytes_.uleb(); n > 0 && !bytes_.at_end() && entries.size() < kMostFiles; --n) {
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

  static std::string_view string_at(std::string_view section, uint64_t offset) { return ByteCursor(section, offset).text(); }

  // False: a form that can't be skipped.
  bool read_form(uint64_t form, std::string_view& text, uint64_t& number) {
    switch (form) {
      case DW_FORM_string: text = bytes_.text(); return true;
      case DW_FORM_line_strp: text = string_at(sections_.line_strings, bytes_.number(offset_size_)); return true;
      case DW_FORM_strp: text = string_at(sections_.strings, bytes_.number(offset_size_)); return true;
      case DW_FORM_udata: number = bytes_.uleb(); return true;
      case DW_FORM_data1: number = bytes_.number(1); return true;
      case DW_FORM_data2: number = bytes_.number(2); return true;
      case DW_FORM_data4: number = bytes_.number(4); return true;
      case DW_FORM_data8: number = bytes_.number(8); return true;
      case DW_FORM_data16: bytes_.skip(16); return true;  // MD5
      case DW_FORM_block: bytes_.skip(bytes_.uleb()); return true;
      default: return false;
    }
  }

  const LineSections& sections_;
  ByteCursor bytes_;
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
