// to_source gives text that parses again to the same tree: for scripts, and for random trees, which hold every
// combination of operators that scripts rarely have.

#include <gtest/gtest.h>

#include <random>

#include "syntax/tree_shape_test.h"

namespace spile::syntax {
namespace {

const char* const kScripts[] = {
    "global a, b = -3, c[100], d%[10], e%, s = \"x\\n\\001\\\"\\\\\\377\" private z",
    "function f:long (n:long, m = 3 + 4, s:string = \"a\") : 2 { if (n < 2) return 1 else return f(n - 1) }",
    "private function g() { return; }",
    "probe a.b = c.d, e.f? { x = 1 } probe a += b! { } probe p = q { x } , { y }",
    "probe a.{b?,c if (x),{d,e}!} { }",
    "probe process(\"/bin/x\").function(\"foo*\")?, k.{function(\"a\"),trace(\"b:c\")}.return!, sys.*open*, "
    "begin(-10) if (b > 3 && e) { }",
    "probe begin { if (a) b; else if (c) { } else ; while (x) y++; for (;;) { break continue } for (i = 0; i < 3; ++i) "
    "next }",
    "probe begin { if (a) { if (b) c } else d  if (a) if (b) c; else d }",
    "probe begin { foreach (v = [k1, k2-] in c[*, 1] limit 5 + 3) ; foreach (k in c @sum -) ; foreach (b in "
    "@hist_log(x)) ; foreach (k+ in a) ; }",
    "probe begin { try { x } catch (m) { y } try { } catch { } delete a delete b[1] delete c[*, 3] ;;; }",
    "probe begin { printf(\"%-5d %s %*.3x %%\\n\", $x->y[3], \"q\" . f(), 3, &$x->p) print(1) println() "
    "printdln(\",\", 1, 2) print_char(65) }",
    "probe begin { a[$fd, \"k\"] <<< @entry(t()); x = @defined($f->b) ? @cast(p, \"t\", \"m\")->x[i]$$ : "
    "@var(\"v@f\")$ . $$vars . $x$ }",
    "probe begin { p = $f; q = p->a[1]->b; r = (p + 1)->c->d; s = &p->e; f(1)->x; a[2]->y }",
    "probe begin { x = a =~ \"b.*\" \"c\" ? ![k, *] in d : -(-5) - -6 - -x + +(+y) . ~~z; !(~a) ; [a & b] in c & d }",
    "probe begin { print(@hist_linear(a[1], -5, 10, 2)) print(@hist_log(a[2], \"ns\")) print(@hist_linear(a[3], 0, 9, 1, \"\")) "
    "x = @hist_log(a)[3] + @variance(b, 2) * @percentile(b, \"99.05\") * @percentile(b, x + 1) * @count(c) @perf(\"x\") "
    "}",
    "probe begin { x = (a = 1) + (b ? c : d) * (e || f); y = (a, 1) }",
    "probe begin { for (i = 0, j = (1, 2); i < 3, j; i++, j--) ; a = 1, b = 2, (c = 3, d = (4, 5)) print(1, 2) }",
    "probe begin { x = a % (b + c) y = (a % b) % c z = a - (b - c) w = (a << b) << (c << d) }",
    "@define m(a) %( (@a * 2) %) probe begin { x = @m(1 + 2) %( 1 == 1 %? y %: z %) }",
};

void expect_round_trip(const std::string& text, ParseOptions options = {}) {
  Parsed first(text, options);
  if (first.diagnostics.has_errors()) return;
  std::string source = to_source(first.script);
  Parsed second(source, options);
  ASSERT_FALSE(second.diagnostics.has_errors()) << source << "\n" << second.diagnostics.render();
  ASSERT_EQ(shape(first.script), shape(second.script)) << source;
  ASSERT_EQ(source, to_source(second.script));
}

TEST(RoundTrip, KeepsScripts) {
  int parsed = 0;
  for (const char* text : kScripts) {
    expect_round_trip(text);
    parsed += errors(text).empty();
  }
  EXPECT_EQ(parsed, static_cast<int>(std::size(kScripts)));
}

TEST(RoundTrip, KeepsEmbeddedCode) {
  ParseOptions guru;
  guru.guru = true;
  expect_round_trip("%{ top %} function f(a) %{ code %} probe begin { %{ a %} x = %{ b %} + 1; (%{ c %}) (%{ d %} + 1) %{ e %} }",
                    guru);
}

TEST(RoundTrip, KeepsRandomBytesInStrings) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string value;
    for (int j = 0; j < 20; ++j) value += static_cast<char>(1 + random() % 255);
    Parsed parsed("probe begin { x = " + to_source(String({}, value)) + " }");
    ASSERT_FALSE(parsed.diagnostics.has_errors()) << parsed.diagnostics.render();
    auto* statement = as<ExpressionStatement>(parsed.script.probes[0]->body->statements[0]);
    ASSERT_EQ(as<String>(as<Assignment>(statement->expression)->value)->value, value);
  }
}

// ---------------------------------------------------------------- random trees

class RandomTree {
 public:
  explicit RandomTree(unsigned seed) : random_(seed) {}

  ExpressionPtr expression(int depth) {
    if (depth <= 0) return leaf();
    switch (below(18)) {
      case 0:
      case 1:
      case 2: return sides<Binary>(depth, [&](Binary& e) { e.op = static_cast<Binary::Operator>(below(11)); });
      case 3: return sides<Logical>(depth, [&](Logical& e) { e.is_and = below(2); });
      case 4: return sides<Compare>(depth, [&](Compare& e) { e.op = static_cast<Compare::Operator>(below(6)); });
      case 5: return sides<Concatenation>(depth, [](Concatenation&) {});
      case 6:
      case 7: return unary(depth);
      case 8: return increment(depth);
      case 9: return below(4) ? ternary(depth) : sides<Comma>(depth, [](Comma&) {});
      case 10: return assignment(depth);
      case 11: return in(depth);
      case 12: return regex(depth);
      case 13: return call(depth);
      case 14: return index(depth);
      case 15: return dereference(depth);
      case 16: return at_operation(depth);
      default: return leaf();
    }
  }

  StatementPtr statement(int depth) {
    if (depth <= 0) return simple();
    switch (below(8)) {
      case 0: {
        auto s = std::make_unique<Block>(SourceRange{});
        for (int i = below(4); i > 0; --i) s->statements.push_back(statement(depth - 1));
        return s;
      }
      case 1:
      case 2: {
        auto s = std::make_unique<If>(SourceRange{});
        s->condition = expression(2);
        // An open `if` before `else` cannot be written without braces.
        s->then_branch = block(depth - 1);
        if (below(2)) s->else_branch = statement(depth - 1);
        return s;
      }
      case 3: {
        auto s = std::make_unique<While>(SourceRange{});
        s->condition = expression(2);
        s->body = statement(depth - 1);
        return s;
      }
      case 4: {
        auto s = std::make_unique<For>(SourceRange{});
        if (below(2)) s->init = expression(2);
        if (below(2)) s->condition = expression(2);
        if (below(2)) s->step = expression(2);
        s->body = statement(depth - 1);
        return s;
      }
      case 5: return foreach (depth);
      case 6: {
        auto s = std::make_unique<Try>(SourceRange{});
        s->body = block(depth - 1);
        if (below(2)) s->message = variable();
        s->handler = block(depth - 1);
        return s;
      }
      default: return simple();
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::unique_ptr<Variable> variable() {
    return std::make_unique<Variable>(SourceRange{}, std::string(1, static_cast<char>('a' + below(5))));
  }

  ExpressionPtr leaf() {
    switch (below(6)) {
      case 0: return std::make_unique<Number>(SourceRange{}, below(20) - 10);
      case 1: return std::make_unique<Number>(SourceRange{}, below(2) ? INT64_MIN : INT64_MAX);
      case 2: return std::make_unique<String>(SourceRange{}, "s\"\\\n");
      case 3: {
        auto e = std::make_unique<TargetVariable>(SourceRange{});
        e->name = "$t";
        e->address_of = below(2);
        e->path = path(1);
        return e;
      }
      default: return variable();
    }
  }

  std::vector<PathStep> path(int minimum) {
    std::vector<PathStep> steps;
    for (int i = 0; i < minimum + below(3); ++i) {
      PathStep step{};
      step.kind = i == 0 ? PathStep::Kind::kMember : static_cast<PathStep::Kind>(below(3));
      step.name = below(4) ? "m" : "next";
      step.number = step.kind == PathStep::Kind::kElement ? below(9) - 4 : 0;
      if (step.kind == PathStep::Kind::kElementExpr)
        step.expression = sides<Binary>(1, [](Binary& e) { e.op = Binary::Operator::kAdd; });
      if (step.kind != PathStep::Kind::kMember) step.name.clear();
      steps.push_back(std::move(step));
    }
    if (below(4) == 0) {
      PathStep step{};
      step.kind = below(2) ? PathStep::Kind::kPretty : PathStep::Kind::kPrettyDeep;
      steps.push_back(std::move(step));
    }
    return steps;
  }

  template <typename T, typename F>
  ExpressionPtr sides(int depth, F set) {
    auto e = std::make_unique<T>(SourceRange{});
    set(*e);
    e->left = expression(depth - 1);
    e->right = expression(depth - 1);
    return e;
  }
  ExpressionPtr unary(int depth) {
    auto e = std::make_unique<Unary>(SourceRange{});
    e->op = static_cast<Unary::Operator>(below(4));
    e->operand = expression(depth - 1);
    return e;
  }
  ExpressionPtr assignable(int depth) { return below(2) ? ExpressionPtr(variable()) : index(depth); }
  ExpressionPtr increment(int depth) {
    auto e = std::make_unique<Increment>(SourceRange{});
    e->is_prefix = below(2);
    e->delta = below(2) ? 1 : -1;
    e->operand = assignable(depth);
    return e;
  }
  ExpressionPtr ternary(int depth) {
    auto e = std::make_unique<Ternary>(SourceRange{});
    e->condition = expression(depth - 1);
    e->if_true = expression(depth - 1);
    e->if_false = expression(depth - 1);
    return e;
  }
  ExpressionPtr assignment(int depth) {
    auto e = std::make_unique<Assignment>(SourceRange{});
    e->op = static_cast<Assignment::Operator>(below(4));
    if (e->op == Assignment::Operator::kArithmetic) e->arithmetic = static_cast<Binary::Operator>(below(11));
    e->target = assignable(depth);
    e->value = expression(depth - 1);
    return e;
  }
  ExpressionPtr in(int depth) {
    auto e = std::make_unique<In>(SourceRange{});
    for (int i = 0; i <= below(2); ++i) e->indexes.push_back(below(4) ? expression(depth - 1) : nullptr);
    e->array = variable();
    return e;
  }
  ExpressionPtr regex(int depth) {
    auto e = std::make_unique<Regex>(SourceRange{});
    e->negated = below(2);
    e->subject = expression(depth - 1);
    e->pattern = "a.*\\.b";
    return e;
  }
  ExpressionPtr call(int depth) {
    auto e = std::make_unique<Call>(SourceRange{}, "f");
    for (int i = below(3); i > 0; --i) e->arguments.push_back(expression(depth - 1));
    return e;
  }
  ExpressionPtr index(int depth) {
    auto e = std::make_unique<Index>(SourceRange{});
    e->array = variable();
    for (int i = 0; i <= below(2); ++i) e->indexes.push_back(expression(depth - 1));
    return e;
  }
  ExpressionPtr dereference(int depth) {
    auto e = std::make_unique<Dereference>(SourceRange{});
    e->pointer = expression(depth - 1);
    e->address_of = below(2);
    e->path = path(1);
    return e;
  }
  ExpressionPtr at_operation(int depth) {
    auto e = std::make_unique<AtOperation>(SourceRange{});
    e->name = "@cast";
    e->arguments.push_back(expression(depth - 1));
    e->arguments.push_back(std::make_unique<String>(SourceRange{}, "t"));
    e->address_of = below(2);
    if (below(2)) e->path = path(1);
    return e;
  }

  StatementPtr block(int depth) {
    auto s = std::make_unique<Block>(SourceRange{});
    s->statements.push_back(statement(depth));
    return s;
  }
  StatementPtr simple() {
    switch (below(6)) {
      case 0: return std::make_unique<Null>(SourceRange{});
      case 1: return std::make_unique<Next>(SourceRange{});
      case 2: {
        auto s = std::make_unique<Return>(SourceRange{});
        if (below(2)) s->value = expression(3);
        return s;
      }
      case 3: {
        auto s = std::make_unique<Delete>(SourceRange{});
        s->target = assignable(2);
        return s;
      }
      default: {
        auto s = std::make_unique<ExpressionStatement>(SourceRange{});
        s->expression = expression(4);
        return s;
      }
    }
  }
  StatementPtr foreach (int depth) {
    auto s = std::make_unique<Foreach>(SourceRange{});
    if (below(2)) s->value = variable();
    for (int i = 0; i <= below(3); ++i) s->keys.push_back(variable());
    s->array = variable();
    if (below(2)) {
      for (size_t i = 0; i < s->keys.size(); ++i) s->slice.push_back(below(2) ? expression(2) : nullptr);
    }
    s->sort_direction = below(3) - 1;
    if (s->sort_direction != 0) s->sort_column = below(static_cast<int>(s->keys.size()) + 1);
    if (s->sort_direction != 0 && s->sort_column == 0 && below(2)) s->sort_by = static_cast<Statistic::Operator>(below(6));
    if (below(2)) s->limit = expression(2);
    s->body = statement(depth - 1);
    return s;
  }

  std::mt19937 random_;
};

TEST(RoundTrip, KeepsRandomExpressions) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    ExpressionPtr tree = RandomTree(seed).expression(4);
    std::string source = to_source(*tree);
    ASSERT_EQ(expression_shape(source), shape(tree.get())) << source;
    ASSERT_EQ(shape(clone(*tree).get()), shape(tree.get()));
  }
}

TEST(RoundTrip, KeepsRandomStatements) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    StatementPtr tree = RandomTree(seed).statement(4);
    std::string source = to_source(*tree);
    ASSERT_EQ(statement_shape(source), shape(*tree)) << source;
    ASSERT_EQ(shape(*clone(*tree)), shape(*tree));
  }
}

// ---------------------------------------------------------------- random damage

// What every parse must hold, whatever the text.
void expect_sound(const Parsed& parsed) {
  auto inside = [&](const SourceRange& range) {
    return !range || (range.file == &parsed.file && range.begin <= range.end && range.end <= parsed.file.text().size());
  };
  auto expect_expressions = [&](const Statement& s) {
    for_each_expression(s, [&](const Expression& e) {
      ASSERT_TRUE(inside(e.range));
      ASSERT_LE(e.height, kMaximumNesting);
    });
  };
  for (const auto& probe : parsed.script.probes) expect_expressions(*probe->body);
  for (const auto& function : parsed.script.functions) expect_expressions(*function->body);
  for (const Diagnostic& diagnostic : parsed.diagnostics.all()) ASSERT_TRUE(inside(diagnostic.range)) << diagnostic.message;
  parsed.diagnostics.render();
}

std::string damaged(std::string text, std::mt19937& random) {
  static const char* const kPieces[] = {"{",     "}",     "(",        ")",      "[",  "]",          "\"",
                                        "/*",    "*/",    "%(",       "%?",     "%:", "%)",         "%{",
                                        "%}",    "@",     "$",        "$1",     "@1", "$#",         "@define",
                                        "@m",    "probe", "function", "global", "if", "else",       "foreach",
                                        "in",    "limit", "->",       "++",     "=",  "<<<",        ",",
                                        ";",     ".",     "*",        "?",      "!",  "0x",         "99999999999999999999",
                                        "\\",    "\n",    "\xff",     "'",      "%",  "@hist_log(", "delete",
                                        "catch", "-",     "&",        "@sum",   "$$", "{a,b}",      "1",
                                        "x"};
  for (int i = 1 + static_cast<int>(random() % 4); i > 0 && !text.empty(); --i) {
    size_t at = random() % text.size();
    size_t length = random() % 12;
    switch (random() % 6) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, kPieces[random() % std::size(kPieces)]); break;
      case 2: text.insert(at, text.substr(random() % text.size(), length)); break;
      case 3: text[at] = static_cast<char>(random()); break;
      case 4: text.replace(at, length, kPieces[random() % std::size(kPieces)]); break;
      default:
        if (random() % 4 == 0) text.resize(at);
        break;
    }
  }
  return text;
}

TEST(Damage, NeverCrashesTheParser) {
  std::mt19937 random(7);
  ParseOptions options;
  options.arguments = {"x + 1", "} probe"};
  int parsed_well = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = damaged(kScripts[random() % std::size(kScripts)], random);
    options.guru = random() % 2;
    Parsed parsed(text, options);
    ASSERT_NO_FATAL_FAILURE(expect_sound(parsed)) << text;
    if (parsed.diagnostics.has_errors()) continue;
    ++parsed_well;
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(text, options)) << text;
  }
  EXPECT_GT(parsed_well, 200);
}

TEST(Damage, NeverCrashesOnNoise) {
  std::mt19937 random(8);
  for (int i = 0; i < 1000; ++i) {
    std::string text;
    for (size_t j = random() % 200; j > 0; --j) text += static_cast<char>(1 + random() % 127);
    expect_sound(Parsed(text));
  }
}

}  // namespace
}  // namespace spile::syntax
