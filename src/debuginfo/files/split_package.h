#pragma once
// A .dwp file: the .dwo files of a program in one (-gsplit-dwarf, then dwp or llvm-dwp). libdw of elfutils 0.188 does not read
// it, so each unit is cut out again as the .dwo file that it once was, and units of types (-fdebug-types-section) in groups:
// those that one .dwo file has contributed, whose abbreviations and strings they share. Formats: DWARF 5, section 7.3.5, and
// GCC's DebugFissionDWP for DWARF 4. Every number of the file is checked. One thread.

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "debuginfo/cache/kept_sections.h"

namespace spile::debuginfo {

class SplitPackage {
 public:
  // kept: where its uncompressed sections stay for the next run. Errors: can't be opened or read; without an index of units, or
  // with a damaged one.
  static Result<std::unique_ptr<SplitPackage>> open(const std::string& path, const KeptSections& kept = {});

  const std::string& path() const { return path_; }
  // Whether it has the unit with this id (DW_AT_GNU_dwo_id, or that of a skeleton unit's header).
  bool contains(uint64_t id) const { return rows_.contains(id); }
  // Returns an ELF file in memory like the unit's .dwo file; invalid: the package does not have the unit, or it is damaged.
  UniqueFd unit(uint64_t id) const;
  // Returns the group that has the type unit with this signature, a number below groups(); nullopt: the package does not have it.
  std::optional<size_t> group_of(uint64_t signature) const;
  size_t groups() const { return groups_.size(); }
  // Returns an ELF file in memory with the type units of a group, without any other; invalid: damaged.
  UniqueFd types(size_t group) const;

 private:
  // What a unit has of one section: bytes.
  struct Part {
    uint32_t offset, size;
  };
  static constexpr size_t kKinds = 9;  // DW_SECT_ numbers are below
  struct Row {
    Part parts[kKinds];
  };
  struct ElfCloser {
    void operator()(Elf* e) const { elf_end(e); }
  };

  bool read_index(std::string_view index, std::unordered_map<uint64_t, Row>& rows);
  void group_types();
  UniqueFd object(std::span<const Row> rows) const;
  std::string_view part(const Row& row, size_t kind) const;
  size_t size_of(const char* section) const;

  std::string path_;
  UniqueFd fd_;
  std::unique_ptr<Elf, ElfCloser> elf_;
  std::unordered_map<std::string_view, std::string_view> sections_;
  std::unordered_map<uint64_t, Row> rows_, types_;  // types_ until they are grouped
  std::vector<std::vector<Row>> groups_;
  std::unordered_map<uint64_t, size_t> group_of_;  // by signature
  uint32_t version_ = 0;
};

}  // namespace spile::debuginfo
