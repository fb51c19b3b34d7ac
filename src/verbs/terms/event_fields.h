#pragma once
// The values that an event has: fields of a tracepoint's record, variables of a probe point, and those that every event has
// (common_pid ...).

#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::verbs {

// A value of an event that a script can read.
struct EventField {
  enum class Kind : uint8_t { kNumber, kText, kOther };  // kOther: neither, for messages
  std::string name;                                      // "prev_comm"
  std::string expression;                                // "$prev_comm"
  Kind kind = Kind::kNumber;
  bool is_signed = true;
  std::string type = {};  // as C writes it; may be empty
};

struct Event {
  std::string name;         // as the user wrote it: "sched:sched_switch"
  std::string point;        // kernel.trace("sched:sched_switch")
  bool in_process = false;  // its handler runs in a traced process
  std::vector<EventField> fields = {};
  // The names of fields that are also arguments of the tracepoint's code, where they may have another meaning (prev_state of
  // sched_switch). A handler that reads nothing else would get the argument.
  std::vector<std::string> ambiguous = {};

  // Returns the field of a name, of the event's own ("$x" is x) or of those that every event has; null: absent.
  const EventField* find(const std::string& name) const;
};

// Returns the fields that every event has. in_process: of events in a traced process.
const std::vector<EventField>& common_fields(bool in_process);

// Finds an event: "SYSTEM:EVENT" of the kernel's tracepoints, or a probe point. Errors: no such event, with a similar name in the
// hint; a pattern that stands for several tracepoints; an unknown probe point.
Result<Event> find_event(const std::string& name, const session::Options& options);

// Returns a text as a string literal of a script.
std::string quoted(const std::string& text);

}  // namespace spile::verbs
