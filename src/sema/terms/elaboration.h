#pragma once
// The state that the passes of pass 2 share, and the passes themselves. Only elaborate.cpp calls them; no pass calls a pass.
// REQUIRES: the passes that stand before a pass in elaborate.cpp have run before it.

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "sema/terms/program.h"
#include "sema/terms/target_info.h"
#include "syntax/tree.h"

namespace spile::sema {

// A probe body whose points are being found. Alias bodies are already spliced in, so its text may come from several
// scripts: names are looked up by the file that they stand in.
struct Draft {
  SourceRange range;
  SourceRange handler;  // of the probe's own body, without those of aliases
  std::unique_ptr<syntax::Block> body;
  syntax::ExpressionPtr condition;    // of the point and of the aliases on the way; may be null
  std::vector<ResolvedPoint> points;  // resolve-points
};

// The probe points of one `probe` statement, aliases expanded: a tree, since `!` acts within one comma list.
struct PointNode {
  syntax::ProbePoint point;
  int draft = -1;                   // leaves
  bool is_pattern = false;          // aliases by wildcard: any of the children will do
  std::vector<PointNode> children;  // of an alias: its points
};

// How a script refers to a global; collected by resolve-symbols.
struct GlobalTraffic {
  bool read = false;
  bool written = false;
};

// How a probe or function uses one of its locals or parameters.
struct LocalTraffic {
  const syntax::Local* local;
  SourceRange first_use;
  bool is_parameter = false;
  bool read = false;
  bool written = false;
  std::vector<std::string> alternatives;  // other names of that scope, for did-you-mean
};

// What the names of variables begin with that save-at-calls makes of @entry. Errors do not show them.
constexpr std::string_view kSavedAtCall = "__at_call_";

struct Elaboration {
  Elaboration(Program& p, TargetInfo& t, Diagnostics& d) : program(p), target(t), diagnostics(d) {}

  Program& program;
  TargetInfo& target;
  Diagnostics& diagnostics;

  // Each field is filled in by the pass that its comment names.
  std::set<const syntax::Script*> active_libraries;                  // gather-library: those whose own probes take part
  std::unordered_map<const SourceFile*, int> script_of;              // index into program.scripts
  std::vector<Draft> drafts;                                         // expand-aliases
  std::vector<PointNode> statements;                                 // expand-aliases; one root per `probe` statement
  std::unordered_map<const syntax::Global*, GlobalTraffic> traffic;  // resolve-symbols
  std::unordered_map<std::string, syntax::Function*> enum_names;     // bind-targets: made for @enumname, by the constants
  std::vector<LocalTraffic> local_traffic;                           // resolve-symbols
  size_t made_arrays = 0;                                            // save-at-calls: how many arrays it has made

  // bind-dereferences: values that are pointers of the traced program: those of a global (0), or of the n-th key of an array (n).
  std::set<std::pair<const syntax::Global*, size_t>> pointers;
  bool has_dereferences = false;  // bind-targets
  bool asks_returned = false;     // bind-targets: returnval() is called somewhere
  bool asks_site = false;         // bind-targets: pp() or the like is called somewhere
  bool calls_in_targets = false;  // bind-targets: process.syscall is compiled for targets too
  std::unordered_map<const syntax::Function*, std::vector<Binding>> function_bindings;  // resolve-symbols

  // Whether a script's declarations are the user's, or the library's, which are needed only if something refers to them. Both are
  // false for a script that declares nothing.
  static bool is_user_script(const syntax::Script& script);
  static bool is_library_script(const syntax::Script& script);
  // Whether the text is of a user's script.
  bool is_user_text(const SourceRange& range) const;

  // Adds a line to Program::elided, once: `what` was left out. Ignores text of the library.
  void note_elided(const SourceRange& range, const std::string& what);

 private:
  std::unordered_set<std::string> reported_elided_;
};

// A range within one file, in bytes from its start: a key that does not contain the file.
using Place = std::pair<uint32_t, uint32_t>;
inline Place place_of(const SourceRange& range) { return {range.begin, range.end}; }

// Calls f(Function&) for every function of the script that a call may run: the first, and the ones it may fall through to.
template <typename F>
void for_each_callee(const syntax::Call& call, F&& f) {
  if (call.function) f(*call.function);
  for (syntax::Function* fallback : call.fallbacks) f(*fallback);
}

void gather_library(Elaboration& e);
void apply_overrides(Elaboration& e);
void expand_aliases(Elaboration& e);
void resolve_points(Elaboration& e);
void name_call_arguments(Elaboration& e);
void save_at_calls(Elaboration& e);
void bind_targets(Elaboration& e);
void fold_constants(Elaboration& e);
void resolve_symbols(Elaboration& e);
void bind_dereferences(Elaboration& e);
void drop_unreached(Elaboration& e);
void refuse_unavailable(Elaboration& e);
void check_regex(const syntax::Regex& expression, Diagnostics& diagnostics);  // of refuse-unavailable
void infer_types(Elaboration& e);
void display_globals(Elaboration& e);
void check_statements(Elaboration& e);
void check_domains(Elaboration& e);
void check_writes(Elaboration& e);
void warn_unused(Elaboration& e);
void elide_unused(Elaboration& e);
void check_resolved(Elaboration& e);
void lower_deletes(Elaboration& e);
void lower_additions(Elaboration& e);
void time_probes(Elaboration& e);
void count_hits(Elaboration& e);
void classify_globals(Elaboration& e);
void refuse_foreign_addresses(Elaboration& e);
void describe_points(Elaboration& e);
void analyze_uses(Elaboration& e);
void note_entry_values(Elaboration& e);
void group_sites(Elaboration& e);

}  // namespace spile::sema
