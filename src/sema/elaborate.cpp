// Pass 2 on one page: the steps from a script's tree to the program that codegen lowers, in order.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "sema/terms/elaboration.h"

namespace spile::sema {

namespace {

// Runs passes one after another, timing each; after the first that reports an error the rest are skipped.
class Passes {
 public:
  Passes(Elaboration& elaboration, std::string print_after) : elaboration_(elaboration), print_after_(std::move(print_after)) {}

  void run(const char* name, void (*pass)(Elaboration&)) {
    if (elaboration_.diagnostics.has_errors()) return;
    auto start = std::chrono::steady_clock::now();
    pass(elaboration_);
    auto spent = std::chrono::steady_clock::now() - start;
    timings_.push_back({name, std::chrono::duration_cast<std::chrono::microseconds>(spent).count()});
    if (print_after_ == name) dump(name);
  }
  std::vector<PassTiming> timings() { return std::move(timings_); }

 private:
  void dump(const char* name) const {
    std::printf("# after %s\n%s", name, to_text(elaboration_.program).c_str());
    for (const Probe& probe : elaboration_.program.probes) {
      if (probe.body) std::printf("probe %d %s\n", probe.index, syntax::to_source(*probe.body).c_str());
    }
    std::fflush(stdout);
  }

  Elaboration& elaboration_;
  std::string print_after_;
  std::vector<PassTiming> timings_;
};

}  // namespace

bool Elaboration::is_user_script(const syntax::Script& script) {
  auto any = [](const auto& declarations) { return !declarations.empty() && !declarations.front()->from_library; };
  return any(script.probes) || any(script.functions) || any(script.globals) || any(script.aliases);
}

bool Elaboration::is_library_script(const syntax::Script& script) {
  auto any = [](const auto& declarations) { return !declarations.empty() && declarations.front()->from_library; };
  return any(script.probes) || any(script.functions) || any(script.globals) || any(script.aliases);
}

bool Elaboration::is_user_text(const SourceRange& range) const {
  auto found = script_of.find(range.file);
  if (found == script_of.end()) return false;
  return found->second == 0 || is_user_script(program.scripts[static_cast<size_t>(found->second)]);
}

void Elaboration::note_elided(const SourceRange& range, const std::string& what) {
  if (!is_user_text(range)) return;
  std::string line = "eliding " + what + ": " + range.to_string();
  if (reported_elided_.insert(line).second) program.elided.push_back(line);
}

std::vector<PassTiming> elaborate(Program& program, TargetInfo& target, Diagnostics& diagnostics,
                                  const std::string& print_after) {
  Elaboration elaboration(program, target, diagnostics);
  for (size_t i = 0; i < program.scripts.size(); ++i) {
    elaboration.script_of.emplace(program.scripts[i].file, static_cast<int>(i));
  }
  Passes passes(elaboration, print_after);

  passes.run("gather-library", gather_library);
  passes.run("apply-overrides", apply_overrides);
  passes.run("expand-aliases", expand_aliases);
  passes.run("resolve-points", resolve_points);
  // From here on, every probe point is a place, or a time, with no globs and no aliases left.
  passes.run("name-call-arguments", name_call_arguments);
  passes.run("save-at-calls", save_at_calls);
  passes.run("bind-targets", bind_targets);
  // From here on program.probes is complete, every $variable has its binding, and no @defined or @entry is left.
  passes.run("resolve-symbols", resolve_symbols);
  // From here on, every name refers to a declaration.
  passes.run("bind-dereferences", bind_dereferences);
  passes.run("refuse-unavailable", refuse_unavailable);
  passes.run("infer-types", infer_types);
  passes.run("check-statements", check_statements);
  if (!program.unoptimized) passes.run("fold-constants", fold_constants);
  passes.run("drop-unreached", drop_unreached);
  passes.run("warn-unused", warn_unused);
  passes.run("check-resolved", check_resolved);
  // From here on, every expression has a type.
  passes.run("check-domains", check_domains);
  passes.run("check-writes", check_writes);
  if (!program.unoptimized) passes.run("elide-unused", elide_unused);
  passes.run("drop-unreached-again", drop_unreached);
  passes.run("lower-deletes", lower_deletes);
  passes.run("lower-additions", lower_additions);
  if (!program.hide_globals) passes.run("display-globals", display_globals);
  if (program.time_probes) passes.run("time-probes", time_probes);
  if (program.counts_hits) passes.run("count-hits", count_hits);
  passes.run("classify-globals", classify_globals);
  passes.run("refuse-foreign-addresses", refuse_foreign_addresses);
  passes.run("describe-points", describe_points);
  passes.run("analyze-uses", analyze_uses);
  passes.run("note-entry-values", note_entry_values);
  passes.run("group-sites", group_sites);
  return passes.timings();
}

}  // namespace spile::sema
