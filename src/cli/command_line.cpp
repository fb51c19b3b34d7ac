#include "cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>

namespace spile::cli {

namespace {

constexpr const char* kVersion = "spile 0.1.0";

// SystemTap's options that can have no meaning here, or that this version does not have: refused with a sentence rather
// than ignored.
const std::map<std::string, std::string> kRefused = {
    {"--use-server", "spile compiles in milliseconds where it runs; there is no compile server"},
    {"--use-server-on-error", "spile compiles in milliseconds where it runs; there is no compile server"},
    {"--list-servers", "spile compiles in milliseconds where it runs; there is no compile server"},
    {"--trust-servers", "spile compiles in milliseconds where it runs; there is no compile server"},
    {"--sign-module", "spile loads no kernel modules, so there is nothing to sign"},
    {"--modinfo", "spile loads no kernel modules"},
    {"-m", "spile makes no kernel module that could be named"},
    {"-B", "spile runs no kernel build"},
    {"-a", "spile compiles for the machine it runs on"},
    {"-r", "spile probes the running kernel only"},
    {"-F", "flight recorder mode is not part of this version"},
    {"-S", "output rotation is not part of this version; use -o with one file"},
    {"-b", "bulk mode is not part of this version"},
    {"-t", "per-probe timing is not part of this version"},
    {"-i", "interactive mode is not part of this version"},
};

void add_refused(CLI::App& app) {
  for (const auto& [name, reason] : kRefused) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [name = name, reason = reason](const std::vector<std::string>&) {
             throw CLI::ValidationError(name, "refused: " + reason);
           })
        ->expected(0, 1)
        ->group("");
  }
}

void add_script_options(CLI::App& app, session::Options& options) {
  app.add_option("-e", options.script_text, "run SCRIPT, given here")->type_name("SCRIPT");
  app.add_option("-E", options.additional_texts, "run SCRIPT in addition")->type_name("SCRIPT")->allow_extra_args(false);
  app.add_option_function<std::string>("-l", [&](const std::string& point) {
       options.listing = session::Listing::kPoints;
       options.listing_point = point;
     }, "list the probe points that PROBE stands for")->type_name("PROBE");
  app.add_option_function<std::string>("-L", [&](const std::string& point) {
       options.listing = session::Listing::kPointsAndVariables;
       options.listing_point = point;
     }, "list them with the variables that are available there")->type_name("PROBE");
  app.add_option("-I", options.library_folders, "look for tapset scripts in FOLDER too")->type_name("FOLDER")->allow_extra_args(false);
  app.add_option("-D", options.limits, "set a limit: MAXACTION, MAXNESTING, MAXSTRINGLEN, MAXMAPENTRIES, MAXERRORS, MAXSKIPPED")
      ->type_name("NAME=VALUE")->allow_extra_args(false);
  app.add_option("-G", options.global_values, "set the initial value of a global variable")->type_name("NAME=VALUE")->allow_extra_args(false);
  app.add_flag("-g", options.guru, "guru mode: allow embedded C and writing to the target");
  app.add_flag("-u", options.unoptimised, "do not leave out unused code");
  app.add_flag("-w", options.suppress_warnings, "no warnings");
}

void add_run_options(CLI::App& app, session::Options& options) {
  app.add_option("-c", options.command, "run COMMAND, probe it, and leave when it ends")->type_name("COMMAND");
  app.add_option("-x", options.target, "probe the running process PID, or filter on it by target()")->type_name("PID")
      ->check(CLI::PositiveNumber);
  app.add_option("-o", options.output_file, "write the script's output to FILE")->type_name("FILE");
  app.add_option("-s", options.ring_megabytes, "output buffer of each thread, in MiB")->type_name("MIB")->check(CLI::Range(1, 256));
  app.add_option_function<double>("-T", [&](double seconds) { options.time_limit_ns = static_cast<int64_t>(seconds * 1e9); },
                                  "leave after SECONDS")->type_name("SECONDS")->check(CLI::PositiveNumber);
  app.add_option("-p", options.last_pass, "stop after pass: 1 parse, 2 elaborate, 3 translate, 4 compile, 5 run")
      ->type_name("PASS")->check(CLI::Range(1, 5));
  app.add_flag("-v", options.verbosity, "more about what is done, once more for each -v");
  app.add_option("--print-after", options.print_after, "print the program after an elaboration pass")->type_name("NAME");
  const std::map<std::string, session::Runtime> runtimes = {{"auto", session::Runtime::kAuto},
                                                            {"inproc", session::Runtime::kInProcess},
                                                            {"dyninst", session::Runtime::kInProcess},
                                                            {"bpf", session::Runtime::kBpf}};
  app.add_option("--runtime", options.runtime, "where handlers run: auto, inproc (in the target), bpf (in the kernel)")
      ->transform(CLI::CheckedTransformer(runtimes, CLI::ignore_case))->type_name("MODE");
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
  CommandLine line;
  session::Options& options = line.options;
  CLI::App app("Finds out what running programs and kernels are doing.\n"
               "Scripts are written in the SystemTap language; see spile(1).\n\n"
               "  spile [OPTIONS] SCRIPT-FILE [ARGUMENTS]\n"
               "  spile [OPTIONS] -e 'SCRIPT' [ARGUMENTS]\n"
               "  spile [OPTIONS] -l 'PROBE'", "spile");
  app.set_version_flag("-V,--version", kVersion);
  add_script_options(app, options);
  add_run_options(app, options);
  add_refused(app);
  std::vector<std::string> positionals;
  app.add_option("SCRIPT-FILE", positionals, "the script (\"-\": standard input), then its arguments $1 @1 ...");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 tells --help and --version this way too, with status 0.
    line.leave = app.exit(error) == 0 ? 0 : 1;
    return line;
  }
  bool needs_file = !options.script_text && options.listing == session::Listing::kNone;
  if (needs_file && positionals.empty()) {
    fmt::print(stderr, "spile: no script: name a file, or give one with -e\n  hint: spile --help\n");
    line.leave = 1;
    return line;
  }
  if (needs_file) {
    options.script_file = positionals.front();
    positionals.erase(positionals.begin());
  }
  options.arguments = positionals;
  if (!options.command.empty() && options.target != 0) {
    fmt::print(stderr, "spile: -c and -x exclude each other\n");
    line.leave = 1;
  }
  return line;
}

}  // namespace spile::cli
