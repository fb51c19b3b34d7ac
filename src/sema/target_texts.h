#pragma once
// Pretty-printing: $x$ and $x$$ become a sprintf of the members that TargetInfo names.

#include "sema/target_info.h"
#include "syntax/tree.h"

namespace spile::sema {

// Whether a path ends with $ or $$.
bool is_pretty(const std::vector<syntax::PathStep>& path);

// A copy of a TargetVariable, AtOperation or Dereference without that last step.
syntax::ExpressionPtr without_pretty(const syntax::Expression& expression);

// A copy of the expression with more steps behind it.
syntax::ExpressionPtr reached_from(const syntax::Expression& base, const std::vector<syntax::PathStep>& path);

std::unique_ptr<syntax::Print> empty_sprintf(const SourceRange& range);
void append_literal(syntax::Print& print, const std::string& text);
void append_string(syntax::Print& print, syntax::ExpressionPtr value);

// A sprintf of what `parts` say, each value reached from `base`; of "ERROR" where one of them can't be read.
syntax::ExpressionPtr sprintf_of(const syntax::Expression& base, const std::vector<PrettyPart>& parts, Domain domain);

}  // namespace spile::sema
