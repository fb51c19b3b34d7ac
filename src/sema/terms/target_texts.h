#pragma once
// Pretty-printing: $x$ and $x$$ become a sprintf of the members that TargetInfo names.

#include "sema/terms/program.h"
#include "sema/terms/target_info.h"
#include "syntax/tree.h"

namespace spile::sema {

// Whether a path ends with $ or $$.
bool is_pretty(const std::vector<syntax::PathStep>& path);

// Returns a copy of a TargetVariable, AtOperation or Dereference without that last step.
syntax::ExpressionPtr without_pretty(const syntax::Expression& expression);

// Returns a copy of the expression with more steps behind it. REQUIRES: if `path` is not empty, `base` is one of these three.
syntax::ExpressionPtr reached_from(const syntax::Expression& base, const std::vector<syntax::PathStep>& path);

// Make a sprintf piece by piece: of nothing yet; then a text as it is (% too), or a %s and its value.
std::unique_ptr<syntax::Print> empty_sprintf(const SourceRange& range);
void append_literal(syntax::Print& print, const std::string& text);
void append_string(syntax::Print& print, syntax::ExpressionPtr value);

// Returns a sprintf of what `parts` say, each value reached from `base`; its value is "ERROR" where one of them can't be read.
// domain: of the handler; in the kernel, strings are neither shortened nor escaped. limits: of what plans show.
syntax::ExpressionPtr sprintf_of(const syntax::Expression& base, const std::vector<PrettyPart>& parts, Domain domain,
                                 const Limits& limits);

// Writes a name from a program's debug information for a text of the script: control characters and bytes beyond ASCII in octal,
// since what a script prints as its own text reaches terminals unchanged.
std::string shown_name(const std::string& name);

}  // namespace spile::sema
