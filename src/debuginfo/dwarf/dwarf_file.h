#pragma once
// An ELF file's DWARF opened with libdw: its units, the unit that covers an address, and numbers for DIEs that mean the
// same in a later run. libdw's types stay in files named dwarf_*. One thread. DIEs and operations are valid as long as the
// DwarfFile.
//
// A DIE's id (also a type's id, see TypeNode), from the least significant bit:
//   32 bits  offset in its section
//   22 bits  split unit: its index among the main file's units; from the last one down: a group of types in a .dwp file
//    5 bits  dimension of an array type (0: the first)
//    5 bits  Section

#include <elfutils/libdw.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "debuginfo/cache/kept_sections.h"
#include "debuginfo/files/line_files.h"
#include "debuginfo/terms/section_bytes.h"

namespace spile::debuginfo {

class DebugServers;
class SplitUnits;

// What DwarfFile::open() opens.
struct DwarfSources {
  std::string path;                 // for messages
  int main_fd = -1;                 // of the file with code and .eh_frame
  int debug_fd = -1;                // of the file with .debug_info, perhaps the same. Both are reopened; the caller keeps them
  std::string debug_file;           // its path
  std::string main_file;            // the path that main_fd was opened by
  std::string alternate;            // what .gnu_debugaltlink names (common parts that dwz moved out); "": it is absent
  std::string alternate_id;         // its build-id, hexadecimal; "": not said
  KeptSections kept;                // where what is uncompressed of debug_file is kept
  DebugServers* servers = nullptr;  // asked for the alternate; may be null
  std::string missing = {};         // a hint: the sections that debug_file lacks; "": none
};

class DwarfFile {
 public:
  // Errors: can't be read; the alternate is absent, or of another build; a file that it names isn't regular.
  static Result<std::unique_ptr<DwarfFile>> open(const DwarfSources& sources);
  ~DwarfFile();

  // Returns another opening of the same files, for another thread, and to forget what libdw keeps of the units that are read: it
  // has the same units, in the same order. Null: other files belong to this one (.dwo, .dwp), or it can't be opened. REQUIRES:
  // not used longer than this one.
  std::unique_ptr<DwarfFile> reopened();
  // Whether openings have a part in common, so that only one thread may use them at a time.
  bool shares_alternate() const { return alternate_ != nullptr; }

  struct Unit {
    Dwarf_Die skeleton;  // has the addresses
    Dwarf_Die die;       // has the contents; the same one but for split DWARF
  };
  const std::vector<Unit>& units();
  // Returns the units of the file that dwz moved common parts to; empty: the file does not name a dwz file.
  std::vector<Unit> alternate_units();
  // Returns the units with types in .dwo files and in a .dwp file, which are not among units().
  std::vector<Unit> split_type_units();
  // The file with .debug_info, and the one that dwz moved common parts to; null: the file names none.
  Dwarf* dwarf() { return debug_.get(); }
  Dwarf* alternate() { return dwarf_getalt(debug_.get()); }
  // Returns the contents of a section of one of both; empty: absent, or still compressed. null: empty, too.
  std::string_view section(Dwarf* dwarf, std::string_view name);
  // As section(), to be read piece by piece; nullopt: absent. Valid as long as this file.
  std::optional<SectionBytes> bytes_of(Dwarf* dwarf, std::string_view section);
  // Returns the offset of the unit's header in .debug_info, without reading it; nullopt: its contents are in another section or
  // file.
  std::optional<uint64_t> begin_of(Unit& unit);
  // Returns the unit that has code at pc; nullopt: none.
  std::optional<Unit> unit_of(FileAddress pc);

  uint64_t id_of(Dwarf_Die& die);                // 0 for a DIE that has none
  std::optional<Dwarf_Die> die_of(uint64_t id);  // nullopt: no such DIE
  // Sets *die to the DIE that an attribute refers to, which may be a type in a unit of its own. False: none, or the attribute is
  // null.
  bool referred(Dwarf_Attribute* attribute, Dwarf_Die* die);

  // Finds in .eh_frame or .debug_frame how the canonical frame address at pc is computed: a location expression, valid until the
  // next call. False: neither section covers pc.
  bool frame_address(FileAddress pc, Dwarf_Op** operations, size_t* count);

  // Returns the path of a file number of the unit (DW_AT_decl_file); "": unknown.
  std::string file_name(Dwarf_CU* cu, uint64_t number);

  // Whether the unit's line table has a source file that matches (file_matches()).
  bool mentions_file(Unit& unit, const std::string& pattern);

  // Returns, of a unit whose contents should be in a .dwo file that could not be found, which file that is and where it was
  // looked for, as the end of a sentence; else "".
  std::string missing_split_file(Unit& unit);
  // Whether a unit without its contents was met, so that answers may lack something.
  bool lacks_units() const { return lacks_units_; }

  // Returns the DIE of the function whose code, or a contiguous part of it, starts at the address, and sets *unit. nullopt: none;
  // *unit is set even then if a unit has code there.
  std::optional<Dwarf_Die> function_die(FileAddress function, Unit* unit);
  // Returns the class of a member function whose own DIE does not say where it is declared; nullopt for other functions.
  std::optional<Dwarf_Die> class_of(Dwarf_Die& function);
  // Calls visit(address, size in bytes, DIE) for each contiguous part of each function of the unit that has code. Functions that
  // the linker has dropped (--gc-sections, COMDAT) stay described, at addresses near 0 where nothing executable is: they have no
  // code.
  void each_function(Unit& unit, const std::function<void(uint64_t, uint64_t, Dwarf_Die&)>& visit);
  // Returns where the first contiguous part of a function begins that has code; nullopt: it has none, as each_function() says.
  std::optional<uint64_t> first_code(Dwarf_Die& function);

 private:
  LineSections line_sections(Dwarf* dwarf);
  const std::vector<std::string>& file_table(Dwarf_CU* cu);

  // Functions of one unit by their first addresses.
  using FunctionIndex = std::unordered_map<uint64_t, Dwarf_Die>;
  // Classes of one unit by their functions' DIEs.
  using FunctionClasses = std::unordered_map<void*, Dwarf_Die>;
  void index_ranges();

  struct ElfCloser {
    void operator()(Elf* e) const { elf_end(e); }
  };
  struct DwarfCloser {
    void operator()(Dwarf* d) const { dwarf_end(d); }
  };
  struct CfiCloser {
    void operator()(Dwarf_CFI* c) const { dwarf_cfi_end(c); }
  };
  struct Freer {
    void operator()(void* p) const { free(p); }
  };
  struct Range {
    uint64_t start, end;
    size_t unit;
    bool operator<(const Range& other) const { return start < other.start; }
  };

  DwarfFile();
  Result<void> find_alternate(const DwarfSources& sources);
  Dwarf* open_alternate(const std::string& path, const KeptSections& kept);  // null: can't be read
  void note_missing(const Unit& unit, int kind);
  // Whether an executable section of the program has the address. True for all where the program's sections are not known.
  bool is_code(uint64_t address);

  UniqueFd main_fd_, debug_fd_, alternate_fd_;
  UniqueFd elf_fd_;                             // of debug_elf_, if that is not debug_fd_
  std::string folder_;                          // of the file with .debug_info
  std::string package_path_, package_failure_;  // of the .dwp file; both "": there is none
  std::unique_ptr<Elf, ElfCloser> main_elf_;
  std::unique_ptr<SplitUnits> split_;
  std::unique_ptr<Elf, ElfCloser> debug_elf_;
  std::unique_ptr<Dwarf, DwarfCloser> alternate_;
  std::unique_ptr<Dwarf, DwarfCloser> debug_;
  bool lacks_units_ = false;
  std::unique_ptr<Dwarf_CFI, CfiCloser> eh_frame_;
  bool eh_frame_tried_ = false;
  std::optional<std::vector<std::pair<uint64_t, uint64_t>>> code_;  // executable sections: first address, end
  std::unique_ptr<Dwarf_Frame, Freer> frame_;
  std::optional<std::vector<Unit>> units_;
  std::optional<std::vector<Range>> ranges_;            // of units without .debug_aranges
  std::unordered_map<void*, FunctionIndex> functions_;  // by unit DIE
  std::unordered_map<Dwarf_CU*, FunctionClasses> classes_;
  std::unordered_map<void*, std::vector<std::string>> file_names_;  // by unit
  std::unordered_map<Dwarf*, LineSections> line_sections_;
  std::unordered_map<Dwarf*, size_t> split_units_;  // a .dwo file's Dwarf -> index in units_
};

// Return an attribute of a DIE, or of the DIE that its DW_AT_abstract_origin or DW_AT_specification names; "", nullopt or false:
// absent.
std::string die_name(Dwarf_Die& die);
std::string die_linkage_name(Dwarf_Die& die);  // else its name
std::optional<uint64_t> die_number(Dwarf_Die& die, unsigned attribute);
std::string die_text(Dwarf_Die& die, unsigned attribute);
bool die_flag(Dwarf_Die& die, unsigned attribute);
std::optional<Dwarf_Die> die_reference(Dwarf_Die& die, unsigned attribute);

// for (ChildDies children(die); children.valid(); children.next()) use(children.die());
class ChildDies {
 public:
  explicit ChildDies(Dwarf_Die& parent) { valid_ = dwarf_child(&parent, &die_) == 0; }
  bool valid() const { return valid_; }
  Dwarf_Die& die() { return die_; }
  int tag() { return dwarf_tag(&die_); }
  // The limit stops a damaged chain of siblings that comes back to itself.
  void next() { valid_ = ++count_ < kMost && dwarf_siblingof(&die_, &die_) == 0; }

 private:
  static constexpr size_t kMost = 10'000'000;
  Dwarf_Die die_;
  size_t count_ = 0;
  bool valid_;
};

}  // namespace spile::debuginfo
