#include "editor/analysis.h"

#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "session/open_world.h"
#include "session/scripts/library.h"
#include "session/scripts/scripts.h"
#include "syntax/parser.h"

namespace spile::editor {

namespace {

void elaborate(const session::Options& options, std::vector<syntax::Script> scripts, Diagnostics& diagnostics) {
  auto world = session::open_world(options.target);
  if (!world.ok()) {
    diagnostics.warning({}, world.error().message).hint(world.error().hint);
    return;
  }
  sema::Program program;
  program.scripts = std::move(scripts);
  program.guru = options.script.guru;
  (*world)->choose_runtime_for(program.scripts);
  sema::elaborate(program, **world, diagnostics);
}

// A probe point from its text; null if it is none.
std::unique_ptr<syntax::ProbePoint> parse_point(const std::string& text) {
  SourceFile file("", "probe " + text + " {}");
  Diagnostics diagnostics;
  syntax::Script script = syntax::parse(file, {}, diagnostics);
  if (diagnostics.has_errors() || script.probes.size() != 1 || script.probes[0]->points.empty()) return nullptr;
  return std::make_unique<syntax::ProbePoint>(clone(script.probes[0]->points.front()));
}

}  // namespace

Analysis analyze(const session::Options& options, std::string name, std::string text) {
  Analysis analysis;
  analysis.file = std::make_unique<SourceFile>(std::move(name), std::move(text));
  syntax::ParseOptions settings = session::parse_settings(options.script, options.target);
  auto library = session::Library::open(options.script, options.target.runtime, settings, analysis.library_files);
  if (library.ok()) {
    library->load_macros(analysis.file->text(), analysis.diagnostics);
    settings.macros = &library->macros();
  } else {
    analysis.diagnostics.warning({}, library.error().message).hint(library.error().hint);
  }
  std::vector<syntax::Script> scripts;
  scripts.push_back(syntax::parse(*analysis.file, settings, analysis.diagnostics));
  analysis.declared.add(scripts.front());
  if (analysis.diagnostics.has_errors()) return analysis;
  if (library.ok()) library->complete(scripts, analysis.diagnostics);
  elaborate(options, std::move(scripts), analysis.diagnostics);
  return analysis;
}

Catalogue library_catalogue(const session::Options& options, SourceFiles& files) {
  Catalogue catalogue;
  auto library = session::Library::open(options.script, options.target.runtime,
                                        session::parse_settings(options.script, options.target), files);
  if (!library.ok()) return catalogue;
  Diagnostics ignored;
  for (const syntax::Script& script : library->parse_all(ignored)) catalogue.add(script);
  return catalogue;
}

WorldQueries world_queries(const session::Options& options) {
  auto world = std::make_shared<std::unique_ptr<probes::World>>();
  auto list = [world, options](const std::string& text, bool with_variables) -> std::vector<probes::World::ListedPoint> {
    auto point = parse_point(text);
    if (!point) return {};
    if (!*world) {
      auto opened = session::open_world(options.target);
      if (!opened.ok()) return {};
      *world = std::move(*opened);
    }
    (*world)->choose_runtime({point.get()}, false);
    auto listed = (*world)->list(*point, with_variables);
    return listed.ok() ? std::move(*listed) : std::vector<probes::World::ListedPoint>();
  };
  WorldQueries queries;
  queries.points = [list](const std::string& pattern) {
    std::vector<std::string> points;
    for (auto& listed : list(pattern, false)) points.push_back(std::move(listed.text));
    return points;
  };
  queries.variables = [list](const std::string& point) {
    std::vector<std::string> variables;
    for (auto& listed : list(point, true)) {
      variables.insert(variables.end(), listed.variables.begin(), listed.variables.end());
    }
    return variables;
  };
  return queries;
}

}  // namespace spile::editor
