#include "session/bundle/bundle_run.h"

#include <fmt/format.h>

#include "base/messages.h"
#include "session/bundle/bundle_file.h"
#include "session/bundle/bundle_place.h"
#include "session/invocation/pass_timer.h"
#include "session/live/run_pass.h"

namespace spile::session {

namespace {

// Options that are a part of the bundle can't be given anew.
Result<void> check_options(const Options& options, const std::string& path) {
  auto fixed = [&](const char* option) {
    return Error{fmt::format("{} has no meaning for a bundle: {} is compiled", option, path), "give it when the bundle is made"};
  };
  const ScriptOptions& script = options.script;
  if (!script.arguments.empty()) return fixed("an argument of the script");
  if (!script.additional_texts.empty()) return fixed("-E");
  if (options.output.record.is_on())
    return Error{path + " can't be recorded: what a document needs is compiled in",
                 "record its script: spile record SCRIPT -o FILE"};
  if (!script.limits.empty()) return fixed("-D");
  if (script.guru) return fixed("-g");
  if (!options.program.global_values.empty()) return fixed("-G");
  if (options.program.time_probes) return fixed("-t");
  if (options.output.ring_megabytes != OutputOptions().ring_megabytes) return fixed("-s");
  if (options.target.runtime != Runtime::kAuto) return fixed("--runtime");
  return {};
}

Result<void> check_target(const Bundle& bundle, const TargetOptions& target, const std::string& path) {
  const bool has_target = !target.command.empty() || !target.processes.empty();
  if (bundle.has_target && !has_target)
    return Error{path + " probes the processes of -x or -c", "give either: spile BUNDLE -x PID"};
  if (!bundle.has_target && has_target)
    return Error{path + " was made without -x and -c, and probes all processes", "make it with -x or -c"};
  return {};
}

}  // namespace

Result<int> run_bundle(const std::string& path, const Options& options, const RunScript& compile) {
  TRY_DO(check_options(options, path));
  PassTimer timer(kRunPass, options.messages.verbosity());
  TRY(std::unique_ptr<Bundle> bundle, read_bundle(path));
  TRY_DO(check_target(*bundle, options.target, path));
  if (options.passes.last < kRunPass) return Error{fmt::format("{} is compiled: only pass 5 is left", path), ""};
  Result<probes::ModuleFiles> files = place_bundle(*bundle, options.target);
  if (!files.ok()) {
    if (!bundle->source.text) return files.error();
    if (!compile) return Error{files.error().message, "spile-run has no compiler: make a bundle for what is here, or use spile"};
    warn(fmt::format("{}; the bundle's script is compiled again for what is here", files.error().message));
    Options of_bundle = options;
    of_bundle.script = std::move(bundle->source);
    of_bundle.program = std::move(bundle->settings);
    return compile(of_bundle);
  }
  timer.done(fmt::format("read {}, made by spile {}", path, bundle->spile_version));
  TargetOptions target = options.target;
  if (target.time_limit_ns == 0) target.time_limit_ns = bundle->time_limit_ns;
  return run_program(
      {bundle->program, bundle->script, *files, bundle->features, bundle->module_name, !bundle->source.compatible.empty()},
      target, options.output, options.messages);
}

}  // namespace spile::session
