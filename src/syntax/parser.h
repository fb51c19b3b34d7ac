#pragma once
// Pass 1: text to tree. Stages: preprocessor (conditions, macros, $1 @1), lexer, recursive-descent parser with
// SystemTap's operator precedence. Errors go to diagnostics, at most kMaximumErrors (preprocessor.h) in one run; a tree of what
// could be parsed is returned even then, for the editor, but must not be elaborated: look at diagnostics.has_errors().

#include "base/diagnostics.h"
#include "syntax/parse_options.h"
#include "syntax/tree.h"

namespace spile::syntax {

// Parses a script or a tapset's file. The script's nodes point into `file` (ranges), which outlives them, but own everything
// else.
Script parse(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics);

// Parses a file of macros, NAME.stpm of a tapset: only @define (and conditions) may stand there. Adds to `library`, whose tokens
// point into `file`; of two macros with one name the first stays, and the second is an error. Reads as with options.is_library.
void parse_macros(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics, MacroLibrary& library);

}  // namespace spile::syntax
