#pragma once
// Reads a run that RunWriter has stored (docs/run-format.md), also one that still runs or whose spile was killed: up to its last whole frame. The file may come from
// anywhere: every number and index in it is checked. Thread rule: any thread.

#include <string>

#include "base/result.h"
#include "session/run/run_model.h"

namespace spile::session {

// What is kept of a document; what is beyond is counted in it.
inline constexpr size_t kMostRunEvents = 30'000'000, kMostRunValues = 200'000'000, kMostRunElements = 10'000'000;

// Errors: the file can't be read, is not a run, has another version, or is damaged.
Result<RunDocument> read_run(const std::string& path);

}  // namespace spile::session
