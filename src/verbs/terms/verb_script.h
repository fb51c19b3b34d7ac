#pragma once
// What a verb is given, and what it makes of it.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runs/text/presenter.h"

namespace spile::verbs {

// An option that only verbs have: "--depth 5". cli knows the options of all verbs, and rejects those that a verb lacks.
struct VerbOption {
  const char* name;
  const char* value;  // its name in --help; null: it takes none
  const char* help;
};

// The words behind a verb, and its own options, without dashes; value: "" for options without one.
struct VerbLine {
  std::vector<std::string> words = {};
  std::vector<std::pair<std::string, std::string>> options = {};
  bool shows_script = false;  // --script: nothing runs, so that processes are needed only for what the script has of them
};

struct VerbScript {
  std::string text;
  std::vector<std::string> limits = {};             // as -D takes them; the user's hold
  std::shared_ptr<runs::Presenter> presenter = {};  // null: what the script prints is the output
  std::string when_full = {}, when_large = {};      // session::ScriptOfVerb; "": to take the script, and change it
  bool sends_spans = false;  // the presenter sends calls to the collector of --otlp, to which no globals go then
};

}  // namespace spile::verbs
