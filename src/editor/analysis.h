#pragma once
// Runs passes 1 and 2 over a script that is being edited, and reports its mistakes and declarations. Runs no script and attaches to
// no process. One thread.

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "editor/catalogue.h"
#include "editor/completion.h"
#include "session/options.h"

namespace spile::editor {

struct Analysis {
  std::unique_ptr<SourceFile> file;  // the text; the diagnostics point into it, or into the library's files
  SourceFiles library_files;
  Diagnostics diagnostics;
  Catalogue declared;
};

// Parses the text and, if that succeeds, elaborates it, with the library of the options and for their -c or -x.
Analysis analyze(const session::Options& options, std::string name, std::string text);

// The declarations of the library, with their documentation. The files keep what the entries' places point into.
Catalogue library_catalogue(const session::Options& options, SourceFiles& files);

// The traced world that the options describe. It is opened at the first question.
WorldQueries world_queries(const session::Options& options);

}  // namespace spile::editor
