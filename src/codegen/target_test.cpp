// Handlers of traced processes, entered as the engine's trampolines enter them (abi/trampoline.h): what they count, and
// that every register but flags comes back as it went in.

#include <signal.h>
#include <sys/ucontext.h>

#include <array>
#include <thread>

#include "codegen/script_runner_test.h"

// In: registers by DWARF number (rsp ignored), the handler, a site id. Out: registers afterwards.
extern "C" {
struct TestCall {
  uint64_t in[16];
  uint64_t out[16];
  void* enter;
  void* exit;
  uint64_t site_id;
  uint64_t result;  // of the function that test_return probes
  uint64_t (*body)(uint64_t, uint64_t);
};
void test_enter(TestCall* call);
uint64_t test_return(TestCall* call, uint64_t a, uint64_t b);
extern const char test_returned[];
}

// test_enter: `call site` with a trampoline that pushes a site id. The return address of the probed function is that of
// the inner call, so CFA is rsp + 24 at the handler's entry.
asm(R"(
  .text
  .macro each_register action
    \action rax, 0
    \action rdx, 1
    \action rcx, 2
    \action rbx, 3
    \action rsi, 4
    \action rdi, 5
    \action rbp, 6
    \action r8, 8
    \action r9, 9
    \action r10, 10
    \action r11, 11
    \action r12, 12
    \action r13, 13
    \action r14, 14
    \action r15, 15
  .endm
  .macro load_register name, number
    mov test_current(%rip), %\name
    mov 8 * \number(%\name), %\name
  .endm
  .macro store_register name, number
    push %rax
    mov %\name, test_spill(%rip)
    push %rbx
    mov test_current(%rip), %rbx
    mov test_spill(%rip), %rax
    mov %rax, 128 + 8 * \number(%rbx)
    pop %rbx
    pop %rax
  .endm
  .globl test_enter
test_enter:
    push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15
    mov %rdi, test_current(%rip)
    mov 256(%rdi), %rax
    mov %rax, test_handler(%rip)
    mov 272(%rdi), %rax
    mov %rax, test_site(%rip)
    each_register load_register
    call 1f
    each_register store_register
    pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx
    ret
1:  push test_site(%rip)
    call *test_handler(%rip)
    lea 8(%rsp), %rsp
    ret

  .globl test_return
  .globl test_returned
test_return:
    mov %rdi, test_current(%rip)
    mov 256(%rdi), %rax
    mov %rax, test_handler(%rip)
    mov 264(%rdi), %rax
    mov %rax, test_exit(%rip)
    mov 272(%rdi), %rax
    mov %rax, test_site(%rip)
    mov 288(%rdi), %rax
    mov %rax, test_body(%rip)
    mov %rsi, %rdi
    mov %rdx, %rsi
    push %rax
    push test_site(%rip)
    call *test_handler(%rip)
    test %eax, %eax
    lea 8(%rsp), %rsp
    pop %rax
    jz 1f
    lea 8(%rsp), %rsp
    call 1f
test_returned:
    push %rax
    push %rdi; push %rsi
    mov %rax, %rdi
    mov %rdx, %rsi
    call *test_exit(%rip)
    pop %rsi; pop %rdi
    ret
1:  jmp *test_body(%rip)

  .bss
  .balign 8
test_current: .quad 0
test_spill: .quad 0
test_handler: .quad 0
test_exit: .quad 0
test_site: .quad 0
test_body: .quad 0
  .text
)");

namespace spile::codegen {

namespace {

TestCall call_of(void* enter, std::array<uint64_t, 6> arguments = {}, uint64_t site_id = 0) {
  TestCall call{};
  for (uint64_t i = 0; i < 16; ++i) call.in[i] = 0x1111111111111111 * (i + 1) & 0x7fffffffffffffff;
  for (size_t i = 0; i < arguments.size(); ++i) call.in[abi::kConvention.argument_registers.numbers[i]] = arguments[i];
  call.enter = enter;
  call.site_id = site_id;
  return call;
}

// Enters and checks that all registers are as before.
void enter(void* handler, std::array<uint64_t, 6> arguments = {}, uint64_t site_id = 0) {
  TestCall call = call_of(handler, arguments, site_id);
  test_enter(&call);
  for (int i = 0; i < 16; ++i) {
    if (i != 7) EXPECT_EQ(call.in[i], call.out[i]) << "register " << i;
  }
}

std::string end_output(ScriptRunner& runner) {
  runner.merge();
  runner.run(sema::ProbeKind::kEnd);
  return runner.output();
}

constexpr const char* kFoo = R"(probe process("/bin/fake").function("foo") )";

std::string foo(const std::string& body) { return std::string(kFoo) + body; }

// The runner, or a failed test that says why it is missing.
#define RUN(name, ...)            \
  ScriptRunner name(__VA_ARGS__); \
  ASSERT_EQ(name.error(), "")

TEST(Target, CountsAndKeepsAllRegisters) {
  RUN(runner, "global c " + foo("{ c++ } probe end { println(c) }"));
  for (int i = 0; i < 1000; ++i) enter(runner.enter_of(0));
  EXPECT_EQ(end_output(runner), "1000\n");
  enter(runner.enter_of(0));
  EXPECT_EQ(end_output(runner), "1001\n") << "merging twice counts nothing twice";
}

TEST(Target, SaysWhereNoEntryWasSeen) {
  RUN(runner,
      R"(probe process("/bin/fake").function("baz") { try { println($kept) } catch (m) { println(m) } println($$vars) })");
  EXPECT_NE(runner.code().target.keep_entry, 0u);
  EXPECT_EQ(runner.code().target.keep_entry_flags, abi::kWantsSiteId);
  EXPECT_NE(runner.code().layout.entries_offset, 0u);
  enter(runner.keep_entry(), {77}, runner.program().sites.kept_id(0));
  enter(runner.enter_of(0));
  EXPECT_EQ(runner.output(), "the value at the function's entry, needed for '$kept' here, was not recorded\nkept=?\n");
}

TEST(Target, CountsOnSeveralThreads) {
  RUN(runner, "global c, s " + foo("{ c++ s <<< $x } probe end { printd(\" \", c, @count(s), @sum(s)) }"));
  // The wrapper's state is one for all threads, so handlers are called plainly here.
  auto handler = reinterpret_cast<void (*)(uint64_t)>(runner.enter_of(0));
  auto work = [&] {
    for (uint64_t i = 0; i < 20000; ++i) handler(i);
  };
  std::thread other(work), third(work);
  work();
  other.join();
  third.join();
  EXPECT_EQ(end_output(runner), "60000 60000 " + std::to_string(3ull * 20000 * 19999 / 2));
}

TEST(Target, KeepsRegistersInEveryKindOfBody) {
  const std::pair<const char*, const char*> kBodies[] = {
      {"s <<< $x", "println(@count(s))"},
      {"a[$x & 7]++", "foreach (k in a) println(k)"},
      {"printf(\"%d %s\\n\", $x, $s)", ""},
      {"b[execname(), tid(), $x] <<< $x", "foreach ([x, y, z] in b) println(@count(b[x, y, z]))"},
      {"w = w . $s", "println(w)"},
      {"if ($x == 7) c++", "println(c)"},
      {"m[$x] = 1 foreach (k in m-) w = sprint(k)", "println(w)"},
  };
  for (auto [body, end] : kBodies) {
    RUN(runner, "global a, b, c, m, s, w " + foo(std::string("{ ") + body + " } probe end { " + end + " }"));
    const char* text = "text";
    enter(runner.enter_of(0), {7, reinterpret_cast<uint64_t>(text)});
    enter(runner.enter_of(0), {8, reinterpret_cast<uint64_t>(text)});
  }
}

TEST(Target, EvaluatesConditionsOnArguments) {
  RUN(runner, "global c " + foo("{ if ($x == 7) c++ } probe end { println(c) }"));
  for (uint64_t i = 0; i < 20; ++i) enter(runner.enter_of(0), {i});
  EXPECT_EQ(end_output(runner), "1\n");
  EXPECT_EQ(runner.slot(abi::kFirstSlot)->busy, 0u);
}

TEST(Target, AccumulatesIntoMapsAndAggregates) {
  RUN(runner, "global s, a, b " + foo(R"({ s <<< $x a[$x & 3]++ b[$s, $x & 1] += $x }
    probe end { printdln(" ", @count(s), @sum(s), @min(s), @max(s), @avg(s))
      foreach (k+ in a) printd(" ", k, a[k], "") println("")
      foreach ([n, p+] in b) printd(" ", n, p, b[n, p], "") println("") })"));
  const char* name = "key";
  for (uint64_t i = 1; i <= 10; ++i) enter(runner.enter_of(0), {i, reinterpret_cast<uint64_t>(name)});
  EXPECT_EQ(end_output(runner), "10 55 1 10 5\n0 2 1 3 2 3 3 2 \nkey 0 30 key 1 25 \n");
}

TEST(Target, WritesRecordsInOrder) {
  RUN(runner, foo(R"({ printf("%d %s|", $x, $s) })"));
  const char* name = "str";
  for (uint64_t i = 1; i <= 3; ++i) enter(runner.enter_of(0), {i, reinterpret_cast<uint64_t>(name)});
  EXPECT_EQ(runner.output(), "1 str|2 str|3 str|");
}

TEST(Target, LocksGlobalsThatAreSharedForMore) {
  RUN(runner, "global last, n " + foo("{ if (last != $x) n++ last = $x } probe end { printdln(\" \", last, n) }"));
  for (uint64_t i = 0; i < 10; ++i) enter(runner.enter_of(0), {i / 2 + 1});
  EXPECT_EQ(end_output(runner), "5 5\n");
}

TEST(Target, ReadsArgumentsByNumber) {
  RUN(runner, R"(function third() { return int_arg(3) }
    probe process("/bin/fake").function("foo") { printf("%d %d %d %x %d", int_arg(1), uint_arg(2), long_arg(6), pointer_arg(5), third()) })");
  enter(runner.enter_of(0), {0xffffffffffffffff, 0xffffffffffffffff, 0x1fffffffe, 4, 0xabc, 6});
  EXPECT_EQ(runner.output(), "-1 4294967295 6 abc -2");
}

TEST(Target, NamesItsSite) {
  RUN(runner, R"(function name() { return ppfunc() }
    probe process("/bin/fake").function("ba*") { printf("%s %s %s|", probefunc(), pp(), name()) })");
  ASSERT_EQ(runner.program().sites.size(), 2u);
  EXPECT_EQ(runner.code().target.groups[0].flags, abi::kWantsSiteId);
  for (uint64_t site : {0, 1}) enter(runner.enter_of(static_cast<size_t>(runner.program().sites[site].group)), {}, site);
  EXPECT_EQ(runner.output(),
            "bar process(\"/bin/fake\").function(\"bar\") bar|baz process(\"/bin/fake\").function(\"baz\") baz|");
}

TEST(Target, SkipsAHandlerInsideAHandler) {
  RUN(runner, "global s " + foo("{ s <<< $x } probe end { println(@count(s)) }"));
  enter(runner.enter_of(0));
  runner.slot(abi::kFirstSlot)->busy = 1;  // as if this were a signal handler that interrupted one
  enter(runner.enter_of(0));
  EXPECT_EQ(runner.slot(abi::kFirstSlot)->skipped[abi::kSkipReentrant], 1u);
  runner.slot(abi::kFirstSlot)->busy = 0;
  EXPECT_EQ(end_output(runner), "1\n");
}

TEST(Target, DoesNothingWhenDisabled) {
  RUN(runner, "global c " + foo("{ c++ } probe end { println(c) }"));
  runner.header()->enabled = 0;
  enter(runner.enter_of(0));
  EXPECT_EQ(end_output(runner), "0\n");
}

TEST(Target, RunsAllProbesOfASiteEachToItsOwnEnd) {
  RUN(runner, "global z, n " + foo("{ if ($x == 1) next print(\"a\") } ") + foo("{ if ($x == 2) next print(5 / z) } ") +
                  foo("{ print(\"c\") n = $x if (n) z = 0 }"));
  enter(runner.enter_of(0), {2});
  EXPECT_EQ(runner.output(), "ac");
  enter(runner.enter_of(0), {1});
  std::string output = runner.output();
  EXPECT_TRUE(output.starts_with("ERROR: division by 0")) << output;
  EXPECT_FALSE(output.ends_with("c")) << "no handler goes on with a lock after the error that ends the session\n" << output;
  enter(runner.enter_of(0), {2});
  EXPECT_EQ(runner.output(), "") << "nothing begins after it";
  runner.header()->enabled = 1;
  runner.header()->errors = 0;
  enter(runner.enter_of(0), {2});
  EXPECT_EQ(runner.output(), "ac");
}

TEST(Target, MergesTwoEpochsOnceEach) {
  RUN(runner, "global s, a " + foo("{ s <<< $x a[$x]++ } probe end { printdln(\" \", @count(s), a[1], a[2]) }"));
  enter(runner.enter_of(0), {1});
  runner.header()->epoch = 1;
  enter(runner.enter_of(0), {2});
  EXPECT_EQ(runner.merge(0), 0u);
  runner.run(sema::ProbeKind::kEnd);
  EXPECT_EQ(runner.output(), "1 1 0\n") << "the new epoch's are still their thread's";
  runner.header()->epoch = 2;
  EXPECT_EQ(runner.merge(1), 0u);
  runner.run(sema::ProbeKind::kEnd);
  EXPECT_EQ(runner.output(), "2 1 1\n");
}

TEST(Target, LeavesOutAThreadThatStandsInAHandler) {
  RUN(runner, "global c, s " + foo("{ c++ s <<< $x } probe end { printdln(\" \", c, @count(s)) }"));
  enter(runner.enter_of(0), {1});
  runner.header()->epoch = 1;
  runner.slot(abi::kFirstSlot)->busy = 1;
  runner.merge(0);
  runner.run(sema::ProbeKind::kEnd);
  EXPECT_EQ(runner.output(), "1 0\n");
  runner.slot(abi::kFirstSlot)->busy = 0;
  runner.merge(2);
  runner.run(sema::ProbeKind::kEnd);
  EXPECT_EQ(runner.output(), "1 1\n");
}

// ---------------------------------------------------------------- returns

uint64_t add(uint64_t a, uint64_t b) { return a + b; }

uint64_t call_returning(ScriptRunner& runner, uint64_t a, uint64_t b, uint64_t (*body)(uint64_t, uint64_t) = add,
                        uint64_t site = 0) {
  TestCall call{};
  call.enter = runner.enter_of(0);
  call.exit = runner.exit_of(0);
  call.site_id = site;
  call.body = body;
  return test_return(&call, a, b);
}

void allow_returns(ScriptRunner& runner) {
  uint64_t at = reinterpret_cast<uint64_t>(test_returned);
  runner.set_returned(at, at + 1);
}

constexpr const char* kFooReturn = R"(probe process("/bin/fake").function("foo").return )";

TEST(TargetReturn, CountsReturns) {
  RUN(runner, std::string("global c ") + kFooReturn + "{ c++ } probe end { println(c) }");
  allow_returns(runner);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(call_returning(runner, i, 2), i + 2);
  EXPECT_EQ(end_output(runner), "100\n");
  EXPECT_EQ(runner.slot(abi::kFirstSlot)->shadow_depth, 0u);
}

TEST(TargetReturn, GivesTheReturnValueAndEntryValues) {
  RUN(runner, std::string(kFooReturn) + R"({ printf("%d %d %d|", $return, @entry($x), @entry($x * 2)) })");
  allow_returns(runner);
  EXPECT_EQ(call_returning(runner, 5, 6), 11u);
  EXPECT_EQ(runner.output(), "11 5 10|");
}

TEST(TargetReturn, ReportsErrorsOfFunctionsThatEntryValuesCall) {
  RUN(runner, std::string("function half(x) { if (x % 2) error(\"odd\") return x / 2 } ") + kFooReturn +
                  R"({ printf("%d|", @entry(half($x))) })");
  allow_returns(runner);
  EXPECT_EQ(call_returning(runner, 4, 0), 4u);
  EXPECT_EQ(runner.output(), "2|");
  EXPECT_EQ(call_returning(runner, 5, 0), 5u);
  std::string output = runner.output();
  EXPECT_TRUE(output.starts_with("ERROR: odd")) << output;
}

TEST(TargetReturn, SavesStrings) {
  RUN(runner, std::string(kFooReturn) + R"({ printf("%s %d|", @entry($s), @entry($x)) })");
  allow_returns(runner);
  static char text[] = "before";
  call_returning(runner, 1, reinterpret_cast<uint64_t>(text), [](uint64_t, uint64_t) -> uint64_t {
    text[0] = 'X';
    return 0;
  });
  EXPECT_EQ(runner.output(), "before 1|");
}

TEST(TargetReturn, RunsEntryProbesOfTheSameSite) {
  RUN(runner, foo(R"({ printf("enter %d|", $x) } )") + kFooReturn + R"({ printf("leave %d %d|", @entry($x), $return) })");
  allow_returns(runner);
  call_returning(runner, 3, 4);
  EXPECT_EQ(runner.output(), "enter 3|leave 3 7|");
}

TEST(TargetReturn, GoesOnInTheTableWhenTheStackIsFull) {
  RUN(runner, std::string("global c, d ") + kFooReturn + R"({ c++ printf("%d ", @entry($x)) } probe end { println(c) })");
  allow_returns(runner);
  static ScriptRunner* current;
  current = &runner;
  static uint64_t (*recurse)(uint64_t, uint64_t);
  recurse = [](uint64_t n, uint64_t) -> uint64_t { return n == 0 ? 0 : 1 + call_returning(*current, n - 1, 0, recurse); };
  EXPECT_EQ(call_returning(runner, 69, 0, recurse), 69u);
  EXPECT_EQ(end_output(runner).substr(0, 9), "70\n0 1 2 ");  // 64 of them in the thread's stack
  EXPECT_EQ(runner.slot(abi::kFirstSlot)->skipped[abi::kSkipShadowFull], 0u);
}

TEST(TargetReturn, NamesItsSiteOnTheWayOut) {
  RUN(runner, R"(probe process("/bin/fake").function("ba*").return { printf("%s|", ppfunc()) })");
  allow_returns(runner);
  call_returning(runner, 1, 2, add, 1);
  call_returning(runner, 1, 2, add, 0);
  EXPECT_EQ(runner.output(), "baz|bar|");
}

// ---------------------------------------------------------------- bad pointers

TEST(Target, TurnsABadPointerIntoAScriptError) {
  RUN(runner, foo(R"({ try { println($s) } catch (m) { printf("caught %s|", m) } println($s) })"));
  EXPECT_FALSE(runner.code().target.image.fixups.empty());
  enter(runner.enter_of(0), {1, 0x10});
  EXPECT_EQ(runner.output(), "caught read fault at 0x10|ERROR: read fault at 0x10 near '$s' at t.stp:1:112\n");
}

}  // namespace

}  // namespace spile::codegen
