#include "session/listing.h"

#include <fmt/format.h>

#include <set>

#include "base/diagnostics.h"
#include "base/print.h"
#include "sema/program.h"
#include "session/limits.h"
#include "session/open_world.h"
#include "session/procfs_value.h"
#include "session/scripts.h"
#include "syntax/parser.h"

namespace spile::session {

namespace {

using Lines = std::set<std::string>;

void print(const Lines& lines) {
  for (const std::string& line : lines) print_to(stdout, "{}\n", line);
}

std::vector<const syntax::ProbePoint*> points_of(const syntax::Script& script) {
  std::vector<const syntax::ProbePoint*> points;
  for (const auto& probe : script.probes) {
    for (const syntax::ProbePoint& point : probe->points) points.push_back(&point);
  }
  return points;
}

// "syscall.open" or "syscall.open.return" where the library has an alias syscall.open.
bool names_alias(const sema::Program& program, const std::string& name) {
  for (const syntax::Script& script : program.scripts) {
    for (const auto& alias : script.aliases) {
      for (const syntax::ProbePoint& point : alias->names) {
        std::string head = syntax::to_source(point);
        if (name.starts_with(head) && (name.size() == head.size() || name[head.size()] == '.')) return true;
      }
    }
  }
  return false;
}

std::string variables_of(probes::World& world, const sema::Probe& probe, const std::string& text) {
  std::string line;
  SourceFiles files;
  Diagnostics ignored;
  syntax::Script script = syntax::parse(files.add("<point>", "probe " + text + " {}"), {}, ignored);
  for (const syntax::ProbePoint* point : points_of(script)) {
    auto listed = world.list(*point, true);
    if (!listed.ok() || listed->empty()) continue;
    for (const std::string& variable : listed->front().variables) line += " " + variable;
  }
  for (const auto& local : probe.locals) line += fmt::format(" {}:{}", local->name, to_string(local->type));
  return line;
}

// Returns the lines of one elaborated listing: aliases by their name, other points by the point that they were resolved to.
Lines lines_of(const sema::Program& program, probes::World& world, const SourceFile* user, bool with_variables) {
  Lines lines;
  for (const sema::Probe& probe : program.probes) {
    if (probe.range.file != user) continue;
    for (const sema::ResolvedPoint& point : probe.points) {
      std::string line = names_alias(program, point.name) ? point.name : point.text;
      if (with_variables) line += variables_of(world, probe, point.text);
      lines.insert(std::move(line));
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

Result<int> list_points(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target) {
  ScriptOptions asked = script;
  asked.text = "probe " + listing.point + " {}";
  for (bool with_bodies : {true, false}) {
    SourceFiles files;
    Diagnostics diagnostics;
    sema::Program program;
    TRY(LoadedScripts loaded, load_scripts(asked, target, files, diagnostics));
    program.scripts = std::move(loaded.scripts);
    program.library_functions = std::move(loaded.library_functions);
    if (diagnostics.has_errors()) {
      print_to(stderr, "{}", diagnostics.render(false));
      return 1;
    }
    declare_procfs_value(program.scripts, string_length(script), files);
    program.unoptimized = program.hide_globals = program.guru = program.describe_points = true;
    if (!with_bodies) drop_bodies(program);
    TRY(auto world, open_world(target, true));
    world->choose_runtime_for(program.scripts.front());
    const SourceFile* user = program.scripts.front().file;
    sema::elaborate(program, *world, diagnostics);
    if (diagnostics.has_errors()) {
      if (!with_bodies) print_to(stderr, "{}", diagnostics.render(false));
      continue;
    }
    Lines lines = lines_of(program, *world, user, listing.what == Listing::kPointsAndVariables);
    print(lines);
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
bool is_public(const std::string& name) {
  return !name.starts_with("_");
}

Result<int> dump_library(Listing what, const ScriptOptions& script_options, const TargetOptions& target) {
  SourceFiles files;
  Diagnostics diagnostics;
  TRY(std::vector<syntax::Script> scripts, load_library(script_options, target, files, diagnostics));
  Lines lines;
  for (const syntax::Script& script : scripts) {
    if (what == Listing::kFunctions) {
      for (const auto& function : script.functions) {
        if (!function->is_private && is_public(function->name)) lines.insert(signature(*function));
      }
      continue;
    }
    lines.insert("oneshot = begin");  // built in here, an alias in SystemTap
    for (const auto& alias : script.aliases) {
      for (const syntax::ProbePoint& name : alias->names) {
        std::string head = syntax::to_source(name);
        if (is_public(head)) lines.insert(head + " = " + joined(alias->points));
      }
    }
  }
  print(lines);
  return 0;
}

}  // namespace

Result<int> list(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target) {
  switch (listing.what) {
    case Listing::kPoints:
    case Listing::kPointsAndVariables:
      return list_points(listing, script, target);
    case Listing::kProbeTypes:
      for (const std::string& type : probes::probe_types()) print_to(stdout, "{}\n", type);
      return 0;
    default:
      return dump_library(listing.what, script, target);
  }
}

}  // namespace spile::session
