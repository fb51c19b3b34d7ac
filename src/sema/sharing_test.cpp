// classify-globals, analyze-uses, group-sites, aggregate_use.

#include <gtest/gtest.h>

#include "sema/fake_target_test.h"
#include "sema/terms/recorded.h"

namespace spile::sema {
namespace {

std::string entry(const std::string& body) { return "probe process(\"/bin/fake\").function(\"foo\") { " + body + " }\n"; }

Sharing sharing_of_g(const std::string& script) {
  auto made = elaborate_text("global g, other " + script);
  EXPECT_TRUE(made.ok()) << made.messages();
  return made.ok() ? made.sharing("g") : Sharing::kUnused;
}

TEST(Sharing, OnlyAddedToIsSharded) {
  for (const char* body : {"g++", "--g", "g += $x", "g -= 2", "g <<< $x", "g[$x]++", "g[$x, 1] += 2", "g[execname()] <<< 1",
                           "for (i = 0; i < 3; g++) i++"}) {
    EXPECT_EQ(sharing_of_g(entry(body)), Sharing::kSharded) << body;
  }
}

TEST(Sharing, AnAdditionInFullIsOne) {
  for (const char* body : {"g = g + 1", "g = g - $x", "g[$x] = g[$x] + 1", "g[1, pid] = g[1, pid] - 2; pid = 3"}) {
    EXPECT_EQ(sharing_of_g(entry(body)), Sharing::kSharded) << body;
  }
  for (const char* body : {"g = 1 - g", "g = 1 + g", "g = other + 1; other++", "g[$x] = g[$x + 1] + 1", "g = g + 10 / $x",
                           "g[randint(9)] = g[randint(9)] + 1", "other = g = g + 1"}) {
    EXPECT_EQ(sharing_of_g(entry(body)), Sharing::kLocked) << body;
  }
}

TEST(Sharing, SidesAreThoseThatUseAGlobal) {
  auto made =
      elaborate_text("global n, m, k, c " + entry("n = n * 2; m = 1") +
                     "probe kernel.trace(\"a:b\") { n = n + 2; k = $pid; println(k) } probe begin { c = 1; println(c + m) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  auto sides = [&](const std::string& name) {
    for (const syntax::Global* global : made.program.globals) {
      if (global->name == name) return made.program.sides[static_cast<size_t>(global->index)];
    }
    return Sides();
  };
  EXPECT_TRUE(sides("n").process && sides("n").kernel);
  EXPECT_TRUE(sides("m").process && !sides("m").kernel);
  EXPECT_TRUE(!sides("k").process && sides("k").kernel);
  EXPECT_FALSE(sides("c").process || sides("c").kernel);
}

TEST(ForeignAddresses, AreNotReadInTheKernel) {
  const std::string changes = "global p, own, a " + entry("p = $x; a[$x] = $x") + "probe begin { own = 1 } ";
  auto messages = [&](const std::string& functions, const std::string& body) {
    return elaborate_text(functions + changes + "probe kernel.trace(\"a:b\") { p = 1; a[1] = 1; " + body + " }").messages();
  };
  for (const char* body :
       {"println(kernel_long(p))", "println(kernel_string(a[$pid]))", "q = p + 8; r = q; println(user_long(r))",
        "printf(\"%8m\", p)", "foreach (k in a) println(kernel_int(k))", "for (q = 0; q < 3; q = p) println(kernel_char(q))"}) {
    EXPECT_NE(messages("", body).find("a traced process could have any memory read"), std::string::npos) << body;
  }
  EXPECT_NE(messages("function f(x) { return kernel_long(x) }", "println(f(p))").find("may come from 'p'"), std::string::npos);
  EXPECT_NE(messages("function f() { return p }", "println(kernel_long(f()))").find("may come from 'p'"), std::string::npos);
  for (const char* body : {"println(kernel_long($pid))", "println(p)", "q = $pid; println(kernel_long(q + own))",
                           "own = kernel_long($pid); p = own"}) {
    EXPECT_EQ(messages("", body), "") << body;
  }
}

TEST(Sharing, AnythingElseIsLocked) {
  for (const char* body :
       {"g = $x; other = g", "other = g++", "g *= 2", "g += g", "if (g) g++", "g[g2()]++; println(g[1])", "g .= \"x\"",
        "g <<< 1; println(@count(g))", "g[1]++; delete g[1]", "foreach (k in g) other += g[k]; g[1]++"}) {
    EXPECT_EQ(sharing_of_g(entry(body) + "function g2() { return 1 }"), Sharing::kLocked) << body;
  }
}

TEST(Sharing, ControllerMayReadAndResetASharded) {
  EXPECT_EQ(sharing_of_g(entry("g++") + "probe timer.s(1) { println(g); g = 0 } probe end { println(g) }"), Sharing::kSharded);
  EXPECT_EQ(sharing_of_g(entry("g[$x] <<< 1") + "probe end { foreach (k in g-) println(@count(g[k])); delete g }"),
            Sharing::kSharded);
}

TEST(Sharing, FollowsFunctions) {
  EXPECT_EQ(sharing_of_g("function hit() { g++ } " + entry("hit()")), Sharing::kSharded);
  EXPECT_EQ(sharing_of_g("function hit() { return g } function more() { return hit() } " + entry("g++; println(more())")),
            Sharing::kLocked);
  EXPECT_EQ(sharing_of_g("function show() { println(g) } " + entry("g++") + "probe end { show() }"), Sharing::kSharded);
}

TEST(Sharing, SetInBeginAndReadLaterIsReadOnly) {
  EXPECT_EQ(sharing_of_g("probe begin { g = 5 } " + entry("println(g)")), Sharing::kReadOnly);
  EXPECT_EQ(sharing_of_g("probe begin { g = 5 } probe timer.s(1) { g = 6 } " + entry("println(g)")), Sharing::kAtomic);
}

TEST(Sharing, ControllersOwn) {
  EXPECT_EQ(sharing_of_g("probe begin { g = 5 } probe timer.s(1) { g += g; println(g) } " + entry("other++")),
            Sharing::kController);
}

TEST(Sharing, WrappingArraysAreLocked) {
  auto made = elaborate_text("global g% " + entry("g[$x]++") + "probe end { println(g[1]) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  EXPECT_EQ(made.sharing("g"), Sharing::kLocked);
}

TEST(Sharing, KernelProbesCountAsTraced) {
  EXPECT_EQ(sharing_of_g("probe kernel.trace(\"a:b\") { g[$pid]++ } probe end { println(g[1]) }"), Sharing::kSharded);
}

TEST(Sharing, ElementsOfTheOwnThread) {
  auto sharing = [](const std::string& body) {
    auto made = elaborate_text("global g, other probe kernel.trace(\"a:b\") { " + body +
                               " } probe begin { other = 1 } probe end { println(other) delete g }");
    EXPECT_TRUE(made.ok()) << made.messages();
    return made.ok() ? made.sharing("g") : Sharing::kUnused;
  };
  for (const char* body : {
           "g[tid()] = 1; if (tid() in g) { other += g[tid()]; delete g[tid()] }",
           "t = tid(); g[t] = 1 + g[t]",
           "if (pid() == 3) { t = tid(); g[t] = 1 + g[t] }",
           "if (pid() == 3) t = tid(); else { t = tid(); x = 1 } g[t] = x + g[t]",
           "if (pid() == 3) next; else if (pid() == 4) { while (x < 2) { t = tid(); if (t in g) g[t]++; x++ } }",
           "try { t = tid(); g[t] = 1 } catch { g[tid()] = 2 } other += g[tid()]",
           "g[pid(), tid()] = 1; other += g[cpu(), tid()]",
           "if (pid() == 3) g[tid()] .= \"x\"",
       }) {
    EXPECT_EQ(sharing(body), Sharing::kByThread) << body;
  }
  for (const char* body : {
           "g[tid()] = 1; other += g[1]",
           "g[pid()] = 1",
           "g[tid(), 1] = 1; other += g[1, tid()]",
           "if (pid() == 3) t = tid(); g[t] = 1",
           "t = tid(); t++; g[t] = 1",
           "if (pid() == 3) { t = tid() } else { t = 3 } g[t] = 1",
           "if (pid() == 3) { t = tid(); delete t; g[t] = 1 }",
           "while (x < 2) { g[t] = 1; t = tid(); x++ }",
           "while (x < 2) { t = tid(); x++ } g[t] = 1",
           "try { t = 1 / x; t = tid() } catch { } g[t] = 1",
           "try { x = 1 / x; t = tid() } catch { g[t] = 1 }",
           "g[t] = 1; t = tid()",
           "g[tid()] = 1; foreach (k in g) other += k",
           "g[tid()] = 1; delete g",
           "g[tid(), 1] = 1; delete g[tid(), *]",
       }) {
    EXPECT_EQ(sharing(body), Sharing::kLocked) << body;
  }
}

TEST(Sharing, ElementsOfTheOwnThreadInFunctions) {
  auto sharing = [](const std::string& function) {
    auto made = elaborate_text(function + " global g probe kernel.trace(\"a:b\") { g[tid()] = 1; println(f(tid())) }");
    EXPECT_TRUE(made.ok()) << made.messages();
    return made.ok() ? made.sharing("g") : Sharing::kUnused;
  };
  EXPECT_EQ(sharing("function f(x) { return g[tid()] + x }"), Sharing::kThreadCells);
  EXPECT_EQ(sharing("function f(x) { return g[x] }"), Sharing::kLocked);
}

TEST(Sharing, NumbersByThreadAloneAreCells) {
  auto sharing = [](const std::string& array, const std::string& rest = "") {
    auto made = elaborate_text(
        "global " + array +
        " probe kernel.trace(\"a:b\") { g[tid()] = 1; if (tid() in g) { println(g[tid()]++); delete g[tid()] } } " + rest);
    EXPECT_TRUE(made.ok()) << made.messages();
    return made.ok() ? made.sharing("g") : Sharing::kUnused;
  };
  EXPECT_EQ(sharing("g"), Sharing::kThreadCells);
  EXPECT_EQ(sharing("g", "probe kernel.trace(\"a:b\") { t = tid(); g[t] += 2 }"), Sharing::kThreadCells);
  for (const char* array : {"g[10]", "g%"}) EXPECT_EQ(sharing(array), Sharing::kByThread) << array;
  for (const char* rest :
       {"probe begin { g[1] = 2 }", "probe end { foreach (t in g) println(t) }", "probe timer.s(1) { println(g[1]) }"}) {
    EXPECT_EQ(sharing("g", rest), Sharing::kByThread) << rest;
  }
  auto two = elaborate_text("global g probe kernel.trace(\"a:b\") { g[tid(), 1] = 1; println(g[tid(), 2]) }");
  EXPECT_EQ(two.sharing("g"), Sharing::kByThread);
  auto text = elaborate_text("global g probe kernel.trace(\"a:b\") { g[tid()] = execname(); println(g[tid()]) }");
  EXPECT_EQ(text.sharing("g"), Sharing::kByThread);
}

TEST(Sharing, NumbersOfOneStep) {
  auto sharing = [](const std::string& handler, const std::string& rest = "") {
    auto made = elaborate_text("global g, other, a[9] " + entry(handler) + rest +
                               "probe begin { g = 2; g++; println(g, other) a[1] = 1 } probe end { println(g, g + 1) foreach (k "
                               "in a) println(k) other = 1 }");
    EXPECT_TRUE(made.ok()) << made.messages();
    return made.ok() ? made.sharing("g") : Sharing::kUnused;
  };
  for (const char* handler : {"if (++g == 5) exit()", "println(g++)", "println(g += $x)", "println($x - (g -= 1) > 3)", "g = $x",
                              "if ($x) println(g--)"}) {
    EXPECT_EQ(sharing(handler), Sharing::kAtomic) << handler;
  }
  EXPECT_EQ(sharing("g = $x", "probe timer.s(1) { println(g) } "), Sharing::kAtomic);
  EXPECT_EQ(sharing("g++; other++", "probe timer.s(1) { println(g) } "), Sharing::kSharded);
  EXPECT_EQ(sharing("println(g++); other = 1", "probe timer.s(1) { g = 0 } "), Sharing::kLocked)
      << "two numbers that are changed together";
  for (const char* handler : {
           "if (g < 5) g++",
           "g *= 2; println(g)",
           "println(g = g + 1, g)",
           "for (i = 0; i < 3; i++) println(g++)",
           "println(g++); a[1] = $x",
           "delete g",
           "a[g++] = 1; println(a[1])",
       }) {
    EXPECT_EQ(sharing(handler), Sharing::kLocked) << handler;
  }
  EXPECT_EQ(sharing("println(g++)", "probe timer.s(1) { if (g > 3) g = 0 } "), Sharing::kLocked) << "two steps of a timer";
  EXPECT_EQ(sharing("println(g++, f())", "function f() { return g } "), Sharing::kLocked) << "in a function";
}

TEST(Sharing, ElementsOfTheOwnThreadInProcesses) {
  const std::string handler = entry("g[tid()] = 1; println(g[tid()])");
  EXPECT_EQ(sharing_of_g(handler), Sharing::kStriped);
  EXPECT_EQ(sharing_of_g(handler + "probe kernel.trace(\"a:b\") { delete g[tid()] }"), Sharing::kStriped);
  EXPECT_EQ(sharing_of_g(handler + "probe end { foreach (t in g) println(t) }"), Sharing::kLocked);
  EXPECT_EQ(sharing_of_g(handler + "probe begin { g[1] = 2 }"), Sharing::kLocked);
  for (const char* array : {"g[10]", "g%"}) {
    auto made = elaborate_text("global " + std::string(array) + " " + handler);
    ASSERT_TRUE(made.ok()) << made.messages();
    EXPECT_EQ(made.sharing("g"), Sharing::kLocked) << array;
  }
}

TEST(Uses, LocksInOrderWithTheirWrites) {
  auto made = elaborate_text("global a, b, c " + entry("c = a; b++") + "probe timer.s(1) { a = c + 0; println(b) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  const Probe& probe = made.program.probes[0];
  ASSERT_EQ(probe.uses.size(), 2u);
  EXPECT_EQ(probe.uses[0].global->name, "a");
  EXPECT_FALSE(probe.uses[0].written);
  EXPECT_EQ(probe.uses[1].global->name, "c");
  EXPECT_TRUE(probe.uses[1].written);
}

TEST(Uses, PlainHandlersNeedNoGuard) {
  auto plain = [](const std::string& body) {
    auto made = elaborate_text("global c, s, a, n = 3 " + entry(body) +
                               "probe end { printdln(\",\", c + 0, n) if (@count(s)) println(a[1] + 1) }");
    EXPECT_TRUE(made.ok()) << made.messages();
    return made.ok() && made.program.probes[0].only_accumulates;
  };
  EXPECT_TRUE(plain("c++"));
  EXPECT_TRUE(plain("if ($x == 7) c += $x * 2"));
  EXPECT_TRUE(plain("y = $x; if (y > n) { c++; next }"));
  EXPECT_TRUE(plain("c += int_arg(2)"));
  EXPECT_FALSE(plain("c += int_arg(7)"));
  EXPECT_FALSE(plain("s <<< $x"));
  EXPECT_FALSE(plain("a[$x]++"));
  EXPECT_FALSE(plain("c += 10 / $x"));
  EXPECT_FALSE(plain("c++; println(1)"));
  EXPECT_FALSE(plain("while (c2() < 3) c++ } function c2() { return 4"));
  EXPECT_FALSE(plain("if ($s == \"x\") c++"));
}

TEST(Uses, SiteIsNeededOnlyWhereItDiffers) {
  auto one = elaborate_text(entry("println(ppfunc())"));
  auto many =
      elaborate_text("probe process(\"/bin/fake\").function(\"*\") { println(where()) } function where() { return ppfunc() }");
  ASSERT_TRUE(one.ok() && many.ok()) << many.messages();
  EXPECT_FALSE(one.program.probes[0].needs_site_id);
  EXPECT_TRUE(many.program.probes[0].needs_site_id);
}

TEST(Uses, Registers) {
  EXPECT_TRUE(elaborate_text(entry("println(register(\"rbx\"))")).program.probes[0].needs_registers);
  EXPECT_FALSE(elaborate_text(entry("println($x)")).program.probes[0].needs_registers);
}

TEST(Sites, EntryAndReturnOfOneFunctionAreOneSite) {
  auto made = elaborate_text(
      "probe process(\"/bin/fake\").function(\"*\") { println(1) }"
      "probe process(\"/bin/fake\").function(\"ba*\").return { println(2) }"
      "probe process(\"/bin/fake\").function(\"bar\") { println(3) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  ASSERT_EQ(made.program.sites.size(), 3u);
  const SiteGroup& bar = made.program.site_groups[made.program.sites[1].group];
  EXPECT_EQ(bar.entry_probes, (std::vector<int>{0, 2}));
  EXPECT_EQ(bar.return_probes, (std::vector<int>{1}));
  EXPECT_EQ(made.program.sites[1].points, (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(made.program.site_groups.size(), 3u);
}

TEST(Aggregates, OnlyWhatIsExtracted) {
  auto made =
      elaborate_text("global s, a " + entry("s <<< $x; a[1] <<< $x") +
                     "probe end { println(@avg(s)); print(@hist_linear(s, 0, 100, 10)); foreach (k in a- limit 3) println(k) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  AggregateUse use = aggregate_use(made.program, made.global("s"));
  EXPECT_EQ(use.statistics, 1u << static_cast<int>(syntax::Statistic::Operator::kAverage));
  EXPECT_TRUE(use.linear);
  EXPECT_FALSE(use.log);
  EXPECT_EQ(use.high, 100);
  use = aggregate_use(made.program, made.global("a"));
  EXPECT_EQ(use.statistics, 1u << static_cast<int>(syntax::Statistic::Operator::kCount));
}

// spile reads the globals of a recorded program, so they can't have a form that nobody else can read.
TEST(Sharing, RecordedGlobalsAreReadableFromOutside) {
  const std::string script = "global g " + entry("g[tid()] = $x; if (g[tid()] > 5) exit()");
  EXPECT_EQ(elaborate_text(script).sharing("g"), Sharing::kStriped);
  Program recorded;
  recorded.needs = kNeedsRecording;
  EXPECT_EQ(elaborate_text(script, std::move(recorded)).sharing("g"), Sharing::kLocked);
}

// What session/live_run reads. The bits are set after elaboration here: features depend on nothing else.
TEST(Aggregates, OfRecordedProgramsHaveWhatReadersAskFor) {
  auto made = elaborate_text("global s, a, l, p " + entry("s <<< $x; a[1] <<< $x; l <<< $x; p[1] <<< $x") +
                             "probe end { print(@hist_linear(l, 0, 100, 10)); println(@percentile(p[1], 50)) }");
  ASSERT_TRUE(made.ok()) << made.messages();
  made.program.needs |= kNeedsRecording;
  const auto has = [&](const char* name, syntax::Statistic::Operator op) {
    return (aggregate_use(made.program, made.global(name)).statistics >> static_cast<int>(op) & 1) != 0;
  };
  for (const char* name : {"s", "a", "l", "p"}) {
    for (auto op : {syntax::Statistic::Operator::kCount, syntax::Statistic::Operator::kSum, syntax::Statistic::Operator::kMin,
                    syntax::Statistic::Operator::kMax})
      EXPECT_TRUE(has(name, op)) << name;
  }
  const auto percentile = syntax::Statistic::Operator::kPercentile;
  EXPECT_TRUE(has("s", percentile) && has("l", percentile) && has("p", percentile));
  EXPECT_FALSE(has("a", percentile)) << "an element would take 58 KiB";
  EXPECT_TRUE(aggregate_use(made.program, made.global("a")).log);
  EXPECT_FALSE(aggregate_use(made.program, made.global("l")).log || aggregate_use(made.program, made.global("p")).log)
      << "buckets have one form";
  // Before Linux 6.12, handlers in the kernel keep no sketch.
  made.program.sides[static_cast<size_t>(made.global("s").index)].kernel = true;
  EXPECT_TRUE(!has("s", percentile) && aggregate_use(made.program, made.global("s")).log);
  made.program.needs |= kNeedsKernelSketches;
  EXPECT_TRUE(has("s", percentile));
}

}  // namespace
}  // namespace spile::sema
