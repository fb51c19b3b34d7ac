#pragma once
// One module that is made for one place: the data that all lowerings of its functions share. Constants and functions are made
// when they are first asked for; the module owns them. Thread rule: one thread; units of different modules are independent.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "codegen/module/embedded_c.h"
#include "codegen/module/kernel_loops.h"
#include "codegen/module/layout.h"
#include "codegen/module/place.h"
#include "codegen/module/script_lines.h"
#include "codegen/module/script_module.h"
#include "codegen/module/tables.h"
#include "sema/sharing/own_text.h"

namespace spile::codegen {

// What a script function returns to its caller, an i32.
enum FunctionStatus : uint32_t {
  kFunctionFailed,  // a script error is on its way
  kFunctionDone,
  kFunctionNext,     // it executed `next`: another overload is to be tried
  kFunctionAborted,  // abort(): the whole handler ends, whatever `try` is around
};

class Unit {
 public:
  // All arguments must outlive the Unit.
  Unit(const sema::Program& program, const Layout& layout, Tables& tables, ScriptModule& module, Place& place);

  const sema::Program& program;
  const Layout& layout;
  Tables& tables;
  ScriptModule& module;
  Place& place;
  const Layout* kernel_layout = nullptr;  // of a script that is_mixed(): where handlers in the kernel have their shards

  // of calls in functions of the library: the script's call by which they are reached
  std::map<const syntax::Call*, const syntax::Call*> written_calls;
  std::set<const syntax::Call*> refused_calls;
  bool over_maps = false;  // handlers in the kernel work over its maps, whose values have no atomic changes
  const GlobalLayout& layout_of(const syntax::Global& global) const;
  sema::Sharing sharing_of(const syntax::Global& global) const;
  // abi::MapShape and abi::AggregateShape of a global as constants, for the runtime to read.
  llvm::Constant* map_shape(const syntax::Global& global);
  llvm::Constant* aggregate_shape(const syntax::Global& global);

  // The LLVM function of a script function; its body is lowered by lower_functions() (lowering.h).
  //   FunctionStatus(Context*, State*, arguments..., result*)      result: int64_t*, or the memory of a string; never null
  llvm::Function* function(const syntax::Function& function);
  bool is_recursive(const syntax::Function& function);
  // Returns a script function that was asked for and whose body has not been lowered yet, once; null: all have been. For
  // lower_functions().
  const syntax::Function* take_pending();

  // Tables of site_texts.h. return_flags: whether a probe is a return probe, a uint32_t by probe index.
  struct SiteTables {
    llvm::Constant *blob, *offsets, *base, *mask;
  };
  const SiteTables& site_tables(const std::string& what);
  const SiteTables& site_callers();  // of SiteCallers
  // codegen::PointTables. `where` finds a point's first slot; its blob is `slots`.
  struct PlaceTables {
    SiteTables where;
    llvm::Constant *texts, *places, *lists;
    std::vector<int64_t> registers;
  };
  const PlaceTables& place_tables();
  llvm::Constant* return_flags();
  // Returns the site id of a function's entry. path: of its module. REQUIRES: one of SiteTable::kept_functions().
  uint32_t kept_site_id(const std::string& path, FileAddress function);
  // A compiled pattern's blocks (regex/program.h); the table is null where it would be too large. A pattern that is wrong is
  // refused.
  struct RegexConstants {
    llvm::Constant *table, *program;
  };
  const RegexConstants& regex(const syntax::Regex& expression);
  // Whether anything in the script asks what the last =~ matched.
  bool remembers_matches();
  // Whether anything asks for arguments or registers by State: a script function, or a name or number that is computed.
  bool asks_for_site();
  // Whether a script function asks which point was hit: pp(), probefunc() and the like.
  bool functions_ask_for_site();
  // Whether a script function that the call may run, or one that it calls, asks for the kernel's stack.
  bool asks_for_kernel_stack(const syntax::Call& call);
  // Whether handlers have loops that become functions of their own (kernel_loops.h).
  bool repeats();
  // Loops of this kind that were lowered: inner ones before those around them.
  std::vector<ScriptLoop> loops;
  // Whether any script function may end its handler past a `try`: by abort(), or by using up MAXACTION where some `try` is.
  bool functions_abort();
  // Whether a probe of a traced program may call exit(): handlers look whether one has.
  bool targets_exit();

  // Notes that handlers of this place can write records of that kind (abi::RecordKind).
  void note_record(uint32_t kind);

  // void(Context*, i32 error, i64, i64): writes an error record. error: of Tables::add_error(); then its arguments, or 0. Out of
  // line, cold, and keeps its caller's registers where the place can: call it with its own calling convention.
  llvm::Function* raise_function();

  // The embedded C that lowerings have met.
  EmbeddedC embedded;

  // Collects errors of constructs that the lowering rejects; lowering goes on with any value of the type.
  void refuse(SourceRange range, const std::string& what, const std::string& hint = {});
  const Diagnostics& refusals() const { return refusals_; }

 private:
  std::vector<llvm::Constant*> map_shapes_, aggregate_shapes_;
  std::vector<llvm::Function*> functions_;
  std::optional<std::set<const syntax::Function*>> kernel_stack_askers_;
  std::vector<int> recursive_;  // by function index: -1 not known yet
  std::vector<const syntax::Function*> pending_;
  std::map<std::string, SiteTables> site_tables_;
  std::optional<SiteTables> site_callers_;
  std::optional<PlaceTables> place_tables_;
  llvm::Constant* return_flags_ = nullptr;
  std::map<std::pair<std::string, uint64_t>, uint32_t> kept_site_ids_;
  std::map<std::string, RegexConstants> regexes_;
  std::optional<bool> repeats_, asks_for_site_, functions_ask_for_site_, functions_abort_, targets_exit_, remembers_matches_;
  llvm::Function* raise_ = nullptr;
  Diagnostics refusals_;

 public:
  // REQUIRES: set before anything is lowered, and not null.
  const sema::OwnText* own_text = nullptr;
  std::string untrusted_target;      // codegen::Options
  std::optional<ScriptLines> lines;  // in modules for the kernel
  ScriptLines* script_lines() { return lines ? &*lines : nullptr; }
};

}  // namespace spile::codegen
