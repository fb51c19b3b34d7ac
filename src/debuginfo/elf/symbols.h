#pragma once
// The functions of a module by its symbol tables: .symtab of the file (of its separate debug file where it has none) and .dynsym.
// Symbols of one address are one function. Undefined, data and TLS symbols, and those outside executable segments, are left out,
// and entries.h decides which of the others are functions, and which are parts of functions. Left out is, too, what clang's
// control-flow integrity adds: the words before functions (-fsanitize=kcfi), and the entries of jump tables (-fsanitize=cfi),
// which have the names of functions that are foo.cfi then. Views point into the images, which must outlive the table.

#include <optional>
#include <string_view>
#include <vector>

#include "debuginfo/elf/elf_image.h"
#include "debuginfo/elf/entries.h"
#include "debuginfo/terms/names.h"

namespace spile::debuginfo {

class SymbolTable {
 public:
  // debug: may be null.
  SymbolTable(const ElfImage& image, const ElfImage* debug);

  // Adds a function from debug information, for a module that has that and no static symbol table. REQUIRES: name outlives the
  // table.
  void add_dwarf_function(std::string_view name, FileAddress address, uint64_t size);

  // Return functions ascending by address, as Module::functions(), function_at() and so on. with_split: "foo" finds foo.part.0
  // too.
  std::vector<Function> matching(const NamePattern& pattern, bool with_split);
  std::optional<Function> containing(FileAddress address);
  std::vector<Function> all();
  // Return the parts of functions that symbols name (foo.cold), which are no functions; ascending by address.
  std::vector<Function> parts() const;
  std::optional<Function> part_containing(FileAddress address) const;
  // Returns the names of all functions for people, with at most that many scopes, sorted.
  std::vector<std::string> names(size_t scopes);
  size_t count();  // of all()
  // Returns the address of a variable; nullopt: absent. size: receives its bytes; may be null.
  std::optional<FileAddress> data_symbol(std::string_view name, uint64_t* size = nullptr) const;
  std::vector<std::string> data_names() const;  // for people, sorted
  // Returns the offset of a thread-local variable in the module's thread-local storage, in bytes; nullopt: absent.
  std::optional<uint64_t> thread_local_symbol(std::string_view name) const;
  // Whether a .symtab was found that names functions.
  bool has_static_symbols() const { return has_static_symbols_; }

 private:
  std::optional<uint64_t> symbol_value(std::string_view name, int type, uint64_t* size) const;
  using Symbol = CodeSymbol;
  void add_section(const ElfImage& image, uint32_t type, Function::Source source, std::vector<DoubtfulSymbol>& doubtful);
  void decide(std::vector<DoubtfulSymbol> doubtful);
  void leave_out_integrity_checks();
  void sort();
  // The function made of symbols_[first, last), which share an address; chosen: the one to be named after.
  Function function_of(size_t first, size_t last, size_t chosen) const;
  size_t end_of_group(size_t first) const;
  // Whether `a` is a better name for a function than `b`.
  static bool better_name(const Symbol& a, const Symbol& b);

  const ElfImage& image_;
  const ElfImage* debug_;
  std::vector<Symbol> symbols_;        // of functions; in order of address once sorted_
  std::vector<DoubtfulSymbol> parts_;  // of functions, in order of address; one of each address
  bool sorted_ = false;
  bool has_static_symbols_ = false;
};

}  // namespace spile::debuginfo
