// The tree as source text that parses again to the same tree: parentheses where precedence needs them, statements one
// a line. Probe points print with their alternatives expanded.

#include <utility>

#include "base/check.h"
#include "syntax/visitor.h"

namespace spile {

const char* to_string(ValueType type) {
  switch (type) {
    case ValueType::kLong: return "long";
    case ValueType::kString: return "string";
    case ValueType::kStats: return "stats";
    case ValueType::kUnknown: break;
  }
  return "unknown";
}

namespace syntax {

namespace {

// How tightly an expression holds together, in the order of the parser's grammar: ORDER PRECEDENCE.
enum Level : int {
  kAssignmentLevel, kTernaryLevel, kOrLevel, kAndLevel, kBitOrLevel, kBitXorLevel, kBitAndLevel, kInLevel, kCompareLevel,
  kShiftLevel, kConcatenationLevel, kAddLevel, kMultiplyLevel, kUnaryLevel, kPostfixLevel, kPrimaryLevel
};

Level level_of(Binary::Operator operation) {
  switch (operation) {
    case Binary::Operator::kAdd: case Binary::Operator::kSubtract: return kAddLevel;
    case Binary::Operator::kMultiply: case Binary::Operator::kDivide: case Binary::Operator::kModulo: return kMultiplyLevel;
    case Binary::Operator::kShiftLeft: case Binary::Operator::kShiftRight: case Binary::Operator::kShiftRightLogical:
      return kShiftLevel;
    case Binary::Operator::kAnd: return kBitAndLevel;
    case Binary::Operator::kOr: return kBitOrLevel;
    case Binary::Operator::kXor: return kBitXorLevel;
  }
  return kPrimaryLevel;
}

Level level_of(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kAssignment: return kAssignmentLevel;
    case ExpressionKind::kTernary: return kTernaryLevel;
    case ExpressionKind::kLogical: return as<Logical>(e)->is_and ? kAndLevel : kOrLevel;
    case ExpressionKind::kBinary: return level_of(as<Binary>(e)->op);
    case ExpressionKind::kIn: return kInLevel;
    case ExpressionKind::kCompare: case ExpressionKind::kRegex: return kCompareLevel;
    case ExpressionKind::kConcatenation: return kConcatenationLevel;
    case ExpressionKind::kUnary: return kUnaryLevel;
    case ExpressionKind::kIncrement: return as<Increment>(e)->is_prefix ? kUnaryLevel : kPostfixLevel;
    case ExpressionKind::kNumber: return as<Number>(e)->value < 0 ? kUnaryLevel : kPrimaryLevel;
    case ExpressionKind::kTargetVariable: return as<TargetVariable>(e)->address_of ? kUnaryLevel : kPrimaryLevel;
    case ExpressionKind::kAtOperation: return as<AtOperation>(e)->address_of ? kUnaryLevel : kPrimaryLevel;
    case ExpressionKind::kDereference: return as<Dereference>(e)->address_of ? kUnaryLevel : kPrimaryLevel;
    default: return kPrimaryLevel;
  }
}

const char* text_of(Binary::Operator operation) {
  switch (operation) {
    case Binary::Operator::kAdd: return "+";
    case Binary::Operator::kSubtract: return "-";
    case Binary::Operator::kMultiply: return "*";
    case Binary::Operator::kDivide: return "/";
    case Binary::Operator::kModulo: return "%";
    case Binary::Operator::kShiftLeft: return "<<";
    case Binary::Operator::kShiftRight: return ">>";
    case Binary::Operator::kShiftRightLogical: return ">>>";
    case Binary::Operator::kAnd: return "&";
    case Binary::Operator::kOr: return "|";
    case Binary::Operator::kXor: return "^";
  }
  return "";
}

const char* text_of(Compare::Operator operation) {
  switch (operation) {
    case Compare::Operator::kEqual: return "==";
    case Compare::Operator::kNotEqual: return "!=";
    case Compare::Operator::kLess: return "<";
    case Compare::Operator::kLessEqual: return "<=";
    case Compare::Operator::kGreater: return ">";
    case Compare::Operator::kGreaterEqual: return ">=";
  }
  return "";
}

const char* text_of(Statistic::Operator operation) {
  switch (operation) {
    case Statistic::Operator::kCount: return "@count";
    case Statistic::Operator::kSum: return "@sum";
    case Statistic::Operator::kMin: return "@min";
    case Statistic::Operator::kMax: return "@max";
    case Statistic::Operator::kAverage: return "@avg";
    case Statistic::Operator::kVariance: return "@variance";
  }
  return "";
}

std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (char c : value) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      case '\r': out += "\\r"; break;
      case '"': case '\\': (out += '\\') += c; break;
      default:
        if (byte >= 0x20 && byte != 0x7f) {
          out += c;
        } else {
          out += '\\';
          for (int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
        }
    }
  }
  return out + "\"";
}

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void expression(const Expression& e, Level minimum = kAssignmentLevel);
  void statement(const Statement& s);
  void point(const ProbePoint& p);
  void global(const Global& g);
  void function(const Function& f);
  void alias(const Alias& a);
  void probe(const Probe& p);
  void embedded(const std::string& code) { out_ += "%{" + code + "%}"; }
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
  void foreach(const Foreach& s);
  void for_loop(const For& s);
  void try_catch(const Try& s);
  void points(const std::vector<ProbePoint>& all);

  std::string out_;
  size_t indent_ = 0;
};

// ---------------------------------------------------------------- expressions

void Printer::expression(const Expression& e, Level minimum) {
  if (level_of(e) < minimum) return in_parentheses(e);
  switch (e.kind) {
    case ExpressionKind::kNumber: out_ += std::to_string(as<Number>(e)->value); return;
    case ExpressionKind::kString: out_ += quoted(as<String>(e)->value); return;
    case ExpressionKind::kVariable: out_ += as<Variable>(e)->name; return;
    case ExpressionKind::kIndex:
      out_ += as<Index>(e)->array->name + "[";
      list(as<Index>(e)->indexes);
      out_ += "]";
      return;
    case ExpressionKind::kTargetVariable:
      out_ += (as<TargetVariable>(e)->address_of ? "&" : "") + as<TargetVariable>(e)->name;
      return path(as<TargetVariable>(e)->path);
    case ExpressionKind::kDereference: return dereference(*as<Dereference>(e));
    case ExpressionKind::kAtOperation:
      if (as<AtOperation>(e)->address_of) out_ += "&";
      call(as<AtOperation>(e)->name, as<AtOperation>(e)->arguments);
      return path(as<AtOperation>(e)->path);
    case ExpressionKind::kUnary: return unary(*as<Unary>(e));
    case ExpressionKind::kIncrement: return increment(*as<Increment>(e));
    case ExpressionKind::kBinary: {
      const auto& node = *as<Binary>(e);
      return sides(*node.left, text_of(node.op), *node.right, level_of(node.op));
    }
    case ExpressionKind::kLogical: {
      const auto& node = *as<Logical>(e);
      return sides(*node.left, node.is_and ? "&&" : "||", *node.right, node.is_and ? kAndLevel : kOrLevel);
    }
    case ExpressionKind::kCompare: {
      const auto& node = *as<Compare>(e);
      return sides(*node.left, text_of(node.op), *node.right, kCompareLevel);
    }
    case ExpressionKind::kConcatenation:
      return sides(*as<Concatenation>(e)->left, ".", *as<Concatenation>(e)->right, kConcatenationLevel);
    case ExpressionKind::kRegex:
      expression(*as<Regex>(e)->subject, kCompareLevel);
      out_ += (as<Regex>(e)->negated ? " !~ " : " =~ ") + quoted(as<Regex>(e)->pattern);
      return;
    case ExpressionKind::kTernary:
      expression(*as<Ternary>(e)->condition, kOrLevel);
      out_ += " ? ";
      expression(*as<Ternary>(e)->if_true);
      out_ += " : ";
      return expression(*as<Ternary>(e)->if_false);
    case ExpressionKind::kAssignment: return assignment(*as<Assignment>(e));
    case ExpressionKind::kIn:
      out_ += "[";
      list(as<In>(e)->indexes);
      out_ += "] in " + as<In>(e)->array->name;
      return;
    case ExpressionKind::kCall: return call(as<Call>(e)->name, as<Call>(e)->arguments);
    case ExpressionKind::kPrint: return print(*as<Print>(e));
    case ExpressionKind::kStatistic: return statistic(*as<Statistic>(e));
    case ExpressionKind::kHistogram: return histogram(*as<Histogram>(e));
    case ExpressionKind::kHistogramIndex:
      histogram(*as<HistogramIndex>(e)->histogram);
      out_ += "[";
      expression(*as<HistogramIndex>(e)->bucket);
      out_ += "]";
      return;
    case ExpressionKind::kEmbedded: return embedded(as<Embedded>(e)->code);
    case ExpressionKind::kDefined:
      out_ += "@defined";
      return in_parentheses(*as<Defined>(e)->operand);
    case ExpressionKind::kEntry:
      out_ += "@entry";
      return in_parentheses(*as<Entry>(e)->operand);
    case ExpressionKind::kEntryValue:
      // No source gives this node; it shows in dumps only.
      out_ += "@entry_value(" + std::to_string(as<EntryValue>(e)->index) + ")";
      return;
    case ExpressionKind::kPerf: out_ += "@perf(" + quoted(as<Perf>(e)->counter) + ")"; return;
  }
  CHECK(false);
}

void Printer::sides(const Expression& left, const char* operation, const Expression& right, Level level) {
  expression(left, level);
  ((out_ += ' ') += operation) += ' ';
  expression(right, static_cast<Level>(level + 1));
}

void Printer::list(const std::vector<ExpressionPtr>& expressions) {
  bool first = true;
  for (const ExpressionPtr& e : expressions) {
    if (!std::exchange(first, false)) out_ += ", ";
    if (e) {
      expression(*e);
    } else {
      out_ += "*";
    }
  }
}

void Printer::call(const std::string& name, const std::vector<ExpressionPtr>& arguments) {
  out_ += name + "(";
  list(arguments);
  out_ += ")";
}

void Printer::path(const std::vector<PathStep>& steps) {
  for (const PathStep& step : steps) {
    switch (step.kind) {
      case PathStep::Kind::kMember: out_ += "->" + step.name; break;
      case PathStep::Kind::kElement: out_ += "[" + std::to_string(step.number) + "]"; break;
      case PathStep::Kind::kElementExpr:
        out_ += "[";
        expression(*step.expression);
        out_ += "]";
        break;
      case PathStep::Kind::kPretty: out_ += "$"; break;
      case PathStep::Kind::kPrettyDeep: out_ += "$$"; break;
    }
  }
}

// Signs must not run together into ++, -- or !~, nor a minus and a number into one literal.
void Printer::unary(const Unary& e) {
  switch (e.op) {
    case Unary::Operator::kPlus: out_ += "+"; break;
    case Unary::Operator::kMinus: out_ += "-"; break;
    case Unary::Operator::kNot: out_ += "!"; break;
    case Unary::Operator::kBitNot: out_ += "~"; break;
  }
  bool runs_together = level_of(*e.operand) == kUnaryLevel || as<Number>(*e.operand);
  if (runs_together) return in_parentheses(*e.operand);
  expression(*e.operand, kUnaryLevel);
}

void Printer::increment(const Increment& e) {
  const char* operation = e.delta > 0 ? "++" : "--";
  if (e.is_prefix) out_ += operation;
  expression(*e.operand, kPostfixLevel);
  if (!e.is_prefix) out_ += operation;
}

void Printer::dereference(const Dereference& e) {
  if (e.address_of) out_ += "&";
  ExpressionKind kind = e.pointer->kind;
  bool bare = kind == ExpressionKind::kVariable || kind == ExpressionKind::kIndex || kind == ExpressionKind::kCall ||
              kind == ExpressionKind::kPrint;
  if (bare) {
    expression(*e.pointer);
  } else {
    in_parentheses(*e.pointer);
  }
  path(e.path);
}

void Printer::assignment(const Assignment& e) {
  expression(*e.target, kUnaryLevel);
  switch (e.op) {
    case Assignment::Operator::kSet: out_ += " = "; break;
    case Assignment::Operator::kConcatenate: out_ += " .= "; break;
    case Assignment::Operator::kAccumulate: out_ += " <<< "; break;
    case Assignment::Operator::kArithmetic: (out_ += ' ').append(text_of(e.arithmetic)).append("= "); break;
  }
  expression(*e.value);
}

void Printer::print(const Print& e) {
  out_ += e.to_stream ? "print" : "sprint";
  if (e.with_format) out_ += "f";
  if (e.with_delimiter) out_ += "d";
  if (e.with_newline) out_ += "ln";
  if (e.is_char) out_ += "_char";
  out_ += "(";
  if (e.with_format) out_ += quoted(e.format);
  if (e.with_delimiter) out_ += quoted(e.delimiter);
  if ((e.with_format || e.with_delimiter) && !e.arguments.empty()) out_ += ", ";
  list(e.arguments);
  out_ += ")";
}

void Printer::statistic(const Statistic& e) {
  (out_ += text_of(e.op)) += '(';
  expression(*e.stats);
  if (e.bits != 0) out_ += ", " + std::to_string(e.bits);
  out_ += ')';
}

void Printer::histogram(const Histogram& e) {
  out_ += e.is_log ? "@hist_log(" : "@hist_linear(";
  expression(*e.stats);
  if (!e.is_log) {
    out_ += ", " + std::to_string(e.low) + ", " + std::to_string(e.high) + ", " + std::to_string(e.width);
  }
  out_ += ")";
}

// ---------------------------------------------------------------- statements

void Printer::block(const Block& b) {
  out_ += "{";
  ++indent_;
  for (const StatementPtr& s : b.statements) {
    line();
    statement(*s);
  }
  --indent_;
  line();
  out_ += "}";
}

// The statement that another one governs.
void Printer::body(const Statement& s) {
  if (const auto* b = as<Block>(s)) {
    out_ += ' ';
    return block(*b);
  }
  ++indent_;
  line();
  statement(s);
  --indent_;
}

// Whether an `else` put after the statement would be taken for its own.
bool ends_in_open_if(const Statement& s) {
  switch (s.kind) {
    case StatementKind::kIf: {
      const auto& node = *as<If>(s);
      return !node.else_branch || ends_in_open_if(*node.else_branch);
    }
    case StatementKind::kWhile: return ends_in_open_if(*as<While>(s)->body);
    case StatementKind::kFor: return ends_in_open_if(*as<For>(s)->body);
    case StatementKind::kForeach: return ends_in_open_if(*as<Foreach>(s)->body);
    default: return false;
  }
}

void Printer::if_else(const If& s) {
  out_ += "if (";
  expression(*s.condition);
  out_ += ")";
  if (s.else_branch && ends_in_open_if(*s.then_branch)) {
    // Only sema makes such a tree; braces keep its meaning.
    out_ += " {";
    body(*s.then_branch);
    line();
    out_ += "}";
  } else {
    body(*s.then_branch);
  }
  if (!s.else_branch) return;
  line();
  out_ += "else";
  if (as<If>(*s.else_branch)) {
    out_ += ' ';
    return statement(*s.else_branch);
  }
  body(*s.else_branch);
}

void Printer::for_loop(const For& s) {
  out_ += "for (";
  if (s.init) expression(*s.init);
  out_ += "; ";
  if (s.condition) expression(*s.condition);
  out_ += "; ";
  if (s.step) expression(*s.step);
  out_ += ")";
  body(*s.body);
}

void Printer::foreach(const Foreach& s) {
  const char* mark = s.sort_direction > 0 ? "+" : "-";
  out_ += "foreach (";
  if (s.value) out_ += s.value->name + " = ";
  out_ += "[";
  for (size_t i = 0; i < s.keys.size(); ++i) {
    if (i > 0) out_ += ", ";
    out_ += s.keys[i]->name;
    if (s.sort_direction != 0 && s.sort_column == static_cast<int>(i + 1)) out_ += mark;
  }
  out_ += "] in ";
  if (s.histogram) {
    histogram(*s.histogram);
  } else {
    out_ += s.array->name;
    if (!s.slice.empty()) {
      out_ += "[";
      list(s.slice);
      out_ += "]";
    }
  }
  if (s.sort_direction != 0 && s.sort_column == 0) {
    if (s.sort_by) (out_ += ' ') += text_of(*s.sort_by);
    (out_ += ' ') += mark;
  }
  if (s.limit) {
    out_ += " limit ";
    expression(*s.limit);
  }
  out_ += ")";
  body(*s.body);
}

void Printer::try_catch(const Try& s) {
  out_ += "try";
  body(*s.body);
  out_ += " catch";
  if (s.message) out_ += " (" + s.message->name + ")";
  body(*s.handler);
}

void Printer::statement(const Statement& s) {
  switch (s.kind) {
    case StatementKind::kBlock: return block(*as<Block>(s));
    case StatementKind::kExpression:
      expression(*as<ExpressionStatement>(s)->expression);
      out_ += ";";
      return;
    case StatementKind::kNull: out_ += ";"; return;
    case StatementKind::kIf: return if_else(*as<If>(s));
    case StatementKind::kWhile:
      out_ += "while ";
      in_parentheses(*as<While>(s)->condition);
      return body(*as<While>(s)->body);
    case StatementKind::kFor: return for_loop(*as<For>(s));
    case StatementKind::kForeach: return foreach(*as<Foreach>(s));
    case StatementKind::kReturn:
      out_ += "return";
      if (as<Return>(s)->value) {
        out_ += ' ';
        expression(*as<Return>(s)->value);
      }
      out_ += ";";
      return;
    case StatementKind::kDelete:
      out_ += "delete ";
      expression(*as<Delete>(s)->target);
      out_ += ";";
      return;
    case StatementKind::kNext: out_ += "next;"; return;
    case StatementKind::kBreak: out_ += "break;"; return;
    case StatementKind::kContinue: out_ += "continue;"; return;
    case StatementKind::kTry: return try_catch(*as<Try>(s));
    case StatementKind::kEmbedded: return embedded(as<EmbeddedStatement>(s)->code);
  }
  CHECK(false);
}

// ---------------------------------------------------------------- declarations

void Printer::point(const ProbePoint& p) {
  bool first = true;
  for (const PointComponent& component : p.components) {
    if (!std::exchange(first, false)) out_ += ".";
    out_ += component.name;
    if (component.text) out_ += "(" + quoted(*component.text) + ")";
    if (component.number) out_ += "(" + std::to_string(*component.number) + ")";
  }
  if (p.optional) out_ += "?";
  if (p.sufficient) out_ += "!";
  if (p.condition) {
    out_ += " if ";
    in_parentheses(*p.condition);
  }
}

void Printer::points(const std::vector<ProbePoint>& all) {
  bool first = true;
  for (const ProbePoint& p : all) {
    if (!std::exchange(first, false)) out_ += ", ";
    point(p);
  }
}

void Printer::global(const Global& g) {
  out_ += (g.is_private ? "private " : "global ") + g.name;
  if (g.wraps) out_ += "%";
  if (g.declared_size) {
    out_ += "[" + std::to_string(*g.declared_size) + "]";
  } else if (g.declared_array && !g.wraps) {
    out_ += "[]";
  }
  if (g.initial) {
    out_ += " = ";
    expression(*g.initial);
  }
}

void Printer::function(const Function& f) {
  auto typed = [this](ValueType type) {
    if (type == ValueType::kLong || type == ValueType::kString) (out_ += ":") += to_string(type);
  };
  out_ += (f.is_private ? "private function " : "function ") + f.name;
  typed(f.declared_type);
  out_ += " (";
  for (size_t i = 0; i < f.parameters.size(); ++i) {
    if (i > 0) out_ += ", ";
    out_ += f.parameters[i]->name;
    typed(f.parameters[i]->type);
    if (i < f.defaults.size() && f.defaults[i]) {
      out_ += " = ";
      expression(*f.defaults[i]);
    }
  }
  out_ += ")";
  if (f.priority) out_ += " : " + std::to_string(*f.priority);
  out_ += " ";
  statement(*f.body);
}

void Printer::alias(const Alias& a) {
  out_ += "probe ";
  points(a.names);
  out_ += a.epilogue ? " += " : " = ";
  points(a.points);
  out_ += " ";
  block(*a.body);
}

void Printer::probe(const Probe& p) {
  out_ += "probe ";
  points(p.points);
  out_ += " ";
  block(*p.body);
}

}  // namespace

std::string to_source(const Expression& expression) {
  Printer printer;
  printer.expression(expression);
  return printer.take();
}

std::string to_source(const Statement& statement) {
  Printer printer;
  printer.statement(statement);
  return printer.take();
}

std::string to_source(const ProbePoint& point) {
  Printer printer;
  printer.point(point);
  return printer.take();
}

std::string to_source(const Script& script) {
  Printer printer;
  for (const TopLevelEmbedded& code : script.embedded) printer.embedded(code.code), printer.line();
  for (const auto& global : script.globals) printer.global(*global), printer.line();
  for (const auto& function : script.functions) printer.function(*function), printer.line();
  for (const auto& alias : script.aliases) printer.alias(*alias), printer.line();
  for (const auto& probe : script.probes) printer.probe(*probe), printer.line();
  return printer.take();
}

}  // namespace syntax
}  // namespace spile
