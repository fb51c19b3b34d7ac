// spile list: what is armed now, in which processes, by which spile, since when, and how often it was hit.
//
// Names, command lines and answers are other processes' texts: they are escaped and cut here, also where no terminal is.

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pwd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/messages.h"
#include "base/print.h"
#include "base/processes/proc.h"
#include "base/text/number_text.h"
#include "base/text/terminal_text.h"
#include "session/serve/running_sessions.h"
#include "verbs/asking/asking_verbs.h"
#include "verbs/tables/table.h"
#include "verbs/terms/json_lines.h"

namespace spile::verbs {

namespace {

using session::ArmedNow;
using session::OtherProcess;
using session::ProbeStatus;
using session::ProcessFacts;
using session::RunningSession;

constexpr size_t kMostNamed = 8;  // processes in one line

std::string user_name(uid_t uid) {
  const passwd* entry = getpwuid(uid);
  return entry ? entry->pw_name : fmt::format("{}", uid);
}

// A word as a shell would need it, so that it can be copied.
std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() &&
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%") == std::string::npos;
  if (plain) return word;
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

std::string age_text(int64_t seconds) {
  constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds < kMinute) return fmt::format("{} s", std::max<int64_t>(seconds, 0));
  if (seconds < kHour) return fmt::format("{} min {} s", seconds / kMinute, seconds % kMinute);
  if (seconds < kDay) return fmt::format("{} h {} min", seconds / kHour, seconds % kHour / kMinute);
  return fmt::format("{} d {} h", seconds / kDay, seconds % kDay / kHour);
}

std::string time_text(int64_t seconds) {
  const time_t when = seconds;
  tm local{};
  return localtime_r(&when, &local) ? fmt::format("{:%Y-%m-%d %H:%M:%S}", local) : "?";
}

std::string process_text(const ProcessFacts& process) { return fmt::format("{} ({})", process.pid, one_line(process.name, 64)); }

std::string processes_text(const std::vector<ProcessFacts>& processes, uint64_t left_out) {
  std::string text;
  for (size_t i = 0; i < std::min(processes.size(), kMostNamed); ++i) text += (i ? ", " : "") + process_text(processes[i]);
  const uint64_t more = left_out + (processes.size() - std::min(processes.size(), kMostNamed));
  return more ? fmt::format("{} and {} more", text, more) : text;
}

// ---- text

void print_probes(const session::SessionStatus& status, size_t width) {
  if (status.probes.empty()) return print_to(stdout, "  nothing but begin and end probes\n");
  print_to(stdout, "  {:>12}  {:<7}  {}\n", "HITS", "WHERE", "PROBE");
  for (const ProbeStatus& probe : status.probes) {
    const std::string hits = probe.hits ? fmt::format("{}", *probe.hits) : "?";
    const std::string places = probe.places == 1 ? "" : fmt::format("  ({} places)", probe.places);
    const std::string source = probe.source.empty() ? "" : "  " + one_line(probe.source, 80);
    print_to(stdout, "  {:>12}  {:<7}  {}{}{}\n", hits, one_line(probe.runs_in, 7),
             one_line(probe.point, std::max<size_t>(width > 60 ? width - 60 : 40, 40)), places, source);
  }
  if (status.probes_left_out) print_to(stdout, "  and {} more probes\n", status.probes_left_out);
}

void print_kernel(const RunningSession& session) {
  const bool in_kernel = session.status && std::ranges::any_of(session.status->probes, [](const ProbeStatus& probe) {
                           return probe.runs_in == "kernel";
                         });
  if (!session.kernel) {
    if (in_kernel) print_to(stdout, "  in the kernel: its eBPF programs can't be looked at\n");
    return;
  }
  if (session.kernel->programs == 0 && session.kernel->links == 0) return;
  const std::string runs = session.kernel->runs ? fmt::format("{} runs of them", *session.kernel->runs)
                                                : "runs are not counted (sysctl kernel.bpf_stats_enabled=1 counts them)";
  print_to(stdout, "  in the kernel: {}, {}; {}\n", counted(session.kernel->programs, "eBPF program"),
           counted(session.kernel->links, "link"), runs);
}

void print_session(const RunningSession& session, size_t width) {
  const auto& status = session.status;
  const int64_t since = status && status->since ? status->since : session.started;
  const std::string skipped = status && status->skipped ? fmt::format(", {} hits skipped", status->skipped) : "";
  print_to(stdout, "spile {} of user {}, {} {} ({}){}\n", session.process.pid, one_line(user_name(session.process.uid), 40),
           status ? "armed since" : "started", since ? time_text(since) : "?", since ? age_text(time(nullptr) - since) : "?",
           skipped);
  print_to(stdout, "  {}\n", one_line(command_text(session.command), width - 2));
  if (!status) print_to(stdout, "  what it has armed is not known: {}\n", session.why_silent);
  if (!session.processes.empty() || (status && status->processes_left_out)) {
    print_to(stdout, "  in {} {}\n", plural(session.processes.size(), "process", "processes"),
             processes_text(session.processes, status ? status->processes_left_out : 0));
  } else if (status) {
    print_to(stdout, "  in {}\n", status->everywhere ? "all processes" : "no process now");
  }
  print_kernel(session);
  if (status) print_probes(*status, width);
}

std::string other_text(const OtherProcess& other) {
  if (other.tracer == 0)
    return "handlers of a spile that was killed: they do nothing, and the next spile that attaches removes them";
  if (other.tracer_uid != geteuid())
    return fmt::format("handlers of process {} of user {}, which does not answer this user", other.tracer,
                       one_line(user_name(other.tracer_uid), 40));
  return fmt::format("handlers of process {}, which can't be asked (is it in another network namespace?)", other.tracer);
}

void print_text(const ArmedNow& armed) {
  const size_t width = output_width();
  bool first = true;
  for (const RunningSession& session : armed.sessions) {
    if (!std::exchange(first, false)) print_to(stdout, "\n");
    print_session(session, width);
  }
  if (!armed.others.empty() && !first) print_to(stdout, "\n");
  for (const OtherProcess& other : armed.others)
    print_to(stdout, "process {}: {}\n", process_text(other.process), other_text(other));
  for (pid_t pid : armed.left_in_kernel) {
    print_to(stdout,
             "kernel: tracing events of spile {}, which was killed: the next spile that probes functions of kernel modules "
             "removes them\n",
             pid);
  }
}

// ---- JSON

Json json_of(const ProcessFacts& process) { return {{"pid", process.pid}, {"name", process.name}, {"uid", process.uid}}; }

void print_json_session(const RunningSession& session) {
  Json object = {{"kind", "session"},
                 {"pid", session.process.pid},
                 {"uid", session.process.uid},
                 {"user", user_name(session.process.uid)},
                 {"command", session.command}};
  object["answers"] = session.status.has_value();
  if (!session.status) object["why"] = session.why_silent;
  if (session.started) object["started"] = json_time(session.started);
  Json processes = Json::array();
  for (const ProcessFacts& process : session.processes) processes.push_back(json_of(process));
  object["processes"] = std::move(processes);
  if (session.kernel) {
    Json kernel = {{"programs", session.kernel->programs}, {"links", session.kernel->links}};
    if (session.kernel->runs) kernel["runs"] = *session.kernel->runs;
    object["kernel"] = std::move(kernel);
  }
  if (const auto& status = session.status) {
    object["since"] = json_time(status->since);
    object["everywhere"] = status->everywhere;
    object["skipped"] = status->skipped;
    Json probes = Json::array();
    for (const ProbeStatus& probe : status->probes) {
      Json one = {{"point", probe.point}, {"places", probe.places}, {"source", probe.source}, {"runs_in", probe.runs_in}};
      if (probe.hits) one["hits"] = *probe.hits;
      probes.push_back(std::move(one));
    }
    object["probes"] = std::move(probes);
    if (status->probes_left_out) object["probes_left_out"] = status->probes_left_out;
    if (status->processes_left_out) object["processes_left_out"] = status->processes_left_out;
  }
  print_json(object);
}

void print_json_lines(const ArmedNow& armed) {
  for (const RunningSession& session : armed.sessions) print_json_session(session);
  for (const OtherProcess& other : armed.others) {
    Json object = {{"kind", other.tracer ? "traced" : "left"}};
    object.update(json_of(other.process));
    if (other.tracer) object.update(Json{{"tracer", other.tracer}, {"tracer_uid", other.tracer_uid}});
    print_json(object);
  }
  for (pid_t pid : armed.left_in_kernel) print_json({{"kind", "left_in_kernel"}, {"pid", pid}});
  for (const ProcessFacts& process : armed.unreadable) {
    Json object = {{"kind", "unreadable"}};
    object.update(json_of(process));
    print_json(object);
  }
}

// ---- which processes are asked about

// The processes that a word names: a number, or a program's name, as -x takes them. Errors: there is none.
Result<std::vector<pid_t>> processes_of_word(const std::string& word) {
  pid_t pid = 0;
  auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), pid);
  if (failure != std::errc() || end != word.data() + word.size() || pid <= 0) {
    std::vector<pid_t> named = processes_named(word);
    if (named.empty())
      return Error{fmt::format("no process is called '{}'", word), "spile list takes process IDs and names of programs"};
    return named;
  }
  const std::string process = process_status(pid, "Tgid");
  if (process.empty()) return Error{fmt::format("no process has the ID {}", pid), ""};
  return std::vector<pid_t>{static_cast<pid_t>(std::strtol(process.c_str(), nullptr, 10))};  // of a thread, its process
}

// Leaves what concerns these processes. Errors: one of them can't be looked at, so that nothing could be said about it.
Result<void> keep_only(ArmedNow& armed, const std::set<pid_t>& wanted) {
  auto is_wanted = [&](const ProcessFacts& process) { return wanted.contains(process.pid); };
  std::erase_if(armed.sessions, [&](const RunningSession& session) {
    const bool everywhere = session.status && session.status->everywhere;
    return !everywhere && !is_wanted(session.process) && std::ranges::none_of(session.processes, is_wanted);
  });
  std::erase_if(armed.others, [&](const OtherProcess& other) { return !is_wanted(other.process); });
  armed.left_in_kernel.clear();
  armed.unreadable.clear();
  for (pid_t pid : wanted) {
    const bool is_told = std::ranges::any_of(armed.sessions, [&](const RunningSession& session) {
      return session.process.pid == pid ||
             std::ranges::any_of(session.processes, [&](const ProcessFacts& each) { return each.pid == pid; });
    });
    if (is_told || read_mappings(pid).ok()) continue;
    const auto facts = session::facts_of(pid);
    if (!facts) return Error{fmt::format("process {} has ended", pid), ""};
    return Error{
        fmt::format("process {} can't be looked at: it belongs to user {}", pid, user_name(facts->uid)),
        geteuid() == 0 ? "root needs CAP_SYS_PTRACE, which a container may lack" : "run spile list as that user, or as root"};
  }
  return {};
}

}  // namespace

Result<int> answer_list(const std::vector<std::string>& words, const session::Options& options) {
  std::set<pid_t> wanted(options.target.processes.begin(), options.target.processes.end());
  for (const std::string& word : words) {
    TRY(const std::vector<pid_t> named, processes_of_word(word));
    wanted.insert(named.begin(), named.end());
  }
  ArmedNow armed = session::find_armed();
  if (!wanted.empty()) TRY_DO(keep_only(armed, wanted));
  if (options.verb.json) {
    print_json_lines(armed);
    return 0;
  }
  print_text(armed);
  const bool nothing = armed.sessions.empty() && armed.others.empty() && armed.left_in_kernel.empty();
  if (nothing) {
    const char* whose = geteuid() == 0 ? "" : " of this user's";
    if (wanted.empty()) print_to(stdout, "no spile{} has anything armed\n", whose);
    else print_to(stdout, "nothing is armed in process {}\n", fmt::join(wanted, ", "));
  }
  if (!armed.unreadable.empty()) {
    const ProcessFacts& first = armed.unreadable.front();
    warn(fmt::format("processes can't be looked at ({}, such as {}, {}): probes left behind in them would not be seen",
                     armed.unreadable.size(), first.pid, one_line(first.name, 64)));
  }
  return 0;
}

}  // namespace spile::verbs
