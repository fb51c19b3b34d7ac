// getopt_long does what stap does: options and script arguments may be mixed, `--` ends the options, long names may be cut
// short.

#include "cli/command_line.h"

#include <errno.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <span>
#include <utility>

#include "base/diagnostics.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/text/terminal_text.h"
#include "cli/option_table.h"
#include "cli/rc_file.h"
#include "cli/read_options.h"
#include "cli/remote.h"
#include "editor/interactive.h"
#include "editor/language_server.h"
#include "runs/text/merge_streams.h"
#include "runs/text/presenter.h"
#include "verbs/terms/output_form.h"
#include "verbs/tracing/hist.h"
#include "verbs/tracing/report.h"
#include "verbs/verb.h"

namespace spile::cli {

namespace {

constexpr const char* kVersion = SPILE_VERSION;  // of project() in CMakeLists.txt

// Returns the options that verbs have beside those of option_table(), each name once.
std::vector<verbs::VerbOption> verb_options() {
  std::vector<verbs::VerbOption> all;
  for (const verbs::Verb& verb : verbs::verbs()) {
    for (const verbs::VerbOption& option : verb.options) {
      if (std::ranges::none_of(all, [&](const verbs::VerbOption& known) { return std::string_view(known.name) == option.name; }))
        all.push_back(option);
    }
  }
  return all;
}

void print_help() {
  print_to(stdout,
           "Traces running programs and the Linux kernel.\n"
           "Scripts are written in the SystemTap language; see spile(1).\n\n"
           "Usage: spile [OPTIONS] SCRIPT-FILE [ARGUMENTS]     (\"-\": standard input)\n"
           "       spile [OPTIONS] -e 'SCRIPT' [ARGUMENTS]\n"
           "       spile [OPTIONS] -l 'PROBE'\n");
  for (const verbs::Verb& verb : verbs::verbs()) print_to(stdout, "       spile [OPTIONS] {} {}\n", verb.name, verb.words);
  print_to(stdout, "\nVerbs (--script prints the script of those that make one):\n");
  for (const verbs::Verb& verb : verbs::verbs()) print_to(stdout, "  {:<27} {}\n", verb.name, verb.help);
  for (const verbs::VerbOption& option : verb_options())
    print_to(stdout, "  {:<27} {}\n",
             fmt::format("--{}{}{}", option.name, option.value ? " " : "", option.value ? option.value : ""), option.help);
  print_to(stdout, "\nOptions:\n");
  for (const OptionSpec& spec : option_table()) {
    std::string names = name_of(spec.letter, spec.name);
    if (spec.letter && spec.name) names += fmt::format(", --{}", spec.name);
    if (spec.takes == Takes::kMaybe) names += fmt::format("[={}]", spec.value);
    if (spec.takes == Takes::kValue) names += fmt::format(" {}", spec.value);
    print_to(stdout, "  {:<27} {}\n", names, spec.help);
  }
}

// What `spile VERB --help` prints; tools/document_verbs.py makes the verb's manual page of it.
void print_verb_help(const verbs::Verb& verb) {
  std::string help = verb.help;
  help[0] = static_cast<char>(toupper(static_cast<unsigned char>(help[0])));
  print_to(stdout, "Usage: spile [OPTIONS] {} {}\n\n{}.\n", verb.name, verb.words, help);
  if (verb.has_json || !verb.options.empty()) print_to(stdout, "\nOptions of {}:\n", verb.name);
  for (const verbs::VerbOption& option : verb.options)
    print_to(stdout, "  {:<27} {}\n",
             fmt::format("--{}{}{}", option.name, option.value ? " " : "", option.value ? option.value : ""), option.help);
  if (verb.has_json) print_to(stdout, "  {:<27} {}\n", "--json", "print JSON Lines");
  print_to(stdout,
           "\nOther options are those of spile --help, where they have a meaning for the verb; spile-{}(1) and docs/verbs.md say "
           "more.\n",
           verb.name);
}

Error no_option(const verbs::Verb& verb, const std::string& option) {
  return {fmt::format("spile {} has no option {}", verb.name, option), fmt::format("see spile {} --help", verb.name)};
}

// A verb that answers takes few options: others would be without effect, such as -x of report. Options of the rc file are for all
// commands.
Result<void> check_answer(const verbs::Verb& verb, const std::vector<std::string>& given) {
  constexpr std::string_view kOfAll[] = {"-v",
                                         "--vp",
                                         "-w",
                                         "--color",
                                         "--colour",
                                         "--download-debuginfo",
                                         "--disable-cache",
                                         "--poison-cache",
                                         "--rlimit-as",
                                         "--rlimit-cpu",
                                         "--rlimit-nproc",
                                         "--rlimit-stack",
                                         "--rlimit-fsize"};
  for (const std::string& option : given) {
    if (option == "--remote")
      return Error{
          fmt::format("spile {} can't be used with --remote: it looks at files and processes of this machine", verb.name),
          fmt::format("run it there: ssh HOST spile {} ...", verb.name)};
    if (std::ranges::find(kOfAll, option) == std::end(kOfAll) && std::ranges::find(verb.takes, option) == verb.takes.end())
      return no_option(verb, option);
  }
  return {};
}

// Makes the script that a verb and its words ask for.
Result<void> take_verb(const verbs::Verb& verb, const std::vector<std::string>& words, Reading& reading) {
  session::Options& options = reading.options;
  for (const auto& [name, value] : reading.verb_options) {
    const bool has = std::ranges::any_of(verb.options, [&](const verbs::VerbOption& option) { return name == option.name; });
    if (!has) return no_option(verb, "--" + name);
  }
  if (options.verb.json && !verb.has_json) return no_option(verb, "--json");
  // Only hist's script prints all by itself.
  if (!reading.remotes.empty() && !reading.shows_script && verb.make != verbs::make_hist)
    return Error{
        fmt::format("spile {} can't be used with --remote: it makes its output of what its script sends it here, and "
                    "looks names up here",
                    verb.name),
        fmt::format("run it there: ssh {} spile {} ...; a script can be used with --remote", reading.remotes.front(), verb.name)};
  if (!verb.checks_file && options.passes.last == 5 && !reading.shows_script) {
    TRY_DO(verbs::check_output_form(
        {.verb = verb.name, .files = verb.files, .has_page = verb.has_page, .has_json = verb.has_json, .json = options.verb.json},
        options.output.file));
    if (verbs::is_page(options.output.file)) reading.page_of = &verb;
  }
  TRY(verbs::VerbScript script,
      verb.make({{words.begin() + 1, words.end()}, reading.verb_options, reading.shows_script}, options));
  if (script.presenter && (options.output.bulk || options.output.flight_recorder))
    return Error{fmt::format("spile {} can't be used with {}: its output is made of all records together", verb.name,
                             options.output.bulk ? "-b" : "-F"),
                 {}};
  if (script.presenter && options.passes.last == 4 && !options.output.file.empty())
    return Error{fmt::format("spile {} can't be a bundle: its output is made by the verb, of the script's records", verb.name),
                 fmt::format("run it on that machine, or take its script: spile --script {} ...", verb.name)};
  if (script.sends_spans) options.output.otlp.clear();
  // What -p shows is the script's; a document has the script's records.
  if (options.passes.last == 5 && !options.output.record.is_on() && !reading.page_of)
    options.output.presenter = std::move(script.presenter);
  const std::string script_printer = fmt::format("spile --script {} ... prints the script, whose arrays can be made", verb.name);
  options.messages.verb = {verb.name, script.when_full.empty() ? script_printer + " larger" : std::move(script.when_full),
                           script.when_large.empty() ? script_printer + " smaller" : std::move(script.when_large)};
  options.script.text = std::move(script.text);
  // A hit whose values can't be read, as a pointer is null, is left out and counted, rather than that a run of days ends.
  script.limits.emplace_back("MAXERRORS=2147483647");
  // What the user says comes later, and holds.
  options.script.limits.insert(options.script.limits.begin(), script.limits.begin(), script.limits.end());
  return {};
}

// `spile record` comes before what is recorded, and before -e, as `spile -e SCRIPT record` gives the script an argument.
Result<bool> takes_record(std::vector<std::string>& words, std::span<char*> line, Reading& reading) {
  const auto is_script = [](std::string_view word) { return word.starts_with("-e"); };
  const auto text = std::ranges::find_if(line, is_script);
  const auto first = std::ranges::find(line, std::string_view("record"), [](const char* word) { return std::string_view(word); });
  if (words.empty() || words.front() != "record" || first > text) return false;
  TRY_DO(verbs::take_record(reading.options, reading.verb_options));
  if (reading.shows_script) return Error{"record has no option --script", "spile --script VERB ... prints a verb's script"};
  words.erase(words.begin());
  return true;
}

// A word that names no file may be a verb that is written otherwise.
Result<void> check_first_word(const std::string& word) {
  if (word == "-" || word.find_first_of("./") != std::string::npos || access(word.c_str(), F_OK) == 0 || errno != ENOENT)
    return {};
  std::vector<std::string> names;
  for (const verbs::Verb& verb : verbs::verbs()) names.emplace_back(verb.name);
  const std::string near = nearest_name(word, names);
  return Error{fmt::format("'{}' is neither a script file here nor a verb", word),
               near.empty() ? "spile --help lists the verbs; -e takes the text of a script"
                            : fmt::format("did you mean 'spile {}'?", near)};
}

// Rejects options that can't go together, and takes the rest of the line: the script file and its arguments.
Result<void> check_options(Reading& reading, std::vector<std::string> words) {
  session::Options& options = reading.options;
  bool listing = options.listing.what != session::Listing::kNone;
  bool has_text = options.script.text.has_value();
  bool lists_points =
      options.listing.what == session::Listing::kPoints || options.listing.what == session::Listing::kPointsAndVariables;
  if (listing && (has_text || (!options.script.additional_texts.empty() && !lists_points))) {
    return Error{
        has_text ? "a script can't be given together with -l, -L or --dump-..." : "-E can't be given together with --dump-...",
        has_text && lists_points ? "to list a script's own aliases, too, give it with -E" : ""};
  }
  bool taken_verb = false;
  const bool may_lack = reading.interactive || reading.language_server;
  if (!listing && !has_text) {
    if (words.empty() && options.script.additional_texts.empty() && !may_lack) {
      return Error{"a script must be specified", "name a file, or give a script with -e; see spile --help"};
    }
    const verbs::Verb* verb = words.empty() || may_lack ? nullptr : verbs::find_verb(words.front());
    taken_verb = verb != nullptr;
    if (words.empty()) {
      options.script.text = "";  // -E alone
    } else if (verb && verb->answer) {
      if (!reading.verb_options.empty()) return no_option(*verb, "--" + reading.verb_options.front().first);
      reading.asks = verb;
    } else if (verb && !verb->make) {
      return Error{"record stands once, before what is recorded", {}};
    } else if (verb) {
      TRY_DO(take_verb(*verb, words, reading));
      words.clear();
    } else {
      options.script.file = words.front();
      if (options.script.file.empty()) return Error{"the name of the script file is empty", {}};
      TRY_DO(check_first_word(options.script.file));
      words.erase(words.begin());
    }
  }
  if (!taken_verb && (reading.shows_script || !reading.verb_options.empty())) {
    return Error{fmt::format("--{} is an option of verbs", reading.shows_script ? "script" : reading.verb_options.front().first),
                 "as in spile hist or spile trace; see spile --help"};
  }
  options.script.arguments = std::move(words);
  options.output.record.arguments = options.script.arguments;
  if (!options.output.http.empty() || !options.output.otlp.empty()) options.program.is_recorded = true;
  if (!options.target.processes.empty()) options.target.workload = std::exchange(options.target.command, {});
  if (options.program.suppress_time_limits && !options.script.guru)
    return Error{"--suppress-time-limits needs guru mode (-g)", {}};
  if (options.script.privilege != "stapdev" && options.script.guru) {
    return Error{fmt::format("-g needs --privilege=stapdev, but it is {}", options.script.privilege), {}};
  }
  if (options.output.flight_recorder && !(options.target.command.empty() && options.target.workload.empty())) {
    return Error{"-F and -c can't be used together: a flight recorder runs in the background",
                 "start the program, then use -F -x PID"};
  }
  if (options.verb.json && !taken_verb && !listing && !reading.asks) {
    options.output.events = true;
    if (options.output.bulk)
      return Error{"--json and -b can't be used together: the streams of -b have the values", "leave out -b"};
  }
  if (!options.output.kafka.empty()) {
    const char* other = options.output.bulk            ? "-b"
                        : options.verb.json            ? "--json"
                        : !options.output.file.empty() ? "-o"
                        : options.output.in_memory()   ? "-F"
                                                       : nullptr;
    if (other)
      return Error{fmt::format("--kafka and {} can't be used together: what is printed goes to Kafka", other),
                   "spile record also stores it"};
    if (reading.asks || options.output.presenter)
      return Error{"--kafka is for scripts: what this verb prints is made of all events together",
                   taken_verb ? "spile --script VERB ... prints the script" : ""};
  }
  if (options.output.bulk && options.output.in_memory()) return Error{"-b together with -F needs -o", "add -o FILE"};
  if (options.output.bulk && options.output.rotate_bytes > 0)
    return Error{"-b and -S can't be used together", "-S limits the size of text files of -o"};
  if (options.output.rotate_bytes > 0 && options.output.file.empty())
    return Error{"-S needs -o", "-S limits the size of -o's files"};
  return {};
}

Result<int> answer(const verbs::Verb& verb, const session::Options& options) {
  TerminalGuard guard;
  const std::vector<std::string>& words = options.script.arguments;
  return verb.answer({words.begin() + 1, words.end()}, options);
}

Result<int> do_other(Reading& reading, const std::vector<std::string>& words) {
  const verbs::Verb* verb = words.empty() ? nullptr : verbs::find_verb(words.front());
  if (reading.help && verb) {
    print_verb_help(*verb);
  } else if (reading.help) {
    print_help();
  } else if (reading.version) {
    print_to(stdout,
             "spile {} (the language of SystemTap 5.2)\nCopyright the authors of spile. MIT license: there is NO WARRANTY.\n",
             kVersion);
  } else if (reading.merge) {
    if (words.empty()) return Error{"--merge needs the files that -b wrote", {}};
    return runs::merge_streams(words, reading.options.output.file);
  } else if (reading.flight_dump != 0) {
    return session::dump_flight_recorder(reading.flight_dump);
  } else {
    return session::clean_cache();
  }
  return 0;
}

Result<std::optional<int>> read(int argc, char** argv, Reading& reading, std::optional<verbs::RunPage>& page) {
  TRY(RcFile rc, read_rc_file());
  rc.words.insert(rc.words.begin(), argv[0]);
  auto of_rc = apply_options(rc.words, reading, verb_options());
  if (!of_rc.ok()) return std::move(of_rc).error().within(rc.path);
  std::vector<std::string> words = std::move(*of_rc);
  reading.given.clear();
  TRY(const std::vector<std::string> of_line, apply_options({argv, argv + argc}, reading, verb_options()));
  words.insert(words.end(), of_line.begin(), of_line.end());
  if (reading.no_process && reading.remotes.empty()) return *reading.no_process;
  show_warnings(!reading.options.messages.suppress_warnings);
  if (reading.help || reading.version || reading.merge || reading.flight_dump != 0 || reading.clean_cache) {
    TRY(int status, do_other(reading, words));
    return std::optional<int>(status);
  }
  TRY(const bool records, takes_record(words, {argv, argv + argc}, reading));
  TRY_DO(check_options(reading, std::move(words)));
  if (!records && reading.options.output.record.stream)
    return Error{"--stream is an option of spile record", "spile record --stream DESCRIPTOR SCRIPT"};
  if (records && (reading.asks || reading.interactive || reading.language_server || !reading.remotes.empty() ||
                  reading.options.passes.last < 5 || reading.options.listing.what != session::Listing::kNone))
    return Error{"record needs a script, or a verb that traces, that runs here", "spile record SCRIPT -x PID -o FILE.spile-run"};
  if (reading.asks) {
    TRY_DO(check_answer(*reading.asks, reading.given));
    TRY(int status, answer(*reading.asks, reading.options));
    return std::optional<int>(status);
  }
  if (reading.shows_script) {
    print_to(stdout, "{}", *reading.options.script.text);
    return std::optional<int>(0);
  }
  if (!reading.remotes.empty()) {
    TRY(int status, run_remotely(reading.remotes, reading.options, reading.processes));
    return std::optional<int>(status);
  }
  if (reading.page_of) {
    TRY(page, verbs::RunPage::begin(reading.options, reading.page_of->name));
  }
  if (reading.interactive) return std::optional<int>(editor::run_interactive(reading.options));
  if (reading.language_server) {
    return std::optional<int>(editor::run_language_server(reading.options, std::cin, std::cout));
  }
  return std::optional<int>();
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
  Reading reading;
  CommandLine line;
  auto leave = read(argc, argv, reading, line.page);
  if (leave.ok()) {
    line.leave = *leave;
  } else {
    line.leave = refuse(leave.error());
  }
  line.options = std::move(reading.options);
  return line;
}

}  // namespace spile::cli
