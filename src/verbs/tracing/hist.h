#pragma once
// `spile hist`: what a hist trigger of ftrace does, as a script. The handler adds to arrays by the keys; the end probe sorts and
// prints them.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"
#include "verbs/terms/event_fields.h"
#include "verbs/terms/processes.h"
#include "verbs/terms/verb_script.h"
#include "verbs/tracing/hist_request.h"

namespace spile::verbs {

// Returns the script. events: those of the request, in its order. Errors: a field is not there, or not fit for what it is used
// for.
Result<VerbScript> hist_script(const HistRequest& request, const std::vector<Event>& events, const Processes& processes);

// As Verb::make.
Result<VerbScript> make_hist(const VerbLine& line, const session::Options& options);

}  // namespace spile::verbs
