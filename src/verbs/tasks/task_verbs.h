#pragma once
// Verbs that answer one question each with a table: where calls take their time, what system calls are made and fail, which files
// are used, what is not freed, where threads wait. All are Verb::make functions, and print an ordinary script's numbers
// (table_rows.h).

#include <string>

#include "base/result.h"
#include "session/terms/options.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

Result<VerbScript> make_top(const VerbLine& line, const session::Options& options);
Result<VerbScript> make_lat(const VerbLine& line, const session::Options& options);
Result<VerbScript> make_syscalls(const VerbLine& line, const session::Options& options);
Result<VerbScript> make_errno(const VerbLine& line, const session::Options& options);
Result<VerbScript> make_files(const VerbLine& line, const session::Options& options);
Result<VerbScript> make_leaks(const VerbLine& line, const session::Options& options);
Result<VerbScript> make_locks(const VerbLine& line, const session::Options& options);

// The limit, as -D takes it, of verbs whose reports visit all elements of arrays, which alone bound them.
inline constexpr const char* kReportLimit = "MAXACTION_INTERRUPTIBLE=1000000000";

extern const VerbOption kTableOptions[3];  // of all that print tables
extern const VerbOption kTopOptions[4];
extern const VerbOption kLatOptions[4];

}  // namespace spile::verbs
