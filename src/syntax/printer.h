#pragma once
// Inside of to_source: writes one tree after the other into a text. Parentheses stand where precedence needs them,
// statements one a line. Expressions are in print_expression.cpp, statements and declarations in print.cpp.

#include <string>

#include "syntax/visitor.h"

namespace spile::syntax {

// How tightly an expression holds together, in the order of the parser's grammar: ORDER PRECEDENCE.
enum Level : int {
  kCommaLevel,
  kAssignmentLevel,
  kTernaryLevel,
  kOrLevel,
  kAndLevel,
  kBitOrLevel,
  kBitXorLevel,
  kBitAndLevel,
  kInLevel,
  kCompareLevel,
  kShiftLevel,
  kConcatenationLevel,
  kAddLevel,
  kMultiplyLevel,
  kUnaryLevel,
  kPostfixLevel,
  kPrimaryLevel
};

// Each function appends one construct to the text, without a line end behind it.
class Printer {
 public:
  // Returns the text. REQUIRES: the printer is not used any more.
  std::string take() { return std::move(out_); }

  // Writes parentheses around an expression that holds together less tightly than `minimum`.
  void expression(const Expression& e, Level minimum = kAssignmentLevel);
  void statement(const Statement& s);
  void point(const ProbePoint& p);
  void global(const Global& g);
  void function(const Function& f);
  void alias(const Alias& a);
  void probe(const Probe& p);
  void embedded(const std::string& code) { out_ += "%{" + code + "%}"; }
  // Begins a line, indented.
  void line() { (out_ += '\n').append(2 * indent_, ' '); }

 private:
  void in_parentheses(const Expression& e) {
    out_ += '(';
    expression(e);
    out_ += ')';
  }
  void sides(const Expression& left, const char* operation, const Expression& right, Level level);
  void list(const std::vector<ExpressionPtr>& expressions);
  void path(const std::vector<PathStep>& steps);
  void unary(const Unary& e);
  void assignment(const Assignment& e);
  void print(const Print& e);
  void call(const std::string& name, const std::vector<ExpressionPtr>& arguments);
  void dereference(const Dereference& e);
  void histogram(const Histogram& e);
  void statistic(const Statistic& e);
  void increment(const Increment& e);
  void block(const Block& b);
  void body(const Statement& s);
  void if_else(const If& s);
  void foreach (const Foreach& s);
  void for_loop(const For& s);
  void try_catch(const Try& s);
  void points(const std::vector<ProbePoint>& all);

  std::string out_;
  size_t indent_ = 0;
};

// Returns the literal, with quotes and escapes, that reads as this value.
std::string quoted(const std::string& value);
const char* text_of(Statistic::Operator operation);  // "@sum"

}  // namespace spile::syntax
