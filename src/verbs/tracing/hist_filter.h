#pragma once
// Filters of ftrace (https://docs.kernel.org/trace/events.html, "Event filtering") as expressions of a script:
//
//   prev_pid != 0 && (prev_comm ~ "k*" || prev_prio & 0x40)     becomes     $prev_pid != 0 && ($prev_comm =~ "^k.*$" ||
//                                                                           ($prev_prio & 0x40) != 0)

#include <functional>
#include <string>

#include "base/result.h"
#include "verbs/terms/event_fields.h"

namespace spile::verbs {

// Finds a field by the name that a filter has; the error says which fields the event has.
using FindField = std::function<Result<EventField>(const std::string& name)>;

// Returns the condition. Errors: the filter is not of this form; a field is not there, or does not go with the operator or value.
Result<std::string> filter_condition(const std::string& filter, const FindField& find);

}  // namespace spile::verbs
