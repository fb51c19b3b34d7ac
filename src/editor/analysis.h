#pragma once
// Runs passes 1 and 2 over a script that is being edited, and reports its mistakes and declarations. Runs no script and attaches
// to no process. Thread rule: one thread.

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "editor/catalogue.h"
#include "editor/completion.h"
#include "session/terms/options.h"

namespace spile::editor {

struct Analysis {
  std::unique_ptr<SourceFile> file;  // the text; the diagnostics point into it, or into the library's files
  SourceFiles library_files;
  Diagnostics diagnostics;
  Catalogue declared;  // by the text itself
};

// Parses the text and, if that succeeds, elaborates it, with the library of the options and for their -c or -x. name: of the text
// in messages. A library or process that can't be opened is a warning in the diagnostics.
Analysis analyze(const session::Options& options, std::string name, std::string text);

// Returns the declarations of the library, with their documentation; empty if the library can't be read. files: gets the texts
// that the entries' places point into; must outlive the catalogue.
Catalogue library_catalogue(const session::Options& options, SourceFiles& files);

// Returns functions that answer questions about the traced world of -c or -x. They open it at the first question; if that fails,
// or a point is malformed, the answer is an empty list.
WorldQueries world_queries(const session::Options& options);

}  // namespace spile::editor
