#pragma once
// The places in source text that `lines` and `vars` are asked about, and the code that belongs to them.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "debuginfo/debuginfo.h"
#include "verbs/asking/asked_files.h"

namespace spile::verbs {

// "f", "f:12", "f:10-40", "f+3", "f@file.c:12", or "file.c:10-40".
struct AskedPlace {
  std::string function;     // glob; empty: a file is meant
  std::string file;         // glob over the path of a source file, as debuginfo::FunctionPattern::file has it; empty: not said
  bool has_lines = false;   // false: the whole function or file is meant
  int first = 0, last = 0;  // lines, in a file from 1 on; 0 of a function: the line of its declaration
  bool relative = false;    // first and last count from the function's declaration
};
// Errors: nothing before the line, a line that is not a number, line 0 of a file, a range that ends before it begins.
Result<AskedPlace> parse_asked_place(const std::string& word);

// A function with the lines of its source that have code. Inlined copies of it count as its code.
struct FunctionSource {
  std::shared_ptr<debuginfo::Module> module;
  debuginfo::Function function;
  debuginfo::SourcePlace declared;   // line 0: not known
  debuginfo::CodePlaces statements;  // by line; empty: not asked for
  int last_line() const { return statements.empty() ? declared.line : statements.back().source.line; }
};
// Returns the functions that match, of the program or, if it has none, of its libraries. Errors: none matches (with
// did-you-mean), or there is no debug information about them.
Result<std::vector<FunctionSource>> functions_at(AskedFiles& files, const AskedPlace& place, bool with_statements);

// Returns the lines of the file. Numbers are lines of the file if any of them is the function's; else, and where place.relative,
// they count from its declaration, as perf probe's do.
std::pair<int, int> lines_in(const FunctionSource& source, const AskedPlace& place);
// Returns the error for lines of the function that have no code.
Error no_code(const FunctionSource& source, const AskedPlace& place);

}  // namespace spile::verbs
