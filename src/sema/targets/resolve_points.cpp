// resolve-points: asks the target what each probe point stands for. `?` makes a point optional; `!` makes it optional
// and, once it has resolved, drops what follows it in its comma list.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

class Resolver {
 public:
  explicit Resolver(Elaboration& e) : e_(e) {}

  // How many points the children of a node stand for, added to their drafts. alias: the alias that the script named,
  // by which pn() names its points; "" outside of any. asked: where the script names it.
  size_t resolve_list(PointNode& list, bool optional, const std::string& alias, const SourceRange& asked = {}) {
    size_t total = 0;
    for (PointNode& node : list.children) {
      bool may_fail = optional || node.point.optional || node.point.sufficient;
      const std::string name = !alias.empty() ? alias : node.is_pattern ? std::string() : written(node.point);
      const SourceRange& place = alias.empty() ? node.point.range : asked;
      size_t found = node.draft >= 0 ? resolve_leaf(node, may_fail, name, place)
                                     : resolve_list(node, may_fail || node.is_pattern, name, place);
      if (node.draft < 0 && found == 0 && !may_fail && !node.is_pattern) require_any(node, name, place);
      if (found == 0 && node.is_pattern && !may_fail) {
        e_.diagnostics.error(node.point.range, "no match for probe point '" + written(node.point) + "'")
            .hint("it matches aliases, but their probe points don't exist here");
      }
      total += found;
      if (found > 0 && node.point.sufficient) break;
    }
    return total;
  }

 private:
  // An alias of the library may have a point for each of several kernels, all of them optional. If this one has none of them, the
  // probe is missing, which the script did not say that it may be.
  void require_any(const PointNode& alias, const std::string& name, const SourceRange& asked) {
    if (e_.diagnostics.has_errors()) return;  // a point that is not optional has said why
    const PointNode* point = &alias;
    while (point->draft < 0 && !point->children.empty()) point = &point->children.back();
    if (point->draft < 0 || asked.file == point->point.range.file) return;
    error(*point, last_failure_.message, name, asked).hint(last_failure_.hint);
  }

  // Whether a handler reads what only a loaded module's type information describes.
  static bool reads_target(const syntax::Block& body) {
    bool reads = false;
    syntax::for_each_expression(body, [&](const syntax::Expression& e) {
      reads |= e.kind == syntax::ExpressionKind::kTargetVariable || e.kind == syntax::ExpressionKind::kAtOperation;
    });
    return reads;
  }

  // Without `?`, `!` and condition.
  static std::string written(const syntax::ProbePoint& point) {
    syntax::ProbePoint plain;
    plain.components = point.components;
    return syntax::to_source(plain);
  }

  std::vector<std::string> alias_names() const {
    std::vector<std::string> names;
    for (const syntax::Script& script : e_.program.scripts) {
      for (const auto& alias : script.aliases) {
        for (const syntax::ProbePoint& name : alias->names) names.push_back(written(name));
      }
    }
    return names;
  }

  // Returns the alias with as many components whose name is nearest.
  std::string nearest_alias(const std::string& name) const {
    std::vector<std::string> names = alias_names();
    std::erase_if(names,
                  [&](const std::string& other) { return std::ranges::count(other, '.') != std::ranges::count(name, '.'); });
    return nearest_name(name, names);
  }

  // Of perf.sw.nothing, where there are aliases that begin with perf.sw: which ones there are, as a hint; so of perf.sw. Else
  // empty. is_alias: no other point begins with the same word, so that the aliases which do are all that there may be.
  std::string beside(const syntax::ProbePoint& point, bool is_alias) const {
    constexpr size_t kShown = 16;
    for (size_t length = point.components.size() - (is_alias ? 0 : 1); length > (is_alias ? 0 : 1); --length) {
      syntax::ProbePoint start;
      start.components.assign(point.components.begin(), point.components.begin() + static_cast<std::ptrdiff_t>(length));
      const std::string begin = written(start) + ".";
      std::set<std::string> names;
      for (const std::string& name : alias_names()) {
        if (name.starts_with(begin) && !name.substr(begin.size()).starts_with("__"))
          names.insert(name.substr(begin.size(), name.find('.', begin.size()) - begin.size()));
      }
      if (names.empty()) continue;
      std::string hint = "after '" + written(start) + "' there may be: ";
      size_t shown = 0;
      for (const std::string& name : names) {
        if (shown == kShown) return hint + ", ...";
        hint += (shown++ > 0 ? ", " : "") + name;
      }
      return hint;
    }
    return "";
  }

  // An error in a point of an alias: at the place where the script names the alias, which of the two is wrong is not known.
  Diagnostic& error(const PointNode& node, const std::string& message, const std::string& name, const SourceRange& asked) {
    if (asked.file == node.point.range.file) return e_.diagnostics.error(node.point.range, message);
    return e_.diagnostics.error(asked, fmt::format("'{}': {}", name, message)).note(node.point.range, "the library has it so");
  }

  // Whether an error in another point of the alias has said the same.
  bool is_said(const std::string& message, const std::string& name, const SourceRange& asked) const {
    const std::string whole = fmt::format("'{}': {}", name, message);
    return std::ranges::any_of(e_.diagnostics.all(), [&](const Diagnostic& said) {
      return said.range.file == asked.file && said.range.begin == asked.begin && said.message == whole;
    });
  }

  size_t resolve_leaf(PointNode& node, bool optional, const std::string& name, const SourceRange& asked) {
    Result<std::vector<ResolvedPoint>> resolved = e_.target.resolve(node.point);
    if (optional && resolved.ok() && reads_target(*e_.drafts[node.draft].body)) {
      // Of a module that is not loaded yet, which the kernel has no address of: its variables can't be known.
      const auto waits = [](const ResolvedPoint& point) {
        return point.site.kernel && !point.site.kernel->address && point.site.module.starts_with("kernel:");
      };
      if (std::ranges::any_of(*resolved, waits)) {
        const std::string module = resolved->front().site.module.substr(sizeof "kernel:" - 1);
        resolved = Error{fmt::format("the module '{}' is not loaded, so that its variables are not known", module),
                         fmt::format("load it before spile starts: modprobe {}", module)};
      }
    }
    if (!resolved.ok()) {
      if (optional) {
        last_failure_ = std::move(resolved).error();
        return 0;
      }
      if (is_said(resolved.error().message, name, asked)) return 0;
      std::string hint = resolved.error().hint;
      std::string near = hint.empty() ? nearest_name(written(node.point), alias_names()) : std::string();
      // What the script has written rather than the library's point behind the alias: signal.handle.retrn.
      if (hint.empty() && near.empty()) near = nearest_alias(name);
      if (!near.empty()) hint = "did you mean '" + near + "'?";
      const std::string& message = resolved.error().message;
      if (hint.empty())
        hint = beside(node.point, message.starts_with("unknown probe point") && message.find("can't follow") == message.npos);
      error(node, resolved.error().message, name, asked).hint(hint);
      return 0;
    }
    auto& points = e_.drafts[node.draft].points;
    size_t found = resolved->size();
    if (found == 0 && !optional) {
      error(node, "no match for probe point '" + syntax::to_source(node.point) + "'", name, asked);
    }
    for (ResolvedPoint& point : *resolved) {
      point.name = name;
      point.optional = optional;
      points.push_back(std::move(point));
    }
    return found;
  }

  Elaboration& e_;
  Error last_failure_;  // of an optional point
};

}  // namespace

void resolve_points(Elaboration& e) {
  Resolver resolver(e);
  size_t total = 0;
  for (PointNode& statement : e.statements) total += resolver.resolve_list(statement, false, "");
  if (total == 0 && !e.diagnostics.has_errors()) {
    SourceRange place = e.drafts.empty() ? SourceRange{} : e.drafts[0].range;
    e.diagnostics.error(place, "no probes left: none of the optional probe points exists");
  }
}

}  // namespace spile::sema
