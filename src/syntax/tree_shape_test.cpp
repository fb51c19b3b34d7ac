#include "syntax/tree_shape_test.h"

#include "syntax/preprocessor.h"

namespace spile::syntax {

namespace {

template <typename... Parts>
std::string bracketed(const Parts&... parts) {
  std::string out = "(";
  bool first = true;
  ((out += first ? "" : " ", out += parts, first = false), ...);
  return out + ")";
}

template <typename Pointers>
std::string all(const Pointers& pointers) {
  std::string out;
  for (const auto& pointer : pointers) (out += out.empty() ? "" : " ") += shape(pointer.get());
  return out;
}

std::string shape(const std::vector<PathStep>& path) {
  std::string out;
  for (const PathStep& step : path) {
    switch (step.kind) {
      case PathStep::Kind::kMember: out += " ." + step.name; break;
      case PathStep::Kind::kElement: out += " #" + std::to_string(step.number); break;
      case PathStep::Kind::kElementExpr: out += " #" + shape(step.expression.get()); break;
      case PathStep::Kind::kPretty: out += " pretty"; break;
      case PathStep::Kind::kPrettyDeep: out += " deep"; break;
      case PathStep::Kind::kText: out += " text"; break;
      case PathStep::Kind::kWord: out += " word " + std::to_string(step.number); break;
    }
  }
  return out;
}

std::string shape(const Print& e) {
  std::string out = e.to_stream ? "(print" : "(sprint";
  if (e.with_newline) out += " line";
  if (e.is_char) out += " char";
  if (e.with_delimiter) out += " '" + e.delimiter + "'";
  for (const FormatPart& part : e.parts) {
    if (part.kind == FormatPart::Kind::kLiteral) {
      out += " '" + part.literal + "'";
      continue;
    }
    out += " %";
    if (part.left) out += "-";
    if (part.zero) out += "0";
    if (part.plus) out += "+";
    if (part.space) out += "_";
    if (part.alternate) out += "#";
    if (part.width_argument) out += "*";
    if (part.width >= 0) out += std::to_string(part.width);
    if (part.precision_argument) out += ".*";
    else if (part.precision >= 0) out += "." + std::to_string(part.precision);
    out += "?duoxXpscbmM"[static_cast<int>(part.kind)];
  }
  for (const ExpressionPtr& argument : e.arguments) out += " " + shape(argument.get());
  return out + ")";
}

std::string shape(const Histogram& e) {
  const std::string unit = e.has_summary ? " '" + e.unit + "'" : "";
  if (e.is_log) return bracketed("hist_log", shape(e.stats.get()) + unit);
  return bracketed("hist_linear", shape(e.stats.get()), std::to_string(e.low), std::to_string(e.high),
                   std::to_string(e.width) + unit);
}

const char* kBinary[] = {"+", "-", "*", "/", "%", "<<", ">>", ">>>", "&", "|", "^"};
const char* kCompare[] = {"==", "!=", "<", "<=", ">", ">="};
const char* kUnary[] = {"u+", "u-", "!", "~"};
const char* kStatistic[] = {"count", "sum", "min", "max", "avg", "variance", "percentile"};
const char* kAssignment[] = {"=", "", ".=", "<<<"};

std::string shape_of(const Foreach& s) {
  std::string out = "(foreach";
  if (s.value) out += " " + s.value->name + " =";
  out += " [";
  for (const auto& key : s.keys) out += (key == s.keys[0] ? "" : " ") + key->name;
  out += "] in " + (s.histogram ? shape(*s.histogram) : s.array->name);
  if (!s.slice.empty()) out += "[" + all(s.slice) + "]";
  if (s.sort_direction != 0) out += std::string(" sort") + (s.sort_direction > 0 ? "+" : "-") + std::to_string(s.sort_column);
  if (s.sort_by) (out += " by ") += kStatistic[static_cast<int>(*s.sort_by)];
  if (s.limit) out += " limit " + shape(s.limit.get());
  return out + " " + shape(*s.body) + ")";
}

}  // namespace

std::string shape(const Expression* pointer) {
  if (!pointer) return "*";
  const Expression& e = *pointer;
  switch (e.kind) {
    case ExpressionKind::kNumber: return std::to_string(as<Number>(e)->value);
    case ExpressionKind::kString: return "'" + as<String>(e)->value + "'";
    case ExpressionKind::kVariable: return as<Variable>(e)->name;
    case ExpressionKind::kIndex: return bracketed("[]", as<Index>(e)->array->name, all(as<Index>(e)->indexes));
    case ExpressionKind::kTargetVariable: {
      const auto& node = *as<TargetVariable>(e);
      std::string inside = node.name + shape(node.path);
      if (node.address_of) return bracketed("address", inside);
      return node.path.empty() ? inside : bracketed(inside);
    }
    case ExpressionKind::kDereference: {
      const auto& node = *as<Dereference>(e);
      return bracketed(node.address_of ? "address->" : "->", shape(node.pointer.get()) + shape(node.path));
    }
    case ExpressionKind::kAtOperation: {
      const auto& node = *as<AtOperation>(e);
      return bracketed((node.address_of ? "address " : "") + node.name, all(node.arguments) + shape(node.path));
    }
    case ExpressionKind::kUnary: return bracketed(kUnary[static_cast<int>(as<Unary>(e)->op)], shape(as<Unary>(e)->operand.get()));
    case ExpressionKind::kIncrement: {
      const auto& node = *as<Increment>(e);
      std::string operation = node.delta > 0 ? "++" : "--";
      return node.is_prefix ? bracketed(operation, shape(node.operand.get())) : bracketed(shape(node.operand.get()), operation);
    }
    case ExpressionKind::kBinary: {
      const auto& node = *as<Binary>(e);
      return bracketed(kBinary[static_cast<int>(node.op)], shape(node.left.get()), shape(node.right.get()));
    }
    case ExpressionKind::kLogical: {
      const auto& node = *as<Logical>(e);
      return bracketed(node.is_and ? "&&" : "||", shape(node.left.get()), shape(node.right.get()));
    }
    case ExpressionKind::kCompare: {
      const auto& node = *as<Compare>(e);
      return bracketed(kCompare[static_cast<int>(node.op)], shape(node.left.get()), shape(node.right.get()));
    }
    case ExpressionKind::kConcatenation: {
      const auto& node = *as<Concatenation>(e);
      return bracketed(".", shape(node.left.get()), shape(node.right.get()));
    }
    case ExpressionKind::kRegex: {
      const auto& node = *as<Regex>(e);
      return bracketed(node.negated ? "!~" : "=~", shape(node.subject.get()), "'" + node.pattern + "'");
    }
    case ExpressionKind::kComma: return bracketed(",", shape(as<Comma>(e)->left.get()), shape(as<Comma>(e)->right.get()));
    case ExpressionKind::kTernary: {
      const auto& node = *as<Ternary>(e);
      return bracketed("?", shape(node.condition.get()), shape(node.if_true.get()), shape(node.if_false.get()));
    }
    case ExpressionKind::kAssignment: {
      const auto& node = *as<Assignment>(e);
      std::string operation = kAssignment[static_cast<int>(node.op)];
      if (node.op == Assignment::Operator::kArithmetic) operation = std::string(kBinary[static_cast<int>(node.arithmetic)]) + "=";
      return bracketed(operation, shape(node.target.get()), shape(node.value.get()));
    }
    case ExpressionKind::kIn: return bracketed("in", all(as<In>(e)->indexes), as<In>(e)->array->name);
    case ExpressionKind::kCall: return bracketed("call", as<Call>(e)->name) + "(" + all(as<Call>(e)->arguments) + ")";
    case ExpressionKind::kPrint: return shape(*as<Print>(e));
    case ExpressionKind::kStatistic: {
      const auto& node = *as<Statistic>(e);
      return bracketed(kStatistic[static_cast<int>(node.op)],
                       shape(node.stats.get()) + (node.bits ? " " + std::to_string(node.bits) : "") +
                           (node.percent ? " " + shape(node.percent.get()) +
                                               (node.percent_scale > 1 ? "/" + std::to_string(node.percent_scale) : "")
                                         : ""));
    }
    case ExpressionKind::kHistogram: return shape(*as<Histogram>(e));
    case ExpressionKind::kHistogramIndex:
      return bracketed(as<HistogramIndex>(e)->tests ? "has-bucket" : "bucket", shape(*as<HistogramIndex>(e)->histogram),
                       shape(as<HistogramIndex>(e)->bucket.get()));
    case ExpressionKind::kEmbedded: return "%{" + as<Embedded>(e)->code + "%}";
    case ExpressionKind::kDefined: return bracketed("defined", shape(as<Defined>(e)->operand.get()));
    case ExpressionKind::kEntry: return bracketed("entry", shape(as<Entry>(e)->operand.get()));
    case ExpressionKind::kEntryValue: return bracketed("entry_value", std::to_string(as<EntryValue>(e)->index));
    case ExpressionKind::kPerf: return bracketed("perf", as<Perf>(e)->counter);
  }
  return "?";
}

std::string shape(const Statement& s) {
  auto optional = [](const ExpressionPtr& e) { return e ? shape(e.get()) : std::string("-"); };
  switch (s.kind) {
    case StatementKind::kBlock: {
      std::string out = "{";
      for (const auto& inner : as<Block>(s)->statements) out += (out.size() > 1 ? " " : "") + shape(*inner);
      return out + "}";
    }
    case StatementKind::kExpression: return shape(as<ExpressionStatement>(s)->expression.get());
    case StatementKind::kNull: return ";";
    case StatementKind::kIf: {
      const auto& node = *as<If>(s);
      std::string then = shape(node.condition.get()) + " " + shape(*node.then_branch);
      return node.else_branch ? bracketed("if", then, "else", shape(*node.else_branch)) : bracketed("if", then);
    }
    case StatementKind::kWhile: return bracketed("while", shape(as<While>(s)->condition.get()), shape(*as<While>(s)->body));
    case StatementKind::kFor: {
      const auto& node = *as<For>(s);
      return bracketed("for", optional(node.init), optional(node.condition), optional(node.step), shape(*node.body));
    }
    case StatementKind::kForeach: return shape_of(*as<Foreach>(s));
    case StatementKind::kReturn: return bracketed("return", optional(as<Return>(s)->value));
    case StatementKind::kDelete: return bracketed("delete", shape(as<Delete>(s)->target.get()));
    case StatementKind::kNext: return "next";
    case StatementKind::kBreak: return "break";
    case StatementKind::kContinue: return "continue";
    case StatementKind::kTry: {
      const auto& node = *as<Try>(s);
      return bracketed("try", shape(*node.body), node.message ? "catch " + node.message->name : "catch", shape(*node.handler));
    }
    case StatementKind::kEmbedded: return "%{" + as<EmbeddedStatement>(s)->code + "%}";
  }
  return "?";
}

std::string shape(const ProbePoint& point) {
  std::string out;
  for (const PointComponent& component : point.components) {
    out += (out.empty() ? "" : ".") + component.name;
    if (component.text) out += "('" + *component.text + "')";
    if (component.number) out += "(" + std::to_string(*component.number) + ")";
  }
  if (point.optional) out += "?";
  if (point.sufficient) out += "!";
  if (point.condition) out += " if " + shape(point.condition.get());
  return out;
}

namespace {

std::string shape(const std::vector<ProbePoint>& points) {
  std::string out;
  for (const ProbePoint& point : points) out += (out.empty() ? "" : ", ") + shape(point);
  return out;
}

}  // namespace

std::string shape(const Script& script) {
  std::string out;
  for (const auto& code : script.embedded) out += "%{" + code.code + "%}\n";
  for (const auto& global : script.globals) {
    out += std::string(global->is_private ? "private " : "global ") + global->name + info(global->array_kind).mark;
    if (global->declared_array) out += "[" + (global->declared_size ? std::to_string(*global->declared_size) : "") + "]";
    out += (global->initial ? " = " + shape(global->initial.get()) : "") + "\n";
  }
  for (const auto& function : script.functions) {
    out += std::string(function->is_private ? "private " : "") + "function " + function->name + ":" +
           to_string(function->declared_type) + "(";
    for (size_t i = 0; i < function->parameters.size(); ++i) {
      out += (i ? ", " : "") + function->parameters[i]->name + ":" + to_string(function->parameters[i]->type);
      if (function->defaults[i]) out += " = " + shape(function->defaults[i].get());
    }
    out += ")" + (function->priority ? ":" + std::to_string(*function->priority) : "") + " " + shape(*function->body) + "\n";
  }
  for (const auto& alias : script.aliases) {
    out += "alias " + shape(alias->names) + (alias->epilogue ? " += " : " = ") + shape(alias->points) + " " +
           shape(*alias->body) + (alias->closing ? ", " + shape(*alias->closing) : "") + "\n";
  }
  for (const auto& probe : script.probes) out += "probe " + shape(probe->points) + " " + shape(*probe->body) + "\n";
  return out;
}

Parsed::Parsed(std::string text, ParseOptions options) : file("t.stp", std::move(text)) {
  script = parse(file, options, diagnostics);
}

std::string errors(const std::string& text, ParseOptions options) {
  Parsed parsed(text, std::move(options));
  std::string out;
  for (const Diagnostic& diagnostic : parsed.diagnostics.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    if (!out.empty()) out += "\n";
    if (diagnostic.range) {
      auto position = diagnostic.range.file->position(diagnostic.range.begin);
      out += std::to_string(position.line) + ":" + std::to_string(position.column) + ": ";
    }
    out += diagnostic.message;
  }
  return out;
}

std::string rendered(const std::string& text, ParseOptions options) {
  Parsed parsed(text, std::move(options));
  return parsed.diagnostics.render();
}

std::string statement_shape(const std::string& text, ParseOptions options) {
  Parsed parsed("function f() { " + text + "\n}", options);
  if (parsed.diagnostics.has_errors()) return parsed.diagnostics.render();
  if (parsed.script.functions.size() != 1) return "no function";
  std::string body = shape(*parsed.script.functions[0]->body);
  return body.substr(1, body.size() - 2);
}

std::string expression_shape(const std::string& text, ParseOptions options) {
  return statement_shape(text + ";", std::move(options));
}

}  // namespace spile::syntax
