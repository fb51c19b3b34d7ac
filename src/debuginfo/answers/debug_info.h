#pragma once
// A module's debug information with its cache in front: what Module answers about variables, types and source places.
// Types hold it (as their TypeSource) and so keep it, the images and libdw's data alive after the Module has gone.
// REQUIRES: owned by a shared_ptr. Functions with a counterpart in Module or DwarfReader do and return what is said there; they
// fail if the module lacks debug information, or libdw can't open it.

#include <functional>
#include <memory>
#include <unordered_map>

#include "debuginfo/cache/answer_cache.h"
#include "debuginfo/cache/kept_sections.h"
#include "debuginfo/dwarf/dwarf_reader.h"
#include "debuginfo/elf/elf_image.h"

namespace spile::debuginfo {

class DebugInfo final : public TypeSource, public std::enable_shared_from_this<DebugInfo> {
 public:
  // path: for messages. image: the module's. with_dwarf: the image that has .debug_info, perhaps the same; null: none. Opens
  // nothing yet.
  DebugInfo(std::string path, std::shared_ptr<ElfImage> image, std::shared_ptr<ElfImage> with_dwarf, const OpenOptions& options);
  ~DebugInfo() override { save_cache(); }

  // Returns the path of the file that has .debug_info, or of that with imported answers; "": none.
  const std::string& debug_file() const { return debug_file_; }
  // Whether a question needed DWARF because the cache did not have the answer.
  bool opened_dwarf() const { return opened_; }
  bool save_cache() { return cache_.save(); }

  Result<SourcePlace> declaration(FileAddress function);
  Result<SourcePlace> source_line(FileAddress pc);
  LineRows line_rows();  // not cached
  // Facts from symbol tables that debug information does not contain.
  struct SymbolFacts {
    // Return a data symbol's address, or a thread-local one's offset in the module's block, for variables that are only declared.
    std::function<std::optional<FileAddress>(const std::string&)> address_of;
    std::function<std::optional<uint64_t>(const std::string&)> thread_local_offset;
    // See thread_block() of link_tables.h.
    std::function<Result<location::Operations>()> thread_block;
    // The function is a clone that the compiler made for its own callers (see CloneName).
    bool specialised = false;
    bool may_lose_result = false;  // see CloneName
  };
  Result<std::vector<Variable>> variables(FileAddress function, FileAddress pc, uint64_t scope, const SymbolFacts& symbols);
  Result<Variable> variable(FileAddress function, FileAddress pc, uint64_t scope, const std::string& name,
                            const SymbolFacts& symbols);
  Result<Variable> global_variable(const std::string& name, const std::string& file, const SymbolFacts& symbols);
  Result<Variable> variable_of_unit(FileAddress function, const std::string& name, const SymbolFacts& symbols);
  std::vector<std::string> global_names(FileAddress function);                                         // not cached
  std::vector<CodeRange> value_ranges(FileAddress function, const std::string& name, uint64_t scope);  // not cached
  Type type_with_id(uint64_t id) { return Type(shared_from_this(), id); }
  Result<Type> type_named(const std::string& name);
  Result<Place> return_value(FileAddress function, const SymbolFacts& symbols, size_t index);
  std::vector<DwarfFunction> all_functions();  // empty: no debug information; not cached
  // Asks for the nodes of types and of all that they lead to: types of members, what pointers point to, definitions of what is
  // only declared.
  void learn_types(std::vector<uint64_t> types);
  // Asks for all inlined calls, and keeps them by the name that is asked for, also for these names, which may have none.
  void learn_inlined(const std::vector<std::string>& names);
  // Adds the functions of the symbol table to the cache, for machines to which it is carried.
  void keep_functions(const std::vector<DwarfFunction>& functions);
  // Answer as the functions of the same names of DwarfReader.
  Result<CodePlaces> inlined_calls(const std::string& name);
  // pattern: as FunctionPattern::name; calls of functions that do not match may be returned, too. "*": all.
  Result<CodePlaces> inlined_calls_like(const std::string& pattern);
  Result<CodePlaces> inlined_calls_in(FileAddress function);
  std::vector<CodeRange> code_of_call(uint64_t scope);
  Result<CodePlaces> labels();
  Result<CodePlaces> statements(const std::string& file_pattern);
  CodePlaces statements_in(FileAddress function);  // not cached
  Result<CodePlaces> place_at(FileAddress pc);
  Result<CodePlaces> calls(FileAddress function);

  const TypeNode& type_node(uint64_t id) override;
  uint64_t type_definition(uint64_t id) override;

 private:
  // Opens DWARF at the first call; the error of a failed opening is kept.
  Result<DwarfReader*> reader();
  Result<Place> go_result(const FunctionRecord& record, size_t index);
  Result<FunctionRecord> function_record(FileAddress function, FileAddress pc, uint64_t scope);
  Variable made_from(const VariableRecord& record, const SymbolFacts& symbols);
  std::vector<Place> rust_places(const FunctionRecord& record, const std::vector<Variable>& variables);
  void place_waiting_parameters(const FunctionRecord& record, bool standard_convention, std::vector<Variable>& variables);
  Result<VariableRecord> unit_variable(FileAddress function, const std::string& name, uint64_t scope,
                                       const std::vector<Variable>& visible);
  Error no_such_variable(FileAddress function, const std::vector<Variable>& visible, const std::string& name);

  // Returns the answer under the key: from the cache if it is there and reads well, else computed, and remembered unless it is an
  // error.
  template <typename T, typename Read, typename Compute>
  Result<T> remembered(const std::string& key, Read read, Compute compute);

  std::string path_;
  std::shared_ptr<ElfImage> image_, with_dwarf_;
  std::string debug_file_;
  KeptSections kept_;
  std::shared_ptr<DebugServers> servers_;
  AnswerCache cache_;
  std::unique_ptr<DwarfReader> reader_;
  std::optional<Error> open_error_;
  bool opened_ = false;
  bool imported_ = false;  // no debug information, but answers from another machine
  std::unordered_map<uint64_t, std::unique_ptr<TypeNode>> types_;
  std::unordered_map<uint64_t, uint64_t> definitions_;
};

}  // namespace spile::debuginfo
