// Scripts that are wrong: what is said, and where. Each message starts at the right line and column.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sema/fake_target_test.h"

namespace spile::sema {
namespace {

using testing::HasSubstr;

std::string entry(const std::string& body) { return "probe process(\"/bin/fake\").function(\"foo\") { " + body + " }"; }
std::string leaving(const std::string& body) { return "probe process(\"/bin/fake\").function(\"foo\").return { " + body + " }"; }

void expect_error(const std::string& script, const std::string& message) {
  auto made = elaborate_text(script);
  EXPECT_FALSE(made.ok()) << script;
  EXPECT_THAT(made.messages(), HasSubstr(message)) << script;
}
void expect_warning(const std::string& script, const std::string& message) {
  auto made = elaborate_text(script);
  EXPECT_TRUE(made.ok()) << made.messages();
  EXPECT_THAT(made.messages(), HasSubstr("warning: " + message)) << script;
}

TEST(Refusals, Points) {
  expect_error("probe nothing { exit() }", "t.stp:1:7: error: unknown probe point 'nothing'");
  expect_error("probe nothing ? { exit() }", "no probes left");
  expect_error("function f() { return 1 }", "no probes found");
  expect_error("probe a = a { x = 1 } probe a { exit() }", "probe alias 'a' refers to itself");
  expect_error("probe a.handle = none { x = 1 } probe a.handle.return = begin { x = 2 } probe a.handle.retrn { exit() }",
               "did you mean 'a.handle.return'?");
  expect_error("probe process(\"/bin/fake\").function(\"nope\") { exit() }", "no match for probe point");
}

TEST(Refusals, Names) {
  expect_error("probe begin { prnt(\"x\") }", "t.stp:1:15: error: unresolved function 'prnt'");
  expect_error("probe begin { prnt(\"x\") }", "hint: did you mean 'print'?");
  expect_error("global counts probe begin { count[1]++ }", "unresolved array 'count'");
  expect_error("global counts probe begin { count[1]++ }", "did you mean 'counts'?");
  expect_error("probe begin { foreach (k in zzz) println(k) }", "unresolved array 'zzz'");
  expect_error("probe begin { zzz <<< 1 }", "unresolved aggregate 'zzz'");
  expect_error("probe begin { delete zzz }", "can't infer the type of 'zzz'");
  expect_error("global a, a probe begin { a = 1 }", "duplicate global 'a'");
  expect_error("function f() { return 1 } function f() { return 2 } probe begin { println(f()) }", "duplicate function 'f'");
}

TEST(Refusals, PrivateNames) {
  FakeTarget target;
  auto made = elaborate_scripts({"probe begin { hidden() }", "private function hidden() { return 1 }"}, target);
  EXPECT_FALSE(made.ok());
  EXPECT_THAT(made.messages(), HasSubstr("private to another file"));
}

TEST(Refusals, Calls) {
  expect_error("function f(a) { return a } probe begin { println(f()) }", "'f' takes 1 argument, not 0");
  expect_error("probe begin { println(strlen()) }", "'strlen' takes 1 argument, not 0");
  expect_error("probe begin { println(strlen(\"a\", 2)) }", "'strlen' takes 1 argument, not 2");
  expect_error("probe begin { print_ubacktrace(1) }", "'print_ubacktrace' takes 0 or 3 arguments, not 1");
  expect_error("probe begin { println(ctime(1, 2)) }", "'ctime' takes 0 or 1 arguments, not 2");
}

TEST(Refusals, UnresolvedTypes) {
  expect_error("probe begin { println(x) }", "t.stp:1:23: error: can't infer the type of 'x'");
  expect_error("global g probe begin { g = h() println(g) } function h() { return g }",
               "can't infer the return type of function 'h'");
  expect_error("global a probe begin { if (1 in a) exit() }", "can't infer the type of array 'a'");
  expect_error("global a probe begin { if (1 in a) exit(); delete a }", "can't infer the type of array 'a'");
  expect_error("global a probe begin { foreach (k in a) println(\"x\") }", "can't infer the type of array 'a'");
}

TEST(Refusals, Types) {
  expect_error("global g probe begin { g = 1 } probe end { g = \"x\" }",
               "'g' is used as a string here, but as a number elsewhere");
  expect_error("global g probe begin { g = 1 } probe end { g = \"x\" }", "note: used as a number here");
  expect_error("global a probe begin { a[1] = 2; a[\"x\"] = 3 }", "'subscript 1 of a' is used as a string here");
  expect_error("global a probe begin { a[1] = 2; a[1, 2] = 3 }", "array 'a' has 2 subscripts here, but 1 elsewhere");
  expect_error("global a probe begin { a[1,2,3,4,5,6,7,8,9,10,11] = 1 }", "array 'a' has 11 subscripts; at most 10 are possible");
  expect_error("probe begin { println(1 + \"x\") }",
               "t.stp:1:27: error: type mismatch: a number is expected here, but this is a string");
  expect_error("probe begin { println(1 . \"x\") }", "a string is expected here, but this is a number");
  expect_error("probe begin { if (1 == \"x\") exit() }", "a number is expected here, but this is a string");
  expect_error("probe begin { if (\"x\") exit() }", "a number is expected here");
  expect_error("probe begin { printf(\"%d\", \"x\") }", "a number is expected here");
  expect_error("probe begin { printf(\"%s\", 1) }", "a string is expected here");
  expect_error("probe begin { println(strlen(5)) }", "a string is expected here");
  expect_error("function f(s:string) { return strlen(s) } probe begin { println(f(5)) }",
               "'s' is used as a number here, but as a string elsewhere");
  expect_error("function f:string() { return 5 } probe begin { println(f()) }",
               "'f' is used as a number here, but as a string elsewhere");
  expect_error("probe begin { x = 1; x .= \"a\" }", "'x' is used as a string here");
  expect_error(entry("println($s + 1)"), "a number is expected here");
  expect_error("probe begin { println(pid() ? 2 : \"x\") } ", "a number is expected here, but this is a string");
}

TEST(Refusals, Aggregates) {
  expect_error("global s probe begin { s <<< 1; println(s) }", "'s' is an aggregate, and can't be used as a value");
  expect_error("global s probe begin { s <<< 1; x = s; println(x) }", "'s' is an aggregate");
  expect_error("global s probe begin { s <<< 1; s = 5 }", "'s' is used as a number here, but as an aggregate elsewhere");
  expect_error("global s probe begin { s <<< 1; s++ }", "as an aggregate elsewhere");
  expect_error("global n probe begin { n = 1; println(@count(n)) }",
               "'n' is used as an aggregate here, but as a number elsewhere");
  expect_error("global s probe begin { s <<< \"x\" }", "a number is expected here");
  expect_error("global a probe begin { a[1] <<< 1; foreach (v = k in a) println(k) }",
               "are aggregates, which a variable can't hold");
  expect_error("global s probe begin { s <<< 1; print(@hist_linear(s, 0, 1000000, 1)) }", "more than 1024 buckets");
  expect_error("global s probe begin { s <<< 1; print(@hist_linear(s, 0, 10, 1)); print(@hist_log(s)) }",
               "two different histograms");
  expect_error("global a probe begin { a[1] = 1; foreach (k in a @sum-) println(k) }", "holds no aggregates");
}

TEST(Refusals, Arrays) {
  expect_error("global a probe begin { a[1] = 1; println(a) }", "array 'a' is used without subscripts");
  expect_error("global a probe begin { a[1] = 1; a = 5 }", "array 'a' is used without subscripts");
  expect_error("global a probe begin { a[1] = 1; a++ }", "array 'a' is used without subscripts");
  expect_error("global a probe begin { a[1] = 1; foreach (k in a) a[k] = 2 }", "'a' is changed while a foreach loops over it");
  expect_error("global a probe begin { a[1] = 1; foreach (k in a) delete a[k] }", "'a' is changed while a foreach");
  expect_error("global a function f() { a[2] = 1 } probe begin { a[1] = 1; foreach (k in a) f() }", "function 'f' changes 'a'");
}

TEST(Refusals, Jumps) {
  expect_error("probe begin { break }", "'break' outside of a loop");
  expect_error("probe begin { continue }", "'continue' outside of a loop");
  expect_error("probe begin { return 1 }", "'return' is only possible in a function");
}

TEST(Refusals, TargetVariables) {
  expect_error(entry("println($nope)"), "no variable '$nope' in foo");
  expect_error(entry("println($nope)"), "did you mean '$x'?");
  expect_error("probe begin { println($x) }", "a begin probe has no variables of a traced program");
  expect_error(entry("$x = 1"), "needs guru mode");
  expect_error(entry("$x++"), "needs guru mode");
  expect_error(entry("println(@entry($x))"), "@entry needs a .return probe");
  expect_error(leaving("println(@entry(@entry($x)))"), "@entry can't contain another @entry");
  expect_error(leaving("y = 1; println(@entry(y))"), "local variable 'y' has no value at the function's entry");
  expect_error("function f() { return $x } " + entry("println(f())"), "'$x' can't be used in a function");
  expect_error(entry("println($$nope)"), "unknown set of variables '$$nope'");
}

TEST(Refusals, TellsOneVariableOnceForAllItsPlaces) {
  auto made = elaborate_text("probe process(\"/bin/fake\").function(\"*\") { println($nope) }");
  EXPECT_EQ(made.diagnostics.errors(), 1u);
  EXPECT_THAT(made.messages(), HasSubstr("nor in 2 other places"));
}

TEST(Refusals, Domains) {
  // What is not there is only known when the script runs.
  EXPECT_TRUE(elaborate_text("function f() { return int_arg(1) } probe timer.s(1) { println(f(), register(\"xyz\")) }").ok());
  EXPECT_TRUE(elaborate_text(leaving("println(int_arg(1))")).ok());
  EXPECT_TRUE(elaborate_text(entry("r = \"rax\"; println(register(r), returnval())")).ok());
  EXPECT_TRUE(elaborate_text(leaving("println(@entry(int_arg(1)))")).ok());
}

TEST(Refusals, RegisterNamesInKernelHandlersAreThoseOfProcesses) {
  FakeTarget target;
  target.process_domain = Domain::kKernel;
  EXPECT_TRUE(elaborate_scripts({entry("println(register(\"rbx\"), register(\"ah\"), register(\"%eip\"))")}, target).ok());
  auto refused = elaborate_scripts({entry("println(register(\"r16\"))")}, target);
  EXPECT_THAT(refused.messages(), HasSubstr("unknown register 'r16'"));
  EXPECT_THAT(refused.messages(), HasSubstr("register names are rax, eax, r8 ..."));
}

TEST(Refusals, WhatLaterVersionsBring) {
  expect_error("probe begin { if (execname() =~ \"x(\") exit() }", "regular expression: '(' is never closed");
  expect_error("probe begin { println(@perf(\"x\")) }", "unknown perf counter 'x'");
}

TEST(Refusals, Overrides) {
  Program options;
  options.global_overrides = {{"cuont", "5"}};
  auto made = elaborate_text("global count probe begin { count = 1; println(count) }", std::move(options));
  EXPECT_TRUE(made.ok());  // a warning
  EXPECT_THAT(made.messages(), HasSubstr("did you mean 'count'?"));
}

TEST(Warnings, UnusedAndUnassigned) {
  expect_warning("probe begin { cuont = 1; println(count + 1) }", "local variable 'count' is never assigned");
  expect_warning("probe begin { cuont = 1; println(count + 1) }", "local variable 'cuont' is assigned and never read");
  expect_warning("probe begin { cuont = 1; println(count + 1) }", "local variable 'count' is never assigned\n    1 | ");
  // A variable without a value would not help.
  auto made = elaborate_text("probe begin { println(saddr + daddr) }");
  EXPECT_THAT(made.messages(), AllOf(HasSubstr("'saddr' is never assigned"), Not(HasSubstr("did you mean"))));
  expect_warning("global g probe begin { exit() }", "global 'g' is never used");
  expect_warning("function f() { return 1 } probe begin { exit() }", "function 'f' is never called");
  expect_warning("probe begin { 1 + pid(); exit() }", "statement has no effect");
}

}  // namespace
}  // namespace spile::sema
