#pragma once
// One ELF file mapped into memory, with every offset in it checked before use: the file may be damaged, truncated or
// made by somebody who wants us to crash. Only 64-bit little-endian executables of this machine and shared libraries (and their
// debug files). Immutable once open, so any thread may read it; views and references live as long as the image.

#include <elf.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "debuginfo/terms/module_facts.h"

namespace spile::debuginfo {

class ElfImage {
 public:
  struct Section {
    std::string_view name;
    uint32_t type;
    uint64_t flags;
    uint64_t address;  // in the file's address space; 0: not loaded
    uint64_t offset;   // in the file, bytes; unchecked: contents() checks
    uint64_t size;     // bytes
    uint32_t link;     // index into sections(); unchecked
  };

  // Opens and maps `opened`, or a copy of it (stable_file.h). Errors name `path`, as which the user knows the file: see
  // Module::open().
  static Result<std::unique_ptr<ElfImage>> open(const std::string& path, const std::string& opened);
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  const std::string& opened_path() const { return opened_path_; }
  // Returns a descriptor of the mapped file (or copy), owned by this object: opened_path() may lead to another file by then.
  int fd() const { return fd_.get(); }
  // ET_EXEC or ET_DYN.
  uint16_t type() const { return type_; }
  FileAddress entry_point() const { return entry_point_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // In a file without readable section headers: the sections that PT_DYNAMIC knows, .dynamic, .dynsym, .dynstr and .rela ones.
  const std::vector<Section>& sections() const { return sections_; }
  // For a truncated file: a sentence that says what is missing; else "".
  const std::string& truncation() const { return truncation_; }
  const Section* section(std::string_view name) const;  // the first of that name; null: absent
  // Returns the section's bytes; empty for one without bytes in the file (SHT_NOBITS) or that reaches beyond the file's end.
  std::string_view contents(const Section& section) const;
  std::string_view file() const { return {bytes_, size_}; }

  // PT_TLS: what each thread has a copy of. Bytes; alignment is at least 1, and unchecked otherwise.
  struct ThreadLocals {
    uint64_t address, memory_size, alignment;
  };
  const std::optional<ThreadLocals>& thread_locals() const { return thread_locals_; }
  const std::vector<std::string_view>& needed() const { return needed_; }  // DT_NEEDED

  bool has_interpreter() const { return has_interpreter_; }
  bool has_dynamic_flag_pie() const { return flag_pie_; }
  bool has_soname() const { return has_soname_; }
  const std::string& soname() const { return soname_; }      // DT_SONAME; "": absent
  const std::string& build_id() const { return build_id_; }  // hexadecimal; "": none
  bool is_made_by_go() const { return made_by_go_; }         // a note of Go's linker (.note.go.buildid)

  struct DebugLink {
    std::string file_name;  // without directory
    uint32_t crc;           // debug_link_crc() of that file
  };
  std::optional<DebugLink> debug_link() const;  // nullopt: no .gnu_debuglink, or a damaged one

  // Returns the symbols of a SHT_SYMTAB or SHT_DYNSYM section; empty if damaged.
  std::span<const Elf64_Sym> symbols(const Section& section) const;
  // Returns the contents of the string table that a section links to; empty if it links to none.
  std::string_view strings_of(const Section& section) const;
  // Returns the NUL-terminated string at the offset; "" if that is outside, or the string unterminated.
  static std::string_view string_at(std::string_view table, uint64_t offset);

 private:
  ElfImage() = default;
  Result<void> read_headers(const std::string& path);
  bool read_sections(const Elf64_Ehdr& header);
  void make_sections_of_dynamic();
  uint64_t count_dynamic_symbols(uint64_t hash, uint64_t gnu_hash) const;
  void read_needed();
  void read_dynamic(std::string_view dynamic);
  void read_notes(std::string_view notes, uint64_t alignment);
  // [offset, offset + size) of the file, or empty.
  std::string_view range(uint64_t offset, uint64_t size) const;
  // The file's bytes from that address to the end of its segment, and where they are in the file.
  std::string_view from_address(uint64_t address, uint64_t* offset = nullptr) const;

  const char* bytes_ = nullptr;
  size_t size_ = 0;
  UniqueFd fd_;
  std::string opened_path_;
  uint16_t type_ = 0;
  FileAddress entry_point_;
  std::vector<Segment> segments_;
  std::optional<ThreadLocals> thread_locals_;
  std::vector<std::string_view> needed_;
  std::vector<Section> sections_;
  std::string_view dynamic_;  // PT_DYNAMIC
  std::string truncation_;
  std::string build_id_;
  bool made_by_go_ = false;
  bool has_interpreter_ = false;
  bool flag_pie_ = false;
  bool has_soname_ = false;
  std::string soname_;
};

// Computes the CRC-32 that .gnu_debuglink uses.
uint32_t debug_link_crc(std::string_view bytes);

}  // namespace spile::debuginfo
