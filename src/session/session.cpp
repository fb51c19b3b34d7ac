// The readable page: one call of spile from script text to exit status, pass by pass.

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/print.h"
#include "base/text/terminal_text.h"
#include "debuginfo/cache/answer_cache.h"
#include "sema/terms/intrinsics.h"
#include "session/bundle/bundle_file.h"
#include "session/bundle/bundle_run.h"
#include "session/invocation/progress.h"
#include "session/listing.h"
#include "session/live/kept_folder.h"
#include "session/open_world.h"
#include "session/passes.h"
#include "session/terms/options.h"

namespace spile::session {

namespace {

constexpr int kScriptIsWrong = 1;  // the exit status once its errors have been printed

int show(const std::string& text) {
  print_to(stdout, "{}", text);
  return 0;
}

// What -p4 shows.
std::string sizes_of(const codegen::CompiledScript& script) {
  return fmt::format("controller {} bytes\nprocesses {} bytes\nkernel {} bytes\n", script.controller.image.bytes.size(),
                     script.target.image.bytes.size(), script.kernel.object.size());
}

// Their handlers look at the state of the running thread.
bool probes_system_calls(const sema::Program& program) {
  return std::ranges::any_of(program.probes, [](const sema::Probe& probe) {
    if (sema::is_system_call(probe.kind)) return true;
    return std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) { return point.site.system_call >= 0; });
  });
}

Result<int> run_passes(const Options& options) {
  const int last = options.passes.last;
  const std::string& print_after = options.passes.print_after;
  SourceFiles files;
  StepNames steps;
  Progress progress(options.messages);

  progress.stage("reading the script");
  TRY(std::optional<LoadedScripts> scripts, parse_scripts(options.script, options.target, options.messages, files));
  if (!scripts) return kScriptIsWrong;
  TRY(const std::string kept, make_kept_folder(options.passes));
  TRY_DO(keep_tree(kept, scripts->scripts.front()));
  if (last == kParse) return show("# parse tree dump\n" + syntax::to_source(scripts->scripts.front()));
  // From here on, script and library are trees.

  progress.stage("looking for the probe points");
  TRY(sema::Program program,
      begin_program(std::move(*scripts), options.script, options.program, options.messages, last == kElaborate, files));
  TRY(std::unique_ptr<probes::World> world, open_world(options.target));
  if (!elaborate_program(program, *world, options.program.symbol_modules, options.messages, print_after, steps))
    return kScriptIsWrong;
  const bool makes_bundle = last == kBuild && !options.output.file.empty();
  const bool owned_records = makes_bundle || options.output.has_owners();
  if (!may_translate_tables(program, options.output, owned_records)) {
    TRY(std::optional<sema::Program> without, elaborate_without_tables(options, *world, files));
    if (!without) return kScriptIsWrong;
    program = std::move(*without);
  }
  TRY_DO(keep_program(kept, program));
  if (last == kElaborate) {
    TRY_DO(check_print_after(print_after, steps));
    return show(sema::to_text(program));
  }
  // From here on, every expression has a type, every probe its sites and every $variable its place.

  progress.stage("compiling");
  TRY(std::unique_ptr<codegen::Translation> translation,
      translate_program(program, options.output, owned_records, options.target.processes, options.messages, print_after, steps));
  if (!translation) return kScriptIsWrong;
  if (last == kTranslate) {
    TRY_DO(check_print_after(print_after, steps));
    TRY(const std::string ir, translation->ir());
    TRY_DO(keep_text(kept, "3-script.ll", ir));
    return show(ir);
  }
  // From here on, nothing of the script can be rejected.

  TRY(codegen::CompiledScript script, build_program(std::move(translation), options.messages, steps));
  TRY_DO(keep_code(kept, options.script.module_name, script));
  TRY_DO(check_print_after(print_after, steps));
  const probes::ModuleFiles modules = world->module_files();
  const bool asks_members =
      !script.kernel.object.empty() && (program.needs & sema::kNeedsMembers || probes_system_calls(program));
  const RunInput input{program,
                       script,
                       modules,
                       world->kernel_features(asks_members),
                       options.script.module_name,
                       !options.script.compatible.empty()};
  if (makes_bundle) {
    TRY_DO(write_bundle(options.output.file, input, options.script, options.program, options.target));
    return 0;
  }
  if (last == kBuild) return show(sizes_of(script));
  progress.stage("arming the probes");
  return run_program(input, options.target, options.output, options.messages, [&progress] { progress.done(); });
}

}  // namespace

bool wants_color(Color color, int descriptor) {
  if (color != Color::kAuto) return color == Color::kAlways;
  const char* terminal = getenv("TERM");
  const char* unwanted = getenv("NO_COLOR");
  return isatty(descriptor) && terminal && std::string_view(terminal) != "dumb" && !(unwanted && *unwanted);
}

int clean_cache() {
  const std::string folder = debuginfo::AnswerCache::default_directory();
  std::error_code error;
  if (!folder.empty()) std::filesystem::remove_all(folder, error);
  return error ? print_error(Error{fmt::format("empty {}: {}", folder, error.message()), {}}) : 0;
}

int run(const Options& options) {
  TerminalGuard guard;
  bool lists = options.listing.what != Listing::kNone;
  if (!lists && !options.script.text && is_bundle(options.script.file)) {
    Result<int> status = run_bundle(options.script.file, options, run_passes);
    return status.ok() ? *status : print_error(status.error());
  }
  Result<int> status =
      lists ? list(options.listing, options.script, options.target, options.messages, options.verb.json) : run_passes(options);
  return status.ok() ? *status : print_error(status.error(), options.messages.verb);
}

}  // namespace spile::session
