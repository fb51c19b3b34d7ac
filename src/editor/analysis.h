#pragma once
// Passes 1 and 2 over a script that is being edited: what is wrong with it and what it declares. Nothing is run or
// attached to. One thread.

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

// Parses, and elaborates what parses, with the library of the options and against their -c or -x.
Analysis analyse(const session::Options& options, std::string name, std::string text);

// The declarations of the library, with their documentation. The files keep what the entries' places point into.
Catalogue library_catalogue(const session::Options& options, SourceFiles& files);

// The traced world that the options describe. It is opened at the first question.
WorldQueries world_queries(const session::Options& options);

}  // namespace spile::editor
