// Scripts through all of the compiler to eBPF, past the verifier of the running kernel, and into this very process: no
// other is probed or looked at. Without the privilege to load programs these tests are left out, and it is said.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include "abi/aggregate.h"
#include "abi/handler.h"
#include "abi/kernel.h"
#include "base/text/glob.h"
#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "runtime/bitcode.h"
#include "sema/fake_target_test.h"
#include "session/places/attach_plan.h"
#include "session/places/kernel_constants.h"

extern "C" __attribute__((noinline, used)) long spile_test_called(long a, const char* s) {
  asm volatile("" : "+r"(a), "+r"(s));
  return a * 3;
}
extern "C" __attribute__((noinline, used)) long spile_test_other(long a, const char* s) {
  asm volatile("" : "+r"(a), "+r"(s));
  return a;
}

namespace spile::session {
namespace {

using sema::Binding;
using sema::ProbeKind;
using sema::ResolvedPoint;

// The file offset of an address of this program.
uint64_t file_offset(uint64_t address, std::string& path) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin, end, offset;
    char name[512] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %511s", &begin, &end, &offset, name) < 4) continue;
    if (address < begin || address >= end) continue;
    path = name;
    return address - begin + offset;
  }
  return 0;
}

// process.function("called" | "other" | "*") [.return]: $a in rdi, $s a string in rsi, $return.
// kernel.trace("sched:sched_switch"): $prev_pid, $next_comm. kernel.trace("syscalls:sys_enter_*" | "syscalls:sys_exit_*"): five
// calls; $number, $first, $result. timer.profile.
class OwnProcess : public sema::FakeTarget {
 public:
  Result<std::vector<ResolvedPoint>> resolve(const syntax::ProbePoint& source) override {
    const auto& c = source.components;
    ResolvedPoint point;
    point.text = point.name = syntax::to_source(source);
    if (c[0].name == "begin" || c[0].name == "end") {
      point.kind = c[0].name == "begin" ? ProbeKind::kBegin : ProbeKind::kEnd;
      return std::vector{point};
    }
    point.domain = sema::Domain::kKernel;
    if (c[0].name == "kernel") {
      point.kind = ProbeKind::kTracepoint;
      point.site.tracepoint = *c[1].text;
      if (!point.site.tracepoint.ends_with('*')) return std::vector{point};
      std::vector<ResolvedPoint> calls;
      for (auto [name, number] : {std::pair("dup", SYS_dup), std::pair("close", SYS_close), std::pair("getppid", SYS_getppid),
                                  std::pair("getuid", SYS_getuid), std::pair("getgid", SYS_getgid)}) {
        point.text = name;
        point.site.tracepoint = c[1].text->substr(0, c[1].text->size() - 1) + name;
        point.site.system_call = static_cast<int32_t>(number);
        calls.push_back(point);
      }
      return calls;
    }
    if (c[0].name == "timer") {
      point.kind = ProbeKind::kProfile;
      point.interval_ns = 1'000'000;
      return std::vector{point};
    }
    point.kind = c.size() > 2 ? ProbeKind::kFunctionReturn : ProbeKind::kFunctionEntry;
    std::vector<ResolvedPoint> points;
    for (auto [name, address] : {std::pair("called", &spile_test_called), std::pair("other", &spile_test_other)}) {
      if (!glob_matches(*c[1].text, name)) continue;
      point.site.function = name;
      point.site.file_offset = file_offset(reinterpret_cast<uint64_t>(address), point.site.module);
      point.site.address = FileAddress(point.site.file_offset);
      points.push_back(point);
    }
    return points;
  }
  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::TargetVariable& variable) override {
    if (point.kind == ProbeKind::kTracepoint) {
      if (variable.name == "$number") return Binding{{location::RecordField{8, 4, true}}};
      if (variable.name == "$first" || variable.name == "$result") return Binding{{location::RecordField{16, 8, true}}};
      if (variable.name == "$prev_pid") return Binding{{location::RecordField{24, 4, true}}};
      Binding comm{{location::Constant{40}}, ValueType::kString};
      comm.string_in_context = true;
      return comm;
    }
    if (variable.name == "$return") return Binding{{location::Register{0}}};
    if (!at_entry) return Error{"not here", ""};
    if (variable.name == "$a") return Binding{{location::Register{5}}};
    if (variable.name == "$bias") return Binding{{location::Address{}}};
    if (variable.name == "$first") return Binding{{location::Register{4}, location::Deref{1, true}}};
    return Binding{{location::Register{4}}, ValueType::kString};
  }
  Result<Binding> bind(const ResolvedPoint&, bool, const syntax::AtOperation& operation) override {
    return Error{"no " + operation.name, ""};
  }
  std::vector<std::string> variables(const ResolvedPoint&, const std::string&) override { return {}; }
  std::vector<std::string> known_components(const syntax::ProbePoint&, size_t) override { return {}; }
};

// A script, compiled and loaded. Destroyed: detached.
class Script {
 public:
  explicit Script(const std::string& text, const std::function<void(sema::Program&)>& set = {}) {
    OwnProcess target;
    elaborated_ = sema::elaborate_scripts({text}, target);
    if (set) set(elaborated_.program);
    if (!elaborated_.ok()) {
      error_ = elaborated_.messages();
      return;
    }
    codegen::Options options;
    options.process_bitcode = rt::process_bitcode();
    options.kernel_maps_bitcode = rt::kernel_maps_bitcode();
    auto compiled = codegen::compile(elaborated_.program, options);
    if (!compiled) {
      error_ = compiled.error().message;
      return;
    }
    script_ = std::move(compiled->script);
    load();
  }

  const std::string& error() const { return error_; }
  bpf::Kernel& kernel() { return *kernel_; }
  void start() {
    auto attached = kernel_->attach();
    ASSERT_TRUE(attached) << attached.error().message;
    reinterpret_cast<abi::KernelControl*>(kernel_->data(abi::kKernelControlSymbol).data())->enabled = 1;
  }
  const codegen::KernelMap* map(const std::string& global) const {
    for (const codegen::KernelMap& map : script_.kernel.maps) {
      if (map.global >= 0 && elaborated_.program.globals[static_cast<size_t>(map.global)]->name == global) return &map;
    }
    return nullptr;
  }
  // Elements of a global whose keys are texts or nothing; aggregates as "count sum min max".
  std::map<std::string, std::string> elements(const std::string& global) {
    std::map<std::string, std::string> all;
    auto done = kernel_->elements(map(global)->symbol,
                                  [&](auto key, auto value) { all[key_text(*map(global), key)] = value_text(value); });
    EXPECT_TRUE(done) << done.error().message;
    return all;
  }
  std::string scalar(const std::string& global) { return elements(global)[""]; }
  // Payloads of records, longs and strings, each record with its kind.
  std::vector<std::string> records() {
    std::vector<std::string> all;
    auto done = kernel_->consume(
        [&](const abi::RecordHeader& header, std::span<const uint8_t> payload) { all.push_back(record_text(header, payload)); });
    EXPECT_TRUE(done);
    return all;
  }

 private:
  void load() {
    bpf::ObjectSpec spec;
    spec.object = script_.kernel.object;
    for (const codegen::KernelMap& map : script_.kernel.maps) spec.maps.push_back(map_spec(map));
    for (const codegen::KernelProgram& program : script_.kernel.programs) {
      EXPECT_TRUE(add_programs(elaborated_.program, program, {}, getpid(), {}, spec.programs).ok());
    }
    spec.data = {{abi::kKernelConstantsSymbol, kernel_constants(getpid())}};
    spec.verbosity = std::getenv("SPILE_TEST_VERBOSE") ? 3 : 0;
    auto loaded = bpf::load(spec);
    if (loaded) kernel_ = std::move(loaded).value();
    else error_ = loaded.error().message;
  }
  static int64_t long_at(const uint8_t* at) {
    int64_t value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::string key_text(const codegen::KernelMap& map, std::span<const uint8_t> key) {
    std::string text;
    size_t at = 0;
    for (uint32_t part = 0; part < map.key_count; ++part) {
      if (part > 0) text += ",";
      if (map.string_keys >> part & 1) {
        std::string piece(reinterpret_cast<const char*>(key.data() + at));
        text += piece;
        at += (piece.size() + 8) / 8 * 8;
      } else {
        text += std::to_string(long_at(key.data() + at));
        at += 8;
      }
    }
    return text;
  }
  static std::string value_text(std::span<const uint8_t> value) {
    if (value.size() <= abi::kCountedLong) return std::to_string(long_at(value.data()));
    if (value.size() == abi::kDefaultKernelString) return reinterpret_cast<const char*>(value.data());
    abi::Aggregate a;
    std::memcpy(&a, value.data(), sizeof a);
    return fmt::format("{} {} {} {}", a.count, a.sum, a.min, a.max);
  }
  std::string record_text(const abi::RecordHeader& header, std::span<const uint8_t> payload) {
    std::vector<ValueType> types;
    if (header.kind == abi::kPrintf) types = script_.formats[header.id].arguments;
    if (header.kind == abi::kErrorText || header.kind == abi::kWarning) types = {ValueType::kString};
    std::string text = header.kind == abi::kError ? script_.errors[header.id].text : std::to_string(header.kind);
    size_t at = 0;
    for (ValueType type : types) {
      if (type == ValueType::kString) {
        uint32_t length;
        std::memcpy(&length, payload.data() + at, sizeof length);
        text += " " + std::string(reinterpret_cast<const char*>(payload.data() + at + 4), length);
        at += (4 + length + 7) / 8 * 8;
      } else {
        text += " " + std::to_string(long_at(payload.data() + at));
        at += 8;
      }
    }
    return text;
  }

  sema::Elaborated elaborated_;
  codegen::CompiledScript script_;
  std::unique_ptr<bpf::Kernel> kernel_;
  std::string error_;
};

#define LOADED(script, ...)   \
  Script script(__VA_ARGS__); \
  ASSERT_EQ(script.error(), "")

void survive_errors(sema::Program& program) { program.limits.max_errors = 100; }

void call(int count) {
  for (int i = 0; i < count; ++i) spile_test_called(i, i % 2 ? "odd" : "even");
}

TEST(KernelScripts, CountEveryCall) {
  LOADED(script, "global c probe process.function(\"called\") { c++ } probe end { println(c) }");
  script.start();
  call(1000);
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("c"), "1000");
}

TEST(KernelScripts, KeepArraysAndAggregates) {
  LOADED(script, R"(
    global by_number, by_name, s, pairs
    probe process.function("called") { by_number[$a & 3]++; by_name[execname()] += 2; s <<< $a; pairs[$s, $a & 1] <<< $a }
    probe end { printdln(" ", @sum(s), @min(s), @max(s), @sum(pairs["odd", 1]), by_number[1], by_name["x"]) })");
  script.start();
  call(100);
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.elements("by_number"),
            (std::map<std::string, std::string>{{"0", "25"}, {"1", "25"}, {"2", "25"}, {"3", "25"}}));
  std::string name;
  std::getline(std::ifstream("/proc/self/comm") >> std::ws, name);
  EXPECT_EQ(script.elements("by_name"), (std::map<std::string, std::string>{{name, "200"}}));
  EXPECT_EQ(script.scalar("s"), "100 4950 0 99");
  EXPECT_EQ(script.elements("pairs")["odd,1"].substr(0, 7), "50 2500");
  EXPECT_EQ(script.elements("pairs").size(), 2u);
}

TEST(KernelScripts, NamesOfThreadsAreShortKeys) {
  LOADED(script, R"(
    global added, kept, other, begun
    probe process.function("called") {
      added[execname()]++
      kept[execname()] = $a
      if ($a == 4) { if (execname() in kept) printf("%d\n", kept[execname()]); delete kept[execname()]; if (execname() in kept) printf("kept\n") }
      other[execname()]++; if ($a == 3) other["a name of more than sixteen bytes"]++
      begun[execname()] = begun["a name of more than sixteen bytes"] + 1
    }
    probe begin { begun["a name of more than sixteen bytes"] = 1 }
    probe end { foreach (n in added) println(added[n], kept["x"]); foreach (n in other) println(other[n]); foreach (n in begun) println(begun[n]) })");
  for (const auto& [name, size] :
       {std::pair("added", 16u), {"kept", 16u}, {"other", abi::kDefaultKernelString}, {"begun", abi::kDefaultKernelString}})
    EXPECT_EQ(script.map(name)->string_size, size) << name;
  script.start();
  call(6);
  EXPECT_TRUE(script.kernel().detach().ok());
  std::string name;
  std::getline(std::ifstream("/proc/self/comm") >> std::ws, name);
  EXPECT_EQ(script.records(), (std::vector<std::string>{"1 4"}));
  EXPECT_EQ(script.elements("added"), (std::map<std::string, std::string>{{name, "6"}}));
  EXPECT_EQ(script.elements("kept"), (std::map<std::string, std::string>{{name, "5"}}));
  EXPECT_EQ(script.elements("other"),
            (std::map<std::string, std::string>{{name, "6"}, {"a name of more than sixteen bytes", "1"}}));
}

TEST(KernelScripts, PrintInOrder) {
  LOADED(script, R"(probe process.function("called") { if ($a % 10 == 3) printf("%d %s %d\n", $a, $s, pid() == target()) })");
  script.start();
  call(30);
  EXPECT_EQ(script.records(), (std::vector<std::string>{"1 3 odd 1", "1 13 odd 1", "1 23 odd 1"}));
}

TEST(KernelScripts, ReturnsKnowTheirEntryValues) {
  LOADED(script, R"(
    global c, latency
    probe process.function("called").return {
      c++
      latency <<< gettimeofday_ns() - @entry(gettimeofday_ns())
      if ($return != @entry($a) * 3) printf("%d %s\n", $return, @entry($s))
      if ($a == 7) printf("%d %s\n", $return, @entry($s))
    }
    probe end { printdln(" ", c, @min(latency), @max(latency)) })");
  script.start();
  call(50);
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("c"), "50");
  EXPECT_EQ(script.records(), (std::vector<std::string>{"1 21 odd"}));
  EXPECT_EQ(script.scalar("latency").substr(0, 3), "50 ");
}

TEST(KernelScripts, PlainReturns) {
  LOADED(script, "global s probe process.function(\"called\").return { s <<< $return } probe end { println(@sum(s)) }");
  script.start();
  call(10);
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("s").substr(0, 6), "10 135");
}

TEST(KernelScripts, KeepWhatIsReadUnderALock) {
  LOADED(script, R"(
    global last, calls, seen
    probe process.function("called") {
      if (calls < 10) { calls++; last = last . $s }
      if ($a in seen) printf("twice %d\n", $a)
      seen[$a] = last
      if ($a > 4) delete seen[$a - 5]
    }
    probe end { println(last) })");
  script.start();
  call(20);
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("calls"), "10");
  EXPECT_EQ(script.scalar("last"), "evenoddevenoddevenoddevenoddevenodd");
  EXPECT_EQ(script.elements("seen").size(), 5u);
  EXPECT_TRUE(script.records().empty());
}

TEST(KernelScripts, FunctionsStringsAndNumbers) {
  LOADED(script, R"(
    function twice(n) { return n * 2 }
    function name:string(s:string) { if (s == "odd") return s . "!"; return "other" }
    probe process.function("called") {
      i = 0
      for (n = 0; n < 5; n++) i += twice(n)
      if ($a == 1) printf("%d %s %d %d %d %s\n", i, name($s), strlen($s), -7 / 2, -7 % 3, substr("abcdef", 2, 3))
      if ($a == 2) printf("%d %s %d\n", $first, name($s), "a" < "b")
    })");
  script.start();
  call(3);
  EXPECT_EQ(script.records(), (std::vector<std::string>{"1 20 odd! 3 -3 -1 cde", "1 101 other 1"}));
}

TEST(KernelScripts, ManyPlacesKnowTheirNames) {
  LOADED(script, R"(global c probe process.function("*") { c[probefunc()]++ } probe end { println(c["called"]) })");
  script.start();
  call(5);
  for (int i = 0; i < 3; ++i) spile_test_other(i, "");
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.elements("c"), (std::map<std::string, std::string>{{"called", "5"}, {"other", "3"}}));
}

TEST(KernelScripts, LoadBiasOfOnePlaceAndOfMany) {
  for (const char* place : {"called", "*"}) {
    LOADED(script, fmt::format(R"(probe process.function("{}") {{ printf("%d\n", $bias) }})", place));
    script.start();
    call(1);
    std::string path;
    auto address = reinterpret_cast<uint64_t>(&spile_test_called);
    EXPECT_EQ(script.records(), (std::vector<std::string>{fmt::format("1 {}", address - file_offset(address, path))}));
  }
}

TEST(KernelScripts, ErrorsComeAsRecords) {
  LOADED(script, R"(probe process.function("called") { printf("%d\n", 10 / $a); if ($a == 2) error("enough of " . $s) })",
         survive_errors);
  script.start();
  call(3);
  std::vector<std::string> records = script.records();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_NE(records[0].find("division by 0"), std::string::npos) << records[0];
  EXPECT_EQ(records[1], "1 10");
  EXPECT_EQ(records[2], "1 5");
  EXPECT_EQ(records[3], fmt::format("{} enough of even", static_cast<int>(abi::kErrorText)));
}

TEST(KernelScripts, BadPointersAreErrors) {
  LOADED(script, R"(probe process.function("called") { printf("%s\n", $s) })", survive_errors);
  script.start();
  spile_test_called(1, reinterpret_cast<const char*>(16));
  spile_test_called(1, "good");
  std::vector<std::string> records = script.records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[0].find("read fault"), std::string::npos) << records[0];
  EXPECT_EQ(records[1], "1 good");
}

// How often this thread has left its processor until now, of its own will or not (proc(5), status).
long switches_of_this_thread() {
  std::ifstream status("/proc/thread-self/status");
  long sum = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.find("ctxt_switches:") != std::string::npos) sum += std::stol(line.substr(line.find(':') + 1));
  }
  return sum;
}

TEST(KernelScripts, TracepointOfThisProcess) {
  LOADED(script, R"(
    global away, from, to
    probe kernel.trace("sched:sched_switch") {
      if (pid() == target()) { away++; from[$prev_pid]++; to[$next_comm]++ }
    }
    probe end { printdln(" ", away, from[1], to["x"]) })");
  script.start();
  // Each switch is to be counted. On a busy machine a sleep may be over before the thread has left the processor, so the kernel's
  // own count says how many there were.
  const long before = switches_of_this_thread();
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const long switches = switches_of_this_thread() - before;
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_GE(switches, 10);
  EXPECT_GE(std::stol(script.scalar("away")), switches);
  EXPECT_GE(std::stol(script.elements("from")[std::to_string(gettid())]), switches);
  int64_t sum = 0;
  for (const auto& [name, count] : script.elements("to")) sum += std::stol(count);
  EXPECT_EQ(std::to_string(sum), script.scalar("away"));
}

// Many tracepoints of system calls are one program, which looks at the number of the call.
TEST(KernelScripts, SystemCallsByNumber) {
  LOADED(script, R"(
    global entered, left
    probe kernel.trace("syscalls:sys_enter_*") { if (tid() == target()) entered[pp(), $number, $first] <<< 1 }
    probe kernel.trace("syscalls:sys_exit_*") { if (tid() == target()) left[pp(), $result] <<< 1 }
    probe end { println(@count(entered["", 1, 1]), @count(left["", 1])) })");
  script.start();
  EXPECT_EQ(script.kernel().attached().size(), 2u);
  EXPECT_EQ(script.kernel().attached().front().second, "raw tracepoint raw_syscalls:sys_enter");
  for (int i = 0; i < 300; ++i) syscall(SYS_dup, 100'000), syscall(SYS_getppid, 7), syscall(SYS_geteuid);
  syscall(SYS_getgid, 8);
  EXPECT_TRUE(script.kernel().detach().ok());
  auto counts = [&](const char* global) {
    std::map<std::string, std::string> all;
    for (const auto& [key, value] : script.elements(global)) {
      if (!key.starts_with("close")) all[key] = value.substr(0, value.find(' '));
    }
    return all;
  };
  EXPECT_EQ(counts("entered"), (std::map<std::string, std::string>{{fmt::format("dup,{},100000", SYS_dup), "300"},
                                                                   {fmt::format("getppid,{},7", SYS_getppid), "300"},
                                                                   {fmt::format("getgid,{},8", SYS_getgid), "1"}}));
  EXPECT_EQ(counts("left"), (std::map<std::string, std::string>{{fmt::format("dup,{}", -EBADF), "300"},
                                                                {fmt::format("getppid,{}", getppid()), "300"},
                                                                {fmt::format("getgid,{}", getgid()), "1"}}));
}

TEST(KernelScripts, RawTracepointsWhereNothingOfTheRecordIsUsed) {
  for (auto [body, mechanism] : {std::pair("c++", "raw tracepoint sched:sched_switch"),
                                 std::pair("c += $prev_pid > 0", "tracepoint sched:sched_switch")}) {
    LOADED(script,
           fmt::format(
               "global c probe kernel.trace(\"sched:sched_switch\") {{ if (pid() == target()) {} }} probe end {{ println(c) }}",
               body));
    script.start();
    ASSERT_EQ(script.kernel().attached().size(), 1u);
    EXPECT_EQ(script.kernel().attached().front().second, mechanism);
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(script.kernel().detach().ok());
    EXPECT_GE(std::stol(script.scalar("c")), 20);
  }
}

TEST(KernelScripts, ProfileOfThisProcess) {
  LOADED(script, R"(global hits probe timer.profile { if (pid() == target()) hits[execname(), tid()] <<< 1 }
                    probe end { println(@count(hits["", 1])) })");
  script.start();
  auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  long end = used() + 100'000'000;
  while (used() < end) {
  }
  EXPECT_TRUE(script.kernel().detach().ok());
  auto hits = script.elements("hits");
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_GE(std::stol(hits.begin()->second), 10);
}

TEST(KernelScripts, ExitIsARecordAndAFlag) {
  LOADED(script, R"(probe process.function("called") { if ($a == 2) exit() })");
  script.start();
  call(4);
  EXPECT_EQ(script.records(), (std::vector<std::string>{std::to_string(abi::kExit)}));
  auto* control = reinterpret_cast<abi::KernelControl*>(script.kernel().data(abi::kKernelControlSymbol).data());
  EXPECT_EQ(control->exit_requested, 1u);
}

TEST(KernelScripts, ThreadsOnAllCpusCountExactly) {
  LOADED(script, R"(global c, a, s probe process.function("called") { c++; a[$a & 7]++; s <<< 1 }
                    probe end { printdln(" ", c, a[1], @count(s)) })");
  script.start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { call(5000); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("c"), "20000");
  EXPECT_EQ(script.scalar("s").substr(0, 6), "20000 ");
  for (const auto& [key, count] : script.elements("a")) EXPECT_EQ(count, "2500") << key;
}

// Runs `work` in some threads at once.
void together(const std::function<void()>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

uint64_t skipped(Script& script) {
  auto counts = script.kernel().skipped();
  EXPECT_TRUE(counts.ok());
  return std::accumulate(counts->begin(), counts->end(), uint64_t{0});
}

TEST(KernelScripts, NoHandlerRunsAfterExit) {
  LOADED(script, R"(global c, d probe process.function("called") { d++; if (++c == 5) exit() } probe end { println(c, d) })");
  script.start();
  together([] { call(1000); });
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("c"), "5");
  EXPECT_EQ(script.scalar("d"), "5");
}

TEST(KernelScripts, NoHandlerRunsAfterTooManyErrors) {
  LOADED(script, R"(global c probe process.function("called") { if (++c > 3) error("enough") } probe end { println(c) })");
  script.start();
  together([] { call(1000); });
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("c"), "4");
  EXPECT_EQ(script.records().size(), 1u);
  auto* control = reinterpret_cast<abi::KernelControl*>(script.kernel().data(abi::kKernelControlSymbol).data());
  EXPECT_EQ(control->errors, 1u);
}

TEST(KernelScripts, ElementsOfTheOwnThreadAreNeverSkipped) {
  LOADED(script, R"(
    global open, pairs, wrong
    probe process.function("called") { open[tid()] = $a }
    probe process.function("other") { t = tid(); if (t in open) { pairs++; if (open[t] != $a) wrong++; delete open[t] } }
    probe end { println(pairs, wrong) })");
  script.start();
  together([] {
    for (int i = 0; i < 20'000; ++i) spile_test_called(i, ""), spile_test_other(i, "");
  });
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("pairs"), "80000");
  EXPECT_EQ(script.scalar("wrong"), "0");
  EXPECT_EQ(script.map("open"), nullptr);  // cells of threads: no map, and no lock
  EXPECT_EQ(skipped(script), 0u);
}

TEST(KernelScripts, LocksAreWaitedFor) {
  LOADED(script, R"(global n, a probe process.function("called") { n = 1 + n; a[1] = 1 + a[1] } probe end { println(n) })");
  script.start();
  together([] { call(20'000); });
  EXPECT_TRUE(script.kernel().detach().ok());
  EXPECT_EQ(script.scalar("n"), "80000");
  EXPECT_EQ(script.elements("a"), (std::map<std::string, std::string>{{"1", "80000"}}));
  EXPECT_EQ(skipped(script), 0u);
}

TEST(KernelScripts, StringsAreAsLongAsAsked) {
  const std::string text(600, 'x');
  for (uint32_t length : {0u, 64u, 512u}) {
    Script script(
        R"(global s, a probe process.function("called") { s = $s; a[$s] = 1; printf("%s\n", $s . "y") } probe end { println(s) })",
        [&](sema::Program& program) {
          program.limits.chooses_string_length = length != 0;
          if (length != 0) program.limits.max_string_length = length;
        });
    ASSERT_EQ(script.error(), "");
    script.start();
    spile_test_called(1, text.c_str());
    EXPECT_TRUE(script.kernel().detach().ok());
    uint32_t most = (length == 0 ? abi::kDefaultKernelString : length) - 1;
    EXPECT_EQ(script.records(), (std::vector<std::string>{"1 " + text.substr(0, most)}));
    EXPECT_EQ(script.elements("a").begin()->first, text.substr(0, most));
  }
  Script script(R"(probe process.function("called") { println($s) })", [](sema::Program& program) {
    program.limits.chooses_string_length = true;
    program.limits.max_string_length = 1024;
  });
  EXPECT_NE(script.error().find("at most 512 bytes"), std::string::npos) << script.error();
}

TEST(KernelScripts, RefuseWhatTheKernelCannotDo) {
  auto refused = [](const std::string& body, const std::string& what) {
    Script script("global a, b% function f(n) { if (n > 0) return f(n - 1); return 0 } probe process.function(\"called\") { " +
                  body + " } probe begin { a[1] = 1; b[1] = 1 } probe end { printdln(\" \", a[1], b[1]) }");
    EXPECT_NE(script.error().find(what), std::string::npos) << script.error();
    EXPECT_NE(script.error().find("t.stp:1:"), std::string::npos) << script.error();
  };
  refused("if (\"x\" =~ \"x\") println(matched(0))", "matched()");
  refused("b[1] = 2", "wraps");
  refused("println(f($a))", "recursion");
}

}  // namespace
}  // namespace spile::session

// Not gtest_main: without the privilege to load programs the tests of the kernel are left out, and it is said.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto privilege = spile::bpf::check_privilege();
  if (!privilege) {
    std::printf("skip: KernelScripts.*: %s\n", privilege.error().message.c_str());
    testing::GTEST_FLAG(filter) = "-KernelScripts.*";
  }
  return RUN_ALL_TESTS();
}
