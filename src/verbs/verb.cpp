#include "verbs/verb.h"

#include "verbs/hist.h"

namespace spile::verbs {

namespace {

constexpr Verb kVerbs[] = {
    {"hist", "EVENT [EVENT match=FIELD/FIELD] [keys=...] [vals=...] [sort=...] ['if FILTER']",
     "count an event and add up its fields by keys, as a hist trigger of ftrace", make_hist},
};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

const Verb* find_verb(const std::string& name) {
  for (const Verb& verb : kVerbs) {
    if (name == verb.name) return &verb;
  }
  return nullptr;
}

}  // namespace spile::verbs
