#include "session/passes.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/text/number_text.h"
#include "bpf/arena.h"
#include "bpf/bpf.h"
#include "codegen/module/layout.h"
#include "debuginfo/cache/answer_cache.h"
#include "runtime/bitcode.h"
#include "session/invocation/pass_timer.h"
#include "session/scripts/procfs_value.h"
#include "session/stacks/symbol_modules.h"
#include "session/terms/limits.h"
#include "session/terms/trust.h"

namespace spile::session {

namespace {

int verbosity_of(Pass pass, const MessageOptions& messages) { return messages.pass_verbosity[static_cast<size_t>(pass - 1)]; }

// Prints what was diagnosed. True if the script can't go on.
bool report(const Diagnostics& diagnostics, const MessageOptions& messages, Pass pass, const char* what) {
  if (MessageSink* sink = message_sink()) {
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      if (diagnostic.severity == Severity::kError || !messages.suppress_warnings) sink->take(message_of(diagnostic));
    }
  } else print_to(stderr, "{}", diagnostics.render(!messages.suppress_warnings, wants_color(messages.color, STDERR_FILENO)));
  size_t warnings = messages.suppress_warnings ? 0 : diagnostics.all().size() - diagnostics.errors();
  if (!diagnostics.has_errors() && (warnings == 0 || !messages.warnings_are_errors)) return false;
  if (!diagnostics.has_errors()) refuse(counted(warnings, "warning") + " treated as errors (-W)");
  note(fmt::format("Pass {}: {} failed.", static_cast<int>(pass), what));
  return true;
}

// Notes the steps of a pass, and prints their times with -vv.
void note_steps(const std::vector<sema::PassTiming>& timings, int verbosity, StepNames& steps) {
  for (const sema::PassTiming& timing : timings) {
    steps.push_back(timing.name);
    if (verbosity > 1) note(fmt::format("  {:<22} {:>8} us", timing.name, timing.real_us));
  }
}

// "analyzed script: 1 probe, 0 functions, 0 embeds, 2 globals"
std::string summary_of(const sema::Program& program) {
  size_t places = 0;
  for (const sema::Probe& probe : program.probes) places += probe.points.size();
  return fmt::format("analyzed script: {}, {}, {}, {}", counted(places, "probe"), counted(program.functions.size(), "function"),
                     counted(program.scripts.front().embedded.size(), "embed"), counted(program.globals.size(), "global"));
}

bool has_kernel_probes(const sema::Program& program) {
  return std::ranges::any_of(program.probes, [](const sema::Probe& probe) { return probe.domain == sema::Domain::kKernel; });
}

codegen::LayoutOptions layout_options(const sema::Program& program, const OutputOptions& output, bool owned_records) {
  codegen::LayoutOptions options;
  rlimit own_limit{};
  if (getrlimit(RLIMIT_AS, &own_limit) == 0 && own_limit.rlim_cur != RLIM_INFINITY)
    options.address_space = own_limit.rlim_cur / 4;
  options.ring_size = std::bit_ceil(output.ring_megabytes) << 20;
  options.owned_records = owned_records;
  if (has_kernel_probes(program) && bpf::Arena::is_supported()) {
    constexpr uint64_t kMost = uint64_t{1} << 30;
    uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    options.kernel_cpus = static_cast<uint32_t>(bpf::possible_cpus());
    options.kernel_memory = std::min(kMost, memory / 8);
  }
  return options;
}

codegen::Options codegen_options(const std::vector<pid_t>& processes, const std::string& print_after) {
  codegen::Options options;
  options.process_bitcode = rt::process_bitcode();
  options.kernel_maps_bitcode = rt::kernel_maps_bitcode();
  options.kernel_bitcode = rt::kernel_bitcode();
  options.print_after = print_after;
  for (pid_t pid : processes) {
    if (options.untrusted_target.empty()) options.untrusted_target = why_untrusted(pid);
  }
  if (std::string folder = debuginfo::AnswerCache::default_directory(); !folder.empty())
    options.cache_directory = folder + "/code";
  return options;
}

}  // namespace

Result<void> check_print_after(const std::string& name, const StepNames& steps) {
  if (name.empty() || std::find(steps.begin(), steps.end(), name) != steps.end()) return {};
  std::string near = nearest_name(name, steps);
  return Error{fmt::format("--print-after: unknown step '{}' of the passes", name),
               near.empty() ? "-vv prints the names" : fmt::format("did you mean '{}'?", near)};
}

Result<std::optional<LoadedScripts>> parse_scripts(const ScriptOptions& script, const TargetOptions& target,
                                                   const MessageOptions& messages, SourceFiles& files) {
  PassTimer timer(kParse, verbosity_of(kParse, messages));
  Diagnostics diagnostics;
  TRY(LoadedScripts loaded, load_scripts(script, target, files, diagnostics));
  if (report(diagnostics, messages, kParse, "parse")) return std::optional<LoadedScripts>();
  timer.done(fmt::format("parsed user script and {} library scripts", loaded.scripts.size() - 1));
  return std::optional(std::move(loaded));
}

Result<sema::Program> begin_program(LoadedScripts scripts, const ScriptOptions& script, const ProgramOptions& options,
                                    const MessageOptions& messages, bool describe_points, SourceFiles& files) {
  sema::Program program;
  program.scripts = std::move(scripts.scripts);
  program.library_functions = std::move(scripts.library_functions);
  program.describe_points = describe_points;
  program.counts_hits = !describe_points;  // -p2 shows the script, without what the session adds
  declare_procfs_value(program.scripts, string_length(script), files);
  program.kernel_has_arena = bpf::Arena::is_supported;
  TRY_DO(apply_settings(script, options, messages, program));
  return program;
}

bool elaborate_program(sema::Program& program, probes::World& world, const std::vector<std::string>& symbol_modules,
                       const MessageOptions& messages, const std::string& print_after, StepNames& steps) {
  const int verbosity = verbosity_of(kElaborate, messages);
  PassTimer timer(kElaborate, verbosity);
  Diagnostics findings;
  world.choose_runtime_for(program.scripts);
  warn_missing_modules(symbol_modules, findings);
  std::vector<sema::PassTiming> timings = sema::elaborate(program, world, findings, print_after);
  world.save_answers();  // a signal may end spile while it compiles: the next one begins here
  for (const std::string& why : world.left_out()) findings.warning({}, "left out: " + why);
  for (const std::string& what : world.remarks()) findings.warning({}, what);
  if (report(findings, messages, kElaborate, "analysis")) return false;
  timer.done(summary_of(program));
  if (verbosity > 0) {
    for (const std::string& line : program.elided) note("  " + line);
    for (const std::string& part : world.unprintable()) note("  printed as '?': " + part);
  }
  note_steps(timings, verbosity, steps);
  return true;
}

bool may_translate_tables(const sema::Program& program, const OutputOptions& output, bool owned_records) {
  const bool in_kernel = std::ranges::any_of(
      program.probes, [](const sema::Probe& probe) { return probe.domain == sema::Domain::kKernel && !probe.tables.empty(); });
  return !in_kernel || codegen::works_over_arena(program, layout_options(program, output, owned_records));
}

Result<std::optional<sema::Program>> elaborate_without_tables(const Options& options, probes::World& world, SourceFiles& files) {
  MessageOptions quiet = options.messages;
  quiet.suppress_warnings = true;
  quiet.pass_verbosity = {};
  TRY(std::optional<LoadedScripts> scripts, parse_scripts(options.script, options.target, quiet, files));
  CHECK(scripts);  // as the first time
  TRY(sema::Program program,
      begin_program(std::move(*scripts), options.script, options.program, quiet, options.passes.last == kElaborate, files));
  program.kernel_has_arena = nullptr;
  StepNames steps;
  if (!elaborate_program(program, world, options.program.symbol_modules, quiet, "", steps)) return std::optional<sema::Program>();
  return std::optional(std::move(program));
}

Result<std::unique_ptr<codegen::Translation>> translate_program(const sema::Program& program, const OutputOptions& output,
                                                                bool owned_records, const std::vector<pid_t>& processes,
                                                                const MessageOptions& messages, const std::string& print_after,
                                                                StepNames& steps) {
  const int verbosity = verbosity_of(kTranslate, messages);
  PassTimer timer(kTranslate, verbosity);
  Diagnostics refusals;
  codegen::Options options = codegen_options(processes, print_after);
  options.layout = layout_options(program, output, owned_records);
  options.diagnostics = &refusals;
  Result<std::unique_ptr<codegen::Translation>> translation = codegen::translate(program, options);
  if (report(refusals, messages, kTranslate, "translation")) return std::unique_ptr<codegen::Translation>();
  if (!translation.ok()) return std::move(translation).error();
  timer.done("translated to LLVM IR");
  note_steps((*translation)->timings(), verbosity, steps);
  return translation;
}

Result<codegen::CompiledScript> build_program(std::unique_ptr<codegen::Translation> translation, const MessageOptions& messages,
                                              StepNames& steps) {
  const int verbosity = verbosity_of(kBuild, messages);
  PassTimer timer(kBuild, verbosity);
  TRY(codegen::Compiled compiled, translation->build());
  const codegen::CompiledScript& script = compiled.script;
  timer.done(fmt::format("{} {} bytes for targets, {} for the controller, {} for the kernel",
                         compiled.from_cache ? "took from the cache" : "compiled", script.target.image.bytes.size(),
                         script.controller.image.bytes.size(), script.kernel.object.size()));
  note_steps(compiled.timings, verbosity, steps);
  return std::move(compiled.script);
}

}  // namespace spile::session
