#include "sema/names/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

bool has_next(const Statement& s) {
  if (s.kind == StatementKind::kNext) return true;
  if (auto* code = as<EmbeddedStatement>(s)) return code->code.find("STAP_NEXT") != std::string::npos;
  bool found = false;
  for_each_statement(s, [&](const Statement& child) { found = found || has_next(child); });
  return found;
}

bool takes(const Function& function, size_t arguments) {
  if (arguments > function.parameters.size()) return false;
  for (size_t i = arguments; i < function.parameters.size(); ++i) {
    if (i >= function.defaults.size() || !function.defaults[i]) return false;
  }
  return true;
}

// Functions of the library that scripts may define for it: it counts packets by the keys of the first three, and measures queues
// in the time of the last.
constexpr std::array<std::string_view, 4> kOfScripts = {"ipmib_filter_key", "tcpmib_filter_key", "linuxmib_filter_key",
                                                        "qs_time"};

int64_t priority_of(const Function& function) { return function.priority.value_or(function.from_library ? 1 : 0); }

}  // namespace

bool can_fall_through(const Function& function) { return function.body && has_next(*function.body); }

Declarations::Declarations(Elaboration& e) : e_(e) {
  for (Script& script : e_.program.scripts) {
    is_library_.push_back(Elaboration::is_library_script(script));
    index(script);
  }
}

void Declarations::index(Script& script) {
  Names& names = names_.emplace_back();
  for (auto& global : script.globals) {
    auto [known, added] = names.globals.emplace(global->name, global.get());
    if (added) continue;
    e_.diagnostics.error(global->range, fmt::format("duplicate global '{}'", global->name))
        .note(known->second->range, "first declared here");
  }
  for (auto& function : script.functions) {
    // A global may be called like a function: which one is meant shows in every use.
    auto& overloads = names.functions[function->name];
    check_overload(overloads, *function);
    overloads.push_back(function.get());
  }
}

void Declarations::check_overload(const std::vector<Function*>& earlier, const Function& function) {
  for (const Function* other : earlier) {
    bool same = other->parameters.size() == function.parameters.size() && !other->priority && !function.priority;
    if (!same || can_fall_through(*other)) continue;
    e_.diagnostics.error(function.range, fmt::format("duplicate function '{}'", function.name))
        .note(other->range, "first defined here")
        .hint("the first one would have to execute 'next' for this one to be tried");
    return;
  }
}

int Declarations::script_of(const SourceRange& range, const SourceRange& home) const {
  auto found = e_.script_of.find(range.file);
  if (found == e_.script_of.end()) found = e_.script_of.find(home.file);
  return found == e_.script_of.end() ? 0 : found->second;
}

bool Declarations::sees(int from, size_t other) const { return !is_library_[from] || is_library_[other]; }

Global* Declarations::find_global(const std::string& name, const SourceRange& from, const SourceRange& home) const {
  int own = script_of(from, home);
  if (auto found = names_[own].globals.find(name); found != names_[own].globals.end()) return found->second;
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!sees(own, i)) continue;
    auto found = names_[i].globals.find(name);
    if (found != names_[i].globals.end() && !found->second->is_private) return found->second;
  }
  return nullptr;
}

bool Declarations::is_of_session(const Global& global) const {
  return global.range.file && global.range.file->name() == "<session>";
}

Declarations::Found Declarations::find_functions(const std::string& name, size_t arguments, const SourceRange& from,
                                                 const SourceRange& home) const {
  Found found;
  auto collect = [&](const Names& names, bool own) {
    auto all = names.functions.find(name);
    if (all == names.functions.end()) return;
    for (Function* function : all->second) {
      if (function->is_private && !own) {
        found.hidden = function;
      } else if (takes(*function, arguments)) {
        found.functions.push_back(function);
      } else if (!found.other_arity) {
        found.other_arity = function;
      }
    }
  };
  const int own_script = script_of(from, home);
  const Names& own = names_[own_script];
  collect(own, true);
  bool only_private = std::any_of(found.functions.begin(), found.functions.end(), [](auto* f) { return f->is_private; });
  const bool is_of_scripts = std::ranges::find(kOfScripts, name) != kOfScripts.end();
  if (!only_private) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (&names_[i] != &own && (is_of_scripts || sees(own_script, i))) collect(names_[i], false);
    }
  }
  auto& functions = found.functions;
  // Alternatives share the argument values: only functions of as many parameters can be tried one after another.
  bool exact =
      std::any_of(functions.begin(), functions.end(), [&](const Function* f) { return f->parameters.size() == arguments; });
  size_t parameters = exact || functions.empty() ? arguments : functions.front()->parameters.size();
  std::erase_if(functions, [&](const Function* f) { return f->parameters.size() != parameters; });
  std::stable_sort(functions.begin(), functions.end(),
                   [](const Function* a, const Function* b) { return priority_of(*a) < priority_of(*b); });
  auto last = std::find_if(functions.begin(), functions.end(), [](const Function* f) { return !can_fall_through(*f); });
  if (last != functions.end()) functions.erase(last + 1, functions.end());
  return found;
}

const Function* Declarations::own_function(const std::string& name, const SourceRange& from) const {
  const Names& own = names_[script_of(from, from)];
  auto found = own.functions.find(name);
  return found == own.functions.end() ? nullptr : found->second.front();
}

std::vector<std::string> Declarations::global_names() const {
  std::vector<std::string> all;
  for (const Names& names : names_) {
    for (const auto& [name, global] : names.globals) {
      if (!global->is_private) all.push_back(name);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> Declarations::function_names() const {
  std::vector<std::string> all;
  for (const Names& names : names_) {
    for (const auto& [name, overloads] : names.functions) all.push_back(name);
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace spile::sema
