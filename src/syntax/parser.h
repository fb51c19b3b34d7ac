#pragma once
// Pass 1: text to tree. Stages: preprocessor (conditions, macros, $1 @1), lexer, recursive-descent parser with
// SystemTap's operator precedence. Errors go to diagnostics with several reported in one run; a tree is returned even
// then, for tools, but must not be elaborated.

#include "base/diagnostics.h"
#include "syntax/parse_options.h"
#include "syntax/tree.h"

namespace spile::syntax {

// The script's nodes point into `file` (ranges) but own everything else.
Script parse(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics);

// A file of macros, NAME.stpm of a tapset: only @define (and conditions) may stand there. Adds to `library`; of two
// macros with one name the first stays, and the second is an error.
void parse_macros(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics, MacroLibrary& library);

}  // namespace spile::syntax
