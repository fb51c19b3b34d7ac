#pragma once
// Verbs: tasks with a name, such as `spile hist sched:sched_switch`. A verb that traces turns its words into an ordinary script,
// which then takes the ordinary way through all passes, so that -x, -c, -T, -o and -p mean what they mean for a script. `spile
// --script hist ...` prints the script. A verb that asks, such as `spile funcs /bin/ls`, answers itself, and runs nothing.
//
// To add a verb: a file with its make or answer function, a line in kVerbs (verb.cpp), a test beside it, a section in
// docs/man/spile.1 and docs/verbs.md, of which its own manual page is made.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

struct Verb {
  const char* name;
  const char* words;  // what follows, for --help
  const char* help;
  // Of make and answer one is set; of record neither, which stands before what it records (verbs/tracing/report.h).
  // Returns the script that the line asks for. Errors: a word has no meaning; what it names is not there.
  Result<VerbScript> (*make)(const VerbLine& line, const session::Options& options);
  // Prints the answer on standard output. `words` begin behind the verb. Returns the exit status: 0, or 1 if nothing was found,
  // which has been reported. Errors: a word has no meaning; what it names is not there, or can't be read.
  Result<int> (*answer)(const std::vector<std::string>& words, const session::Options& options) = nullptr;
  std::span<const VerbOption> options = {};
  bool has_json = false;  // of make: --json gives JSON Lines
  // of answer: those of the program's options that have a meaning for it, beside those about messages; others are rejected
  std::span<const std::string_view> takes = {};
  // of make: the endings of -o's file by which it writes other forms than text; whether x.html is the page of its run, as record
  // and report make it; or whether it looks at the ending itself
  std::span<const std::string_view> files = {};
  bool has_page = false, checks_file = false;
};
std::span<const Verb> verbs();
// Returns the verb of a name; null: absent.
const Verb* find_verb(const std::string& name);

}  // namespace spile::verbs
