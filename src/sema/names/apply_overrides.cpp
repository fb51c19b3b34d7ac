// apply-overrides: -G NAME=VALUE replaces the initial value of a global, of the user's script or of the library.

#include <cerrno>
#include <cstdlib>

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// The whole text as a number in C's notation; false where it isn't one.
bool parse_number(const std::string& text, int64_t& value) {
  if (text.empty()) return false;
  char* end = nullptr;
  errno = 0;
  value = std::strtoll(text.c_str(), &end, 0);
  if (errno == ERANGE) {
    errno = 0;
    value = static_cast<int64_t>(std::strtoull(text.c_str(), &end, 0));
  }
  return errno == 0 && *end == 0;
}

}  // namespace

void apply_overrides(Elaboration& e) {
  for (const auto& [name, text] : e.program.global_overrides) {
    Global* found = nullptr;
    std::vector<std::string> known;
    for (const Script& script : e.program.scripts) {  // the user's come first
      for (const auto& global : script.globals) {
        known.push_back(global->name);
        if (!found && global->name == name) found = global.get();
      }
    }
    if (!found) {
      std::string near = nearest_name(name, known);
      auto& warning = e.diagnostics.warning(
          {}, "-G " + name + "=" + text + ": the script has no global '" + name + "'; the option is ignored");
      if (!near.empty()) warning.hint("did you mean '" + near + "'?");
      continue;
    }
    if (found->declared_array) {
      e.diagnostics.error(found->range, "-G " + name + "=" + text + ": '" + name + "' is an array; only scalars can be set");
      continue;
    }
    int64_t value = 0;
    bool wants_string = as<String>(found->initial) != nullptr;
    if (!wants_string && parse_number(text, value)) {
      found->initial = std::make_unique<Number>(found->range, value);
    } else if (as<Number>(found->initial)) {
      e.diagnostics.error(found->range,
                          "-G " + name + "=" + text + ": '" + name + "' is a number, but '" + text + "' is not one");
    } else {
      found->initial = std::make_unique<String>(found->range, text);
    }
  }
}

}  // namespace spile::sema
