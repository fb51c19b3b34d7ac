#pragma once
// Embedded C (%{ ... %}, guru mode): the pieces that a place's module uses are written into one C file, compiled to
// bitcode by clang as the runtime was (general registers only, no library), and linked into the module. Only scripts with such
// pieces need a compiler: $CLANG, else clang-19 or clang of PATH.
//
// A piece becomes void spile_c_N(struct context *c, struct spile_c_N *THIS); both structs lie on the handler's stack, as
// arrays of 8-byte words.

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/module/script_module.h"
#include "syntax/tree.h"

namespace spile::codegen {

// Returns the error text of a write to an array that has no room.
std::string overflow_text(const syntax::Global& global);

class EmbeddedC {
 public:
  struct Field {
    std::string name;
    ValueType type;
  };
  struct Piece {
    SourceRange range;
    std::string code;
    std::vector<Field> arguments;
    ValueType result = ValueType::kUnknown;
    bool is_expression = false;
  };
  // A global that a piece reads (spile_get_NAME(context, keys...)) or writes (spile_set_NAME(context, keys..., value)): one of
  // both.
  struct Accessor {
    const syntax::Global* global;
    bool reads, writes;
  };

  // Adds a piece, and returns the declaration of its function.
  llvm::Function* add(ScriptModule& module, Piece piece);
  // Returns false where it has been added before. The caller defines the function of one that is new.
  bool add_accessor(Accessor accessor);
  bool empty() const { return pieces_.empty(); }

  // Compiles what was added, after the script's top-level pieces, and links it in. definitions: macros, by name; string_size:
  // MAXSTRINGLEN in bytes. REQUIRES: called once, before ScriptModule::finish(). Errors: what clang reports, at the script's
  // lines; code that handlers can't run (writable variables, unknown functions); no clang that can be run.
  Result<void> link(ScriptModule& module, const std::vector<syntax::TopLevelEmbedded>& top_level,
                    const std::map<std::string, std::string>& definitions, uint32_t string_size);

 private:
  std::string source(const std::vector<syntax::TopLevelEmbedded>& top_level,
                     const std::map<std::string, std::string>& definitions, uint32_t string_size) const;
  std::string accessor_source(const Accessor& accessor) const;
  std::string piece_source(size_t index) const;

  std::vector<Piece> pieces_;
  std::vector<Accessor> accessors_;
};

}  // namespace spile::codegen
