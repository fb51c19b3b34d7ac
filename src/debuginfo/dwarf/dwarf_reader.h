#pragma once
// The questions that need DWARF, answered in records without libdw's types, so that they can be kept in a cache. One thread;
// every answer is computed anew.

#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "debuginfo/conventions/calling_convention.h"
#include "debuginfo/terms/module_facts.h"
#include "debuginfo/terms/names.h"
#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {

struct VariableRecord {
  // Whether `place` holds at the function's entry. kNotThereYet: the variable's stack slot is still empty; a parameter is where
  // the calling convention has it. kNotThereYetByReference: the slot will hold the object's address.
  enum class Slot : uint8_t { kReady, kNotThereYet, kNotThereYetByReference };

  std::string name;  // "" for a parameter without one, which still takes a register
  Variable::Kind kind = Variable::Kind::kLocal;
  uint64_t type = kUnknownType;
  Place place;  // place.type is not set
  Slot slot = Slot::kReady;
  bool is_declaration = false;   // extern: defined elsewhere
  std::string symbol;            // of a declaration: what the linker calls it
  bool is_result = false;        // of a Go function
  uint64_t die = 0, origin = 0;  // its id, and that of its abstract origin; for frame numbers, while the record is made
};

struct FunctionRecord {
  uint64_t return_type = kVoidType;
  // False where the compiler says that it changed the way parameters are passed.
  bool standard_convention = true;
  FlexibleArrays flexible_arrays = FlexibleArrays::kInMemory;
  // Of Go: its results are among the variables. go_registers: they are returned in registers (Go 1.17 and later).
  bool go = false, go_registers = false;
  // Of a function with a mangled name made by rustc 1.N: N; 0: of other functions. Its convention is Rust's own.
  uint32_t rust_version = 0;
  bool rust_closure = false;              // what it has captured is a parameter that is not described
  std::vector<VariableRecord> variables;  // parameters in order, then locals, innermost block first
};

struct DwarfFunction {
  std::string linkage_name;
  FileAddress address;
  uint64_t size;
};

class CodeScopes;
class ConcreteVariables;
class DwarfFile;
struct DwarfSources;

class DwarfReader {
 public:
  // Opens the files as DwarfFile::open does.
  static Result<std::unique_ptr<DwarfReader>> open(const DwarfSources& sources);
  ~DwarfReader();

  // Returns the variables visible at pc in the function that starts at `function`. scope: CodePlace::scope, 0: the function
  // itself. Errors: not described here, or in a .dwo file that can't be found.
  Result<FunctionRecord> function(FileAddress function, FileAddress pc, uint64_t scope);
  // Returns the code of the function, or of the inlined call, where a parameter or local of the name has a value; see
  // value_ranges().
  std::vector<CodeRange> value_ranges(FileAddress function, const std::string& name, uint64_t scope);
  // Returns a file-scope variable of the source file that the function, or an inlined call's, is in; nullopt: it has none of that
  // name.
  std::optional<VariableRecord> unit_variable(FileAddress function, const std::string& name, uint64_t scope);
  // Returns a file-scope variable of any unit whose main source file matches ("": any), a definition rather than a declaration.
  std::optional<VariableRecord> global_variable(const std::string& name, const std::string& file);
  std::vector<std::string> unit_variable_names(FileAddress function);
  TypeNode type(uint64_t id);                    // kUnknown for an unknown id
  uint64_t definition(uint64_t id);              // see TypeSource::type_definition()
  uint64_t type_named(const std::string& name);  // kUnknownType: no type has this name
  Result<SourcePlace> declaration(FileAddress function);
  Result<SourcePlace> source_line(FileAddress pc);
  LineRows line_rows();  // ascending by address
  std::vector<DwarfFunction> all_functions();
  // name: of one function as C names it, whose calls are wanted; others may be returned, too.
  CodePlaces inlined_calls(const std::string& name);
  // Returns the calls of functions that match; null: of all functions.
  CodePlaces inlined_calls_like(const NamePattern* pattern);
  CodePlaces inlined_calls_in(FileAddress function);
  // Returns the code of an inlined call, with all that is inlined into it.
  std::vector<CodeRange> code_of_call(uint64_t scope);
  CodePlaces labels();
  // Error: nothing was found, and a unit of such a file is in a .dwo file that can't be found.
  Result<CodePlaces> statements(const std::string& file_pattern);
  // Returns those of the function's source file in its unit.
  CodePlaces statements_in(FileAddress function);
  CodePlaces place_at(FileAddress pc);  // one or none: the innermost function or inlined call there
  // Returns the calls that the function makes; see add_calls(). CodePlace::address is behind the call instruction where
  // CodePlace::length is 0, else that of the instruction.
  CodePlaces calls(FileAddress function);

  // Whether a unit whose contents are missing was met, so that the answers so far may lack something.
  bool lacks_units() const;

 private:
  DwarfReader(std::string path, std::unique_ptr<DwarfFile> file);

  std::string path_;
  std::string missing_;  // the hint of errors whose reason it may be: sections that were stripped; "": none
  std::unique_ptr<DwarfFile> file_;
  std::unique_ptr<ConcreteVariables> concrete_;
  std::unordered_map<void*, std::unique_ptr<CodeScopes>> scopes_;  // by the unit's DIE

  // Places of the functions of a unit. All of a unit has to be read for those of one function: from the second question on, they
  // are kept.
  struct UnitPlaces {
    bool is_whole = false;
    std::unordered_map<uint64_t, CodePlaces> of_function;  // by its entry
  };
  using PlacesOfUnits = std::unordered_map<void*, UnitPlaces>;  // by the unit's DIE
  template <typename Read>
  CodePlaces places_in(PlacesOfUnits& known, FileAddress function, Read read);
  PlacesOfUnits inlined_, calls_;
  size_t kept_places_ = 0;
};

}  // namespace spile::debuginfo
