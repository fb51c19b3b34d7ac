#include "session/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/diagnostics.h"
#include "base/messages.h"
#include "base/print.h"
#include "base/text/json.h"
#include "base/text/number_text.h"
#include "sema/terms/program.h"
#include "session/open_world.h"
#include "session/scripts/procfs_value.h"
#include "session/scripts/scripts.h"
#include "session/terms/limits.h"
#include "syntax/tree.h"

namespace spile::session {

namespace {

// By the text of the point and its variables, so that JSON has the order of texts.
using Lines = std::map<std::string, std::string>;

void print(const Lines& lines) {
  for (const auto& [text, line] : lines) print_to(stdout, "{}\n", line);
}

// The names of the library's aliases: "syscall.open".
std::vector<std::string> alias_names(const sema::Program& program) {
  std::vector<std::string> names;
  for (const syntax::Script& script : program.scripts) {
    for (const auto& alias : script.aliases) {
      for (const syntax::ProbePoint& point : alias->names) names.push_back(syntax::to_source(point));
    }
  }
  return names;
}

// "syscall.open" or "syscall.open.return" where the library has an alias syscall.open.
bool names_alias(const std::vector<std::string>& aliases, const std::string& name) {
  return std::ranges::any_of(aliases, [&](const std::string& head) {
    return name.starts_with(head) && (name.size() == head.size() || name[head.size()] == '.');
  });
}

// By name and type.
using TypedNames = std::vector<std::pair<std::string, std::string>>;

TypedNames variables_of(probes::World& world, const sema::Probe& probe, const sema::ResolvedPoint& point) {
  TypedNames variables;
  for (const std::string& variable : world.typed_variables(point)) {
    const size_t colon = variable.find(':');
    variables.emplace_back(variable.substr(0, colon), colon == std::string::npos ? "" : variable.substr(colon + 1));
  }
  for (const auto& local : probe.locals) variables.emplace_back(local->name, to_string(local->type));
  return variables;
}

std::string as_text(const std::string& point, const TypedNames& variables) {
  std::string line = point;
  for (const auto& [name, type] : variables) line += fmt::format(" {}{}{}", name, type.empty() ? "" : ":", type);
  return line;
}

std::string as_json(const std::string& point, const TypedNames* variables) {
  Json object = {{"point", point}};
  if (variables) {
    object["variables"] = Json::array();
    for (const auto& [name, type] : *variables) object["variables"].push_back({{"name", name}, {"type", type}});
  }
  return object.dump();
}

// Returns the lines of one elaborated listing: aliases by their name, other points by the point that they were resolved to.
Lines lines_of(const sema::Program& program, probes::World& world, const SourceFile* user, bool with_variables, bool json) {
  Lines lines;
  const std::vector<std::string> aliases = alias_names(program);
  for (const sema::Probe& probe : program.probes) {
    if (probe.range.file != user) continue;
    for (const sema::ResolvedPoint& point : probe.points) {
      const std::string& name = names_alias(aliases, point.name) ? point.name : point.text;
      TypedNames variables;
      if (with_variables) variables = variables_of(world, probe, point);
      const std::string text = as_text(name, variables);
      lines.emplace(text, json ? as_json(name, with_variables ? &variables : nullptr) : text);
    }
  }
  return lines;
}

// Removes the bodies of aliases. They define variables for -L, but an error in one must not keep a point out of the list.
void drop_bodies(sema::Program& program) {
  for (syntax::Script& script : program.scripts) {
    for (auto& alias : script.aliases) alias->body.reset();
    for (auto& alias : script.aliases) alias->closing.reset();
  }
}

// Prints why functions that match are not in the list: with -v how many, by reason, with -vv each.
void print_left_out(const std::vector<std::string>& sentences, int verbosity) {
  std::map<std::string, size_t> reasons;
  for (const std::string& sentence : sentences) {
    if (verbosity > 1) note("left out: " + sentence);
    const size_t colon = sentence.find(": ");
    ++reasons[colon == std::string::npos ? sentence : sentence.substr(colon + 2)];
  }
  if (verbosity > 1) return;
  for (const auto& [reason, count] : reasons) note(fmt::format("left out: {}: {}", counted(count, "function"), reason));
  if (!reasons.empty()) note("-vv names them");
}

// A listing's point as pass 2 sees it.
struct ListedPoints {
  SourceFiles files;
  Diagnostics diagnostics;
  sema::Program program;
  std::unique_ptr<probes::World> world;
  const SourceFile* user = nullptr;  // null: the text has mistakes, or could not be parsed
};

Result<void> elaborate_point(const std::string& point, const ScriptOptions& script, const TargetOptions& target, bool with_bodies,
                             bool explain, ListedPoints& listed) {
  ScriptOptions asked = script;
  asked.text = "probe " + point + " {}";
  TRY(LoadedScripts loaded, load_scripts(asked, target, listed.files, listed.diagnostics));
  sema::Program& program = listed.program;
  program.scripts = std::move(loaded.scripts);
  program.library_functions = std::move(loaded.library_functions);
  if (listed.diagnostics.has_errors()) return {};
  declare_procfs_value(program.scripts, string_length(script), listed.files);
  program.unoptimized = program.hide_globals = program.guru = program.describe_points = true;
  if (!with_bodies) drop_bodies(program);
  TRY(listed.world, open_world(target, true, explain));
  listed.world->choose_runtime_for(program.scripts);
  listed.user = program.scripts.front().file;
  sema::elaborate(program, *listed.world, listed.diagnostics);
  return {};
}

Result<int> list_points(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target, int verbosity,
                        bool json) {
  for (bool with_bodies : {true, false}) {
    ListedPoints listed;
    TRY_DO(elaborate_point(listing.point, script, target, with_bodies, verbosity > 0, listed));
    if (listed.diagnostics.has_errors()) {
      if (!with_bodies || !listed.user) {
        print_to(stderr, "{}", listed.diagnostics.render(false));
        return 1;
      }
      continue;
    }
    Lines lines = lines_of(listed.program, *listed.world, listed.user, listing.what == Listing::kPointsAndVariables, json);
    print(lines);
    if (verbosity > 0) print_left_out(listed.world->left_out(), verbosity);
    return lines.empty() ? 1 : 0;
  }
  return 1;
}

std::string signature(const syntax::Function& function) {
  std::string line = fmt::format("{}:{} (", function.name, to_string(function.declared_type));
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const syntax::Local& parameter = *function.parameters[i];
    line += fmt::format("{}{}:{}", i ? ", " : "", parameter.name, to_string(parameter.type));
  }
  return line + ")";
}

std::string joined(const std::vector<syntax::ProbePoint>& points) {
  std::string text;
  for (const syntax::ProbePoint& point : points) text += (text.empty() ? "" : ", ") + syntax::to_source(point);
  return text;
}

// Whether users may use a name: those that begin with '_' are internal to the library.
bool is_public(const std::string& name) { return !name.starts_with("_"); }

Result<int> dump_library(Listing what, const ScriptOptions& script_options, const TargetOptions& target) {
  SourceFiles files;
  Diagnostics diagnostics;
  TRY(std::vector<syntax::Script> scripts, load_library(script_options, target, files, diagnostics));
  Lines lines;
  for (const syntax::Script& script : scripts) {
    if (what == Listing::kFunctions) {
      for (const auto& function : script.functions) {
        if (!function->is_private && is_public(function->name)) lines.emplace(signature(*function), signature(*function));
      }
      continue;
    }
    lines.emplace("oneshot = begin", "oneshot = begin");  // built in here, an alias in SystemTap
    for (const auto& alias : script.aliases) {
      for (const syntax::ProbePoint& name : alias->names) {
        std::string head = syntax::to_source(name);
        const std::string line = head + " = " + joined(alias->points);
        if (is_public(head)) lines.emplace(line, line);
      }
    }
  }
  print(lines);
  return 0;
}

}  // namespace

Result<PointVariables> variables_at(const std::string& point, const ScriptOptions& script, const TargetOptions& target) {
  ListedPoints listed;
  TRY_DO(elaborate_point(point, script, target, true, false, listed));
  for (const Diagnostic& mistake : listed.diagnostics.all()) {
    if (mistake.severity == Severity::kError) return Error{fmt::format("'{}': {}", point, mistake.message), mistake.hint_text};
  }
  for (const sema::Probe& probe : listed.program.probes) {
    if (probe.range.file != listed.user || probe.points.empty()) continue;
    PointVariables found;
    found.in_process = probe.points.front().domain == sema::Domain::kTarget;
    found.variables = variables_of(*listed.world, probe, probe.points.front());
    return found;
  }
  return Error{fmt::format("'{}' is not a probe point", point), {}};
}

Result<int> list(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target,
                 const MessageOptions& messages, bool json) {
  switch (listing.what) {
    case Listing::kPoints:
    case Listing::kPointsAndVariables: return list_points(listing, script, target, messages.pass_verbosity[1], json);
    case Listing::kProbeTypes:
      for (const std::string& type : probes::probe_types()) print_to(stdout, "{}\n", type);
      return 0;
    default: return dump_library(listing.what, script, target);
  }
}

}  // namespace spile::session
