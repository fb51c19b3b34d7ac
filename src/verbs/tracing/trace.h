#pragma once
// `spile trace`: trees of calls with times, arguments and results, in the kernel (--kernel) and in processes.

#include <string>

#include "base/result.h"
#include "session/terms/options.h"
#include "verbs/calls/kernel_calls.h"
#include "verbs/terms/processes.h"
#include "verbs/terms/verb_script.h"
#include "verbs/tracing/trace_request.h"

namespace spile::verbs {

// Return the scripts, which print what call_tree.h lists. REQUIRES: calls.roots is not empty. returns_know_stack: as
// Features::multi_return_stack.
std::string kernel_trace_script(const TraceRequest& request, const KernelCalls& calls, const Processes& processes,
                                bool returns_know_stack = true);
std::string process_trace_script(const TraceRequest& request);

// As Verb::make.
Result<VerbScript> make_trace(const VerbLine& line, const session::Options& options);
extern const VerbOption kTraceOptions[5];

}  // namespace spile::verbs
