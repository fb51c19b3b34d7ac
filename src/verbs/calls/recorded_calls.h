#pragma once
// Calls in documents of `spile record trace ...`, whose events are the records that CallTree reads. Thread rule: one thread.

#include <string>
#include <vector>

#include "base/result.h"
#include "runs/run/run_model.h"

namespace spile::verbs {

bool has_calls(const runs::RunDocument& run);
// Sends the calls of a run to a collector (--otlp) as spans, and waits until they are delivered, as long as the collector takes
// one each `patience_ms`. Returns warnings about what was not sent. Errors: those of OtlpSender::create().
Result<std::vector<std::string>> send_calls(const runs::RunDocument& run, const std::string& where, int64_t patience_ms);

}  // namespace spile::verbs
