#pragma once
// Pass 1: text to tree. Stages: preprocessor (conditions, macros, $1 @1), lexer, recursive-descent parser with
// SystemTap's operator precedence. Errors go to diagnostics with several reported in one run; a tree is returned even
// then, for tools, but must not be elaborated.

#include <map>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "syntax/tree.h"

namespace spile::syntax {

struct ParseOptions {
  std::vector<std::string> arguments;  // $1 @1 ...
  bool guru = false;                   // -g: %{ %} may stand in scripts
  bool is_library = false;
  std::string kernel_release;          // kernel_v, kernel_vr
  std::string architecture = "x86_64";
  std::string runtime = "inproc";      // what %( runtime == "..." %) sees
};

Script parse(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics);

}  // namespace spile::syntax
