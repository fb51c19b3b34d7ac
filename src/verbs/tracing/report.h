#pragma once
// `spile record` and `spile report`: a run as a document, docs/decisions/038-a-run-is-a-document.md.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "session/terms/options.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

// Takes the words of `spile record` out of the options, so that what is left is the line of the script or verb that is recorded.
// of_verbs: the options of verbs that were given; those of record are removed. Errors: options that record can't go together
// with.
Result<void> take_record(session::Options& options, std::vector<std::pair<std::string, std::string>>& of_verbs);
extern const VerbOption kRecordOptions[1];

// The page of a verb's run, of -o x.html: its run is recorded, and shown as `spile report --html` shows it.
class RunPage {
 public:
  // Sets in `options` that the run is recorded, in a file without a name. verb: for messages. Errors: the page can't be written;
  // options that it can't go together with.
  static Result<RunPage> begin(session::Options& options, const std::string& verb);
  // Writes the page, unless the run never began. status: the session's exit status. Returns the program's.
  int finish(int status);

 private:
  std::string file_;
  bool is_new_ = false;
  UniqueFd record_;
};

// As Verb::answer.
Result<int> answer_report(const std::vector<std::string>& words, const session::Options& options);

}  // namespace spile::verbs
