// expand-aliases: replaces probe points that name an alias by the points of the alias, and puts its body before (`=`) or
// after (`+=`) the probe's own. Both share one scope, so an alias can set variables for its users. Components after the
// alias's name in the point are appended to each of its points (`vm.fault.return`).
//
// Wildcards do not match names that begin with two underscores. Where the library has an alias FAMILY.__any beside the aliases
// that `FAMILY.*` matches (with the same components behind it), and the handler uses none of the variables that those set and
// __any does not, one handler that begins with the body of __any serves all of them, in place of one for each. So `syscall.*`
// makes one handler, not 380. The points are those of the aliases; those of __any are not probed.
//
// Where the library has an alias FAMILY.__NAME_by_function beside FAMILY.NAME, it serves the handlers that read $variables which
// the body of FAMILY.NAME does not read: those are the function's, and the tracepoint of the other one lacks them.
//
// `.maxactive(N)` behind the return of a system call or behind a tracepoint, and `.call` there, are left out where they follow an
// alias: scripts write them for the functions that other kernels and SystemTap have behind these aliases.
//
// debuginfod.process(...) is process(...), whose debug information may come from a server anyway.
//
// A pattern counts a system call once: an alias with another name than the call's (send) is left out if the one with the call's
// name (sendto) matches.
//
// A system call's arguments are still known when it returns. A handler of an alias for the return that reads variables which
// neither it nor the alias sets, but the alias for the call's begin does (`fd` in syscall.read.return), begins with the body of
// that one, too.

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text/glob.h"
#include "sema/names/alias_names.h"
#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// "{open,close}at*" -> "openat*", "closeat*". An unbalanced brace stays as it is.
void expand_braces(const std::string& text, std::vector<std::string>& out) {
  size_t open = text.find('{');
  size_t close = open == std::string::npos ? open : text.find('}', open);
  if (close == std::string::npos) {
    out.push_back(text);
    return;
  }
  std::string inner = text.substr(open + 1, close - open - 1) + ",";
  for (size_t begin = 0; begin < inner.size();) {
    size_t comma = inner.find(',', begin);
    expand_braces(text.substr(0, open) + inner.substr(begin, comma - begin) + text.substr(close + 1), out);
    begin = comma + 1;
  }
}

// The points that the braces in the components' names stand for.
std::vector<ProbePoint> without_braces(const ProbePoint& point) {
  std::vector<ProbePoint> points;
  points.push_back(clone(point));
  for (size_t i = 0; i < point.components.size(); ++i) {
    std::vector<std::string> names;
    expand_braces(point.components[i].name, names);
    if (names.size() == 1 && names[0] == point.components[i].name) continue;
    std::vector<ProbePoint> more;
    for (const ProbePoint& made : points) {
      for (const std::string& name : names) {
        more.push_back(clone(made));
        more.back().components[i].name = name;
      }
    }
    points = std::move(more);
  }
  return points;
}

constexpr std::string_view kAny = "__any";

// The variables that a body sets, or all that it uses.
void add_variables(const Statement& body, bool only_set, std::set<std::string>& names) {
  auto add = [&](const Expression& x) {
    auto* variable = as<Variable>(x);
    if (variable) names.insert(variable->name);
  };
  for_each_expression(body, [&](const Expression& x) {
    if (!only_set) return add(x);
    if (auto* assignment = as<Assignment>(x)) add(*assignment->target);
  });
}

// The components that follow an alias's name, and mean nothing at a system call or a tracepoint.
void drop_function_suffixes(ProbePoint& point, size_t begin) {
  std::vector<PointComponent>& parts = point.components;
  const bool is_call = parts.size() > 1 && parts[0].name == "process" && parts[1].name == "syscall";
  const bool is_tracepoint = parts.size() > 1 && parts[0].name == "kernel" && parts[1].name == "trace";
  if (!is_call && !is_tracepoint) return;
  bool at_return = is_tracepoint;
  for (size_t i = 2; i < parts.size(); ++i) {
    at_return |= parts[i].name == "return";
    const bool bounds = parts[i].name == "maxactive" && at_return && parts[i].number.value_or(0) > 0;
    const bool is_entry = parts[i].name == "call" && i == 2 && !parts[i].number && !parts[i].text;
    if (i < begin || (!bounds && !is_entry)) continue;
    parts.erase(parts.begin() + static_cast<long>(i));
    --i;
  }
}

// Whether a point is process.syscall, with or without the call's name, or its return.
bool is_system_call(const ProbePoint& point, bool at_return) {
  const std::vector<PointComponent>& parts = point.components;
  return parts.size() == (at_return ? 3 : 2) && parts[0].name == "process" && parts[1].name == "syscall" &&
         (!at_return || parts[2].name == "return");
}

struct AliasMatch {
  const Alias* alias;
  const ProbePoint* name;  // of its names, the one that matches
};

class Expander {
 public:
  explicit Expander(Elaboration& e) : e_(e) {
    size_t order = 0;
    for (const Script& script : e_.program.scripts) {
      for (const auto& alias : script.aliases) {
        for (const ProbePoint& name : alias->names) by_head_[name.components[0].name].push_back({{alias.get(), &name}, order});
        ++order;
      }
    }
  }

  void expand(const syntax::Probe& probe) {
    probe_ = &probe;
    chain_.clear();
    conditions_.clear();
    e_.statements.emplace_back();
    PointNode root;
    expand_list(probe.points, {}, root);
    e_.statements.back() = std::move(root);
  }

 private:
  // The aliases that a point names, in the order of their declaration.
  std::vector<AliasMatch> find(const ProbePoint& point) const {
    std::vector<Candidate> candidates;
    if (!is_glob(point.components[0].name)) {
      if (auto known = by_head_.find(point.components[0].name); known != by_head_.end()) candidates = known->second;
    } else {
      for (const auto& [head, aliases] : by_head_) candidates.insert(candidates.end(), aliases.begin(), aliases.end());
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate& a, const Candidate& b) { return a.order < b.order; });
    }
    std::vector<AliasMatch> found;
    size_t longest = 0;
    for (const auto& [match, order] : candidates) {
      bool known = !found.empty() && found.back().alias == match.alias;
      if (known || !begins_with_alias(point, *match.name)) continue;
      longest = std::max(longest, match.name->components.size());
      found.push_back(match);
    }
    std::erase_if(found, [&](const AliasMatch& match) { return match.name->components.size() < longest; });
    if (has_wildcard(point)) drop_second_names(found);
    return found;
  }

  static void drop_second_names(std::vector<AliasMatch>& found) {
    std::set<std::string> own;  // FAMILY and call of the aliases that are called as their system call
    auto call_of = [](const AliasMatch& match) -> const std::string* {
      const std::vector<ProbePoint>& points = match.alias->points;
      const bool is_call = points.size() == 1 && (is_system_call(points[0], false) || is_system_call(points[0], true)) &&
                           match.name->components.size() > 1;
      return is_call && points[0].components[1].text ? &*points[0].components[1].text : nullptr;
    };
    auto key = [](const AliasMatch& match, const std::string& call) { return match.name->components[0].name + " " + call; };
    for (const AliasMatch& match : found) {
      const std::string* call = call_of(match);
      if (call && match.name->components[1].name == *call) own.insert(key(match, *call));
    }
    std::erase_if(found, [&](const AliasMatch& match) {
      const std::string* call = call_of(match);
      return call && match.name->components[1].name != *call && own.count(key(match, *call)) > 0;
    });
  }

  void expand_list(const std::vector<ProbePoint>& points, const std::vector<PointComponent>& suffix, PointNode& parent) {
    int shared = -1;  // the draft of all points of this list that have no condition
    for (const ProbePoint& written : points) {
      for (ProbePoint& point : without_braces(written)) {
        const size_t own = point.components.size();
        point.components.insert(point.components.end(), suffix.begin(), suffix.end());
        std::vector<AliasMatch> aliases = find(point);
        if (!aliases.empty()) {
          expand_alias(point, aliases, parent);
          continue;
        }
        if (!chain_.empty()) drop_function_suffixes(point, own);
        if (point.components.size() > 2 && point.components[0].name == "debuginfod" && point.components[1].name == "process")
          point.components.erase(point.components.begin());
        PointNode leaf;
        if (common_draft_ >= 0 && !point.condition) {
          leaf.draft = common_draft_;
        } else if (point.condition) {
          conditions_.push_back(point.condition.get());
          leaf.draft = make_draft();
          conditions_.pop_back();
        } else {
          if (shared < 0) shared = make_draft();
          leaf.draft = shared;
        }
        leaf.point = std::move(point);
        parent.children.push_back(std::move(leaf));
      }
    }
  }

  // One node for each alias that the point names: by wildcards there may be several, each known by its own name.
  void expand_alias(ProbePoint& point, const std::vector<AliasMatch>& aliases, PointNode& parent) {
    PointNode node;
    if (point.condition) conditions_.push_back(point.condition.get());
    const int outer_draft = common_draft_;
    if (const Alias* by_function = aliases.size() == 1 ? alias_by_function(*aliases[0].name) : nullptr;
        by_function && reads_others(*aliases[0].alias)) {
      expand_alias_by_function(point, *by_function, parent);
      if (point.condition) conditions_.pop_back();
      return;
    }
    // Two aliases of one name are few, and what __any needs is loaded for patterns only.
    if (const Alias* any = has_wildcard(point) ? common_alias(aliases) : nullptr; any && common_draft_ < 0) {
      chain_.push_back(any);
      common_draft_ = make_draft();
      chain_.pop_back();
    }
    for (const AliasMatch& match : aliases) {
      if (std::find(chain_.begin(), chain_.end(), match.alias) != chain_.end()) {
        e_.diagnostics.error(point.range, "probe alias '" + to_source(match.alias->names[0]) + "' refers to itself")
            .note(match.alias->range, "defined here");
        continue;
      }
      size_t taken = std::min(point.components.size(), match.name->components.size());
      std::vector<PointComponent> suffix(point.components.begin() + static_cast<long>(taken), point.components.end());
      PointNode one;
      one.point.range = point.range;
      one.point.components = match.name->components;
      one.point.components.insert(one.point.components.end(), suffix.begin(), suffix.end());
      chain_.push_back(match.alias);
      expand_list(match.alias->points, suffix, one);
      chain_.pop_back();
      node.children.push_back(std::move(one));
    }
    common_draft_ = outer_draft;
    if (point.condition) conditions_.pop_back();
    node.is_pattern = has_wildcard(point);
    node.point = std::move(point);
    if (!node.is_pattern && node.children.size() == 1) {
      node.children = std::move(node.children.front().children);
    }
    parent.children.push_back(std::move(node));
  }

  const Alias* alias_by_function(const ProbePoint& name) const {
    const std::string wanted = "__" + name.components.back().name + "_by_function";
    for (const Candidate& candidate : by_head_.find(name.components[0].name)->second) {
      const std::vector<PointComponent>& its = candidate.match.name->components;
      const bool same = its.size() == name.components.size() && its.back().name == wanted &&
                        std::equal(its.begin(), its.end() - 1, name.components.begin(),
                                   [](const auto& a, const auto& b) { return a.name == b.name; });
      if (same) return candidate.match.alias;
    }
    return nullptr;
  }

  // Whether the handler, or an alias over `alias`, reads $variables that the body of `alias` does not read.
  bool reads_others(const Alias& alias) const {
    std::set<std::string> own, used;
    auto add = [](const Statement& body, std::set<std::string>& names) {
      for_each_expression(body, [&](const Expression& x) {
        auto* variable = as<TargetVariable>(x);
        if (variable && !variable->name.starts_with("$$")) names.insert(variable->name);
      });
    };
    add(*alias.body, own);
    if (probe_->body) add(*probe_->body, used);
    for (const Alias* over : chain_) {
      if (over->body) add(*over->body, used);
    }
    return std::ranges::any_of(used, [&](const std::string& name) { return own.count(name) == 0; });
  }

  void expand_alias_by_function(ProbePoint& point, const Alias& alias, PointNode& parent) {
    PointNode node;
    const size_t taken = std::min(point.components.size(), alias.names[0].components.size());
    const std::vector<PointComponent> suffix(point.components.begin() + static_cast<long>(taken), point.components.end());
    chain_.push_back(&alias);
    expand_list(alias.points, suffix, node);
    chain_.pop_back();
    node.point = std::move(point);
    parent.children.push_back(std::move(node));
  }

  // Returns the alias __any whose body does for all of these; null: each needs its own.
  const Alias* common_alias(const std::vector<AliasMatch>& aliases) const {
    if (aliases.size() < 2) return nullptr;
    const Alias* any = nullptr;
    for (const AliasMatch& match : aliases) {
      const Alias* its = any_beside(*match.name);
      if (!its || !match.alias->body || match.alias->epilogue || match.alias->closing || (any && its != any)) return nullptr;
      any = its;
    }
    std::set<std::string> special, common, used;
    for (const AliasMatch& match : aliases) add_variables(*match.alias->body, true, special);
    if (any->body) add_variables(*any->body, true, common);
    if (probe_->body) add_variables(*probe_->body, false, used);
    for (const Alias* alias : chain_) {
      if (alias->body) add_variables(*alias->body, false, used);
      if (alias->closing) add_variables(*alias->closing, false, used);
    }
    // A global of the script is not a variable of the aliases, whatever its name.
    for (const Script& script : e_.program.scripts) {
      for (const auto& global : script.globals) used.erase(global->name);
    }
    const bool needs_special =
        std::ranges::any_of(used, [&](const std::string& name) { return special.count(name) > 0 && common.count(name) == 0; });
    return needs_special ? nullptr : any;
  }

  const Alias* any_beside(const ProbePoint& name) const {
    if (name.components.size() < 2) return nullptr;
    auto known = by_head_.find(name.components[0].name);
    if (known == by_head_.end()) return nullptr;
    for (const Candidate& candidate : known->second) {
      const std::vector<PointComponent>& parts = candidate.match.name->components;
      if (parts.size() != name.components.size() || parts[1].name != kAny) continue;
      bool same = true;
      for (size_t i = 2; i < parts.size(); ++i) same = same && parts[i].name == name.components[i].name;
      if (same) return candidate.match.alias;
    }
    return nullptr;
  }

  // Returns the alias for the begin of the system call whose return `alias` names, if a body reads variables that only it sets;
  // else null.
  const Alias* needed_entry(const Alias& alias, const Block& body) const {
    if (alias.points.size() != 1 || !is_system_call(alias.points[0], true)) return nullptr;
    const std::vector<PointComponent>& parts = alias.names[0].components;
    const Alias* entry = nullptr;
    for (const Candidate& candidate : by_head_.find(parts[0].name)->second) {
      const std::vector<PointComponent>& its = candidate.match.name->components;
      const bool same =
          its.size() + 1 == parts.size() &&
          std::equal(its.begin(), its.end(), parts.begin(), [](const auto& a, const auto& b) { return a.name == b.name; });
      if (same && is_system_call(candidate.match.alias->points[0], false)) entry = candidate.match.alias;
    }
    if (!entry || !entry->body) return nullptr;
    std::set<std::string> wanted, set, offered;
    add_variables(body, false, wanted);
    add_variables(body, true, set);
    add_variables(*alias.body, true, set);
    add_variables(*entry->body, true, offered);
    for (const Script& script : e_.program.scripts) {
      for (const auto& global : script.globals) wanted.erase(global->name);
    }
    return std::ranges::any_of(wanted, [&](const std::string& name) { return set.count(name) == 0 && offered.count(name) > 0; })
               ? entry
               : nullptr;
  }

  static bool has_wildcard(const ProbePoint& point) {
    return std::any_of(point.components.begin(), point.components.end(),
                       [](const PointComponent& component) { return spile::has_wildcard(component.name); });
  }

  int make_draft() {
    Draft draft;
    draft.range = probe_->range;
    draft.body = std::make_unique<Block>(probe_->range);
    // The innermost alias is the last to wrap: its prologue runs first.
    if (probe_->body) {
      draft.handler = probe_->body->range;
      draft.body->statements.push_back(clone(*probe_->body));
    }
    for (const Alias* alias : chain_) {
      if (!alias->body) continue;
      auto& statements = draft.body->statements;
      const Alias* entry = needed_entry(*alias, *draft.body);
      statements.insert(alias->epilogue ? statements.end() : statements.begin(), clone(*alias->body));
      if (entry) statements.insert(statements.begin(), clone(*entry->body));
      if (alias->closing) statements.push_back(clone(*alias->closing));
    }
    for (const Expression* condition : conditions_) {
      ExpressionPtr copy = clone(*condition);
      if (!draft.condition) {
        draft.condition = std::move(copy);
        continue;
      }
      auto both = std::make_unique<Logical>(copy->range);
      both->is_and = true;
      both->left = std::move(draft.condition);
      both->right = std::move(copy);
      draft.condition = std::move(both);
    }
    e_.drafts.push_back(std::move(draft));
    return static_cast<int>(e_.drafts.size()) - 1;
  }

  struct Candidate {
    AliasMatch match;
    size_t order;  // of the alias's declaration
  };

  Elaboration& e_;
  std::unordered_map<std::string, std::vector<Candidate>> by_head_;  // by the first component of the alias's name
  const syntax::Probe* probe_ = nullptr;
  std::vector<const Alias*> chain_;            // aliases being expanded, outermost first
  std::vector<const Expression*> conditions_;  // of the points on the way
  int common_draft_ = -1;                      // of the points that aliases have which one body serves
};

}  // namespace

void expand_aliases(Elaboration& e) {
  Expander expander(e);
  for (const Script& script : e.program.scripts) {
    if (!Elaboration::is_user_script(script) && !e.active_libraries.count(&script)) continue;
    for (const auto& probe : script.probes) expander.expand(*probe);
  }
  if (e.drafts.empty() && !e.diagnostics.has_errors()) {
    SourceRange all{e.program.scripts[0].file, 0, 0};
    e.diagnostics.error(all, "no probes found");
  }
}

}  // namespace spile::sema
