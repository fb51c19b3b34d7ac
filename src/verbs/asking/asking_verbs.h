#pragma once
// The verbs that ask: about programs, which functions, lines, variables and marks they have, and about the machine, what is armed
// on it. Each prints text, or with --json an object a line as docs/json.md describes it. Answers are those of debug information
// and symbol tables; no process is stopped. For what they return, see Verb::answer.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::verbs {

Result<int> answer_funcs(const std::vector<std::string>& words, const session::Options& options);
Result<int> answer_lines(const std::vector<std::string>& words, const session::Options& options);
Result<int> answer_vars(const std::vector<std::string>& words, const session::Options& options);
Result<int> answer_marks(const std::vector<std::string>& words, const session::Options& options);
Result<int> answer_list(const std::vector<std::string>& words, const session::Options& options);

}  // namespace spile::verbs
