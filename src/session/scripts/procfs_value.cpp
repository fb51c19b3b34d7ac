#include "session/scripts/procfs_value.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "base/check.h"
#include "base/diagnostics.h"
#include "syntax/parser.h"
#include "syntax/visitor.h"

namespace spile::session {

namespace {

using Names = std::set<std::string>;

// Returns a point's first component: "procfs", or the name of an alias of it, such as "prometheus" or "json_data".
std::string head_of(const syntax::ProbePoint& point) {
  return point.components.empty() ? std::string() : point.components[0].name;
}

bool is_procfs(const std::vector<syntax::ProbePoint>& points, const Names& names) {
  return !points.empty() && names.contains(head_of(points[0]));
}

Names procfs_names(const std::vector<syntax::Script>& scripts) {
  Names names = {"procfs"};
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (const syntax::Script& script : scripts) {
      for (const auto& alias : script.aliases) {
        if (!is_procfs(alias->points, names)) continue;
        for (const syntax::ProbePoint& name : alias->names) names.insert(head_of(name));
      }
    }
  }
  return names;
}

void replace_value(syntax::Statement& body) {
  syntax::rewrite(body, [](syntax::ExpressionPtr& slot) {
    auto* target =
        slot->kind == syntax::ExpressionKind::kTargetVariable ? static_cast<syntax::TargetVariable*>(slot.get()) : nullptr;
    if (target && target->name == "$value" && target->path.empty() && !target->address_of) {
      slot = std::make_unique<syntax::Variable>(slot->range, kProcfsValue);
    }
  });
}

// Returns the statements of a script text, at `range`; the text's variable __given is replaced by `given`.
syntax::StatementPtr statements_of(const std::string& text, SourceRange range, syntax::ExpressionPtr given, SourceFiles& files) {
  Diagnostics none;
  syntax::Script parsed = syntax::parse(files.add("<procfs>", "probe begin {" + text + "}"), {}, none);
  CHECK(!none.has_errors() && parsed.probes.size() == 1);
  syntax::StatementPtr made = std::move(parsed.probes.front()->body);
  syntax::rewrite_statements(made, [&](syntax::StatementPtr& slot) { slot->range = range; });
  syntax::for_each_expression(*made, [&](syntax::Expression& x) { x.range = range; });
  syntax::rewrite(*made, [&](syntax::ExpressionPtr& slot) {
    auto* variable = syntax::as<syntax::Variable>(slot);
    if (variable && variable->name == "__given") slot = std::move(given);
  });
  return made;
}

// Rewrites the statements `$value = x` and `$value .= x` in terms of parts.
class Parts {
 public:
  Parts(int64_t string_length, SourceFiles& files) : string_length_(string_length), files_(files) {}

  static bool appended_in(const syntax::Statement& body) {
    bool any = false;
    syntax::for_each_expression(body, [&](const syntax::Expression& x) {
      auto* assignment = syntax::as<syntax::Assignment>(x);
      any |= assignment && is_value(assignment->target) && assignment->op == syntax::Assignment::Operator::kConcatenate;
    });
    return any;
  }

  void rewrite(syntax::Statement& body) {
    syntax::for_each_statement(body, [&](syntax::StatementPtr& child) {
      syntax::rewrite_statements(child, [&](syntax::StatementPtr& slot) { replace(slot); });
    });
  }

 private:
  static bool is_value(const syntax::ExpressionPtr& x) {
    auto* variable = syntax::as<syntax::Variable>(x);
    return variable && variable->name == kProcfsValue;
  }

  void replace(syntax::StatementPtr& slot) {
    auto* statement = syntax::as<syntax::ExpressionStatement>(slot);
    auto* assignment = statement ? syntax::as<syntax::Assignment>(statement->expression) : nullptr;
    if (!assignment || !is_value(assignment->target)) return;
    std::string text;
    if (assignment->op == syntax::Assignment::Operator::kSet) {
      text = fmt::format("{} = __given; delete {}; {} = 0", kProcfsValue, kProcfsParts, kProcfsCount);
    } else {
      text = fmt::format(
          "__appended = __given; if (strlen({0}) + strlen(__appended) >= {3}) {{ {1}[{2}++] = {0}; {0} = \"\" }} {0} .= "
          "__appended",
          kProcfsValue, kProcfsParts, kProcfsCount, string_length_);
    }
    SourceRange range = slot->range;
    slot = statements_of(text, range, std::move(assignment->value), files_);
  }

  int64_t string_length_;
  SourceFiles& files_;
};

std::unique_ptr<syntax::Global> global(const char* name, SourceRange range, syntax::ExpressionPtr initial) {
  auto made = std::make_unique<syntax::Global>();
  made->range = range;
  made->name = name;
  made->from_library = true;
  made->initial = std::move(initial);
  return made;
}

}  // namespace

void declare_procfs_value(std::vector<syntax::Script>& scripts, int64_t string_length, SourceFiles& files) {
  std::vector<syntax::Block*> bodies;
  const Names names = procfs_names(scripts);
  for (syntax::Script& script : scripts) {
    for (auto& probe : script.probes) {
      if (is_procfs(probe->points, names) && probe->body) bodies.push_back(probe->body.get());
    }
    for (auto& alias : script.aliases) {
      if (is_procfs(alias->points, names) && alias->body) bodies.push_back(alias->body.get());
    }
  }
  if (bodies.empty()) return;
  bool appends = false;
  for (syntax::Block* body : bodies) {
    replace_value(*body);
    appends |= Parts::appended_in(*body);
  }
  syntax::Script added;
  added.file = scripts.front().file;
  SourceRange range = bodies.front()->range;
  added.globals.push_back(global(kProcfsValue, range, std::make_unique<syntax::String>(range, "")));
  if (appends) {
    for (syntax::Block* body : bodies) Parts(string_length, files).rewrite(*body);
    added.globals.push_back(global(kProcfsParts, range, nullptr));
    added.globals.back()->declared_array = true;
    added.globals.back()->declared_size = kProcfsMostParts;
    added.globals.push_back(global(kProcfsCount, range, std::make_unique<syntax::Number>(range, 0)));
  }
  scripts.push_back(std::move(added));
}

}  // namespace spile::session
