#include "verbs/terms/event_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/files/tracefs.h"
#include "base/text/glob.h"
#include "probes/terms/tracepoint_format.h"
#include "session/listing.h"

namespace spile::verbs {

namespace {

using Kind = EventField::Kind;
using probes::TracepointField;

Kind kind_of(const TracepointField& field) {
  switch (field.kind) {
    case TracepointField::Kind::kNumber: return Kind::kNumber;
    case TracepointField::Kind::kCharacters:
    case TracepointField::Kind::kDataLocation:
    case TracepointField::Kind::kRelativeLocation: return Kind::kText;
    default: return Kind::kOther;
  }
}

bool names_tracepoint(const std::string& name) {
  return name.find(':') != std::string::npos && name.find_first_of("(\".") == std::string::npos;
}

Result<Event> find_tracepoint(const std::string& name, const session::Options& options) {
  Event event;
  event.name = name;
  event.point = fmt::format("kernel.trace({})", quoted(name));
  if (has_wildcard(name))
    return Error{fmt::format("'{}' may stand for several tracepoints: hist counts one event", name),
                 fmt::format("spile -l 'kernel.trace({})' lists them", quoted(name))};
  // The tracepoint's own arguments come first, then the fields of its record.
  Result<session::PointVariables> listed = session::variables_at(event.point, options.script, options.target);
  if (!listed.ok()) return listed.error();
  std::map<std::string, int> times;
  for (const auto& [variable, type] : listed->variables) ++times[variable];
  std::string path = name;
  path.replace(path.find(':'), 1, "/");
  TRY(std::string text, read_tracefs("events/" + path + "/format"));
  TRY(std::vector<TracepointField> fields, probes::parse_tracepoint_format(text));
  for (const TracepointField& field : fields) {
    if (field.common) continue;
    event.fields.push_back({field.name, "$" + field.name, kind_of(field), field.is_signed, field.type});
    if (times["$" + field.name] > 1) event.ambiguous.push_back(field.name);
  }
  return event;
}

// How an event is written that other tools write as `name`: bpftrace as kprobe:vfs_read or tracepoint:sched:sched_switch, ftrace
// as sched_switch. Empty: unknown.
std::string as_event(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kHeads[] = {
      {"kprobe:", "kernel.function(\"{}\")"},          {"kretprobe:", "kernel.function(\"{}\").return"},
      {"fentry:", "kernel.function(\"{}\")"},          {"fexit:", "kernel.function(\"{}\").return"},
      {"kernel.function:", "kernel.function(\"{}\")"}, {"tracepoint:", "{}"}};
  for (const auto& [head, event] : kHeads) {
    if (name.starts_with(head)) return fmt::format(fmt::runtime(event), name.substr(head.size()));
  }
  Result<std::string> events = read_tracefs("available_events");
  if (!events.ok() || name.find(':') != std::string::npos) return "";
  const size_t at = events->find(":" + name + "\n");
  if (at == std::string::npos) return "";
  const size_t begin = events->rfind('\n', at) + 1;
  return events->substr(begin, at - begin) + ":" + name;
}

// What is wrong with an event that is neither a tracepoint nor a probe point, in the words of who typed it: nobody wrote a
// script.
Error not_an_event(const std::string& name, Error error) {
  if (error.message.find("the probe's body") != std::string::npos)
    error.message = fmt::format("'{}' is neither a tracepoint nor a probe point", name);
  const std::string event = as_event(name);
  if (event.empty() && !error.hint.empty()) return error;
  error.hint = !event.empty() ? fmt::format("did you mean '{}'?", event)
                              : "an event is SYSTEM:EVENT, as in sched:sched_switch (spile -l 'kernel.trace(\"*\")' lists them), "
                                "or a probe point, as in 'kernel.function(\"vfs_read\")'";
  return error;
}

// Of a probe point: variables of the program or kernel are numbers; what an alias sets has the type that it is set to.
Result<Event> find_point(const std::string& name, const session::Options& options) {
  TRY(session::PointVariables found, session::variables_at(name, options.script, options.target));
  Event event;
  event.name = event.point = name;
  event.in_process = found.in_process;
  for (const auto& [variable, type] : found.variables) {
    const bool own = variable.starts_with("$");
    event.fields.push_back({own ? variable.substr(1) : variable, variable, !own && type == "string" ? Kind::kText : Kind::kNumber,
                            type.find("unsigned") == std::string::npos && !type.ends_with("*"), type});
  }
  return event;
}

// PROVIDER:NAME, as `spile marks` lists them, of the traced program or of a library of it. An error: neither has the mark.
Result<Event> find_mark(const std::string& name, const session::Options& options) {
  const size_t colon = name.find(':');
  const std::string mark = fmt::format("provider({}).mark({})", quoted(name.substr(0, colon)), quoted(name.substr(colon + 1)));
  Result<Event> event = find_point("process." + mark, options);
  if (!event.ok()) event = find_point("process.library(\"*\")." + mark, options);
  if (event.ok()) event->name = name;
  return event;
}

}  // namespace

const std::vector<EventField>& common_fields(bool in_process) {
  static const std::vector<EventField> kInKernel = {
      {"common_pid", "tid()"},
      {"common_cpu", "cpu()"},
      {"common_timestamp", "ktime_get_ns()"},
      {"comm", "execname()", Kind::kText},
      {"cpu", "cpu()"},
      {"stacktrace", "backtrace()", Kind::kText},
      {"ustacktrace", "ubacktrace()", Kind::kText},
      {"caller", "stack(1)", Kind::kNumber, false},
  };
  static const std::vector<EventField> kInProcess = {
      {"common_pid", "tid()"},
      {"common_cpu", "cpu()"},
      {"common_timestamp", "ktime_get_ns()"},
      {"comm", "execname()", Kind::kText},
      {"cpu", "cpu()"},
      {"stacktrace", "ubacktrace()", Kind::kText},
      {"ustacktrace", "ubacktrace()", Kind::kText},
      {"caller", "ustack(1)", Kind::kNumber, false},
  };
  return in_process ? kInProcess : kInKernel;
}

const EventField* Event::find(const std::string& name) const {
  const std::string plain = name.starts_with("$") ? name.substr(1) : name;
  for (const EventField& field : fields) {
    if (field.name == plain) return &field;
  }
  // ftrace knows these by either of two names.
  const std::string common = plain == "CPU"                              ? "cpu"
                             : plain == "COMM" || plain == "common_comm" ? "comm"
                             : plain == "common_ustacktrace"             ? "ustacktrace"
                                                                         : plain;
  for (const EventField& field : common_fields(in_process)) {
    if (field.name == common) return &field;
  }
  return nullptr;
}

std::string quoted(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    if (static_cast<unsigned char>(c) < ' ') literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else literal += c;
  }
  return literal + "\"";
}

Result<Event> find_event(const std::string& name, const session::Options& options) {
  // A probe point of a tracepoint is the tracepoint: its fields have their types.
  constexpr std::string_view kHead = "kernel.trace(\"", kEnd = "\")";
  if (name.starts_with(kHead) && name.ends_with(kEnd) && name.find(':') != std::string::npos)
    return find_tracepoint(name.substr(kHead.size(), name.size() - kHead.size() - kEnd.size()), options);
  Result<Event> event = names_tracepoint(name) ? find_tracepoint(name, options) : find_point(name, options);
  const bool traces_processes = !options.target.command.empty() || !options.target.processes.empty();
  if (!event.ok() && names_tracepoint(name) && traces_processes && !has_wildcard(name)) {
    if (Result<Event> mark = find_mark(name, options); mark.ok()) return mark;
  }
  if (!event.ok()) return not_an_event(name, std::move(event).error());
  return event;
}

}  // namespace spile::verbs
