// Expressions as source text: parentheses where precedence needs them, and where two signs would run together.

#include <utility>

#include "base/check.h"
#include "syntax/printer.h"

namespace spile::syntax {

namespace {

Level level_of(Binary::Operator operation) {
  switch (operation) {
    case Binary::Operator::kAdd:
    case Binary::Operator::kSubtract: return kAddLevel;
    case Binary::Operator::kMultiply:
    case Binary::Operator::kDivide:
    case Binary::Operator::kModulo: return kMultiplyLevel;
    case Binary::Operator::kShiftLeft:
    case Binary::Operator::kShiftRight:
    case Binary::Operator::kShiftRightLogical: return kShiftLevel;
    case Binary::Operator::kAnd: return kBitAndLevel;
    case Binary::Operator::kOr: return kBitOrLevel;
    case Binary::Operator::kXor: return kBitXorLevel;
  }
  return kPrimaryLevel;
}

Level level_of(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kAssignment: return kAssignmentLevel;
    case ExpressionKind::kComma: return kCommaLevel;
    case ExpressionKind::kTernary: return kTernaryLevel;
    case ExpressionKind::kLogical: return as<Logical>(e)->is_and ? kAndLevel : kOrLevel;
    case ExpressionKind::kBinary: return level_of(as<Binary>(e)->op);
    case ExpressionKind::kIn: return kInLevel;
    case ExpressionKind::kCompare:
    case ExpressionKind::kRegex: return kCompareLevel;
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

}  // namespace

const char* text_of(Statistic::Operator operation) {
  switch (operation) {
    case Statistic::Operator::kCount: return "@count";
    case Statistic::Operator::kSum: return "@sum";
    case Statistic::Operator::kMin: return "@min";
    case Statistic::Operator::kMax: return "@max";
    case Statistic::Operator::kAverage: return "@avg";
    case Statistic::Operator::kVariance: return "@variance";
    case Statistic::Operator::kPercentile: return "@percentile";
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
      case '"':
      case '\\': (out += '\\') += c; break;
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

void Printer::expression(const Expression& e, Level minimum) {
  if (level_of(e) < minimum) {
    out_ += "(";
    expression(e, kCommaLevel);
    out_ += ")";
    return;
  }
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
    case ExpressionKind::kComma:
      expression(*as<Comma>(e)->left, kCommaLevel);
      out_ += ", ";
      return expression(*as<Comma>(e)->right);
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
      if (as<HistogramIndex>(e)->tests) {
        out_ += "([";
        expression(*as<HistogramIndex>(e)->bucket);
        out_ += "] in ";
        histogram(*as<HistogramIndex>(e)->histogram);
        out_ += ")";
        return;
      }
      histogram(*as<HistogramIndex>(e)->histogram);
      out_ += "[";
      expression(*as<HistogramIndex>(e)->bucket);
      out_ += "]";
      return;
    case ExpressionKind::kEmbedded: return embedded(as<Embedded>(e)->code);
    case ExpressionKind::kDefined: out_ += "@defined"; return in_parentheses(*as<Defined>(e)->operand);
    case ExpressionKind::kEntry: out_ += "@entry"; return in_parentheses(*as<Entry>(e)->operand);
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
      case PathStep::Kind::kText: out_ += "$text"; break;
      case PathStep::Kind::kWord: out_ += "$word" + std::to_string(step.number); break;
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
  bool is_element = !e.path.empty() && e.path.front().kind != PathStep::Kind::kMember;  // (p)[1] is not p[1]
  bool bare = !is_element && (kind == ExpressionKind::kVariable || kind == ExpressionKind::kIndex ||
                              kind == ExpressionKind::kCall || kind == ExpressionKind::kPrint);
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

// value / scale, where scale is a power of ten: 999 by 10 is "99.9".
std::string decimal_text(int64_t value, int64_t scale) {
  std::string fraction = std::to_string(scale + value % scale).substr(1);
  return std::to_string(value / scale) + "." + fraction;
}

void Printer::statistic(const Statistic& e) {
  (out_ += text_of(e.op)) += '(';
  expression(*e.stats);
  if (e.bits != 0) out_ += ", " + std::to_string(e.bits);
  if (e.percent) {
    out_ += ", ";
    if (e.percent_scale == 1) expression(*e.percent);
    else out_ += quoted(decimal_text(as<Number>(e.percent)->value, e.percent_scale));
  }
  out_ += ')';
}

void Printer::histogram(const Histogram& e) {
  out_ += e.is_log ? "@hist_log(" : "@hist_linear(";
  expression(*e.stats);
  if (!e.is_log) {
    out_ += ", " + std::to_string(e.low) + ", " + std::to_string(e.high) + ", " + std::to_string(e.width);
  }
  if (e.has_summary) out_ += ", " + quoted(e.unit);
  out_ += ")";
}

}  // namespace spile::syntax
