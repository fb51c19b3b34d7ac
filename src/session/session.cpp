// The readable page: one call of spile from script text to exit status, pass by pass.

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>

#include "base/diagnostics.h"
#include "base/print.h"
#include "base/terminal_text.h"
#include "codegen/codegen.h"
#include "debuginfo/answer_cache.h"
#include "probes/probes.h"
#include "runtime/bitcode.h"
#include "sema/program.h"
#include "session/flight_recorder.h"
#include "session/kept_folder.h"
#include "session/limits.h"
#include "session/listing.h"
#include "session/open_world.h"
#include "session/options.h"
#include "session/pass_timer.h"
#include "session/script_run.h"
#include "session/scripts.h"
#include "session/symbol_modules.h"
#include "session/target_side.h"
#include "session/time_limit.h"
#include "session/trust.h"

namespace spile::session {

namespace {

constexpr int kParse = 1, kElaborate = 2, kTranslate = 3, kBuild = 4, kRun = 5;

int refuse(const Error& error) {
  print_to(stderr, "spile: {}\n", error.message);
  if (!error.hint.empty()) print_to(stderr, "  hint: {}\n", error.hint);
  return 1;
}

bool wants_color(const Options& options) {
  if (options.color != Color::kAuto) return options.color == Color::kAlways;
  const char* terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
}

// Prints what was diagnosed. True if the script can't go on.
bool report(const Diagnostics& diagnostics, const Options& options, int pass, const char* what) {
  print_to(stderr, "{}", diagnostics.render(!options.suppress_warnings, wants_color(options)));
  size_t warnings = options.suppress_warnings ? 0 : diagnostics.all().size() - diagnostics.errors();
  if (!diagnostics.has_errors() && (warnings == 0 || !options.warnings_are_errors)) return false;
  if (!diagnostics.has_errors()) print_to(stderr, "spile: {} warning{} treated as errors (-W)\n", warnings, warnings == 1 ? "" : "s");
  print_to(stderr, "Pass {}: {} failed.\n", pass, what);
  return true;
}

// --print-after of what is no part of the passes that were run.
Result<void> check_print_after(const std::string& name, const std::vector<sema::PassTiming>& elaborated,
                               const std::vector<sema::PassTiming>& compiled) {
  if (name.empty()) return {};
  std::vector<std::string> names;
  for (const auto* timings : {&elaborated, &compiled}) {
    for (const sema::PassTiming& timing : *timings) names.push_back(timing.name);
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  std::string near = nearest_name(name, names);
  return Error{fmt::format("--print-after: unknown step '{}' of the passes", name),
               near.empty() ? "-vv prints the names" : fmt::format("did you mean '{}'?", near)};
}

std::string counted(size_t number, const char* what) { return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s"); }

// Pass 5.
int run_and_tell(const sema::Program& program, const codegen::CompiledScript& script, const Options& options,
                 const probes::ModuleFiles& files, const std::function<void()>& started) {
  if (options.verbosity > 0) print_to(stderr, "Pass 5: starting run.\n");
  PassTimer timer(kRun, options.verbosity);
  Result<int> status = run_script(program, script, options, files, started);
  timer.done("run completed");
  int result = status.ok() ? *status : refuse(status.error());
  if (result != 0) print_to(stderr, "Pass 5: run failed.\n");
  return result;
}

Result<int> run_passes(const Options& options) {
  SourceFiles files;
  Diagnostics diagnostics;

  PassTimer parse_timer(kParse, options.pass_verbosity[0]);
  TRY(LoadedScripts loaded, load_scripts(options, files, diagnostics));
  std::vector<syntax::Script>& scripts = loaded.scripts;
  if (report(diagnostics, options, kParse, "parse")) return 1;
  TRY(std::string kept, make_kept_folder(options));
  TRY_DO(keep_text(kept, "1-tree.stp", syntax::to_source(scripts.front())));
  parse_timer.done(fmt::format("parsed user script and {} library scripts", scripts.size() - 1));
  if (options.last_pass == kParse) {
    print_to(stdout, "# parse tree dump\n{}", syntax::to_source(scripts.front()));
    return 0;
  }

  PassTimer elaborate_timer(kElaborate, options.pass_verbosity[1]);
  sema::Program program;
  program.scripts = std::move(scripts);
  program.library_functions = std::move(loaded.library_functions);
  TRY_DO(apply_settings(options, program));
  program.describe_points = options.last_pass == kElaborate;
  TRY(auto world, open_world(options));
  std::vector<const syntax::ProbePoint*> points;
  for (const auto& probe : program.scripts.front().probes) {
    for (const syntax::ProbePoint& point : probe->points) points.push_back(&point);
  }
  world->choose_runtime(points);
  Diagnostics findings;
  warn_missing_modules(options, findings);
  std::vector<sema::PassTiming> timings = sema::elaborate(program, *world, findings, options.print_after);
  world->save_answers();  // -T or a signal may end the program while it compiles: the next one begins here
  for (const std::string& why : world->left_out()) findings.warning({}, "left out: " + why);
  if (report(findings, options, kElaborate, "analysis")) return 1;
  size_t functions = program.functions.size(), globals = program.globals.size(), places = 0;
  for (const sema::Probe& probe : program.probes) places += probe.points.size();
  elaborate_timer.done(fmt::format("analyzed script: {}, {}, {}, {}", counted(places, "probe"), counted(functions, "function"),
                                   counted(program.scripts.front().embedded.size(), "embed"), counted(globals, "global")));
  if (options.pass_verbosity[1] > 0) {
    for (const std::string& line : program.elided) print_to(stderr, "  {}\n", line);
  }
  if (options.pass_verbosity[1] > 1) {
    for (const sema::PassTiming& timing : timings) print_to(stderr, "  {:<22} {:>8} us\n", timing.name, timing.real_us);
  }
  if (!kept.empty()) TRY_DO(keep_text(kept, "2-program.txt", sema::to_text(program)));
  if (options.last_pass == kElaborate) {
    TRY_DO(check_print_after(options.print_after, timings, {}));
    print_to(stdout, "{}", sema::to_text(program));
    return 0;
  }
  // From here on, every expression has a type, every probe its sites and every $variable its place.

  int translating = options.last_pass == kTranslate ? kTranslate : kBuild;
  PassTimer translate_timer(translating, options.pass_verbosity[static_cast<size_t>(translating - 1)]);
  codegen::Options codegen_options;
  codegen_options.native_bitcode = rt::native_bitcode();
  codegen_options.bpf_bitcode = rt::bpf_bitcode();
  rlimit own_limit{};
  if (getrlimit(RLIMIT_AS, &own_limit) == 0 && own_limit.rlim_cur != RLIM_INFINITY) {
    codegen_options.layout.address_space = own_limit.rlim_cur / 4;
  }
  codegen_options.layout.ring_size = std::bit_ceil(options.ring_megabytes) << 20;
  codegen_options.emit_ir_only = options.last_pass == kTranslate;
  codegen_options.print_after = options.print_after;
  for (pid_t pid : options.targets) {
    if (codegen_options.untrusted_target.empty()) codegen_options.untrusted_target = why_untrusted(pid);
  }
  if (std::string folder = debuginfo::AnswerCache::default_directory(); !folder.empty()) {
    codegen_options.cache_directory = folder + "/code";
  }
  Diagnostics refusals;
  codegen_options.diagnostics = &refusals;
  Result<codegen::Compiled> translated = codegen::compile(program, codegen_options);
  if (report(refusals, options, kTranslate, "translation")) return 1;
  TRY(codegen::Compiled compiled, std::move(translated));
  if (!kept.empty() && options.last_pass > kTranslate) TRY_DO(keep_code(kept, options, compiled.script));
  if (options.last_pass == kTranslate) {
    TRY_DO(keep_text(kept, "3-script.ll", compiled.ir));
    translate_timer.done("translated to LLVM IR");
    print_to(stdout, "{}", compiled.ir);
    return 0;
  }
  TRY_DO(check_print_after(options.print_after, timings, compiled.timings));
  const codegen::CompiledScript& script = compiled.script;
  translate_timer.done(fmt::format("{} {} bytes for targets, {} for the controller, {} for the kernel",
                                   compiled.from_cache ? "took from the cache" : "compiled",
                                   script.target.image.bytes.size(), script.controller.image.bytes.size(),
                                   script.kernel.object.size()));
  if (options.pass_verbosity[3] > 1) {
    for (const sema::PassTiming& timing : compiled.timings) print_to(stderr, "  {:<22} {:>8} us\n", timing.name, timing.real_us);
  }
  compiled_in_time();
  if (options.last_pass == kBuild) {
    print_to(stdout, "controller {} bytes\nprocesses {} bytes\nkernel {} bytes\n", script.controller.image.bytes.size(),
             script.target.image.bytes.size(), script.kernel.object.size());
    return 0;
  }

  const probes::ModuleFiles modules = world->module_files();
  if (!options.flight_recorder) return run_and_tell(program, script, options, modules, [] {});
  return run_in_background([&](std::function<void()> started) { return run_and_tell(program, script, options, modules, started); });
}

}  // namespace

int clean_cache() {
  const std::string folder = debuginfo::AnswerCache::default_directory();
  std::error_code error;
  if (!folder.empty()) std::filesystem::remove_all(folder, error);
  return error ? refuse(Error{fmt::format("empty {}: {}", folder, error.message()), {}}) : 0;
}

int run(const Options& options) {
  TerminalGuard guard;
  start_time_limit(options.listing == Listing::kNone ? options.time_limit_ns : 0);
  Result<int> status = options.listing != Listing::kNone ? list(options) : run_passes(options);
  return status.ok() ? *status : refuse(status.error());
}

}  // namespace spile::session
