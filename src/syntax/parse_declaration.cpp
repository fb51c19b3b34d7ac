// Declarations: globals, functions, probes, probe aliases and embedded code at the top level.

#include <fmt/format.h>

#include "syntax/recursive_descent.h"

namespace spile::syntax {

namespace {

constexpr std::string_view kEmbeddedHint = "run spile with -g";
// SystemTap's, which refuses more while it parses.
constexpr int64_t kMaximumArraySize = 100'000'000;

// It is put into calls, where the names of the function are not known.
bool is_constant(const Expression& expression) {
  bool constant = true;
  for_each_expression(expression, [&](const Expression& e) {
    constant &= e.kind == ExpressionKind::kNumber || e.kind == ExpressionKind::kString || e.kind == ExpressionKind::kUnary ||
                e.kind == ExpressionKind::kBinary || e.kind == ExpressionKind::kConcatenation;
  });
  return constant;
}

}  // namespace

void Parser::parse_declaration() {
  depth_ = 0;
  function_ = nullptr;
  bool ok = true;
  if (accept(";")) return;
  if (peek().kind == TokenKind::kEmbedded) {
    Token code = take();
    if (!options_.guru && !options_.is_library)
      tokens_.error(code, "embedded code needs guru mode").hint(std::string(kEmbeddedHint));
    script_.embedded.push_back({code.range, std::move(code.value)});
  } else if (accept_keyword("probe")) {
    ok = parse_probe();
  } else if (accept_keyword("global")) {
    ok = parse_globals(false);
  } else if (accept_keyword("function")) {
    ok = parse_function(false);
  } else if (accept_keyword("private")) {
    if (accept_keyword("function")) {
      ok = parse_function(true);
    } else if (at_keyword("probe")) {
      error_here("a probe can't be private").hint("'private' is only possible before 'global' and 'function'");
      ok = false;
    } else {
      accept_keyword("global");
      ok = parse_globals(true);
    }
  } else {
    report_unknown_declaration();
    take();
    ok = false;
  }
  if (!ok) skip_to_declaration();
}

namespace {

// How programs in bpftrace's language begin, and how that is written here. Source: bpftrace(8), "Probes" and "Language".
struct ForeignBeginning {
  std::string_view name;
  const char* here;
  std::string_view next = ":";  // the token behind it there; "": any name
};
constexpr ForeignBeginning kBpftrace[] = {
    {"BEGIN", "probe begin { ... }", "{"},
    {"END", "probe end { ... }", "{"},
    {"config", "options on the command line, such as -D and -s", "="},
    {"fn", "function NAME (ARGUMENTS) { ... }", ""},
    {"macro", "@define NAME(ARGUMENTS) %( ... %)", ""},
    {"iter", "foreach over what probes have kept"},
    {"self", "probe process.begin { ... }, and probe timer.s(N) { ... }"},
    {"uprobe", "probe process(\"PROGRAM\").function(\"NAME\") { ... }"},
    {"u", "probe process(\"PROGRAM\").function(\"NAME\") { ... }"},
    {"uretprobe", "probe process(\"PROGRAM\").function(\"NAME\").return { ... }"},
    {"ur", "probe process(\"PROGRAM\").function(\"NAME\").return { ... }"},
    {"usdt", "probe process(\"PROGRAM\").mark(\"NAME\") { ... }"},
    {"U", "probe process(\"PROGRAM\").mark(\"NAME\") { ... }"},
    {"kprobe", "probe kernel.function(\"NAME\") { ... }"},
    {"k", "probe kernel.function(\"NAME\") { ... }"},
    {"kretprobe", "probe kernel.function(\"NAME\").return { ... }"},
    {"kr", "probe kernel.function(\"NAME\").return { ... }"},
    {"fentry", "probe kernel.function(\"NAME\") { ... }"},
    {"f", "probe kernel.function(\"NAME\") { ... }"},
    {"kfunc", "probe kernel.function(\"NAME\") { ... }"},
    {"fexit", "probe kernel.function(\"NAME\").return { ... }"},
    {"fr", "probe kernel.function(\"NAME\").return { ... }"},
    {"kretfunc", "probe kernel.function(\"NAME\").return { ... }"},
    {"tracepoint", "probe kernel.trace(\"SYSTEM:NAME\") { ... }, and probe syscall.NAME { ... } for system calls"},
    {"t", "probe kernel.trace(\"SYSTEM:NAME\") { ... }, and probe syscall.NAME { ... } for system calls"},
    {"rawtracepoint", "probe kernel.trace(\"NAME\") { ... }"},
    {"rt", "probe kernel.trace(\"NAME\") { ... }"},
    {"profile", "probe timer.hz(99) { ... }, or probe timer.profile { ... } where the program runs"},
    {"p", "probe timer.hz(99) { ... }, or probe timer.profile { ... } where the program runs"},
    {"interval", "probe timer.s(1) { ... }"},
    {"i", "probe timer.s(1) { ... }"},
    {"software", "probe perf.sw.NAME { ... }"},
    {"s", "probe perf.sw.NAME { ... }"},
    {"hardware", "probe perf.hw.NAME { ... }"},
    {"h", "probe perf.hw.NAME { ... }"},
    {"watchpoint", "probe process.data(\"VARIABLE\").write { ... }"},
    {"asyncwatchpoint", "probe process.data(\"VARIABLE\").write { ... }"},
};

const char* of_bpftrace(const Token& first, const Token& second) {
  for (const ForeignBeginning& beginning : kBpftrace) {
    if (first.text != beginning.name) continue;
    if (beginning.next.empty() ? second.kind == TokenKind::kIdentifier : second.text == beginning.next) return beginning.here;
  }
  return nullptr;
}

}  // namespace

void Parser::report_unknown_declaration() {
  if (const char* const here = of_bpftrace(peek(), peek(1))) {
    tokens_.error(peek().range, "this is bpftrace's language: spile reads SystemTap's")
        .hint(fmt::format("write {}; docs/tutorial.md begins with the language", here));
    return;
  }
  Diagnostic& diagnostic = error_expected("'probe', 'global', 'private' or 'function'");
  const Token& token = peek();
  if (token.is(op("}"))) {
    diagnostic.hint("there is no '{' for this '}'");
  } else if (token.kind == TokenKind::kIdentifier) {
    std::string near = nearest_name(token.text, {"probe", "global", "private", "function"});
    diagnostic.hint(near.empty() ? "statements belong inside a probe: probe begin { ... }" : "did you mean '" + near + "'?");
  } else if (token.kind == TokenKind::kKeyword) {
    diagnostic.hint("statements belong inside a probe: probe begin { ... }");
  }
}

// ---------------------------------------------------------------- globals

bool Parser::parse_globals(bool is_private) {
  do {
    auto global = parse_global();
    if (!global) return false;
    for (const auto& other : script_.globals) {
      if (other->name != global->name) continue;
      tokens_.error(global->range, "duplicate global '" + global->name + "'").note(other->range, "first declared here");
      return false;
    }
    global->is_private = is_private;
    global->from_library = options_.is_library;
    script_.globals.push_back(std::move(global));
  } while (accept(","));
  accept(";");
  if (peek().kind == TokenKind::kIdentifier && !peek().line_start) {
    error_expected("',' between the names of globals");
    return false;
  }
  return true;
}

std::unique_ptr<Global> Parser::parse_global() {
  auto name = parse_variable("the name of a global");
  if (!name) return nullptr;
  auto global = std::make_unique<Global>();
  global->range = name->range;
  global->name = name->name;
  for (const ArrayKindInfo& kind : kArrayKinds) {
    if (!*kind.mark || !accept(kind.mark)) continue;
    global->array_kind = static_cast<ArrayKind>(&kind - kArrayKinds);
    global->declared_array = true;
    break;
  }
  if (at("[") && !parse_array_size(*global)) return nullptr;
  if (at(":")) {
    error_here("globals are declared without a type").hint("types are inferred from the uses");
    return nullptr;
  }
  if (at("=") && !parse_initial_value(*global)) return nullptr;
  return global;
}

bool Parser::parse_array_size(Global& global) {
  Token open = take();
  global.declared_array = true;
  if (peek().kind != TokenKind::kNumber) {
    error_expected("the array's size, a number").hint("global a[1000] holds up to 1000 elements");
    return false;
  }
  Token size = take();
  if (size.number <= 0 || size.number > kMaximumArraySize) {
    tokens_.error(size, "an array's size is between 1 and " + std::to_string(kMaximumArraySize));
    return false;
  }
  global.declared_size = size.number;
  if (!expect("]", "after the array's size", &open)) return false;
  if (!at("[")) return true;
  error_here("an array can have only one size")
      .hint("it bounds the number of elements; several subscripts need no declaration: a[k1, k2]");
  return false;
}

bool Parser::parse_initial_value(Global& global) {
  if (global.declared_array) {
    error_here("an array can't have an initial value").hint("assign its elements in a begin probe");
    return false;
  }
  take();
  global.initial = parse_literal("an initial value, a number or a string");
  return global.initial != nullptr;
}

// A number, perhaps negative, or a string.
ExpressionPtr Parser::parse_literal(std::string_view what) {
  SourceRange begin = peek().range;
  if (peek().kind == TokenKind::kString) {
    std::string value = parse_string_value();
    return finish(std::make_unique<String>(since(begin), std::move(value)));
  }
  bool negative = at("-") && peek(1).kind == TokenKind::kNumber;
  if (negative) take();
  if (peek().kind != TokenKind::kNumber) {
    error_expected(what);
    return nullptr;
  }
  auto value = static_cast<uint64_t>(take().number);
  return finish(std::make_unique<Number>(since(begin), static_cast<int64_t>(negative ? -value : value)));
}

// ---------------------------------------------------------------- functions

bool Parser::parse_type(ValueType& type) {
  if (accept_keyword("long")) {
    type = ValueType::kLong;
  } else if (accept_keyword("string")) {
    type = ValueType::kString;
  } else {
    Diagnostic& diagnostic = error_expected("a type, 'long' or 'string'");
    if (peek().text == "int") diagnostic.hint("'long' is the only type of numbers");
    return false;
  }
  return true;
}

bool Parser::parse_function(bool is_private) {
  auto name = parse_variable("the name of a function");
  if (!name) return false;
  auto function = std::make_unique<Function>();
  function->range = name->range;
  function->name = name->name;
  function->is_private = is_private;
  function->from_library = options_.is_library;
  if (accept(":") && !parse_type(function->declared_type)) return false;
  if (!parse_parameters(*function)) return false;
  if (accept(":")) {
    if (peek().kind != TokenKind::kNumber) {
      Diagnostic& diagnostic = error_expected("the function's priority, a number");
      if (at_keyword("long") || at_keyword("string"))
        diagnostic.hint("write the type of the result before the parameters: function " + function->name + ":" +
                        std::string(peek().text) + " (...)");
      return false;
    }
    function->priority = take().number;
  }
  if (peek().kind == TokenKind::kEmbedded) {
    function->body = parse_embedded_statement();
  } else {
    function_ = function.get();
    function->body = parse_block_after("the body of function '" + function->name + "'");
    function_ = nullptr;
  }
  if (!function->body) return false;
  script_.functions.push_back(std::move(function));
  return true;
}

bool Parser::parse_parameters(Function& function) {
  Token open = peek();
  if (!expect("(", "and the parameters of function '" + function.name + "'")) return false;
  if (accept(")")) return true;
  do {
    if (!parse_parameter(function)) return false;
  } while (accept(","));
  return expect(")", "after the parameters", &open);
}

bool Parser::parse_parameter(Function& function) {
  auto name = parse_variable("the name of a parameter");
  if (!name) return false;
  auto parameter = std::make_unique<Local>();
  parameter->range = name->range;
  parameter->name = name->name;
  for (const auto& other : function.parameters) {
    if (other->name != parameter->name) continue;
    tokens_.error(parameter->range, "function '" + function.name + "' has two parameters '" + parameter->name + "'")
        .note(other->range, "first declared here");
    return false;
  }
  if (accept(":") && !parse_type(parameter->type)) return false;
  ExpressionPtr initial;
  if (accept("=") && !(initial = parse_expression())) return false;
  if (initial && !is_constant(*initial)) {
    tokens_.error(initial->range, "a parameter's default must be a constant").hint("numbers, strings and operators on them");
    return false;
  }
  if (!initial && !function.defaults.empty() && function.defaults.back()) {
    tokens_.error(parameter->range, "parameter '" + parameter->name + "' needs a default too: the one before it has one");
    return false;
  }
  function.parameters.push_back(std::move(parameter));
  function.defaults.push_back(std::move(initial));
  return true;
}

// ---------------------------------------------------------------- probes

std::unique_ptr<Block> Parser::parse_block_after(std::string_view what) {
  if (at("{")) return parse_block();
  Diagnostic& diagnostic = error_expected("'{' and " + std::string(what));
  if (peek().kind == TokenKind::kEmbedded) diagnostic.hint("embedded code needs braces here: { %{ ... %} }");
  return nullptr;
}

bool Parser::parse_probe() {
  SourceRange begin = last_;
  std::vector<ProbePoint> points;
  if (!parse_points(points)) return false;
  bool is_epilogue = at("+=");
  if (!is_epilogue && !at("=")) {
    auto probe = std::make_unique<Probe>();
    probe->points = std::move(points);
    probe->from_library = options_.is_library;
    probe->range = since(begin);
    probe->body = parse_block_after("the probe's body");
    if (!probe->body) return false;
    script_.probes.push_back(std::move(probe));
    return true;
  }

  Token equals = take();
  for (const ProbePoint& name : points) {
    if (!name.optional && !name.sufficient && !name.condition) continue;
    tokens_.error(name.range, "an alias's name can't have '?', '!' or a condition");
    return false;
  }
  auto alias = std::make_unique<Alias>();
  alias->names = std::move(points);
  alias->epilogue = is_epilogue;
  alias->from_library = options_.is_library;
  alias->range = since(begin);
  if (!parse_points(alias->points)) return false;
  alias->body = parse_block_after("the alias's body");
  if (!alias->body) return false;
  if (at(",")) {
    if (is_epilogue) {
      error_here("an alias with '+=' has only one body, its epilogue").hint("probe name = point { prologue }, { epilogue }");
      return false;
    }
    take();
    alias->closing = parse_block_after("the alias's epilogue");
    if (!alias->closing) return false;
  }
  script_.aliases.push_back(std::move(alias));
  return true;
}

}  // namespace spile::syntax
