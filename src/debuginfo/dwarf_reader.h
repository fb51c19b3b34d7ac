#pragma once
// The questions that need DWARF, answered in records without libdw's types, so that they can be kept in a cache.

#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "debuginfo/calling_convention.h"
#include "debuginfo/debuginfo.h"
#include "debuginfo/type_node.h"

namespace spile::debuginfo {

struct VariableRecord {
  // Translates the place of a parameter or local to the function's entry, when the compiler gave it a stack slot.
  enum class Slot : uint8_t { kReady, kNotThereYet, kNotThereYetByReference };

  std::string name;  // "" for a parameter without one, which still takes a register
  Variable::Kind kind = Variable::Kind::kLocal;
  uint64_t type = kUnknownType;
  Place place;  // place.type is not set
  Slot slot = Slot::kReady;
  bool is_declaration = false;  // extern: defined elsewhere
  bool is_result = false;       // of a Go function
};

struct FunctionRecord {
  uint64_t return_type = kVoidType;
  // False where the compiler says that it changed the way parameters are passed.
  bool standard_convention = true;
  FlexibleArrays flexible_arrays = FlexibleArrays::kInMemory;
  // Of Go: its results are among the variables. go_registers: they are returned in registers (Go 1.17 and later).
  bool go = false, go_registers = false;
  std::vector<VariableRecord> variables;  // parameters in order, then locals, innermost block first
};

struct DwarfFunction {
  std::string linkage_name;
  FileAddress address;
  uint64_t size;
};

class CodeScopes;
class DwarfFile;

class DwarfReader {
 public:
  // As DwarfFile::open.
  static Result<std::unique_ptr<DwarfReader>> open(const std::string& path, int main_fd, int debug_fd, const std::string& debug_file,
                                                   const std::string& alternate);
  ~DwarfReader();

  // scope: CodePlace::scope.
  Result<FunctionRecord> function(FileAddress function, FileAddress pc, uint64_t scope);
  // A file-scope variable of the unit that the function is in; nothing where it has none of that name.
  std::optional<VariableRecord> unit_variable(FileAddress function, const std::string& name);
  // A file-scope variable of any unit whose source file matches. Definitions before declarations.
  std::optional<VariableRecord> global_variable(const std::string& name, const std::string& file);
  std::vector<std::string> unit_variable_names(FileAddress function);
  TypeNode type(uint64_t id);
  uint64_t definition(uint64_t id);
  uint64_t type_named(const std::string& name);  // kUnknownType where there is none
  Result<SourcePlace> declaration(FileAddress function);
  Result<SourcePlace> source_line(FileAddress pc);
  LineRows line_rows();
  std::vector<DwarfFunction> all_functions();
  CodePlaces inlined_calls();
  CodePlaces labels();
  CodePlaces statements(const std::string& file_pattern);
  CodePlaces place_at(FileAddress pc);     // one or none: the innermost function or inlined call there
  // Addresses: behind the instructions; where length is 1, of them.
  CodePlaces calls(FileAddress function);

 private:
  DwarfReader(std::string path, std::unique_ptr<DwarfFile> file);

  std::string path_;
  std::unique_ptr<DwarfFile> file_;
  std::unordered_map<void*, std::unique_ptr<CodeScopes>> scopes_;  // by the unit's DIE
};

}  // namespace spile::debuginfo
