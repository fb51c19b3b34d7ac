#include "syntax/parser.h"

#include <gtest/gtest.h>

#include "syntax/tree_shape_test.h"

namespace spile::syntax {
namespace {

std::string script_shape(const std::string& text, ParseOptions options = {}) {
  Parsed parsed(text, std::move(options));
  return parsed.diagnostics.has_errors() ? parsed.diagnostics.render() : shape(parsed.script);
}

// The errors of statements put into a probe, without their places.
std::string in_probe(const std::string& statements) {
  Parsed parsed("probe begin { " + statements + "\n}");
  std::string out;
  for (const Diagnostic& diagnostic : parsed.diagnostics.all()) {
    if (diagnostic.severity == Severity::kError) out += (out.empty() ? "" : "\n") + diagnostic.message;
  }
  return out;
}

std::string hint_of(const std::string& statements) {
  Parsed parsed("probe begin { " + statements + "\n}");
  return parsed.diagnostics.all().empty() ? "" : parsed.diagnostics.all()[0].hint_text;
}

// ---------------------------------------------------------------- expressions

TEST(Expressions, FollowTheDocumentedPrecedence) {
  EXPECT_EQ(expression_shape("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(expression_shape("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression_shape("a . b + c"), "(. a (+ b c))");
  EXPECT_EQ(expression_shape("a << b . c"), "(<< a (. b c))");
  EXPECT_EQ(expression_shape("a < b << c"), "(< a (<< b c))");
  EXPECT_EQ(expression_shape("a == b < c"), "(< (== a b) c)");
  EXPECT_EQ(expression_shape("a & b == c"), "(& a (== b c))");
  EXPECT_EQ(expression_shape("a | b ^ c & d"), "(| a (^ b (& c d)))");
  EXPECT_EQ(expression_shape("a || b && c"), "(|| a (&& b c))");
  EXPECT_EQ(expression_shape("a && b | c"), "(&& a (| b c))");
  EXPECT_EQ(expression_shape("a ? b : c ? d : e"), "(? a b (? c d e))");
  EXPECT_EQ(expression_shape("a ? b ? c : d : e"), "(? a (? b c d) e)");
  EXPECT_EQ(expression_shape("a = b = c"), "(= a (= b c))");
  EXPECT_EQ(expression_shape("a = b ? c : d"), "(= a (? b c d))");
  EXPECT_EQ(expression_shape("a <<< b + c"), "(<<< a (+ b c))");
  EXPECT_EQ(expression_shape("!a + ~b"), "(+ (! a) (~ b))");
  EXPECT_EQ(expression_shape("-a++"), "(u- (a ++))");
  EXPECT_EQ(expression_shape("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(expression_shape("a % b >>> 3"), "(>>> (% a b) 3)");
  EXPECT_EQ(expression_shape("a . b =~ \"c\""), "(=~ (. a b) 'c')");
  EXPECT_EQ(expression_shape("a !~ \"b\" \"c\" && d"), "(&& (!~ a 'bc') d)");
}

TEST(Expressions, TakeTheSignOfANumberIntoIt) {
  EXPECT_EQ(expression_shape("-5"), "-5");
  EXPECT_EQ(expression_shape("- 5 + a"), "(+ -5 a)");
  EXPECT_EQ(expression_shape("a - 5"), "(- a 5)");
  EXPECT_EQ(expression_shape("a - -5"), "(- a -5)");
  EXPECT_EQ(expression_shape("-(5)"), "(u- 5)");
  EXPECT_EQ(expression_shape("-9223372036854775808"), "-9223372036854775808");
}

TEST(Expressions, TestMembershipWithAndWithoutBrackets) {
  EXPECT_EQ(expression_shape("[a, b] in c"), "(in a b c)");
  EXPECT_EQ(expression_shape("[a, *] in c"), "(in a * c)");
  EXPECT_EQ(expression_shape("a in b"), "(in a b)");
  EXPECT_EQ(expression_shape("a + 1 in b && c"), "(&& (in (+ a 1) b) c)");
  EXPECT_EQ(expression_shape("a & b in c"), "(& a (in b c))");
  EXPECT_EQ(expression_shape("!([a] in b)"), "(! (in a b))");
  EXPECT_EQ(expression_shape("[a*b] in c"), "(in (* a b) c)");
}

TEST(Expressions, AssignInAllWays) {
  EXPECT_EQ(expression_shape("a += 1"), "(+= a 1)");
  EXPECT_EQ(expression_shape("a .= \"x\""), "(.= a 'x')");
  EXPECT_EQ(expression_shape("a[1] <<< 2"), "(<<< ([] a 1) 2)");
  EXPECT_EQ(statement_shape("a -= 1 a *= 1 a /= 1 a %= 1 a <<= 1 a >>= 1 a >>>= 1 a &= 1 a |= 1 a ^= 1"),
            "(-= a 1) (*= a 1) (/= a 1) (%= a 1) (<<= a 1) (>>= a 1) (>>>= a 1) (&= a 1) (|= a 1) (^= a 1)");
  EXPECT_EQ(expression_shape("$x->y = 1"), "(= ($x .y) 1)");
  EXPECT_EQ(expression_shape("++a[b]"), "(++ ([] a b))");
  EXPECT_EQ(expression_shape("a--"), "(a --)");
  EXPECT_EQ(expression_shape("@var(\"x\") = 2"), "(= (@var 'x') 2)");
}

TEST(Expressions, ReachIntoTracedData) {
  EXPECT_EQ(expression_shape("$x"), "$x");
  EXPECT_EQ(expression_shape("$x->y[3]->z"), "($x .y #3 .z)");
  EXPECT_EQ(expression_shape("$x[i + 1]"), "($x #(+ i 1))");
  EXPECT_EQ(expression_shape("$x[-1]"), "($x #-1)");
  EXPECT_EQ(expression_shape("&$x->y"), "(address $x .y)");
  EXPECT_EQ(expression_shape("a & &$x"), "(& a (address $x))");
  EXPECT_EQ(expression_shape("$x$"), "($x pretty)");
  EXPECT_EQ(expression_shape("$x$$"), "($x deep)");
  EXPECT_EQ(expression_shape("$x->y$"), "($x .y pretty)");
  EXPECT_EQ(expression_shape("$x->y[2]$$"), "($x .y #2 deep)");
  EXPECT_EQ(expression_shape("$$vars . $$parms$"), "(. $$vars ($$parms pretty))");
  EXPECT_EQ(expression_shape("$x->next->in"), "($x .next .in)");
  EXPECT_EQ(expression_shape("p->a[1]->b"), "(-> p .a #1 .b)");
  EXPECT_EQ(expression_shape("a[1]->b + f(2)->c"), "(+ (-> ([] a 1) .b) (-> (call f)(2) .c))");
  EXPECT_EQ(expression_shape("&p->a"), "(address-> p .a)");
  EXPECT_EQ(expression_shape("$x . \"s\""), "(. $x 's')");
}

TEST(Expressions, KnowTheAtOperations) {
  EXPECT_EQ(expression_shape("@var(\"a@b.c\", \"m\")->d"), "(@var 'a@b.c' 'm' .d)");
  EXPECT_EQ(expression_shape("@cast(p, \"t\")->x[1]$"), "(@cast p 't' .x #1 pretty)");
  EXPECT_EQ(expression_shape("@cast(p, \"t\")->x[1, 2]"), expression_shape("@cast(p, \"t\")->x[1][2]"));
  EXPECT_EQ(expression_shape("@cast(p, \"t\", \"m\")$"), "(@cast p 't' 'm' pretty)");
  EXPECT_EQ(expression_shape("&@cast(p, \"t\")->x"), "(address @cast p 't' .x)");
  EXPECT_EQ(expression_shape("@const(\"EINVAL\")"), "(@const 'EINVAL')");
  EXPECT_EQ(expression_shape("@choose_defined($a, $b)"), "(@choose_defined $a $b)");
  EXPECT_EQ(expression_shape("@kderef(4, p) + @uderef(8, q)"), "(+ (@kderef 4 p) (@uderef 8 q))");
  EXPECT_EQ(expression_shape("@uregister(0) . @kregister(1)"), "(. (@uregister 0) (@kregister 1))");
  EXPECT_EQ(expression_shape("@defined($x->y) ? @entry($x) : @perf(\"cycles\")"),
            "(? (defined ($x .y)) (entry $x) (perf cycles))");
  EXPECT_EQ(expression_shape("@probewrite(x)"), "(@probewrite x)");
}

TEST(Expressions, TakeStatistics) {
  EXPECT_EQ(expression_shape("@count(a) + @sum(b[1]) + @min(c)"), "(+ (+ (count a) (sum ([] b 1))) (min c))");
  EXPECT_EQ(expression_shape("@max(a) - @avg(a)"), "(- (max a) (avg a))");
  EXPECT_EQ(expression_shape("@variance(a) + @variance(a, 4)"), "(+ (variance a) (variance a 4))");
  EXPECT_EQ(expression_shape("@percentile(a, 50) + @percentile(a, \"99.9\")"), "(+ (percentile a 50) (percentile a 999/10))");
  EXPECT_EQ(expression_shape("@hist_log(a)[3]"), "(bucket (hist_log a) 3)");
  EXPECT_EQ(expression_shape("@hist_linear(a[1], -5, 100, 5)[b] + 1"), "(+ (bucket (hist_linear ([] a 1) -5 100 5) b) 1)");
  EXPECT_EQ(expression_shape("print(@hist_log(a))"), "(print (hist_log a))");
  EXPECT_EQ(expression_shape("println((@hist_linear(a, 0, 10, 1)))"), "(print line (hist_linear a 0 10 1))");
}

TEST(Expressions, PrintInAllWays) {
  EXPECT_EQ(statement_shape("print(1) println(\"a\") println() print_char(65)"),
            "(print 1) (print line 'a') (print line) (print char 65)");
  EXPECT_EQ(statement_shape("printd(\":\", a, b) printdln(\"\", c, d)"), "(print ':' a b) (print line '' c d)");
  EXPECT_EQ(expression_shape("sprint(1) . sprintln(2) . sprintd(\",\", 3, 4) . sprintdln(\",\", 4, 5)"),
            "(. (. (. (sprint 1) (sprint line 2)) (sprint ',' 3 4)) (sprint line ',' 4 5))");
  EXPECT_EQ(expression_shape("x = sprintf(\"%d\", 3)"), "(= x (sprint %d 3))");
  EXPECT_EQ(expression_shape("x = printf"), "(= x printf)");
}

TEST(Formats, AreParsedOnce) {
  EXPECT_EQ(expression_shape("printf(\"a%%b%d%%\", 1)"), "(print 'a%b' %d '%' 1)");
  EXPECT_EQ(expression_shape("printf(\"%-5d|%05u|%+i|% o|%#x\", 1, 2, 3, 4, 5)"),
            "(print %-5d '|' %05u '|' %+d '|' %_o '|' %#x 1 2 3 4 5)");
  EXPECT_EQ(expression_shape("printf(\"%*.*s%.3s%.s\", 1, 2, \"a\", \"b\", \"c\")"), "(print %*.*s %.3s %.0s 1 2 'a' 'b' 'c')");
  EXPECT_EQ(expression_shape("printf(\"%ld%lld%lu%Lx%lX\", 1, 2, 3, 4, 5)"), "(print %d %d %u %x %X 1 2 3 4 5)");
  EXPECT_EQ(expression_shape("printf(\"%p%c%b%8m%*M\", 1, 2, 3, 4, 5, 6)"), "(print %p %c %b %8m %*M 1 2 3 4 5 6)");
  EXPECT_EQ(expression_shape("printf(\"\")"), "(print)");
}

TEST(Formats, RefuseWhatCannotBePrinted) {
  EXPECT_EQ(in_probe("printf(\"%f\", 1)"), "unknown conversion '%f' in the format");
  EXPECT_EQ(in_probe("printf(\"%5\", 1)"), "the format ends within a conversion: '%5'");
  EXPECT_EQ(in_probe("printf(\"100%\")"), "the format ends within a conversion: '%'");
  EXPECT_EQ(in_probe("printf(\"%hd %hhx %zu %jd\", 1, 2, 3, 4)"), "");
  EXPECT_EQ(in_probe("printf(\"%99999999999d\", 1)"), "width or precision out of range in the format");
  EXPECT_EQ(in_probe("printf(\"%.99999999999d\", 1)"), "width or precision out of range in the format");
  EXPECT_EQ(in_probe("printf(\"%-%\")"), "'%%' takes no flags, width or precision");
  EXPECT_EQ(in_probe("printf(x)"), "expected the format of 'printf', a string literal, found 'x'");
  EXPECT_EQ(in_probe("x = sprintf()"), "expected the format of 'sprintf', a string literal, found ')'");
  EXPECT_EQ(in_probe("printd(x, 1)"), "expected the delimiter of 'printd', a string literal, found 'x'");
  EXPECT_EQ(in_probe("printd(\",\")"), "'printd' takes at least two values after the delimiter, not 0");
  EXPECT_EQ(in_probe("print()"), "'print' takes at least one value, not 0");
  EXPECT_EQ(in_probe("print_char(1, 2)"), "'print_char' takes one value, not 2");
  EXPECT_EQ(in_probe("printf(\"%s\", @hist_log(x))"),
            "a histogram can't be printed together with other values, or with a format");
  EXPECT_EQ(in_probe("x = sprint(1, @hist_log(x))"), "a histogram can't be printed together with other values, or with a format");
}

TEST(Expressions, RefuseWhatIsNone) {
  EXPECT_EQ(in_probe("x = "), "expected an expression, found '}'");
  EXPECT_EQ(in_probe("x = y ?: 3;"), "the language has no '?:' without a value between them");
  EXPECT_EQ(in_probe("x = * 3;"), "expected an expression, found '*'");
  EXPECT_EQ(in_probe("x = (1 + 2;"), "expected ')', found ';'");
  EXPECT_EQ(in_probe("x = f(1, ;"), "expected an expression, found ';'");
  EXPECT_EQ(in_probe("x = f(1 2);"), "expected ')' after the arguments of 'f', found '2'");
  EXPECT_EQ(in_probe("x = a[];"), "expected a subscript, found ']'");
  EXPECT_EQ(in_probe("x = a[1;"), "expected ']' after the subscript, found ';'");
  EXPECT_EQ(in_probe("x = a ? b;"), "expected ':' and the value for a false condition, found ';'");
  EXPECT_EQ(in_probe("x = limit;"), "expected an expression, found the keyword 'limit'");
  EXPECT_EQ(in_probe("x = a[*];"), "a slice with '*' can be deleted, iterated (foreach) or tested ([k, *] in array), not read");
  EXPECT_EQ(in_probe("delete a[b[*]];"),
            "a slice with '*' can be deleted, iterated (foreach) or tested ([k, *] in array), not read");
  EXPECT_EQ(in_probe("[a, b];"), "expected 'in' and an array after the subscripts, found ';'");
  EXPECT_EQ(in_probe("a in 3;"), "expected the array after 'in', found '3'");
  EXPECT_EQ(in_probe("a =~ b;"), "expected a pattern, a string literal, after '=~', found 'b'");
}

TEST(Expressions, RefuseToAssignToValues) {
  EXPECT_EQ(in_probe("3 = x;"), "can't assign to this: it is not a variable");
  EXPECT_EQ(in_probe("a + b = c;"), "can't assign to this: it is not a variable");
  EXPECT_EQ(in_probe("f() += 1;"), "can't assign to this: it is not a variable");
  EXPECT_EQ(in_probe("++f();"), "'++' needs a variable");
  EXPECT_EQ(in_probe("--3;"), "'--' needs a variable");
  EXPECT_EQ(in_probe("if (f() = 3) x"), "can't assign to this: it is not a variable");
}

TEST(Expressions, RefuseBadTargets) {
  EXPECT_EQ(in_probe("$x->3;"), "expected the name of a member after '->', found '3'");
  EXPECT_EQ(in_probe("$x[1;"), "expected ']' after the index, found ';'");
  EXPECT_EQ(in_probe("$x$$$;"), "too many '$' after the name");
  EXPECT_EQ(in_probe("&x;"), "'&' can only take the address of traced data");
  EXPECT_EQ(in_probe("@var(x);"), "this argument of @var must be a string literal");
  EXPECT_EQ(in_probe("@cast(p);"), "@cast takes 2 or 3 arguments, not 1");
  EXPECT_EQ(in_probe("@cast(p, t);"), "this argument of @cast must be a string literal");
  EXPECT_EQ(in_probe("@const();"), "@const takes 1 argument, not 0");
  EXPECT_EQ(in_probe("@var;"), "expected '(' after '@var', found ';'");
  EXPECT_EQ(in_probe("@defined();"), "expected an expression, found ')'");
  EXPECT_EQ(in_probe("@perf(x);"), "expected the counter's name, a string, found 'x'");
  EXPECT_EQ(in_probe("@cuont(x);"), "unknown operator or macro '@cuont'");
  EXPECT_EQ(hint_of("@cuont(x);"), "did you mean '@count'?");
}

TEST(Expressions, RefuseBadStatistics) {
  EXPECT_EQ(in_probe("@count(1);"), "statistics need a global or an element of an array");
  EXPECT_EQ(in_probe("@count(a + b);"), "statistics need a global or an element of an array");
  EXPECT_EQ(in_probe("@sum(a, 1);"), "expected ')' after the operand of '@sum', found ','");
  EXPECT_EQ(in_probe("print(@hist_log(a, 5));"), "expected the unit of the values, at most 16 characters in quotes");
  EXPECT_EQ(in_probe("print(@hist_log(a, \"seventeen letters\"));"),
            "expected the unit of the values, at most 16 characters in quotes");
  EXPECT_EQ(in_probe("@percentile(a);"), "expected ',' and the percentage: @percentile(stats, 99), found ')'");
  EXPECT_EQ(in_probe("@percentile(a, 101);"), "a percentage goes from 0 to 100");
  EXPECT_EQ(in_probe("@percentile(a, \"100.1\");"), "a percentage goes from 0 to 100");
  for (const char* wrong : {"", ".9", "9.", "99.9999", "9.9.9", "9 9", "-1.0", "1e3", "99999999999999999999"})
    EXPECT_EQ(in_probe(std::string("@percentile(a, \"") + wrong + "\");"),
              std::string("expected a percentage with at most three decimals, found \"") + wrong + "\"");
  EXPECT_EQ(in_probe("foreach (k in a @percentile -) ;"), "expected @count, @sum, @min, @max, @avg or @variance to sort by");
  EXPECT_EQ(in_probe("@variance(a, b);"), "expected the number of bits to shift by, found 'b'");
  EXPECT_EQ(in_probe("x = @hist_log(a);"), "a histogram is not a value: it can be printed, iterated or subscripted");
  EXPECT_EQ(in_probe("x = @hist_log(a) + 1;"), "a histogram is not a value: it can be printed, iterated or subscripted");
  EXPECT_EQ(in_probe("f(@hist_log(a));"), "a histogram is not a value: it can be printed, iterated or subscripted");
  EXPECT_EQ(in_probe("@hist_linear(a);"), "expected ',' and the lower bound: @hist_linear(stats, low, high, width), found ')'");
  EXPECT_EQ(in_probe("print(@hist_linear(a, b, 0, 1))"), "expected the lower bound, a number, found 'b'");
}

// ---------------------------------------------------------------- statements

TEST(Statements, NeedNoSeparators) {
  EXPECT_EQ(statement_shape("printf(\"x\") print(\"y\")"), "(print 'x') (print 'y')");
  EXPECT_EQ(statement_shape("a = 1 b = 2; c = 3;; d"), "(= a 1) (= b 2) (= c 3) ; d");
  EXPECT_EQ(statement_shape("a = b\n++c"), "(= a (b ++)) c");
  EXPECT_EQ(statement_shape("f() ++c"), "(call f)() (++ c)");
}

TEST(Statements, BranchAndLoop) {
  EXPECT_EQ(statement_shape("if (a) b; else c"), "(if a b else c)");
  EXPECT_EQ(statement_shape("if (a) if (b) c else d"), "(if a (if b c else d))");
  EXPECT_EQ(statement_shape("if (a) {} else if (b) ; else {c}"), "(if a {} else (if b ; else {c}))");
  EXPECT_EQ(statement_shape("while (a < 3) { a++ break continue }"), "(while (< a 3) {(a ++) break continue})");
  EXPECT_EQ(statement_shape("for (i = 0; i < 3; i++) f(i)"), "(for (= i 0) (< i 3) (i ++) (call f)(i))");
  EXPECT_EQ(statement_shape("for (;;) ;"), "(for - - - ;)");
  EXPECT_EQ(statement_shape("try { a } catch (m) { b } try { } catch { }"), "(try {a} catch m {b}) (try {} catch {})");
  EXPECT_EQ(statement_shape("next return return; return a"), "next (return -) (return -) (return a)");
  EXPECT_EQ(statement_shape("delete a delete b[1, 2]; delete c[*, 2]"), "(delete a) (delete ([] b 1 2)) (delete ([] c * 2))");
}

TEST(Statements, IterateInAllForms) {
  EXPECT_EQ(statement_shape("foreach (k in a) f(k)"), "(foreach [k] in a (call f)(k))");
  EXPECT_EQ(statement_shape("foreach ([a, b] in c) ;"), "(foreach [a b] in c ;)");
  EXPECT_EQ(statement_shape("foreach (k+ in a) ;"), "(foreach [k] in a sort+1 ;)");
  EXPECT_EQ(statement_shape("foreach ([a, b-] in c) ;"), "(foreach [a b] in c sort-2 ;)");
  EXPECT_EQ(statement_shape("foreach (k in a-) ;"), "(foreach [k] in a sort-0 ;)");
  EXPECT_EQ(statement_shape("foreach (k in a+ limit n * 2) ;"), "(foreach [k] in a sort+0 limit (* n 2) ;)");
  EXPECT_EQ(statement_shape("foreach (v = k in a) ;"), "(foreach v = [k] in a ;)");
  EXPECT_EQ(statement_shape("foreach (v = [k1, k2-] in a[*, 1] limit 5) ;"), "(foreach v = [k1 k2] in a[* 1] sort-2 limit 5 ;)");
  EXPECT_EQ(statement_shape("foreach (v- = k in a) ;"), "(foreach v = [k] in a sort-0 ;)");
  EXPECT_EQ(statement_shape("foreach (v+=k in a) ;"), "(foreach v = [k] in a sort+0 ;)");
  EXPECT_EQ(statement_shape("foreach (k in a @sum -) ;"), "(foreach [k] in a sort-0 by sum ;)");
  EXPECT_EQ(statement_shape("foreach ([a, b] in c[1, *] @avg+ limit 3) ;"), "(foreach [a b] in c[1 *] sort+0 by avg limit 3 ;)");
  EXPECT_EQ(statement_shape("foreach (b in @hist_log(x[1])) ;"), "(foreach [b] in (hist_log ([] x 1)) ;)");
  EXPECT_EQ(statement_shape("foreach ([b] in @hist_linear(x, 0, 9, 1)) ;"), "(foreach [b] in (hist_linear x 0 9 1) ;)");
}

TEST(Statements, RefuseWrongLoops) {
  EXPECT_EQ(in_probe("foreach (k) ;"), "expected 'in' and the array, found ')'");
  EXPECT_EQ(in_probe("foreach (k in) ;"), "expected the array, found ')'");
  EXPECT_EQ(in_probe("foreach ([a b] in c) ;"), "expected ']' after foreach's variables, found 'b'");
  EXPECT_EQ(in_probe("foreach ([a+, b-] in c) ;"), "foreach can sort by one column only");
  EXPECT_EQ(in_probe("foreach (a+ in c-) ;"), "foreach can sort by one column only");
  EXPECT_EQ(in_probe("foreach ([a, b] in c[*]) ;"), "the slice has 1 subscripts, but foreach has 2 variables");
  EXPECT_EQ(in_probe("foreach (k in a @sum) ;"), "expected '+' or '-' after @sum, found ')'");
  EXPECT_EQ(in_probe("foreach (k in a @log -) ;"), "expected @count, @sum, @min, @max, @avg or @variance to sort by");
  EXPECT_EQ(in_probe("foreach (3 in a) ;"), "expected a variable for a subscript, found '3'");
  EXPECT_EQ(in_probe("foreach (k in a limit) ;"), "expected an expression, found ')'");
  EXPECT_EQ(in_probe("foreach ([a, b] in @hist_log(x)) ;"), "the buckets of a histogram have one subscript and one order");
  EXPECT_EQ(in_probe("for (k in a) ;"), "'for' can't iterate over an array");
  EXPECT_EQ(in_probe("for (a; b) ;"), "expected ';' after the condition of 'for', found ')'");
  EXPECT_EQ(in_probe("while a < 3 { }"), "expected '(' after 'while', found 'a'");
}

TEST(Statements, RefuseWhatIsNone) {
  EXPECT_EQ(in_probe("else x"), "expected a statement, found the keyword 'else'");
  EXPECT_EQ(in_probe("if (a) {}; else b"), "expected a statement, found the keyword 'else'");
  EXPECT_EQ(in_probe("if (a) b elif (c) d"), "expected 'else if'");
  EXPECT_EQ(in_probe("try a catch b"), "expected '{' after 'try', found 'a'");
  EXPECT_EQ(in_probe("try { a } b"), "expected 'catch' after the block of 'try', found 'b'");
  EXPECT_EQ(in_probe("catch { }"), "expected a statement, found the keyword 'catch'");
  EXPECT_EQ(in_probe("delete 3"), "only a global, or an element of an array, can be deleted");
  EXPECT_EQ(in_probe("delete f(a[*]);"),
            "a slice with '*' can be deleted, iterated (foreach) or tested ([k, *] in array), not read");
  EXPECT_EQ(in_probe("string x = \"a\""), "expected a statement, found the keyword 'string'");
  EXPECT_EQ(in_probe("int x = 3"), "variables are used without a declaration");
  EXPECT_EQ(in_probe("print \"hello\""), "'print' needs parentheses around its arguments");
  EXPECT_EQ(in_probe("%{ x %}"), "embedded code needs guru mode");
  EXPECT_EQ(in_probe("x = %{ x %};"), "embedded code needs guru mode");
  EXPECT_EQ(in_probe("x = 'a';"), "strings need double quotes");
}

TEST(Statements, EmbedCodeForGurus) {
  ParseOptions guru;
  guru.guru = true;
  EXPECT_EQ(statement_shape("%{ a; %} x = %{ b %} + 1", guru), "%{ a; %} (= x (+ %{ b %} 1))");
  EXPECT_EQ(script_shape("%{ #include <x.h> %} function f:long(a) %{ return 1; %} probe begin { %{ y %} }", guru),
            "%{ #include <x.h> %}\nfunction f:long(a:unknown) %{ return 1; %}\nprobe begin {%{ y %}}\n");
  ParseOptions library;
  library.is_library = true;
  EXPECT_EQ(script_shape("function f() %{ %}", library), "function f:unknown() %{ %}\n");
}

// ---------------------------------------------------------------- declarations

TEST(Globals, AreDeclaredInAllForms) {
  EXPECT_EQ(script_shape("global a, b = 3, c = -1, d = \"x\" \"y\"; global e"),
            "global a\nglobal b = 3\nglobal c = -1\nglobal d = 'xy'\nglobal e\n");
  EXPECT_EQ(script_shape("global a[100], b%[10], c%"), "global a[100]\nglobal b%[10]\nglobal c%[]\n");
  EXPECT_EQ(script_shape("private a private global b, c"), "private a\nprivate b\nprivate c\n");
}

TEST(Globals, RefuseWrongDeclarations) {
  EXPECT_EQ(errors("global"), "1:7: expected the name of a global, found the end of the script");
  EXPECT_EQ(errors("global 3"), "1:8: expected the name of a global, found '3'");
  EXPECT_EQ(errors("global next"), "1:8: expected the name of a global, found the keyword 'next'");
  EXPECT_EQ(errors("global a b"), "1:10: expected ',' between the names of globals, found 'b'");
  EXPECT_EQ(errors("global a = b"), "1:12: expected an initial value, a number or a string, found 'b'");
  EXPECT_EQ(errors("global a[0]"), "1:10: an array's size is between 1 and 100000000");
  EXPECT_EQ(errors("global a[n]"), "1:10: expected the array's size, a number, found 'n'");
  EXPECT_EQ(errors("global a[3][4]"), "1:12: an array can have only one size");
  EXPECT_EQ(errors("global a[3] = 4"), "1:13: an array can't have an initial value");
  EXPECT_EQ(errors("global a:long"), "1:9: globals are declared without a type");
  EXPECT_EQ(errors("global a[9999999999999999999999]"),
            "1:10: number out of range: 9999999999999999999999\n1:10: an array's size is between 1 and 100000000");
}

TEST(Functions, AreDeclaredInAllForms) {
  EXPECT_EQ(script_shape("function f() { }"), "function f:unknown() {}\n");
  EXPECT_EQ(script_shape("function f:long(a:string, b = 3) { return b }"),
            "function f:long(a:string, b:unknown = 3) {(return b)}\n");
  EXPECT_EQ(script_shape("private function f:string(a):2 { next }"), "private function f:string(a:unknown):2 {next}\n");
}

TEST(Functions, RefuseWrongDeclarations) {
  EXPECT_EQ(errors("function"), "1:9: expected the name of a function, found the end of the script");
  EXPECT_EQ(errors("function f { }"), "1:12: expected '(' and the parameters of function 'f', found '{'");
  EXPECT_EQ(errors("function f(a b) { }"), "1:14: expected ')' after the parameters, found 'b'");
  EXPECT_EQ(errors("function f(a, a) { }"), "1:15: function 'f' has two parameters 'a'");
  EXPECT_EQ(errors("function f(a = 1, b) { }"), "1:19: parameter 'b' needs a default too: the one before it has one");
  EXPECT_EQ(errors("function f:int() { }"), "1:12: expected a type, 'long' or 'string', found 'int'");
  EXPECT_EQ(errors("function f(3) { }"), "1:12: expected the name of a parameter, found '3'");
  EXPECT_EQ(errors("function f() return 1"), "1:14: expected '{' and the body of function 'f', found the keyword 'return'");
  EXPECT_EQ(errors("function f() %{ %}"), "1:14: embedded code needs guru mode");
}

TEST(Probes, HavePointsOfAllForms) {
  EXPECT_EQ(script_shape("probe begin, end { }"), "probe begin, end {}\n");
  EXPECT_EQ(script_shape("probe begin(-10), timer.ms(0x10), process(1234).syscall { }"),
            "probe begin(-10), timer.ms(16), process(1234).syscall {}\n");
  EXPECT_EQ(script_shape("probe process(\"/bin/\" \"ls\").function(\"*@a.c:3\").return { }"),
            "probe process('/bin/ls').function('*@a.c:3').return {}\n");
  EXPECT_EQ(script_shape("probe syscall.*read*, **, a.**.*64, sys*_x? { }"), "probe syscall.*read*, **, a.**.*64, sys*_x? {}\n");
  EXPECT_EQ(script_shape("probe a ?, b !, c if (x > 1), d? if (y) { }"), "probe a?, b!, c if (> x 1), d? if y {}\n");
  EXPECT_EQ(script_shape("probe a if (x) ? { }"), "probe a? if x {}\n");
  EXPECT_EQ(script_shape("probe kernel.function(\"f\").call.if.next { }"), "probe kernel.function('f').call.if.next {}\n");
}

TEST(Probes, ExpandAlternatives) {
  EXPECT_EQ(script_shape("probe syscall.{open,close}.return { }"), "probe syscall.open.return, syscall.close.return {}\n");
  EXPECT_EQ(script_shape("probe {a,b.{c(\"x\"),d}}.e! { }"), "probe a.e!, b.c('x').e!, b.d.e! {}\n");
  EXPECT_EQ(script_shape("probe a.{b,c} if (x) { }"), "probe a.b if x, a.c if x {}\n");
  EXPECT_EQ(script_shape("probe begin{x}"), "probe begin {x}\n");
}

TEST(Probes, DefineAliases) {
  EXPECT_EQ(script_shape("probe a.b = c.d, e? { x = 1 }"), "alias a.b = c.d, e? {(= x 1)}\n");
  EXPECT_EQ(script_shape("probe a, b.c += d { }"), "alias a, b.c += d {}\n");
}

TEST(Probes, RefuseWrongPoints) {
  EXPECT_EQ(errors("probe"), "1:6: expected the name of a probe point, found the end of the script");
  EXPECT_EQ(errors("probe begin"), "1:12: expected '{' and the probe's body, found the end of the script");
  EXPECT_EQ(errors("probe begin end { }"), "1:13: expected '{' and the probe's body, found 'end'");
  EXPECT_EQ(errors("probe a..b { }"), "1:9: expected the name of a probe point, found '.'");
  EXPECT_EQ(errors("probe a.\"b\" { }"), "1:9: expected the name of a probe point, found a string");
  EXPECT_EQ(errors("probe a() { }"), "1:9: expected a string or a number in parentheses, found ')'");
  EXPECT_EQ(errors("probe a(b) { }"), "1:9: expected a string or a number in parentheses, found 'b'");
  EXPECT_EQ(errors("probe a(\"b\" { }"), "1:13: expected ')' after the parameter of 'a', found '{'");
  EXPECT_EQ(errors("probe a, { }"), "1:12: expected the name of a probe point, found '}'");
  EXPECT_EQ(errors("probe a?? { }"), "1:9: expected '{' and the probe's body, found '?'");
  EXPECT_EQ(errors("probe a if x { }"), "1:12: expected '(' after 'if', found 'x'");
  EXPECT_EQ(errors("probe a? = b { }"), "1:7: an alias's name can't have '?', '!' or a condition");
  EXPECT_EQ(errors("probe a.{b, { }"), "1:15: expected the name of a probe point, found '}'");
}

TEST(Probes, RefuseTooManyAlternatives) {
  std::string point = "{a,b}";
  for (int i = 0; i < 30; ++i) point += ".{a,b}";
  EXPECT_EQ(errors("probe " + point + " { }"), "1:7: too many alternatives: more than 10000 probe points");
  std::string dots = "a";
  for (int i = 0; i < 1000; ++i) dots += ".a";
  EXPECT_EQ(errors("probe " + dots + " { }"), "1:7: a probe point has at most 100 components");
}

TEST(Declarations, RefuseWhatIsNone) {
  EXPECT_EQ(errors("prob begin { }"), "1:1: expected 'probe', 'global', 'private' or 'function', found 'prob'");
  EXPECT_NE(rendered("fucntion f() { }").find("did you mean 'function'?"), std::string::npos);
  EXPECT_EQ(errors("x = 3"), "1:1: expected 'probe', 'global', 'private' or 'function', found 'x'");
  EXPECT_EQ(errors("probe begin { } }"), "1:17: expected 'probe', 'global', 'private' or 'function', found '}'");
  EXPECT_EQ(errors("%{ x %}"), "1:1: embedded code needs guru mode");
  EXPECT_EQ(errors(""), "");
  EXPECT_EQ(errors(" # nothing\n"), "");
}

// ---------------------------------------------------------------- recovery, limits

TEST(Recovery, ReportsSeveralStatements) {
  EXPECT_EQ(errors("probe begin {\n  x = ;\n  y = 1\n  z = (2;\n  f(,)\n  if (a) b\n}\nprobe end { w = }"),
            "2:7: expected an expression, found ';'\n4:9: expected ')', found ';'\n5:5: expected an expression, found ','\n"
            "8:17: expected an expression, found '}'");
}

TEST(Recovery, PassesTheElseOfAWrongIf) {
  EXPECT_EQ(in_probe("if (a ==) b; else c; x = ;"), "expected an expression, found ')'\nexpected an expression, found ';'");
  EXPECT_EQ(in_probe("if (a ==) { b; } else { c } try { } catch (3) { } d"),
            "expected an expression, found ')'\nexpected the variable for the error's message, found '3'");
}

TEST(Recovery, GoesOnAtTheNextDeclaration) {
  EXPECT_EQ(errors("probe begin {\n  if (x) {\n    y\n\nprobe end { z = ; }\nfunction 3() { }\nglobal g"),
            "5:1: expected '}' at the end of the block, found the keyword 'probe'\n5:17: expected an expression, found ';'\n"
            "6:10: expected the name of a function, found '3'");
}

TEST(Recovery, KeepsWhatWasRight) {
  Parsed parsed("probe begin { a = ; b = 2 }\nglobal x y\nprobe end { c }");
  EXPECT_EQ(shape(parsed.script), "global x\nprobe begin {(= b 2)}\nprobe end {c}\n");
}

TEST(Recovery, EndsAfterTwentyErrors) {
  std::string text = "probe begin {\n";
  for (int i = 0; i < 100; ++i) text += "x = ;\n";
  Parsed parsed(text + "}");
  EXPECT_EQ(parsed.diagnostics.errors(), 21u);
  EXPECT_EQ(parsed.diagnostics.all().back().message, "too many errors; the rest of the script was not read");
}

TEST(Recovery, RefusesBinaryFilesAtOnce) {
  EXPECT_EQ(errors(std::string("\x7f"
                               "ELF\x02\x01",
                               6)),
            "1:1: this is a binary file, not a script");
  EXPECT_EQ(errors(std::string("probe begin { }\0\0\0\x01", 19)), "1:16: this is a binary file, not a script");
  EXPECT_EQ(errors(std::string(8000, '\n') + std::string("function f() %{ /*\0*/ %}", 25)),
            "8001:19: this is a binary file, not a script");
}

TEST(Warnings, TellOfDotsThatLookLikeMembers) {
  Parsed parsed("probe begin { print($x->y.z) print($x . z) }");
  ASSERT_EQ(parsed.diagnostics.all().size(), 1u);
  EXPECT_EQ(parsed.diagnostics.all()[0].message, "'.' joins strings here");
  EXPECT_FALSE(parsed.diagnostics.has_errors());
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Limits, RefuseDeepNestingInsteadOfOverflowing) {
  const std::string message = "the script nests deeper than 250 levels here";
  for (const std::string open : {"(",
                                 "{",
                                 "-(",
                                 "!",
                                 "~",
                                 "f(",
                                 "a[",
                                 "if (1) ",
                                 "while (1) ",
                                 "for (;;) ",
                                 "x = ",
                                 "a ? ",
                                 "a ? b : ",
                                 "[",
                                 "$x[",
                                 "@defined(",
                                 "@entry(",
                                 "print(",
                                 "if (1) ; else { ",
                                 "try { } catch { ",
                                 "1 + (",
                                 "1||1&&1|1^1&1<1<<1 .1+1*(",
                                 "foreach (a in b) ",
                                 "@cast(",
                                 "@kderef(1, ",
                                 "p->x[",
                                 "@hist_log(a)[",
                                 "printd(\",\", "}) {
    EXPECT_TRUE(in_probe(repeated(open, 20'000)).starts_with(message))
        << open << ": " << in_probe(repeated(open, 20'000)).substr(0, 200);
  }
  EXPECT_EQ(errors("probe " + repeated("{", 20'000)), "1:257: " + message);
}

TEST(Limits, AllowWhatIsJustDeepEnough) {
  EXPECT_EQ(in_probe("x = " + repeated("(", 200) + "1" + repeated(")", 200) + ";"), "");
  EXPECT_EQ(in_probe(repeated("{", 200) + repeated("}", 200)), "");
  EXPECT_EQ(in_probe("x = 1" + repeated(" + 1", 900) + ";"), "");
  EXPECT_EQ(in_probe(repeated("if (x) ; else ", 900) + ";"), "");
}

TEST(Limits, RefuseLongChainsThatWouldMakeDeepTrees) {
  EXPECT_EQ(in_probe("x = 1" + repeated(" + 1", 20'000) + ";"), "this expression is too long");
  EXPECT_EQ(in_probe("x = \"a\"" + repeated(" . \"a\"", 20'000) + ";"), "this expression is too long");
  EXPECT_EQ(in_probe("x = a" + repeated(" in b", 20'000) + ";"), "this expression is too long");
  EXPECT_EQ(in_probe("x = (a" + repeated(", b", 20'000) + ");"), "this expression is too long");
  EXPECT_EQ(in_probe(repeated("if (x) ; else ", 20'000) + ";"), "more than 1000 'else if' in a row");
  EXPECT_EQ(in_probe(repeated("{" + repeated("if (x) ; else ", 900), 100)), "more than 1000 'else if' in a row");
}

TEST(Limits, TakeLongFlatScripts) {
  EXPECT_EQ(in_probe("x = f(1" + repeated(", 1", 20'000) + ");"), "");
  EXPECT_EQ(in_probe("x = $p" + repeated("->n", 20'000) + ";"), "");
  EXPECT_EQ(in_probe(repeated("x=1;", 20'000)), "");
  EXPECT_EQ(in_probe("x = " + repeated("\"a\" ", 20'000) + ";"), "");
}

TEST(Limits, TakeATenMegabyteLine) {
  std::string text = "probe begin { " + repeated("a = \"" + repeated("b", 1000) + "\"; ", 10'000) + "x = ; }";
  Parsed parsed(text);
  ASSERT_EQ(parsed.diagnostics.errors(), 1u);
  EXPECT_LT(parsed.diagnostics.render().size(), 1000u);
}

}  // namespace
}  // namespace spile::syntax
