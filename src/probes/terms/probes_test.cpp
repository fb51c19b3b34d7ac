// Probe points on a small program, a library of its own, and a real stripped server.

#include "probes/terms/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "debuginfo/test_program.h"
#include "sema/terms/program.h"
#include "syntax/parser.h"

namespace spile::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kProgram = R"(
#include <stdio.h>
#include <unistd.h>
struct node { long value; struct node* next; int numbers[4]; const char* name; };
int global_count = 3;
long from_library(long);
__attribute__((noinline)) long foo(long arg, const char* text) { return arg * 3 + text[0]; }
__attribute__((noinline)) static long hidden(struct node* p) { return p->value + global_count; }
__attribute__((noinline)) double fraction(long double x) { return x / 2; }
__attribute__((noinline)) void nothing(void) { __asm__ volatile(""); }
int main(int argc, char** argv) {
  struct node n = {.value = argc};
  if (argc > 1 && write(1, "r", 1) == 1) pause();
  nothing();
  return foo(argc, argv[0]) + hidden(&n) + fraction(argc) + from_library(argc) > 0 ? 0 : 1;
}
)";

// Built once for all tests of this file.
class ProbesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory = new debuginfo::TestDirectory;
    directory->write("sample.c", kProgram);
    directory->write("library.c", "long from_library(long x) { return x + 1; }\n");
    ASSERT_TRUE(directory->run("cc -g -O1 -shared -fPIC -o libsample.so library.c"));
    ASSERT_TRUE(directory->run("cc -g -O1 -o sample sample.c -L. -lsample -Wl,-rpath,'$ORIGIN'"));
    ASSERT_TRUE(directory->run("cc -O1 -s -o stripped sample.c -L. -lsample -Wl,-rpath,'$ORIGIN'"));
    ASSERT_TRUE(directory->run("ln -s sample link; printf '#!%s/sample\\n' $PWD > script; chmod +x script; echo text > text"));
    setenv("XDG_CACHE_HOME", directory->path("cache").c_str(), 1);
  }
  static void TearDownTestSuite() {
    delete directory;
    directory = nullptr;
  }

  static std::string path(const std::string& name) { return std::filesystem::canonical(directory->path("")) / name; }

  static std::unique_ptr<World> world_of(const std::string& program, Runtime runtime = Runtime::kAuto) {
    auto world = World::open({.program = program, .runtime = runtime});
    EXPECT_TRUE(world.ok()) << world.error().message;
    return std::move(*world);
  }

  struct Elaborated {
    std::unique_ptr<SourceFiles> files = std::make_unique<SourceFiles>();
    std::unique_ptr<World> world;
    sema::Program program;
    Diagnostics diagnostics;
    std::string messages() const { return diagnostics.render(); }
    std::vector<std::string> texts() const {
      std::vector<std::string> all;
      for (const sema::Probe& probe : program.probes) {
        for (const sema::ResolvedPoint& point : probe.points) all.push_back(point.text);
      }
      return all;
    }
  };

  static Elaborated elaborate(std::unique_ptr<World> world, const std::string& script) {
    Elaborated made;
    made.world = std::move(world);
    made.program.scripts.push_back(syntax::parse(made.files->add("t.stp", script), {}, made.diagnostics));
    if (made.diagnostics.has_errors()) return made;
    std::vector<const syntax::ProbePoint*> points;
    for (const auto& probe : made.program.scripts[0].probes) {
      for (const syntax::ProbePoint& point : probe->points) points.push_back(&point);
    }
    made.world->choose_runtime(points, false);
    sema::elaborate(made.program, *made.world, made.diagnostics);
    return made;
  }
  static Elaborated elaborate(const std::string& script) { return elaborate(world_of(path("sample")), script); }

  static void expect_error(const std::string& script, const std::string& message, std::unique_ptr<World> world = nullptr) {
    auto made = elaborate(world ? std::move(world) : world_of(path("sample")), script);
    EXPECT_TRUE(made.diagnostics.has_errors()) << script;
    EXPECT_THAT(made.messages(), HasSubstr(message)) << script;
  }

  static debuginfo::TestDirectory* directory;
};
debuginfo::TestDirectory* ProbesTest::directory = nullptr;

std::string point(const std::string& path, const std::string& function) {
  return "process(\"" + path + "\").function(\"" + function + "\")";
}

// ---- where functions are

TEST_F(ProbesTest, FindsAFunctionOfTheCommand) {
  auto made = elaborate("probe process.function(\"foo\") { next }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  const sema::ResolvedPoint& found = made.program.probes.at(0).points.at(0);
  EXPECT_EQ(found.kind, sema::ProbeKind::kFunctionEntry);
  EXPECT_EQ(found.domain, sema::Domain::kTarget);
  EXPECT_EQ(found.site.module, path("sample"));
  EXPECT_EQ(found.site.function, "foo");
  EXPECT_GT(found.site.size, 0u);
  EXPECT_GT(found.site.file_offset, 0u);
  EXPECT_EQ(found.name, "process.function(\"foo\")");
  EXPECT_THAT(found.text, testing::StartsWith("process(\"" + path("sample") + "\").function(\"foo"));
}

TEST_F(ProbesTest, SamplesAreOfThreadsOrOfAllProcesses) {
  auto made = elaborate(
      "probe perf.type(1).config(2).sample(10) { next } probe perf.type(3).config(0x10003).process.hz(7) { next } "
      "probe perf.type(1).config(1).process(\"" +
      path("link") + "\") { next } probe timer.profile.freq.hz(50) { next }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  std::vector<sema::ResolvedPoint> points;
  for (const sema::Probe& probe : made.program.probes) points.push_back(probe.points.at(0));
  ASSERT_EQ(points.size(), 4u);
  for (const sema::ResolvedPoint& point : points) EXPECT_EQ(point.domain, sema::Domain::kKernel);
  EXPECT_EQ(points[0].kind, sema::ProbeKind::kPerfSample);
  EXPECT_EQ(points[0].sample->config, 2u);
  EXPECT_EQ(points[0].sample->period, 10u);
  EXPECT_FALSE(points[0].of_processes);
  EXPECT_EQ(points[1].sample->type, 3u);
  EXPECT_EQ(points[1].sample->config, 0x10003u);
  EXPECT_TRUE(points[1].sample->is_rate && points[1].of_processes && points[1].program.empty());
  EXPECT_EQ(points[2].sample->period, 1'000'000u);
  EXPECT_EQ(points[2].program, path("sample"));
  // Beside probes in the kernel, the profile is there, too, and has the traced processes alone.
  EXPECT_EQ(points[3].interval_ns, 20'000'000);
  EXPECT_TRUE(points[3].of_processes);
}

TEST_F(ProbesTest, TheProfileOfAProcessIsTakenByTheController) {
  auto made = elaborate("probe timer.profile.freq.hz(1000) { next }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  EXPECT_EQ(made.program.probes.at(0).domain, sema::Domain::kController);
  EXPECT_EQ(made.program.probes.at(0).points.at(0).interval_ns, 1'000'000);
}

TEST_F(ProbesTest, SymbolicLinksAndScriptsLeadToTheProgram) {
  for (const char* name : {"link", "script"}) {
    auto made = elaborate(world_of(path(name)), "probe process.function(\"foo\") { next }");
    ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
    EXPECT_EQ(made.program.sites[0].site.module, path("sample"));
  }
}

TEST_F(ProbesTest, FindsLibrariesWithoutRunningTheProgram) {
  auto made = elaborate(
      "probe process.library(\"libsample*\").function(\"from_*\"), process.library(\"libc.so*\").function(\"malloc\") "
      "{ next }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  ASSERT_EQ(made.program.sites.size(), 2u);
  EXPECT_EQ(made.program.sites[0].site.module, path("libsample.so"));
  EXPECT_THAT(made.program.sites[1].site.module, HasSubstr("/libc"));
}

TEST_F(ProbesTest, FindsLibrariesOfARunningProcess) {
  std::string program = path("sample");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ready[1], 1);
    close(ready[0]);
    execl(program.c_str(), program.c_str(), "wait", nullptr);
    _exit(127);
  }
  close(ready[1]);
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1) << "main(), which begins when all libraries are mapped";
  close(ready[0]);
  auto world = World::open({.program = "", .processes = {child}, .runtime = Runtime::kAuto});
  ASSERT_TRUE(world.ok()) << world.error().message;
  auto made = elaborate(std::move(*world),
                        "probe process.library(\"libsample*\").function(\"*\"), process.function(\"foo\"),"
                        "process(" +
                            std::to_string(child) + ").function(\"hidden\") { next }");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  EXPECT_EQ(made.program.sites[0].site.module, path("libsample.so"));
}

TEST_F(ProbesTest, AGlobLeavesOutWhatCantReturn) {
  auto entries = elaborate("probe process.function(\"*\") { next }");
  auto returns = elaborate("probe process.function(\"*\").return { next }");
  EXPECT_THAT(entries.texts(), testing::Contains(HasSubstr("\"_start")));
  EXPECT_THAT(returns.texts(), testing::Not(testing::Contains(HasSubstr("\"_start"))));
  EXPECT_GT(returns.texts().size(), 4u);
}

TEST_F(ProbesTest, ThousandsOfFunctionsOfARealServer) {
  std::string server = "/usr/bin/redis-server";
  if (access(server.c_str(), R_OK) != 0) GTEST_SKIP() << "redis-server is not installed";
  auto made = elaborate(world_of(server), "global c probe process.function(\"*\") { c++ } probe end { println(c) }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  EXPECT_EQ(made.program.probes.size(), 2u);
  EXPECT_GT(made.program.sites.size(), 2000u);
  EXPECT_EQ(made.program.site_groups.size(), 1u);
}

// ---- variables

TEST_F(ProbesTest, BindsVariablesOnBothSides) {
  auto made = elaborate(
      "probe process.function(\"foo\") { println($arg + $text[0]) }"
      "probe process.function(\"foo\").return { println($return + $arg) }"
      "probe process.function(\"hidden\") { i = 1; println($p->next->value + $p->numbers[i] + @var(\"global_count\")) "
      "}");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  ASSERT_EQ(made.program.probes.size(), 3u);
  const auto& argument = made.program.probes[0].bindings.at(0).ops;
  ASSERT_FALSE(argument.empty());
  EXPECT_EQ(argument[0], location::Operation(location::Register{5}));  // rdi
  const auto& result = made.program.probes[1].bindings.at(0).ops;
  EXPECT_EQ(result[0], location::Operation(location::Register{0}));  // rax
  EXPECT_EQ(made.program.probes[1].entry_saves.size(), 1u);
  const auto& element = made.program.probes[2].bindings.at(1).ops;
  EXPECT_EQ(std::ranges::count(element, location::Operation(location::Index{1})), 1);  // the second step of the path
  const auto& global = made.program.probes[2].bindings.at(2).ops;
  EXPECT_TRUE(location::is<location::Address>(global[0]));
}

TEST_F(ProbesTest, CastsStartFromTheirFirstArgument) {
  auto made = elaborate(
      "probe process.function(\"foo\") { println(@cast($arg, \"struct node\")->next->value) }"
      "probe process.function(\"foo\").return { println(@cast($return, \"node\")->value) }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  const auto& bindings = made.program.probes.at(0).bindings;
  bool from_argument = false;
  for (const sema::Binding& binding : bindings) from_argument |= location::is<location::ScriptPointer>(binding.ops[0]);
  EXPECT_TRUE(from_argument);
  EXPECT_THAT(made.program.probes.at(1).entry_saves, IsEmpty());
}

TEST_F(ProbesTest, ListsPointsWithTheirVariables) {
  auto world = world_of(path("sample"));
  Diagnostics diagnostics;
  SourceFiles files;
  auto script =
      syntax::parse(files.add("-L", "probe process.function(\"foo\"), process.function(\"foo\").return {}"), {}, diagnostics);
  auto entry = world->list(script.probes[0]->points[0], true);
  auto leaving = world->list(script.probes[0]->points[1], true);
  ASSERT_TRUE(entry.ok() && leaving.ok());
  EXPECT_THAT(entry->at(0).variables, ElementsAre("$arg:long int", "$text:const char*"));
  EXPECT_THAT(leaving->at(0).variables, ElementsAre("$return:long int", "$arg:long int", "$text:const char*"));
  EXPECT_THAT(world->list(script.probes[0]->points[0], false)->at(0).variables, IsEmpty());
  EXPECT_EQ(leaving->at(0).text, "process(\"" + path("sample") + "\").function(\"foo@" + path("sample.c") + ":7\").return");
}

TEST_F(ProbesTest, RefusesVariablesThatAreNotThere) {
  expect_error("probe process.function(\"foo\") { println($agr) }", "did you mean '$arg'?");
  expect_error("probe process.function(\"hidden\") { println($p->vlaue) }", "did you mean 'value'?");
  expect_error("probe process.function(\"foo\") { println($arg->x) }", "t.stp:1:41: error: ");
  expect_error("probe process.function(\"foo\") { println($return) }", "$return is only known in .return probes");
  expect_error("probe process.function(\"nothing\").return { println($return) }", "returns nothing");
  expect_error("probe process.function(\"fraction\") { println($x) }", "t.stp:1:46: error: ");
  expect_error("probe process.function(\"foo\") { println(@cast($arg, \"noed\")->value) }", "noed");
  expect_error("probe process.function(\"foo\") { println(@cast($arg, \"node\")->vlaue) }", "did you mean 'value'?");
  expect_error("probe process.library(\"libc.so*\").function(\"malloc\") { println($nope) }", "'$nope'");
}

// ---- refusals

TEST_F(ProbesTest, RefusesFunctionsThatAreNotThere) {
  expect_error("probe process.function(\"fooo\") { next }", "no function 'fooo' in " + path("sample") + " (");
  expect_error("probe process.function(\"fooo\") { next }", "functions known)");
  expect_error("probe process.function(\"foo\").exported { next }", "is not exported");
  expect_error("probe process.function(\"fooo\") { next }", "did you mean 'foo'?");
  expect_error("probe process.function(\"foo@other.c\") { next }", "no function 'foo' of file 'other.c'");
  expect_error("probe process.function(\"foo\") { next }", "has no symbols", world_of(path("stripped")));
  expect_error("probe process.function(\"_start\").return { next }", "can't be probed at its return");
  expect_error("probe process.library(\"libsampel*\").function(\"x\") { next }", "no library 'libsampel*' in ");
}

TEST_F(ProbesTest, RefusesPrograms) {
  EXPECT_THAT(World::open({.program = "no-such-program-here"}).error().message, HasSubstr("not found in PATH"));
  EXPECT_THAT(World::open({.program = "/no/such/program"}).error().message, HasSubstr("No such file or directory"));
  EXPECT_THAT(World::open({.program = "", .processes = {4194304}}).error().message, HasSubstr("no process has the ID 4194304"));
  expect_error("probe process(\"" + path("text") + "\").function(\"x\") { next }", "t.stp:1:7: error: ");
  expect_error("probe process(\"/no/such\").function(\"x\") { next }", "process \"/no/such\": No such file");
  expect_error("probe process.function(\"x\") { next }", "use -c COMMAND, -x PID", world_of(""));
  expect_error("probe process(1).function(\"x\") { next }", "process(1) is not the traced process");
  expect_error("probe process(\"" + path("sample") + "\").function(\"foo\") { next }",
               "probes on processes need a process to run in", world_of("", Runtime::kInProcess));
}

TEST_F(ProbesTest, RefusesUnknownAndLaterPoints) {
  expect_error("probe begn { next }", "unknown probe point 'begn'");
  expect_error("probe begn { next }", "did you mean 'begin'?");
  expect_error("probe begin.end { next }", "'end' can't follow 'begin'");
  expect_error("probe begin(\"x\") { next }", "unexpected parameter");
  expect_error("probe process.funktion(\"x\") { next }", "did you mean 'function'?");
  expect_error("probe process.function(\"foo\").retrun { next }", "did you mean 'return'?");
  expect_error("probe process.function(\"foo\").inline { next }", "is not inlined anywhere");
  expect_error("probe process.function(\"foo\").inline.return { next }", "'return' can't follow");
  expect_error("probe process.function(\"foo@sample.c:3x\") { next }", "malformed line number '3x'");
  expect_error("probe process.function(\"foo@sample.c:300\") { next }", "no function 'foo'");
  expect_error("probe process.function(7) { next }", "process.statement(0x7) probes an instruction");
  expect_error("probe process.statement(\"foo@sample.c:300\") { next }", "no line records for sample.c:300");
  expect_error("probe process.statement(\"foo@sample.d:3\") { next }", "no code of function 'foo'");
  expect_error("probe process.statement(0x10) { next }", "0x10 is not in the code");
  expect_error("probe process.statement(\"foo@sample.c:7\").absolute { next }", "unknown probe point");
  expect_error("probe process.function(\"hidden\").callee(\"foo\") { next }", "no call of 'foo'");
  expect_error("probe process.function(\"main\").callees(0) { next }", "the number of levels");
  expect_error("probe process.function(0x1) { next }", "0x1 is not in a known function");
  expect_error("probe process(\"00112233445566778899\").function(\"foo\") { next }", "has this build-id");
  expect_error("probe process.function(\"foo\").label(\"x\") { next }", "no label 'x'");
  expect_error("probe process.mark(\"x\") { next }", "has no marks");
  expect_error("probe process.provider(\"x\") { next }", "'mark' is missing");
  expect_error("probe process.library(\"x\").plt { next }", "no library 'x'");
  expect_error("probe process.plt(\"from_librayr\") { next }", "did you mean 'from_library'?");
  expect_error("probe sctp.sendmsg { next }", "'sctp' are not available in this version");
  expect_error("probe java(\"a\").class(\"b\") { next }", "process(\"libjvm.so\").mark");
  expect_error("probe python3.module(\"a\") { next }", "process(\"python3\").mark");
  expect_error("probe debuginfod.process(\"/bin/ls\") { next }", "DEBUGINFOD_URLS names the servers");
  expect_error("probe kernel.mark(\"x\") { next }", "'kernel.mark' are not available in this version");
}

TEST_F(ProbesTest, Timers) {
  auto made =
      elaborate(world_of(""),
                "probe timer.s(2), timer.ms(10).randomize(5), timer.hz(50), timer.jiffies(2), timer.nsec(7), begin(-3) { next }");
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  std::vector<int64_t> intervals;
  for (const auto& probe : made.program.probes) intervals.push_back(probe.points.at(0).interval_ns);
  EXPECT_THAT(intervals, ElementsAre(2'000'000'000, 10'000'000, 20'000'000, 8'000'000, 7, 0));
  EXPECT_EQ(made.program.probes[1].points[0].randomize_ns, 5'000'000);
  EXPECT_EQ(made.program.probes[5].points[0].sequence, -3);
  EXPECT_THAT(made.texts(), testing::Contains("timer.ms(10).randomize(5)"));
  expect_error("probe timer.ms(0) { next }", "out of range", world_of(""));
  expect_error("probe timer.s(9223372036854775807) { next }", "out of range", world_of(""));
  expect_error("probe timer.mss(1) { next }", "did you mean 'ms'?", world_of(""));
  expect_error("probe timer.ms(1).randomise(1) { next }", "did you mean 'randomize'?", world_of(""));
  expect_error("probe timer { next }", "'timer' alone is not a probe point", world_of(""));
}

TEST_F(ProbesTest, Tracepoints) {
  auto made = elaborate(world_of(""),
                        "global c probe kernel.trace(\"sched:sched_switch\") { c[$prev_comm, $next_pid] <<< $prev_state }"
                        "probe kernel.trace(\"sched_swit*\") { println($$vars) }");
  if (made.messages().find("tracefs") != std::string::npos) GTEST_SKIP() << made.messages();
  ASSERT_FALSE(made.diagnostics.has_errors()) << made.messages();
  const auto& bindings = made.program.probes.at(0).bindings;
  ASSERT_EQ(bindings.size(), 3u);
  auto string = std::find_if(bindings.begin(), bindings.end(), [](const auto& b) { return b.type == ValueType::kString; });
  ASSERT_NE(string, bindings.end());
  EXPECT_TRUE(string->string_in_context);
  EXPECT_EQ(made.program.probes[1].points[0].text, "kernel.trace(\"sched:sched_switch\")");
  expect_error("probe kernel.trace(\"sched:sched_swich\") { next }", "did you mean 'sched:sched_switch'?", world_of(""));
  expect_error("probe kernel.trace(\"sched:sched_switch\") { println($pid) }", "has no field 'pid'", world_of(""));
  expect_error("probe kernel.trace(\"sched:sched_switch\") { println($prev_comm->x) }", "has no members", world_of(""));
}

TEST_F(ProbesTest, TracepointsHaveArgumentsOrARecord) {
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) GTEST_SKIP() << "this kernel has no type information";
  auto by_arguments = [&](const std::string& handler) {
    auto made = elaborate(world_of(""), "probe kernel.trace(\"sched:sched_switch\") { " + handler + " }");
    EXPECT_FALSE(made.diagnostics.has_errors()) << handler << ": " << made.messages();
    return !made.program.probes.empty() && made.program.probes[0].points[0].site.by_arguments;
  };
  auto first = elaborate(world_of(""), "probe kernel.trace(\"sched:sched_switch\") { println($prev_pid) }");
  if (first.messages().find("tracefs") != std::string::npos) GTEST_SKIP() << first.messages();
  EXPECT_TRUE(by_arguments("println($prev->pid)"));
  EXPECT_TRUE(by_arguments("println($preempt)"));
  EXPECT_TRUE(by_arguments("println($$parms)"));
  EXPECT_TRUE(by_arguments("if (@defined($prev_pid)) println(1); println($next)"));
  EXPECT_FALSE(by_arguments("println($prev_pid)"));
  EXPECT_FALSE(by_arguments("println($prev_comm, $prev_state)"));
  EXPECT_FALSE(by_arguments("println($$vars)"));
  EXPECT_FALSE(by_arguments("println(1)"));
  expect_error("probe kernel.trace(\"sched:sched_switch\") { println($prev->pid, $next_pid) }",
               "which is not there in a handler that reads", world_of(""));
  expect_error("probe kernel.trace(\"sched:sched_switch\") { println($prev->pod) }", "did you mean", world_of(""));
}

TEST_F(ProbesTest, SourceLinesWherePpShowsThem) {
  auto plain = elaborate("probe process.function(\"foo\") { next }");
  auto shown = elaborate("probe process.function(\"foo\") { println(pp()) }");
  EXPECT_THAT(plain.texts().at(0), testing::EndsWith(".function(\"foo\")"));
  EXPECT_THAT(shown.texts().at(0), testing::EndsWith("sample.c:7\")"));
}

TEST_F(ProbesTest, CallsAreDistinguishedByTheirCallers) {
  directory->write("chain.c",
                   "#define OUT __attribute__((noipa))\nOUT long c(long x) { return x; }\n"
                   "OUT long b(long x) { return c(x) + 1; }\nOUT long a(long x) { return b(x) + c(x); }\n"
                   "int main(int n, char** w) { return a(n) + b(n); }\n");
  ASSERT_TRUE(directory->run("gcc -g -O2 -o chain chain.c"));
  auto points = [&](const std::string& point) {
    auto made = elaborate(world_of(path("chain")), "probe process.function(\"a\")." + point + " { next }");
    EXPECT_FALSE(made.diagnostics.has_errors()) << made.messages();
    std::map<std::string, size_t> found;  // to the words that say who must have called
    for (const sema::Probe& probe : made.program.probes) {
      for (const auto& p : probe.points) {
        found[p.text.substr(p.text.find(").") + 2)] = p.site.callers ? p.site.callers->size() : 0;
        EXPECT_EQ(p.site.callers != nullptr, probe.condition != nullptr && probe.needs_stack);
      }
    }
    return found;
  };
  using Found = std::map<std::string, size_t>;
  EXPECT_EQ(points("callees"), (Found{{"function(\"a\").callee(\"b\")", 0}, {"function(\"a\").callee(\"c\")", 0}}));
  EXPECT_EQ(
      points("callees(2)"),
      (Found{{"function(\"a\").callee(\"b\")", 0}, {"function(\"a\").callee(\"c\")", 0}, {"function(\"b\").callee(\"c\")", 4}}));
  // One level, one node, one entry; c is called by a, or by b that a called.
  EXPECT_EQ(points("callee(\"c\").return"), (Found{{"function(\"a\").callee(\"c\").return", 4}}));
  EXPECT_EQ(points("callees(2).return"),
            (Found{{"function(\"a\").callee(\"b\").return", 4}, {"function(\"a\").callee(\"c\").return", 9}}));
  auto kernel = world_of(path("chain"), Runtime::kBpf);
  expect_error("probe process.function(\"a\").callees(2) { next }", "only in the process itself", std::move(kernel));
}

TEST_F(ProbesTest, FunctionsByAddressAndProgramsByBuildId) {
  auto named = elaborate("probe process.function(\"foo\") { next }");
  const uint64_t address = named.program.probes.at(0).points.at(0).site.address.value;
  auto module = debuginfo::Module::open(path("sample"));
  auto inside =
      elaborate("probe process(\"" + (*module)->build_id() + "\").function(" + std::to_string(address + 1) + ").return { next }");
  ASSERT_FALSE(inside.diagnostics.has_errors()) << inside.messages();
  ASSERT_EQ(inside.program.probes.at(0).points.size(), 1u);
  EXPECT_EQ(inside.program.probes[0].points[0].site.address.value, address);
  EXPECT_EQ(inside.program.probes[0].kind, sema::ProbeKind::kFunctionReturn);
}

// ---- --dump-probe-types

TEST_F(ProbesTest, ExactlyTheListedTypesAreAccepted) {
  // What a type is refused for, with a name and a number in it that mean nothing.
  auto complaint = [&](std::string type) -> std::string {
    for (auto [from, to] : {std::pair{"(string)", "(\"x\")"}, {"(number)", "(1)"}}) {
      for (size_t at; (at = type.find(from)) != std::string::npos;) type.replace(at, std::string_view(from).size(), to);
    }
    std::string messages = elaborate("probe " + type + " { next }").messages();
    for (const char* shape : {"unknown probe point", "unexpected parameter", "not available", "is not supported"}) {
      if (messages.find(shape) != std::string::npos) return messages;
    }
    return {};
  };
  EXPECT_GT(probe_types().size(), 100u);
  for (const std::string& type : probe_types()) {
    EXPECT_EQ(complaint(type), "") << type;
    EXPECT_NE(complaint(type + ".bogus"), "") << type;
  }
}

// ---- where probes run

TEST_F(ProbesTest, RuntimeFollowsTheScript) {
  std::string foo = point(path("sample"), "foo");
  auto domain = [&](std::unique_ptr<World> world, const std::string& more) {
    auto made = elaborate(std::move(world), "probe " + foo + " { next } " + more);
    EXPECT_FALSE(made.diagnostics.has_errors()) << made.messages();
    return made.program.probes.at(0).domain;
  };
  EXPECT_EQ(domain(world_of(path("sample")), ""), sema::Domain::kTarget);
  EXPECT_EQ(domain(world_of(path("sample")), "probe timer.profile { next }"), sema::Domain::kTarget);
  EXPECT_EQ(domain(world_of(path("sample"), Runtime::kBpf), "probe timer.profile { next }"), sema::Domain::kKernel);
  EXPECT_EQ(domain(world_of(""), ""), sema::Domain::kKernel);
  EXPECT_EQ(domain(world_of(path("sample"), Runtime::kBpf), ""), sema::Domain::kKernel);
  expect_error("probe kernel.trace(\"a:b\") { next }", "--runtime=inproc was given",
               world_of(path("sample"), Runtime::kInProcess));
}

}  // namespace
}  // namespace spile::probes
