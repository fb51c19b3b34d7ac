// warn-unused and elide-unused: variables that are only read or only written are told (most are typing errors), and
// statements without any effect are told and removed. Unused functions and globals of the library are silently not
// there: resolve-symbols only takes what is reached.

#include <fmt/format.h>

#include <algorithm>

#include "sema/elaboration.h"
#include "sema/fold.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

using Place = std::pair<uint32_t, uint32_t>;  // within the user's script
Place place_of(const SourceRange& range) {
  return {range.begin, range.end};
}

void warn_locals(Elaboration& e) {
  // The same body may stand in several probes; a variable is unused where none of them uses it.
  std::map<Place, LocalTraffic> by_place;
  for (const LocalTraffic& traffic : e.local_traffic) {
    if (!e.is_user_text(traffic.first_use) || traffic.is_parameter) continue;
    auto [known, added] = by_place.emplace(place_of(traffic.first_use), traffic);
    known->second.read |= traffic.read;
    known->second.written |= traffic.written;
  }
  for (const auto& [place, traffic] : by_place) {
    const std::string& name = traffic.local->name;
    if (traffic.read && !traffic.written) {
      std::vector<std::string> candidates;
      for (const std::string& other : traffic.alternatives) {
        if (other != name) candidates.push_back(other);
      }
      for (const Global* global : e.program.globals) candidates.push_back(global->name);
      std::string near = nearest_name(name, candidates);
      auto& warning =
          e.diagnostics.warning(traffic.first_use, fmt::format("local variable '{}' is never assigned", name));
      if (!near.empty()) warning.hint(fmt::format("did you mean '{}'?", near));
    } else if (traffic.written && !traffic.read) {
      e.diagnostics.warning(traffic.first_use, fmt::format("local variable '{}' is assigned and never read", name));
    }
  }
}

}  // namespace

void warn_unused(Elaboration& e) {
  warn_locals(e);
  const Script& user = e.program.scripts[0];
  for (const auto& global : user.globals) {
    auto traffic = e.traffic.find(global.get());
    if (traffic == e.traffic.end()) {
      e.diagnostics.warning(global->range, fmt::format("global '{}' is never used", global->name));
    } else if (!traffic->second.written && !global->initial) {
      std::vector<std::string> others;
      for (const auto& other : user.globals) {
        if (other != global) others.push_back(other->name);
      }
      std::string near = nearest_name(global->name, others);
      auto& warning = e.diagnostics.warning(global->range, fmt::format("global '{}' is never assigned", global->name));
      if (!near.empty()) warning.hint(fmt::format("did you mean '{}'?", near));
    }
  }
  for (const auto& function : user.functions) {
    if (function->index < 0)
      e.diagnostics.warning(function->range, fmt::format("function '{}' is never called", function->name));
  }
}

void elide_unused(Elaboration& e) {
  std::set<Place> told;
  auto elide = [&](StatementPtr& slot) {
    auto* statement = as<ExpressionStatement>(slot);
    if (!statement || !is_pure(*statement->expression)) return;
    if (e.is_user_text(slot->range) && told.insert(place_of(slot->range)).second) {
      e.diagnostics.warning(slot->range, "statement has no effect");
    }
    slot = std::make_unique<Null>(slot->range);
  };
  for (Probe& probe : e.program.probes) {
    for_each_statement(static_cast<Statement&>(*probe.body),
                       [&](StatementPtr& child) { rewrite_statements(child, elide); });
  }
  for (Function* function : e.program.functions) {
    if (function->body) rewrite_statements(function->body, elide);
  }
}

}  // namespace spile::sema
