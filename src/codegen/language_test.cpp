// The language, run: each test compiles a script of begin probes and reads what it prints.

#include "codegen/script_runner_test.h"

namespace spile::codegen {

namespace {

TEST(Language, PrintsANumberFromAGlobal) { EXPECT_EQ(output_of(R"(global c probe begin { c++ printf("%d\n", c) })"), "1\n"); }

TEST(Language, WrapsArithmeticAtSixtyFourBits) {
  EXPECT_EQ(output_of(R"(global big = 9223372036854775807 global small = -9223372036854775808 global m = -1
    probe begin { printf("%d %d %d %d %d\n", big + 1, small - 1, big * 2, small / m, small % m) })"),
            "-9223372036854775808 9223372036854775807 -2 -9223372036854775808 0\n");
}

TEST(Language, ClampsShiftCounts) {
  EXPECT_EQ(output_of(R"(global one = 1 global n = 65 global minus = -8
    probe begin { printf("%d %d %x %d %d\n", one << n, minus >> 1, minus >>> 60, one << minus, one << 63) })"),
            "1 -4 f 1 -9223372036854775808\n");
}

TEST(Language, RaisesDivisionByZeroWithItsPlace) {
  EXPECT_EQ(output_of("global z\nprobe begin { println(1) println(5 / z) println(2) }"),
            "1\nERROR: division by 0 near operator '/' at t.stp:2:36\n");
  EXPECT_EQ(output_of("global z\nprobe begin { println(5 % z) }"), "ERROR: division by 0 near operator '%' at t.stp:2:25\n");
}

TEST(Language, CatchesAnErrorWithItsText) {
  EXPECT_EQ(
      output_of(
          R"(global z probe begin { try { println(5 / z) println("no") } catch (m) { printdln("", "caught ", m) } println("on") })"),
      "caught division by 0\non\n");
}

TEST(Language, CatchesInNestedTriesAndFunctions) {
  EXPECT_EQ(output_of(R"(global z
    function f(x) { return x / z }
    function g(x) { try { return f(x) } catch (m) { println("g") error("from g") } return 0 }
    probe begin { try { try { g(1) } catch { println("inner") f(2) } } catch (m) { println(m) } f(3) println("never") })"),
            "g\ninner\ndivision by 0\nERROR: division by 0 near operator '/' at t.stp:2:30\n");
}

TEST(Language, EvaluatesTheRightSideOfLogicOnlyWhenNeeded) {
  EXPECT_EQ(output_of(R"(global calls
    function t() { calls++ return 1 }
    probe begin { if (0 && t()) println("x") if (1 || t()) println("y") println(calls + 0) println((2 && 3) + !5 + !0) })"),
            "y\n0\n2\n");
}

TEST(Language, ComparesAndConcatenatesStrings) {
  EXPECT_EQ(output_of(R"(global s = "ab"
    probe begin { t = s . "cd" printdln("", t, t == "abcd", s < t, t != t, "b" > s) t .= "!" println(t) })"),
            "abcd1101\nabcd!\n");
}

TEST(Language, CutsStringsAtTheirLimit) {
  sema::Program options;
  options.limits.max_string_length = 16;
  EXPECT_EQ(output_of(R"(probe begin { s = "0123456789" s .= s println(s) })", std::move(options)), "012345678901234\n");
}

TEST(Language, KeepsAnOperandThatALaterOneOverwrites) {
  EXPECT_EQ(output_of(R"(global s = "old"
    function f() { s = "new" return "." }
    probe begin { println(s . f() . s) })"),
            "old.new\n");
}

TEST(Language, RunsLoopsWithBreakAndContinue) {
  EXPECT_EQ(output_of(R"(probe begin {
      for (i = 0; i < 10; i++) { if (i == 2) continue if (i == 5) break print(i) }
      while (i > 0) { i-- if (i % 2) continue printd("", "w", i) }
      println("") })"),
            "0134w4w2w0\n");
}

TEST(Language, GivesIncrementsTheirValues) {
  EXPECT_EQ(output_of(R"(global a, g = 5 probe begin { x = 1
      printdln("", x++, ++x, x--, --x) printdln("", g++, ++g, g) printdln("", a["k"]++, ++a["k"], a["k"]) x += 4 x <<= 2 x ^= 1 println(x) })"),
            "1331\n577\n022\n21\n");
}

TEST(Language, StoresElementsUnderMixedKeys) {
  EXPECT_EQ(output_of(R"(global a, n, s
    probe begin { a[1, "x", 2] = 10 a[1, "x", 2] += 5 a[1, "y", 2] = 3 n[7] = "seven" s["p"] = "q" s["p"] .= "r"
      printdln("", a[1, "x", 2], a[1, "y", 2], a[0, "", 0], n[7], n[8], s["p"])
      printdln("", [1, "x", 2] in a, [1, "z", 2] in a, 7 in n, 8 in n, [*, "y", *] in a, [*, "q", *] in a)
      delete a[1, "x", 2] println(a[1, "x", 2]) delete n println(7 in n) })"),
            "1530sevenqr\n101010\n0\n0\n");
}

TEST(Language, IteratesInOrderWithLimitAndSlices) {
  EXPECT_EQ(output_of(R"(global a, m
    probe begin { a["one"] = 1 a["three"] = 3 a["two"] = 2 m[1, "x"] = 10 m[2, "x"] = 20 m[2, "y"] = 30
      foreach (k in a+) printd("", k, " ") foreach (k in a- limit 2) printd("", k, " ") foreach (k+ in a) printd("", k, " ")
      foreach (v = k in a-) print(v)
      println("")
      foreach ([i-, s] in m) printd("", i, s, " ") foreach (v = [i, s] in m[2, *]) printd("", v, s, " ")
      foreach ([i, s] in m[*, "x"] limit 1) printd("", "l", s)
      println("") })"),
            "one two three three two one three two 321\n2x 2y 1x 20x 30y lx\n");
}

TEST(Language, DeletesSlices) {
  EXPECT_EQ(output_of(R"(global m
    probe begin { m[1, "x"] = 1 m[2, "x"] = 2 m[2, "y"] = 3 delete m[*, "x"]
      foreach (v = [i, s] in m) printdln("", i, s, v)
      delete m[*, *] foreach ([i, s] in m) println("left") println("end") })"),
            "2y3\nend\n");
}

TEST(Language, LeavesLoopsFromWithin) {
  EXPECT_EQ(output_of(R"(global a, z
    function f() { foreach (k in a) { if (k == 2) return k } return 0 }
    probe begin { a[1] = a[2] = a[3] = 5 println(f())
      try { foreach (k in a) foreach (j in a) println(1 / z) } catch { println("caught") }
      foreach (k in a) { if (k == 2) next } println("never") }
    probe begin { println("next one") })"),
            "2\ncaught\nnext one\n");
}

TEST(Language, ExtractsFromAggregates) {
  EXPECT_EQ(output_of(R"(global s, a, e
    probe begin { for (i = 1; i <= 4; i++) { s <<< i * 10 a["k"] <<< -i }
      printdln("", @count(s), " ", @sum(s), " ", @min(s), " ", @max(s), " ", @avg(s))
      printdln("", @count(a["k"]), " ", @sum(a["k"]), " ", @count(a["none"]), " ", @sum(a["none"]))
      foreach (k in a) printdln("", k, @max(a[k]))
      delete s println(@count(s))
      e <<< 1 delete e println(@min(e)) })"),
            "4 100 10 40 25\n4 -10 0 0\nk-1\n0\nERROR: empty aggregate near operator '@min' at t.stp:7:32\n");
}

TEST(Language, ReadsAndPrintsHistograms) {
  EXPECT_EQ(output_of(R"(global s
    probe begin { s <<< 5 s <<< 15 s <<< 16 s <<< 99
      printdln("", @hist_linear(s, 0, 30, 10)[1], @hist_linear(s, 0, 30, 10)[2], @hist_linear(s, 0, 30, 10)[5])
      foreach (b in @hist_linear(s, 0, 30, 10)) { n += @hist_linear(s, 0, 30, 10)[b] last = b } printdln("", n, last)
      print(@hist_linear(s, 0, 30, 10)) println(@hist_linear(s, 0, 30, 10)[6]) })"),
            "121\n45\nhistogram of 4\nERROR: histogram index out of range (6) near operator '[' at t.stp:5:49\n");
}

TEST(Language, CallsFunctionsThatRecurse) {
  EXPECT_EQ(output_of(R"(function fib(n) { if (n < 2) return n return fib(n - 1) + fib(n - 2) }
    function down:string(n) { if (n == 0) return "" s = sprint(n) return s . down(n - 1) . s }
    probe begin { println(fib(8)) println(down(4)) })"),
            "21\n43211234\n");
}

TEST(Language, BoundsRecursionAndLoops) {
  EXPECT_EQ(output_of("function f:long(n) { return f(n + 1) }\nprobe begin { f(0) println(1) }"),
            "ERROR: MAXNESTING exceeded near identifier 'f' at t.stp:1:10\n");
  EXPECT_EQ(output_of("probe begin { while (1) { x++ } }"), "ERROR: MAXACTION exceeded at t.stp:1:25\n");
  EXPECT_EQ(output_of("global a probe begin { for (i = 0; i < 30000; i++) a[i % 10] = 1 }").substr(0, 25),
            "ERROR: MAXACTION exceeded");
}

TEST(Language, RaisesArrayOverflowAndWraps) {
  EXPECT_EQ(output_of("global a[3]\nprobe begin { for (i = 0; i < 4; i++) a[i] = i }"),
            "ERROR: Array overflow, check size limit (3) near identifier 'a' at t.stp:2:39\n");
  EXPECT_EQ(output_of("global a%[3]\nprobe begin { for (i = 0; i < 5; i++) a[i] = i foreach (k in a) print(k) }"), "234");
}

TEST(Language, FormatsIntoStrings) {
  EXPECT_EQ(
      output_of(
          R"(probe begin { s = sprintf("%5d|%-4s|%04x|%c|%%", 42, "ab", 255, 65) println(s) println(sprintd("", 1, "a", 2)) println(sprintf("%*d", 6, 7)) })"),
      "   42|ab  |00ff|A|%\n1a2\n     7\n");
}

TEST(Language, KnowsItsProbePoint) {
  EXPECT_EQ(output_of(R"(function where() { return pp() } probe begin { printdln("", pp(), where()) })"), "beginbegin\n");
}

TEST(Language, WritesWarningsAndErrors) {
  EXPECT_EQ(
      output_of(R"(probe begin { warn("careful") log("note") error("bad") println("never") } probe begin { println("end") })"),
      "WARNING: careful\nnote\nERROR: bad\nend\n");
}

TEST(Language, PicksOneSideOfATernary) {
  EXPECT_EQ(output_of(R"(global x = 3 probe begin { printdln("", x > 2 ? "big" : "small", x < 2 ? 1 : x == 3 ? 2 : 3) })"),
            "big2\n");
}

TEST(Language, LeavesTriesByJumps) {
  const char* kError = "ERROR: division by 0 near operator '/' at t.stp:2:30\n";
  EXPECT_EQ(output_of(R"(global z
    function f(x) { return x / z }
    function g() { try { return 1 } catch { } return 2 }
    probe begin { println(g()) f(1) println("never") })"),
            std::string("1\n") + kError);
  EXPECT_EQ(output_of(R"(global z
    function f(x) { return x / z }
    probe begin { while (1) { try { break } catch { } } f(1) println("never") })"),
            kError);
  EXPECT_EQ(output_of(R"(global z
    function f(x) { return x / z }
    function g() { for (i = 0; i < 2; i++) try { if (i == 0) continue f(1) } catch { println("g") } }
    probe begin { try { g() f(1) } catch { println("outer") } })"),
            "g\nouter\n");
}

TEST(Language, SortsByStatisticsAndStrings) {
  EXPECT_EQ(output_of(R"(global a, m
    probe begin { a["x"] <<< 1 a["x"] <<< 1 a["y"] <<< 10 a["z"] <<< 0 a["z"] <<< 0 a["z"] <<< 0
      foreach (k in a-) print(k) foreach (k in a @sum-) print(k) foreach (k in a @max+) print(k) foreach (k- in a limit 1) print(k)
      m["b"] = "2" m["a"] = "10" foreach (k in m+) print(k) foreach (k+ in m) print(m[k]) })"),
            "zxyyxzzxyzab102");
}

TEST(Language, ComputesVariance) {
  EXPECT_EQ(
      output_of(
          R"(global s probe begin { s <<< 2 s <<< 4 s <<< 4 s <<< 4 s <<< 5 s <<< 5 s <<< 7 s <<< 9 println(@variance(s, 10)) })"),
      "4\n");
}

TEST(Language, PassesStringsByValue) {
  EXPECT_EQ(output_of(R"(global g = "global"
    function change(s) { g = "changed" s .= "!" return s }
    probe begin { l = "local" printdln(" ", change(g), g, change(l), l) })"),
            "global! changed local! local\n");
}

TEST(Language, TakesGlobalsFromTheCommandLine) {
  sema::Program options;
  options.global_overrides["n"] = "7";
  EXPECT_EQ(output_of(R"(global n = 3 probe begin { println(n) })", std::move(options)), "7\n");
}

TEST(Language, SkipsUnreachableStatements) {
  EXPECT_EQ(
      output_of(R"(probe begin { for (;;) { break println("no") } if (1) { println("yes") next println("no") } println("no") })"),
      "yes\n");
}

TEST(Language, CompilesAtEveryLevel) {
  const char* text = R"(global a, s function f:string(n) { return sprint(n) . "." } 
    probe begin { try { a["k", 1] += 4 s <<< a["k", 1] println(f(@sum(s))) println(1 / (@sum(s) - 4)) } catch (m) { println(m) } })";
  for (int level : {0, 1, 2, 3}) {
    ScriptRunner runner(text, {}, 1 << 20, level);
    ASSERT_EQ(runner.error(), "");
    runner.run(sema::ProbeKind::kBegin);
    EXPECT_EQ(runner.output(), "4.\ndivision by 0\n") << "level " << level;
  }
}

TEST(Language, ShowsItsIntermediateCode) {
  auto script = sema::elaborate_text("global c probe begin { c++ println(c) }");
  Options options;
  options.process_bitcode = rt::process_bitcode();
  auto translation = translate(script.program, options);
  ASSERT_TRUE(translation.ok()) << translation.error().message;
  auto ir = (*translation)->ir();
  ASSERT_TRUE(ir.ok()) << ir.error().message;
  EXPECT_NE(ir->find("define"), std::string::npos);
}

}  // namespace

}  // namespace spile::codegen
