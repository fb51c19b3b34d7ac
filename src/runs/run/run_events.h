#pragma once
// What faces of a run share: the text and the values of its events. Thread rule: any thread.

#include <string>

#include "runs/run/run_model.h"
#include "runs/stacks/samples.h"

namespace spile::runs {

// Appends what the event's handler would have printed.
void append_event_text(std::string& out, const RunDocument& document, const RunEvent& event);

// Returns the arguments of an event of a printf as a record's payload has them (abi/record.h). REQUIRES: event.format is not
// kText.
std::string payload_of(const RunDocument& document, const RunEvent& event);

// Returns the samples of a run: the events of each printf("sample %d %d %d %s %s\n", gettimeofday_ns(), pid(), tid(), execname(),
// sprint_ubacktrace()), as the script of `spile flame` has it.
Samples samples_of(const std::vector<RunDocument>& documents);
// Whether events of the format are samples.
bool is_sample_format(const syntax::OutputFormat& format);

}  // namespace spile::runs
