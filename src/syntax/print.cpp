// The tree as source text that parses again to the same tree. Probe points print with their alternatives expanded.

#include <utility>

#include "base/check.h"
#include "syntax/printer.h"

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

namespace {

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

}  // namespace

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

void Printer::foreach (const Foreach& s) {
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
    case StatementKind::kExpression: {
      size_t begin = out_.size();
      expression(*as<ExpressionStatement>(s)->expression);
      // %{ at the start of a statement would be one of its own.
      if (std::string_view(out_).substr(begin).starts_with("%{")) {
        out_.insert(begin, "(");
        out_ += ")";
      }
      out_ += ";";
      return;
    }
    case StatementKind::kNull: out_ += ";"; return;
    case StatementKind::kIf: return if_else(*as<If>(s));
    case StatementKind::kWhile:
      out_ += "while ";
      in_parentheses(*as<While>(s)->condition);
      return body(*as<While>(s)->body);
    case StatementKind::kFor: return for_loop(*as<For>(s));
    case StatementKind::kForeach: return foreach (*as<Foreach>(s));
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
  const char* mark = info(g.array_kind).mark;
  out_ += mark;
  if (g.declared_size) {
    out_ += "[" + std::to_string(*g.declared_size) + "]";
  } else if (g.declared_array && !*mark) {
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
  if (!a.closing) return;
  out_ += ", ";
  block(*a.closing);
}

void Printer::probe(const Probe& p) {
  out_ += "probe ";
  points(p.points);
  out_ += " ";
  block(*p.body);
}

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
