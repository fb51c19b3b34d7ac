#pragma once
// For tests: parses a text, and shows a tree as a fully bracketed line, so that a wrong shape can't hide behind
// right-looking source: "a + b * c" is (+ a (* b c)).

#include <string>

#include "base/diagnostics.h"
#include "syntax/parser.h"
#include "syntax/visitor.h"

namespace spile::syntax {

std::string shape(const Expression* expression);  // null: "*"
std::string shape(const Statement& statement);
std::string shape(const ProbePoint& point);
std::string shape(const Script& script);

// One text, parsed. Everything that the tree points into lives as long as this.
struct Parsed {
  explicit Parsed(std::string text, ParseOptions options = {});
  SourceFile file;
  Diagnostics diagnostics;
  Script script;
};

// The shape of the expression, or of the statements, put into a probe; or the errors.
std::string expression_shape(const std::string& text, ParseOptions options = {});
std::string statement_shape(const std::string& text, ParseOptions options = {});
// The errors of a script, "line:column: message" each, joined by newlines; "" for none. Warnings are left out.
std::string errors(const std::string& text, ParseOptions options = {});
// All diagnostics as spile prints them, with source lines, carets and hints.
std::string rendered(const std::string& text, ParseOptions options = {});

}  // namespace spile::syntax
