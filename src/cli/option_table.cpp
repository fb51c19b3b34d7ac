#include "cli/option_table.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/processes/proc.h"
#include "runs/run/run_stream.h"

namespace spile::cli {

namespace {

using session::Listing;
using session::MessageOptions;
using session::Options;
using session::OutputOptions;
using session::PassOptions;
using session::ProgramOptions;
using session::ScriptOptions;
using session::TargetOptions;
using session::VerbOptions;

Result<int64_t> number(const std::string& text, int64_t least, int64_t most, const char* what) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return Error{fmt::format("invalid {} '{}' (should be {}-{})", what, text, least, most), {}};
  }
  return value;
}

bool is_identifier(std::string_view text) {
  if (text.empty() || isdigit(static_cast<unsigned char>(text[0]))) return false;
  for (char c : text) {
    if (!isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return true;
}

// NAME or NAME=VALUE, as -D and -G take them.
Result<void> check_setting(const char* option, const std::string& setting, bool needs_value) {
  size_t equals = setting.find('=');
  if (!is_identifier(setting.substr(0, equals)) || (needs_value && equals == std::string::npos)) {
    return Error{fmt::format("invalid {} parameter '{}'", option, setting), fmt::format("{} NAME=VALUE", option)};
  }
  return {};
}

template <auto Part, auto Field, bool Value = true>
Result<void> set(Reading& reading, const std::string&) {
  reading.options.*Part.*Field = Value;
  return {};
}

template <auto Part, auto Field>
Result<void> take(Reading& reading, const std::string& value) {
  reading.options.*Part.*Field = value;
  return {};
}

// Accepted without effect: what it asks for is always so here.
Result<void> always(Reading&, const std::string&) { return {}; }

Result<void> take_script(Reading& reading, const std::string& value) {
  if (reading.options.script.text) return Error{"only one script can be given with -e", "add more with -E"};
  reading.options.script.text = value;
  return {};
}

template <Listing Kind>
Result<void> take_listing(Reading& reading, const std::string& value) {
  if (reading.options.listing.what != Listing::kNone) {
    return Error{"only one of -l, -L and --dump-... can be given, and only once", {}};
  }
  reading.options.listing.what = Kind;
  reading.options.listing.point = value;
  return {};
}

Result<void> take_pass(Reading& reading, const std::string& value) {
  TRY(int64_t pass, number(value, 1, 5, "pass number"));
  reading.options.passes.last = static_cast<int>(pass);
  return {};
}

Result<void> more_verbose(Reading& reading, const std::string&) {
  for (int& verbosity : reading.options.messages.pass_verbosity) ++verbosity;
  return {};
}

Result<void> take_verbosities(Reading& reading, const std::string& value) {
  if (value.empty() || value.size() > 5 || value.find_first_not_of("0123456789") != std::string::npos) {
    return Error{fmt::format("invalid --vp argument '{}'", value), "give one digit for each pass, at most five: --vp 00001"};
  }
  for (size_t i = 0; i < value.size(); ++i) reading.options.messages.pass_verbosity[i] += value[i] - '0';
  return {};
}

Result<void> take_limit(Reading& reading, const std::string& value) {
  TRY_DO(check_setting("-D", value, false));
  reading.options.script.limits.push_back(value);
  return {};
}

Result<void> take_global(Reading& reading, const std::string& value) {
  TRY_DO(check_setting("-G", value, true));
  reading.options.program.global_values.push_back(value);
  return {};
}

Result<void> take_process(Reading& reading, const std::string& value) {
  // Several numbers, as `pidof` prints them within quotes.
  constexpr char kBetween[] = " ,\n\t";
  if (value.find_first_not_of("0123456789 ,\n\t") == value.npos && value.find_first_of(kBetween) != value.npos) {
    for (size_t begin = 0; (begin = value.find_first_not_of(kBetween, begin)) != value.npos;) {
      const size_t end = std::min(value.find_first_of(kBetween, begin), value.size());
      TRY_DO(take_process(reading, value.substr(begin, end - begin)));
      begin = end;
    }
    return {};
  }
  std::vector<pid_t> wanted;
  const bool is_option = value.size() > 1 && value[0] == '-' && value.find_first_not_of("0123456789", 1) != std::string::npos;
  if (is_option && processes_named(value).empty())
    return Error{fmt::format("the value of -x is missing: '{}' stands there", value),
                 "-x takes process IDs, or the name of a program; pidof prints nothing where the program does not run"};
  if (value.find_first_not_of("0123456789-+ ") != std::string::npos) {
    wanted = processes_named(value);
    if (wanted.empty() && !reading.no_process)
      reading.no_process =
          Error{fmt::format("no process is called '{}'", value),
                geteuid() == 0 ? "-x takes a process ID, or the name of a program; to see the programs of other users, root "
                                 "needs CAP_SYS_PTRACE, which a container may lack"
                               : "-x takes a process ID, or the name of a program; processes of other users need root"};
  } else {
    auto pid = number(value, 1, INT32_MAX, "process ID");
    if (!pid.ok()) return Error{fmt::format("invalid target process ID number '{}'", value), {}};
    wanted.push_back(static_cast<pid_t>(*pid));
    if (::kill(wanted.front(), 0) != 0 && errno == ESRCH && !reading.no_process)
      reading.no_process =
          Error{fmt::format("no process has the ID {}", *pid),
                reading.processes.empty() ? "" : "numbers behind -x are processes; arguments of a script stand behind --"};
  }
  reading.processes.push_back(value);
  std::vector<pid_t>& processes = reading.options.target.processes;
  for (pid_t pid : wanted) {
    if (std::find(processes.begin(), processes.end(), pid) == processes.end()) processes.push_back(pid);
  }
  return {};
}

Result<void> take_buffer(Reading& reading, const std::string& value) {
  TRY(int64_t megabytes, number(value, 1, 1024, "buffer size"));
  reading.options.output.ring_megabytes = static_cast<uint32_t>(megabytes);
  return {};
}

Result<void> take_rotation(Reading& reading, const std::string& value) {
  size_t comma = value.find(',');
  auto size = number(value.substr(0, comma), 1, 1 << 20, "size");
  if (!size.ok()) return Error{fmt::format("invalid file size option argument '{}'", value), "-S MEGABYTES[,FILES]"};
  reading.options.output.rotate_bytes = static_cast<uint64_t>(*size) << 20;
  if (comma == std::string::npos) return {};
  auto files = number(value.substr(comma + 1), 1, 1 << 20, "number of files");
  if (!files.ok()) return Error{fmt::format("invalid file size option argument '{}'", value), "-S MEGABYTES[,FILES]"};
  reading.options.output.rotate_files = static_cast<uint32_t>(*files);
  return {};
}

Result<void> take_seconds(Reading& reading, const std::string& value) {
  char* end = nullptr;
  double seconds = strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(seconds > 0) || seconds > 1e9) {
    return Error{fmt::format("invalid timeout '{}'", value), "-T SECONDS, greater than 0"};
  }
  reading.options.target.time_limit_ns = std::llround(seconds * 1e9);
  return {};
}

Result<void> take_runtime(Reading& reading, const std::string& value) {
  if (value == "auto") {
    reading.options.target.runtime = session::Runtime::kAuto;
  } else if (value == "inproc" || value == "dyninst") {
    reading.options.target.runtime = session::Runtime::kInProcess;
  } else if (value == "bpf" || value == "kernel") {
    reading.options.target.runtime = session::Runtime::kBpf;
  } else {
    return Error{fmt::format("invalid runtime '{}'", value), "auto, inproc (or dyninst), bpf (or kernel)"};
  }
  return {};
}

Result<void> take_architecture(Reading&, const std::string& value) {
  utsname system;
  uname(&system);
  if (value == system.machine) return {};
  return Error{fmt::format("-a {}: spile compiles for the machine that it runs on, which is {}", value, system.machine), {}};
}

Result<void> take_release(Reading&, const std::string& value) {
  utsname system;
  uname(&system);
  if (value == system.release) return {};
  return Error{fmt::format("-r {}: spile probes only the running kernel, which is {}", value, system.release), {}};
}

Result<void> take_module_name(Reading& reading, const std::string& value) {
  std::string name = value.ends_with(".ko") ? value.substr(0, value.size() - 3) : value;
  if (name.empty() || name.size() > 63 ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != std::string::npos) {
    return Error{fmt::format("invalid module name '{}' (must only be composed of characters [_a-zA-Z0-9])", value), {}};
  }
  reading.options.script.module_name = name;
  return {};
}

Result<void> take_folder(Reading& reading, const std::string& value) {
  reading.options.script.library_folders.push_back(value);
  return {};
}

Result<void> take_text(Reading& reading, const std::string& value) {
  reading.options.script.additional_texts.push_back(value);
  return {};
}

Result<void> take_symbols(Reading& reading, const std::string& value) {
  if (value.empty()) return Error{"-d needs the name of a module or the path of a program", {}};
  reading.options.program.symbol_modules.push_back(value);
  return {};
}

Result<void> take_color(Reading& reading, const std::string& value) {
  if (value.empty() || value == "always") {
    reading.options.messages.color = session::Color::kAlways;
  } else if (value == "auto") {
    reading.options.messages.color = session::Color::kAuto;
  } else if (value == "never") {
    reading.options.messages.color = session::Color::kNever;
  } else {
    return Error{fmt::format("invalid argument '{}' for --color", value), "auto, always or never"};
  }
  return {};
}

Result<void> take_children(Reading& reading, const std::string& value) {
  if (!value.empty() && value != "yes" && value != "no")
    return Error{fmt::format("invalid argument '{}' for --children", value), "yes or no"};
  reading.options.target.children = value != "no";
  return {};
}

Result<void> take_prologue(Reading&, const std::string& value) {
  if (value.empty() || value == "never" || value == "always" || value == "auto") return {};
  return Error{fmt::format("invalid argument '{}' for --prologue-searching", value), "never, always or auto"};
}

Result<void> take_compatible(Reading& reading, const std::string& value) {
  if (value.empty() || value.find_first_not_of("0123456789.") != std::string::npos || value.front() == '.' ||
      value.back() == '.') {
    return Error{fmt::format("invalid version '{}' for --compatible", value), "as in --compatible=4.8"};
  }
  reading.options.script.compatible = value;
  return {};
}

Result<void> take_privilege(Reading& reading, const std::string& value) {
  for (const char* known : {"stapdev", "stapsys", "stapusr"}) {
    if (strcasecmp(value.c_str(), known) == 0) {
      reading.options.script.privilege = known;
      return {};
    }
  }
  return Error{fmt::format("invalid argument '{}' for --privilege", value), "stapusr, stapsys or stapdev"};
}

Result<void> be_unprivileged(Reading& reading, const std::string&) { return take_privilege(reading, "stapusr"); }

Result<void> take_debuginfo(Reading& reading, const std::string& value) {
  using When = session::DownloadOptions::When;
  session::DownloadOptions& download = reading.options.target.download;
  download = {.when = value == "no" ? When::kNever : value == "ask" ? When::kAsk : When::kAlways};
  if (value.empty() || value == "yes" || value == "no" || value == "ask") return {};
  auto seconds = number(value, 1, 1'000'000, "timeout");
  if (!seconds.ok())
    return Error{fmt::format("invalid argument '{}' for --download-debuginfo", value), "yes, no, ask, or a timeout in seconds"};
  download.seconds = *seconds;
  return {};
}

Result<void> take_remote(Reading& reading, const std::string& value) {
  if (value.starts_with('-')) return Error{fmt::format("invalid host '{}' for --remote", value), "[USER@]HOST, as ssh takes it"};
  reading.remotes.push_back(value);
  return {};
}

Result<void> disable_cache(Reading&, const std::string&) {
  setenv("SPILE_NO_CACHE", "1", 1);
  return {};
}

template <__rlimit_resource Resource>
Result<void> limit(Reading&, const std::string& value) {
  TRY(int64_t most, number(value, 0, INT64_MAX, "resource limit"));
  rlimit limits;
  getrlimit(Resource, &limits);
  limits.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(most), limits.rlim_max);
  setrlimit(Resource, &limits);
  return {};
}

Result<void> take_flight_dump(Reading& reading, const std::string& value) {
  TRY(int64_t pid, number(value, 1, INT32_MAX, "process ID"));
  reading.flight_dump = static_cast<pid_t>(pid);
  return {};
}

// At once, so that whatever is said from here on goes there.
Result<void> take_stream(Reading& reading, const std::string& value) {
  TRY(const int64_t descriptor, number(value, 3, INT32_MAX, "descriptor"));
  TRY(reading.options.output.record.stream, runs::RunStream::open(static_cast<int>(descriptor)));
  return {};
}

template <bool Reading::* Field>
Result<void> ask(Reading& reading, const std::string&) {
  reading.*Field = true;
  return {};
}

constexpr OptionSpec kOptions[] = {
    {'h', "help", Takes::kNothing, "", "show this summary; spile VERB --help that of a verb", ask<&Reading::help>},
    {'V', "version", Takes::kNothing, "", "show the version", ask<&Reading::version>},
    {'e', nullptr, Takes::kValue, "SCRIPT", "run SCRIPT, the text of a script", take_script},
    {'E', nullptr, Takes::kValue, "SCRIPT", "run SCRIPT in addition to the main one", take_text},
    {'l', nullptr, Takes::kValue, "PROBE", "list the probe points that match PROBE", take_listing<Listing::kPoints>},
    {'L', nullptr, Takes::kValue, "PROBE", "list them with the variables available at each",
     take_listing<Listing::kPointsAndVariables>},
    {0, "dump-probe-types", Takes::kNothing, "", "list the kinds of probe points", take_listing<Listing::kProbeTypes>},
    {0, "dump-probe-aliases", Takes::kNothing, "", "list the probe aliases of the library", take_listing<Listing::kProbeAliases>},
    {0, "dump-functions", Takes::kNothing, "", "list the functions of the library", take_listing<Listing::kFunctions>},
    {'c', nullptr, Takes::kValue, "COMMAND", "run COMMAND, probe it, and exit when it ends",
     take<&Options::target, &TargetOptions::command>, true},
    {'x', nullptr, Takes::kValue, "PID",
     "probe the running process PID, or those of a program's name; target() returns the first PID", take_process},
    {0, "children", Takes::kMaybe, "WHETHER", "with -x, also probe children that are already running: yes (the default) or no",
     take_children},
    {0, "no-children", Takes::kNothing, "", "the same as --children=no", set<&Options::target, &TargetOptions::children, false>},
    {'T', nullptr, Takes::kValue, "SECONDS", "exit after SECONDS", take_seconds},
    {'I', nullptr, Takes::kValue, "FOLDER", "look for tapset scripts in FOLDER too", take_folder},
    {'D', nullptr, Takes::kValue, "NAME=VALUE", "set a limit, such as MAXACTION, MAXSTRINGLEN, MAXMAPENTRIES", take_limit},
    {'G', nullptr, Takes::kValue, "NAME=VALUE", "set the initial value of a global variable", take_global},
    {'g', nullptr, Takes::kNothing, "", "guru mode: allow embedded C and writing to the target",
     set<&Options::script, &ScriptOptions::guru>},
    {'u', nullptr, Takes::kNothing, "", "keep unused code", set<&Options::program, &ProgramOptions::unoptimized>},
    {'w', nullptr, Takes::kNothing, "", "suppress warnings", set<&Options::messages, &MessageOptions::suppress_warnings>},
    {'W', nullptr, Takes::kNothing, "", "treat warnings as errors",
     set<&Options::messages, &MessageOptions::warnings_are_errors>},
    {'p', nullptr, Takes::kValue, "PASS", "stop after pass: 1 parse, 2 elaborate, 3 translate, 4 compile, 5 run", take_pass},
    {'v', nullptr, Takes::kNothing, "", "print more about each pass; may be repeated", more_verbose},
    {0, "vp", Takes::kValue, "DIGITS", "the verbosity of each pass, as in --vp 00012", take_verbosities},
    {0, "script", Takes::kNothing, "", "print the script that a verb makes, and do not run it", ask<&Reading::shows_script>},
    {'t', nullptr, Takes::kNothing, "", "report at the end how often each probe was hit and how long it took",
     set<&Options::program, &ProgramOptions::time_probes>},
    {'k', nullptr, Takes::kNothing, "", "keep the files of the passes, in a temporary folder",
     set<&Options::passes, &PassOptions::keep>},
    {0, "tmpdir", Takes::kValue, "FOLDER", "put the files of -k into FOLDER", take<&Options::passes, &PassOptions::folder>, true},
    {'m', nullptr, Takes::kValue, "NAME", "set the session's name, for module_name() and the files of -k", take_module_name},
    {'o', nullptr, Takes::kValue, "FILE", "write the output to FILE; % conversions of strftime(3) are replaced",
     take<&Options::output, &OutputOptions::file>, true},
    {'S', nullptr, Takes::kValue, "MIB[,N]", "start a new file after MIB; keep the last N files", take_rotation},
    {'s', nullptr, Takes::kValue, "MIB", "the size of each thread's output buffer", take_buffer},
    {'b', nullptr, Takes::kNothing, "", "bulk mode: write a binary file for each thread; see --merge",
     set<&Options::output, &OutputOptions::bulk>},
    {0, "merge", Takes::kNothing, "", "print the FILEs written by -b as text, in order of time", ask<&Reading::merge>},
    {0, "http", Takes::kValue, "[ADDR:]PORT", "serve procfs files, or globals as metrics, over HTTP, on the loopback interface",
     take<&Options::output, &OutputOptions::http>, true},
    {0, "otlp", Takes::kValue, "URL[,SECONDS]",
     "send globals as metrics to a collector of OpenTelemetry, every 10 s; of trace and snap calls as spans",
     take<&Options::output, &OutputOptions::otlp>, true},
    {0, "kafka", Takes::kValue, "BROKERS/TOPIC", "send what the script prints to Kafka, a record for each event",
     take<&Options::output, &OutputOptions::kafka>, true},
    {'F', nullptr, Takes::kNothing, "", "flight recorder: run in the background, keep the last output",
     set<&Options::output, &OutputOptions::flight_recorder>},
    {0, "stream", Takes::kValue, "DESCRIPTOR", "record: hand the run over on an open socket while it runs, as libspile asks for",
     take_stream, true},
    {0, "flight-dump", Takes::kValue, "PID", "print what the flight recorder PID holds", take_flight_dump},
    {0, "runtime", Takes::kValue, "MODE",
     "where handlers run: auto, inproc or dyninst (in the target), bpf or kernel (in the kernel)", take_runtime},
    {0, "dyninst", Takes::kNothing, "", "the same as --runtime=inproc",
     [](Reading& r, const std::string&) { return take_runtime(r, "inproc"); }},
    {0, "bpf", Takes::kNothing, "", "the same as --runtime=bpf",
     [](Reading& r, const std::string&) { return take_runtime(r, "bpf"); }},
    {'d', nullptr, Takes::kValue, "MODULE", "name addresses in MODULE; spile does so for all modules", take_symbols},
    {0, "ldd", Takes::kNothing, "", "name addresses in libraries of the traced programs; no effect, always on", always},
    {0, "all-modules", Takes::kNothing, "", "name addresses in all kernel modules; no effect, always on", always},
    {0, "skip-badvars", Takes::kNothing, "", "variables that can't be found are 0",
     set<&Options::program, &ProgramOptions::skip_bad_variables>},
    {'P', nullptr, Takes::kNothing, "", "read parameters after a function's prologue; no effect", always},
    {0, "prologue-searching", Takes::kMaybe, "WHEN", "as -P, but never, always or auto; no effect", take_prologue},
    {0, "no-global-var-display", Takes::kNothing, "", "do not print unread globals at the end",
     set<&Options::program, &ProgramOptions::display_globals, false>},
    {0, "suppress-handler-errors", Takes::kNothing, "", "continue after run-time errors; each ends only its handler",
     set<&Options::messages, &MessageOptions::suppress_handler_errors>},
    {0, "suppress-time-limits", Takes::kNothing, "", "lift the limit MAXACTION (needs -g)",
     set<&Options::program, &ProgramOptions::suppress_time_limits>},
    {0, "compatible", Takes::kValue, "VERSION", "read scripts as SystemTap VERSION did", take_compatible},
    {0, "check-version", Takes::kNothing, "", "accepted without effect: there is one version of the language", always},
    {0, "privilege", Takes::kValue, "LEVEL", "allow only what members of stapusr, stapsys or stapdev may do", take_privilege},
    {0, "unprivileged", Takes::kNothing, "", "the same as --privilege=stapusr", be_unprivileged},
    {0, "color", Takes::kMaybe, "WHEN", "color messages: auto, always, never", take_color},
    {0, "colour", Takes::kMaybe, "WHEN", "the same as --color", take_color},
    {0, "remote", Takes::kValue, "[USER@]HOST", "run the script on another machine, by ssh; may be repeated", take_remote, true},
    {0, "remote-prefix", Takes::kNothing, "", "put the machine's name before each line of --remote; it is always there", always},
    {0, "json", Takes::kNothing, "", "print JSON Lines: what a script prints, lists, tables of verbs",
     set<&Options::verb, &VerbOptions::json>},
    {0, "lib", Takes::kValue, "PATTERN", "of verbs that ask: look in the program's libraries that match",
     take<&Options::verb, &VerbOptions::library>, true},
    {0, "source", Takes::kValue, "FOLDER", "of lines: where source files are", take<&Options::verb, &VerbOptions::source_folder>,
     true},
    {0, "range", Takes::kNothing, "", "of vars: the lines on which each variable can be read",
     set<&Options::verb, &VerbOptions::ranges>},
    {0, "csv", Takes::kNothing, "", "of report: print CSV", set<&Options::verb, &VerbOptions::csv>},
    {0, "folded", Takes::kNothing, "", "of report: print the folded stacks of samples",
     set<&Options::verb, &VerbOptions::folded>},
    {0, "html", Takes::kValue, "FILE", "of report: write a page that works offline", take<&Options::verb, &VerbOptions::html>,
     true},
    {0, "perfetto", Takes::kValue, "FILE", "of report: write a trace for Perfetto", take<&Options::verb, &VerbOptions::perfetto>,
     true},
    {0, "globals", Takes::kNothing, "", "of vars: the variables of the function's source file, too",
     set<&Options::verb, &VerbOptions::globals>},
    {0, "download-debuginfo", Takes::kMaybe, "WHEN", "ask debuginfod servers: yes, no, ask, or a timeout", take_debuginfo},
    {0, "disable-cache", Takes::kNothing, "", "do not use ~/.cache/spile", disable_cache},
    {0, "poison-cache", Takes::kNothing, "", "the same as --disable-cache", disable_cache},
    {'i', "interactive", Takes::kNothing, "", "build a script line by line and run it; type help there",
     ask<&Reading::interactive>},
    {0, "language-server", Takes::kNothing, "", "serve an editor (LSP) on standard input and output",
     ask<&Reading::language_server>},
    {0, "clean-cache", Takes::kNothing, "", "empty ~/.cache/spile and exit", ask<&Reading::clean_cache>},
    {'a', nullptr, Takes::kValue, "ARCH", "the architecture; must be that of this machine", take_architecture},
    {'r', nullptr, Takes::kValue, "RELEASE", "the kernel release; must be that of the running kernel", take_release},
    {0, "rlimit-as", Takes::kValue, "BYTES", "limit spile's own memory", limit<RLIMIT_AS>},
    {0, "rlimit-cpu", Takes::kValue, "SECONDS", "limit spile's processor time", limit<RLIMIT_CPU>},
    {0, "rlimit-nproc", Takes::kValue, "NUMBER", "limit the number of processes of spile's user", limit<RLIMIT_NPROC>},
    {0, "rlimit-stack", Takes::kValue, "BYTES", "limit spile's stack", limit<RLIMIT_STACK>},
    {0, "rlimit-fsize", Takes::kValue, "BYTES", "limit the size of files that spile writes", limit<RLIMIT_FSIZE>},
    {0, "print-after", Takes::kValue, "NAME", "print the program after the step NAME of a pass",
     take<&Options::passes, &PassOptions::print_after>},
};

constexpr const char* kNoServer = "spile compiles in milliseconds where it runs; there is no compile server";
constexpr const char* kNoModule = "spile makes no kernel modules";
constexpr RefusedOption kRefused[] = {
    {0, "use-server", true, kNoServer},
    {0, "use-http-server", true, kNoServer},
    {0, "use-server-on-error", true, kNoServer},
    {0, "list-servers", true, kNoServer},
    {0, "trust-servers", true, kNoServer},
    {0, "build-as", true, kNoServer},
    {0, "sign-module", true, "spile makes no kernel modules, so there is nothing to sign"},
    {0, "modinfo", true, kNoModule},
    {0, "save-uprobes", false, "spile needs no uprobes module"},
    {0, "sysroot", true, "spile traces the system that it runs on"},
    {0, "sysenv", true, "spile traces the system that it runs on"},
    {0, "kelf", false, "the kernel's symbols are read from /proc/kallsyms"},
    {0, "kmap", true, "the kernel's symbols are read from /proc/kallsyms"},
    {0, "benchmark-sdt-loops", true, "the benchmarks are in bench/ of the sources"},
    {0, "benchmark-sdt-threads", true, "the benchmarks are in bench/ of the sources"},
    {0, "example", true, "the scripts are in share/doc/spile/examples: name one by its path"},
    {0, "monitor", true, "there is no monitor screen; a timer.s(1) probe with ansi_clear_screen() shows values as they change"},
    {'B', nullptr, true, "spile runs no kernel build"},
    {'R', nullptr, true, "the runtime is built into spile"},
    {'q', nullptr, false, "spile makes no compatibility builds"},
};

}  // namespace

std::span<const OptionSpec> option_table() { return kOptions; }
std::span<const RefusedOption> refused_options() { return kRefused; }

}  // namespace spile::cli
