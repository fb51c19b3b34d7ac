// warn-unused: warns of variables that are only read or only written, functions that are never called and statements that can't
// be reached (most are typing errors). Unused functions and globals of the library need no warning: resolve-symbols leaves them
// out.

#include <fmt/format.h>

#include <set>

#include "sema/terms/elaboration.h"
#include "sema/terms/side_effects.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

void warn_locals(Elaboration& e) {
  // The same body may be in several probes; a variable is unused if none of them uses it.
  std::map<Place, LocalTraffic> by_place;
  for (const LocalTraffic& traffic : e.local_traffic) {
    if (!e.is_user_text(traffic.first_use) || traffic.is_parameter) continue;
    auto [known, added] = by_place.emplace(place_of(traffic.first_use), traffic);
    known->second.read |= traffic.read;
    known->second.written |= traffic.written;
  }
  std::set<std::string> unassigned;
  for (const auto& [place, traffic] : by_place) {
    if (!traffic.written) unassigned.insert(traffic.local->name);
  }
  for (const auto& [place, traffic] : by_place) {
    const std::string& name = traffic.local->name;
    if (traffic.read && !traffic.written) {
      std::vector<std::string> candidates;
      for (const std::string& other : traffic.alternatives) {
        if (!unassigned.contains(other)) candidates.push_back(other);
      }
      for (const Global* global : e.program.globals) candidates.push_back(global->name);
      std::string near = nearest_name(name, candidates);
      auto& warning = e.diagnostics.warning(traffic.first_use, fmt::format("local variable '{}' is never assigned", name));
      if (!near.empty()) warning.hint(fmt::format("did you mean '{}'?", near));
    } else if (traffic.written && !traffic.read) {
      e.diagnostics.warning(traffic.first_use, fmt::format("local variable '{}' is assigned and never read", name));
    }
  }
}

void warn_unreachable(Elaboration& e, const Statement& s, std::set<Place>& reported) {
  if (auto* block = as<Block>(s)) {
    const auto& statements = block->statements;
    for (size_t i = 0; i + 1 < statements.size(); ++i) {
      const Statement& dead = *statements[i + 1];
      if (!always_leaves(*statements[i]) || dead.kind == StatementKind::kNull) continue;
      // An alias's body and its user's are one block, but not one text.
      bool one_text = s.range.file == dead.range.file && statements[i]->range.file == dead.range.file;
      if (one_text && e.is_user_text(dead.range) && reported.insert(place_of(dead.range)).second)
        e.diagnostics.warning(dead.range, "statement is never reached");
      break;
    }
  }
  for_each_statement(s, [&](const Statement& child) { warn_unreachable(e, child, reported); });
}

void warn_declarations(Elaboration& e, const Script& user) {
  for (const auto& global : user.globals) {
    auto traffic = e.traffic.find(global.get());
    if (traffic == e.traffic.end()) {
      e.diagnostics.warning(global->range, fmt::format("global '{}' is never used", global->name));
      if (!e.program.unoptimized) e.note_elided(global->range, fmt::format("unused variable '{}'", global->name));
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
    if (function->index >= 0) continue;
    e.diagnostics.warning(function->range, fmt::format("function '{}' is never called", function->name));
    if (!e.program.unoptimized) e.note_elided(function->range, fmt::format("unused function '{}'", function->name));
  }
}

}  // namespace

void warn_unused(Elaboration& e) {
  warn_locals(e);
  std::set<Place> reported;
  for (const Probe& probe : e.program.probes) warn_unreachable(e, *probe.body, reported);
  for (const Function* function : e.program.functions) {
    if (function->body) warn_unreachable(e, *function->body, reported);
  }
  for (const Script& script : e.program.scripts) {
    if (Elaboration::is_user_script(script)) warn_declarations(e, script);
  }
}

}  // namespace spile::sema
