// The readable page: one call of spile from script text to exit status, pass by pass.

#include <fmt/format.h>

#include "base/diagnostics.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "runtime/bitcode.h"
#include "sema/program.h"
#include "session/limits.h"
#include "session/options.h"
#include "session/pass_timer.h"
#include "session/script_run.h"
#include "session/scripts.h"
#include "session/target_side.h"

namespace spile::session {

namespace {

constexpr int kParse = 1, kElaborate = 2, kTranslate = 3, kBuild = 4;

int refuse(const Error& error) {
  fmt::print(stderr, "spile: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "  hint: {}\n", error.hint);
  return 1;
}

// Prints what was diagnosed since the last call. True if the script can't go on.
bool tell(const Diagnostics& diagnostics, const Options& options, int pass, const char* what) {
  fmt::print(stderr, "{}", diagnostics.render(!options.suppress_warnings));
  if (!diagnostics.has_errors()) return false;
  fmt::print(stderr, "Pass {}: {} failed.\n", pass, what);
  return true;
}

Result<std::unique_ptr<probes::World>> open_world(const Options& options) {
  probes::WorldOptions world;
  if (!options.command.empty()) world.program = command_words(options.command).front();
  world.process = options.target;
  world.runtime = options.runtime == Runtime::kBpf         ? probes::Runtime::kBpf
                  : options.runtime == Runtime::kInProcess ? probes::Runtime::kInProcess
                                                           : probes::Runtime::kAuto;
  return probes::World::open(world);
}

Result<int> list_points(const Options& options) {
  SourceFiles files;
  Diagnostics diagnostics;
  const SourceFile& file = files.add("<" + std::string(options.listing == Listing::kPoints ? "-l" : "-L") + ">",
                                     "probe " + options.listing_point + " {}");
  syntax::Script script = syntax::parse(file, {}, diagnostics);
  if (tell(diagnostics, options, kParse, "parse")) return 1;
  TRY(auto world, open_world(options));
  size_t count = 0;
  for (const auto& probe : script.probes) {
    for (const syntax::ProbePoint& point : probe->points) {
      world->choose_runtime({&point});
      TRY(auto points, world->list(point, options.listing == Listing::kPointsAndVariables));
      for (const auto& listed : points) {
        std::string line = listed.text;
        for (const std::string& variable : listed.variables) line += " " + variable;
        fmt::print("{}\n", line);
        ++count;
      }
    }
  }
  return count > 0 ? 0 : 1;
}

Result<int> run_passes(const Options& options) {
  SourceFiles files;
  Diagnostics diagnostics;

  PassTimer parse_timer(1, options.verbosity);
  TRY(std::vector<syntax::Script> scripts, load_scripts(options, files, diagnostics));
  if (tell(diagnostics, options, kParse, "parse")) return 1;
  parse_timer.done(fmt::format("parsed user script and {} library scripts", scripts.size() - 1));
  if (options.last_pass == kParse) {
    fmt::print("# parse tree dump\n{}", syntax::to_source(scripts.front()));
    return 0;
  }

  PassTimer elaborate_timer(2, options.verbosity);
  sema::Program program;
  program.scripts = std::move(scripts);
  TRY_DO(apply_settings(options, program));
  program.describe_points = options.last_pass == kElaborate;
  TRY(auto world, open_world(options));
  std::vector<const syntax::ProbePoint*> points;
  for (const auto& probe : program.scripts.front().probes) {
    for (const syntax::ProbePoint& point : probe->points) points.push_back(&point);
  }
  world->choose_runtime(points);
  Diagnostics findings;
  std::vector<sema::PassTiming> timings = sema::elaborate(program, *world, findings, options.print_after);
  if (tell(findings, options, kElaborate, "analysis")) return 1;
  size_t functions = program.functions.size(), globals = program.globals.size(), places = 0;
  for (const sema::Probe& probe : program.probes) places += probe.points.size();
  elaborate_timer.done(fmt::format("analyzed script: {} probes, {} functions, {} globals", places, functions, globals));
  if (options.verbosity > 1) {
    for (const sema::PassTiming& timing : timings) fmt::print(stderr, "  {:<22} {:>8} us\n", timing.name, timing.real_us);
  }
  if (options.last_pass == kElaborate) {
    fmt::print("{}", sema::to_text(program));
    return 0;
  }
  // From here on, every expression has a type, every probe its sites and every $variable its place.

  PassTimer translate_timer(options.last_pass == kTranslate ? 3 : 4, options.verbosity);
  codegen::Options codegen_options;
  codegen_options.native_bitcode = rt::native_bitcode();
  codegen_options.bpf_bitcode = rt::bpf_bitcode();
  codegen_options.layout.ring_size = options.ring_megabytes << 20;
  codegen_options.emit_ir_only = options.last_pass == kTranslate;
  codegen_options.print_after = options.print_after;
  TRY(codegen::Compiled compiled, codegen::compile(program, codegen_options));
  if (options.last_pass == kTranslate) {
    translate_timer.done("translated to LLVM IR");
    fmt::print("{}", compiled.ir);
    return 0;
  }
  const codegen::CompiledScript& script = compiled.script;
  translate_timer.done(fmt::format("compiled {} bytes for targets, {} for the controller, {} for the kernel",
                                   script.target.image.bytes.size(), script.controller.image.bytes.size(),
                                   script.kernel.object.size()));
  if (options.verbosity > 1) {
    for (const sema::PassTiming& timing : compiled.timings) fmt::print(stderr, "  {:<22} {:>8} us\n", timing.name, timing.real_us);
  }
  if (options.last_pass == kBuild) return 0;

  return run_script(program, script, options);
}

}  // namespace

int run(const Options& options) {
  Result<int> status = options.listing != Listing::kNone ? list_points(options) : run_passes(options);
  fflush(stdout);
  return status.ok() ? *status : refuse(status.error());
}

}  // namespace spile::session
