// The loader against this machine's kernel. Handlers are attached only to this process, or look at nothing else first.
// Without privilege the kernel tests are not registered; the test says so.

#include "abi/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "bpf/bpf.h"

extern "C" __attribute__((noinline, used)) long spile_test_probed(long a) {
  asm volatile("" : "+r"(a));
  return a * 2 + 1;
}

// A counter as marks have it: data of the program that the kernel changes while a place is probed.
__attribute__((section(".probes"), used)) static volatile unsigned short spile_test_semaphore = 0;

namespace spile::bpf {
namespace {

std::vector<uint8_t> handlers() {
  std::ifstream file(SPILE_TEST_HANDLERS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The file that has an address of this program, and where: from its own mappings.
std::pair<std::string, uint64_t> own_place(const volatile void* pointer) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    unsigned long begin, end, offset;
    char path[512] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %511s", &begin, &end, &offset, path) < 4) continue;
    if (begin <= address && address < end) return {path, address - begin + offset};
  }
  return {};
}

AttachPoint own_function(AttachPoint::Kind kind) {
  AttachPoint point;
  point.kind = kind;
  point.process = getpid();
  point.text = "process(\"bpf_test\").function(\"spile_test_probed\")";
  std::tie(point.path, point.file_offset) = own_place(reinterpret_cast<const void*>(&spile_test_probed));
  return point;
}

struct Loaded {
  std::vector<uint8_t> object = handlers();
  ObjectSpec spec;
  Loaded() {
    spec.object = object;
    MapSpec calls{{MapSpec::Kind::kPerCpuArray, 4, 8, abi::kKernelShards}, "test_calls"};
    calls.merge = MapSpec::Merge::kSum;
    calls.sharded = true;
    MapSpec by_key{{MapSpec::Kind::kPerCpuHash, 16, 8, 64}, "test_by_key"};
    by_key.merge = MapSpec::Merge::kSum;
    by_key.sharded = true;
    spec.maps = {calls, by_key, {{MapSpec::Kind::kRing, 0, 0, 65536}, "test_ring"}};
    int64_t target = getpid();
    const auto* at = reinterpret_cast<const uint8_t*>(&target);
    spec.data = {{"test_constants", {at, at + sizeof target}}};
  }
};

int64_t as_long(std::span<const uint8_t> value) {
  int64_t out = 0;
  if (!value.empty()) std::memcpy(&out, value.data(), std::min(value.size(), sizeof out));
  return out;
}

std::map<int64_t, int64_t> elements(Kernel& kernel, const std::string& map) {
  std::map<int64_t, int64_t> all;
  auto done = kernel.elements(map, [&](auto key, auto value) { all[as_long(key)] = as_long(value); });
  EXPECT_TRUE(done) << done.error().message;
  return all;
}

void call(long count) {
  for (long a = 0; a < count; ++a) spile_test_probed(a);
}

class KernelTest : public testing::Test {
 protected:
  std::unique_ptr<Kernel> start(Loaded& loaded) {
    auto kernel = load(loaded.spec);
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message << " (" << kernel.error().hint << ")";
      return nullptr;
    }
    auto attached = (*kernel)->attach();
    EXPECT_TRUE(attached) << attached.error().message;
    if (!attached) return nullptr;
    auto control = (*kernel)->data(abi::kKernelControlSymbol);
    EXPECT_EQ(control.size(), sizeof(abi::KernelControl));
    reinterpret_cast<abi::KernelControl*>(control.data())->enabled = 1;
    return std::move(kernel).value();
  }
};

TEST_F(KernelTest, UprobeCountsEveryCall) {
  Loaded loaded;
  loaded.spec.programs = {{"uprobe", {own_function(AttachPoint::Kind::kUprobe)}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  call(1000);
  EXPECT_TRUE(kernel->detach().ok());
  call(5);
  EXPECT_EQ(elements(*kernel, "test_calls"), (std::map<int64_t, int64_t>{{0, 1000}}));
  EXPECT_EQ(elements(*kernel, "test_by_key"), (std::map<int64_t, int64_t>{{0, 124500}, {1, 124750}, {2, 125000}, {3, 125250}}));
}

TEST_F(KernelTest, UprobeMultiCountsEveryCall) {
  if (!has_uprobe_multi(true)) GTEST_SKIP() << "this kernel has no uprobe.multi for one process (Linux 6.10)";
  Loaded loaded;
  loaded.spec.programs = {{"uprobe", {own_function(AttachPoint::Kind::kUprobeMulti)}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  call(1000);
  std::thread([] { call(500); }).join();
  EXPECT_TRUE(kernel->detach().ok());
  call(5);
  EXPECT_EQ(elements(*kernel, "test_calls"), (std::map<int64_t, int64_t>{{0, 1500}}));
}

TEST_F(KernelTest, NextWayIsTakenWhereALinkIsRefused) {
  if (!has_uprobe_multi(true)) GTEST_SKIP() << "this kernel has no uprobe.multi for one process (Linux 6.10)";
  Loaded loaded;
  ProgramSpec multi{"uprobe", {own_function(AttachPoint::Kind::kUprobeMulti)}, 0, 0},
      single{"uprobe", {own_function(AttachPoint::Kind::kUprobe)}, 0, 1};
  multi.points[0].file_offset = 1ULL << 40;
  loaded.spec.programs = {multi, single};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  ASSERT_EQ(kernel->attached().size(), 1u);
  EXPECT_EQ(kernel->attached()[0].second.find("uprobe at "), 0u) << kernel->attached()[0].second;
  call(10);
  EXPECT_EQ(elements(*kernel, "test_calls")[0], 10);
}

TEST_F(KernelTest, SemaphoreIsRaisedWhileAttached) {
  using Kind = AttachPoint::Kind;
  for (Kind kind : {Kind::kUprobe, Kind::kUprobeMulti}) {
    if (kind == Kind::kUprobeMulti && !has_uprobe_multi(true)) continue;
    Loaded loaded;
    AttachPoint point = own_function(kind);
    point.semaphore_offset = own_place(&spile_test_semaphore).second;
    loaded.spec.programs = {{"uprobe", {point}}};
    EXPECT_EQ(spile_test_semaphore, 0);
    auto kernel = start(loaded);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(spile_test_semaphore, 1);
    call(10);
    EXPECT_TRUE(kernel->detach().ok());
    EXPECT_EQ(elements(*kernel, "test_calls")[0], 10);
    kernel.reset();
    EXPECT_EQ(spile_test_semaphore, 0);
  }
}

TEST_F(KernelTest, HandlersWaitForTheirStart) {
  Loaded loaded;
  loaded.spec.programs = {{"uprobe", {own_function(AttachPoint::Kind::kUprobe)}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  auto* control = reinterpret_cast<abi::KernelControl*>(kernel->data(abi::kKernelControlSymbol).data());
  EXPECT_EQ(control->exit_requested, 7u);  // initial data of the object
  control->enabled = 0;
  call(10);
  EXPECT_EQ(elements(*kernel, "test_calls")[0], 0);
}

TEST_F(KernelTest, ElementsArePutErasedAndCleared) {
  Loaded loaded;
  loaded.spec.programs = {{"uprobe", {own_function(AttachPoint::Kind::kUprobe)}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  call(100);
  int64_t key = 2, value = 7;
  std::span<const uint8_t> key_bytes{reinterpret_cast<uint8_t*>(&key), 8};
  ASSERT_TRUE(kernel->put("test_by_key", key_bytes, {reinterpret_cast<uint8_t*>(&value), 8}));
  EXPECT_EQ(elements(*kernel, "test_by_key")[2], 7);
  spile_test_probed(2);
  EXPECT_EQ(elements(*kernel, "test_by_key")[2], 9);
  ASSERT_TRUE(kernel->erase("test_by_key", key_bytes));
  EXPECT_FALSE(elements(*kernel, "test_by_key").contains(2));
  ASSERT_TRUE(kernel->clear("test_by_key"));
  EXPECT_TRUE(elements(*kernel, "test_by_key").empty());
  ASSERT_TRUE(kernel->clear("test_calls"));
  EXPECT_EQ(elements(*kernel, "test_calls")[0], 0);
}

TEST_F(KernelTest, CollectMovesEveryAdditionOnce) {
  Loaded loaded;
  loaded.spec.programs = {{"uprobe", {own_function(AttachPoint::Kind::kUprobe)}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  int64_t calls = 0, sum = 0;
  auto collect = [&] {
    auto done = kernel->collect(
        [&](const MapSpec& map, auto key, auto value) { (map.symbol == "test_calls" ? calls : sum) += as_long(value); });
    EXPECT_TRUE(done) << done.error().message;
  };
  std::atomic<bool> stop = false;
  int64_t called = 0, added = 0;
  std::thread caller([&] {
    for (; !stop; added += called++ % 1000) spile_test_probed(called % 1000);
  });
  for (int i = 0; i < 20; ++i) collect();
  stop = true;
  caller.join();
  for (int i = 0; i < 10; ++i, added += called++ % 1000) spile_test_probed(called % 1000);
  EXPECT_TRUE(kernel->detach().ok());
  EXPECT_LE(calls, called - 10);  // the last ones are still there
  collect();
  collect();
  EXPECT_EQ(calls, called);
  EXPECT_EQ(sum, added);
  EXPECT_GT(called, 100);
  EXPECT_TRUE(elements(*kernel, "test_by_key").empty());
}

TEST_F(KernelTest, RecordsArriveInOrderWithTheirCookie) {
  Loaded loaded;
  AttachPoint point = own_function(AttachPoint::Kind::kUretprobe);
  point.cookie = 42;
  loaded.spec.programs = {{"uretprobe", {point}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  call(500);
  pollfd wait{kernel->poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 1000), 1);
  std::vector<int64_t> returned;
  auto count = kernel->consume([&](const abi::RecordHeader& record, std::span<const uint8_t> payload) {
    EXPECT_EQ(record.probe, 42u);
    EXPECT_EQ(record.id, 3u);
    returned.push_back(as_long(payload));
  });
  ASSERT_TRUE(count);
  ASSERT_EQ(returned.size(), 500u);
  for (size_t i = 0; i < returned.size(); ++i) EXPECT_EQ(returned[i], static_cast<int64_t>(i * 2 + 1));
}

TEST_F(KernelTest, TracepointSeesThisProcessSwitch) {
  Loaded loaded;
  AttachPoint point;
  point.tracepoint = "sched:sched_switch";
  point.text = "kernel.trace(\"sched:sched_switch\")";
  loaded.spec.programs = {{"tracepoint", {point}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  // Each sleep is a switch that is to be counted.
  for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(kernel->detach().ok());
  EXPECT_GE(elements(*kernel, "test_calls")[0], 20);
}

TEST_F(KernelTest, ProfileSamplesThisProcess) {
  Loaded loaded;
  AttachPoint point;
  point.kind = AttachPoint::Kind::kSample;
  point.sample.period = 1'000'000;
  point.text = "timer.profile";
  loaded.spec.programs = {{"profile", {point}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  long end = used() + 100'000'000;
  while (used() < end) {
  }
  EXPECT_TRUE(kernel->detach().ok());
  EXPECT_GE(elements(*kernel, "test_calls")[0], 10);
}

// Each page of new memory is a fault when it is touched.
void touch_pages(size_t count) {
  const size_t size = count * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<volatile char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(const_cast<char*>(memory), size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < size; i += size / count) memory[i] = 1;
  munmap(const_cast<char*>(memory), size);
}

TEST_F(KernelTest, SamplesThreadsWhileTheyAreFollowed) {
  Loaded loaded;
  AttachPoint point;
  point.kind = AttachPoint::Kind::kSample;
  point.sample = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .period = 1};
  point.of_threads = true;
  point.program = "/bin/mine";
  point.text = "perf.sw.page_faults.process";
  loaded.spec.programs = {{"profile", {point}}};
  auto kernel = start(loaded);
  ASSERT_TRUE(kernel);
  touch_pages(100);
  EXPECT_EQ(elements(*kernel, "test_calls")[0], 0);
  ASSERT_TRUE(kernel->follow(gettid(), "/bin/other").ok());
  touch_pages(100);
  EXPECT_EQ(elements(*kernel, "test_calls")[0], 0);
  ASSERT_TRUE(kernel->follow(gettid(), "/bin/mine").ok());
  touch_pages(100);
  int64_t count = elements(*kernel, "test_calls")[0];
  EXPECT_GE(count, 100);
  EXPECT_LT(count, 200);
  kernel->unfollow(gettid());
  count = elements(*kernel, "test_calls")[0];
  touch_pages(100);
  EXPECT_EQ(elements(*kernel, "test_calls")[0], count);
}

TEST_F(KernelTest, EventsThatAreNotCountedHereAreNamed) {
  Loaded loaded;
  AttachPoint point;
  point.kind = AttachPoint::Kind::kSample;
  point.sample = {.type = PERF_TYPE_SOFTWARE, .config = 99, .period = 1};
  point.text = "perf.type(1).config(99)";
  loaded.spec.programs = {{"profile", {point}}};
  auto kernel = load(loaded.spec);
  ASSERT_TRUE(kernel);
  auto attached = (*kernel)->attach();
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().message.find("attach perf.type(1).config(99): event 0x63 of type 1 is not known to this kernel"),
            std::string::npos)
      << attached.error().message;
}

TEST_F(KernelTest, RefusedHandlerIsNamedWithItsPlace) {
  Loaded loaded;
  AttachPoint point;
  point.tracepoint = "sched:sched_switch";
  point.text = "kernel.trace(\"sched:sched_switch\")";
  point.place = "a.stp:1:7";
  loaded.spec.programs = {{"wrong", {point}}};
  auto kernel = load(loaded.spec);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(
      kernel.error().message,
      testing::MatchesRegex("the kernel refuses the handler of kernel.trace\\(\"sched:sched_switch\"\\) at a.stp:1:7, in the "
                            "statement at .*handlers.c:[0-9]+:10 \\(\\*\\(int\\*\\)lookup.&test_by_key, key.;\\)"));
  loaded.spec.verbosity = 3;
  kernel = load(loaded.spec);
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message.find("map_value_or_null"), std::string::npos) << kernel.error().message;
}

TEST_F(KernelTest, StatementThatIsTooMuchIsNamed) {
  Loaded loaded;
  AttachPoint point;
  point.tracepoint = "sched:sched_switch";
  point.text = "kernel.trace(\"sched:sched_switch\")";
  loaded.spec.programs = {{"endless", {point}}};
  auto kernel = load(loaded.spec);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().message,
              testing::MatchesRegex("the kernel refuses .*, in the statement at .*handlers.c:[0-9]+:[0-9]+ "
                                    "\\((turns .= i;|for .*)\\): it has too many ways to run"));
}

TEST_F(KernelTest, FunctionsOfTheObjectAreLinked) {
  Loaded loaded;
  AttachPoint point;
  point.tracepoint = "sched:sched_switch";
  loaded.spec.programs = {{"calls", {point}}};
  auto kernel = load(loaded.spec);
  EXPECT_TRUE(kernel.ok()) << kernel.error().message;
}

TEST_F(KernelTest, UnknownTracepointIsNamed) {
  Loaded loaded;
  AttachPoint point;
  point.tracepoint = "sched:sched_swich";
  point.text = "kernel.trace(\"sched:sched_swich\")";
  loaded.spec.programs = {{"tracepoint", {point}}};
  auto kernel = load(loaded.spec);
  ASSERT_TRUE(kernel);
  auto attached = (*kernel)->attach();
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().message.find("sched_swich"), std::string::npos);
}

TEST_F(KernelTest, FileThatIsNotThereIsNamed) {
  Loaded loaded;
  AttachPoint point = own_function(AttachPoint::Kind::kUprobe);
  point.path = "/nonexistent/program";
  loaded.spec.programs = {{"uprobe", {point}}};
  auto kernel = load(loaded.spec);
  ASSERT_TRUE(kernel);
  auto attached = (*kernel)->attach();
  ASSERT_FALSE(attached);
  EXPECT_NE(attached.error().message.find("No such file"), std::string::npos) << attached.error().message;
}

TEST(Object, RefusesWhatIsNotEbpf) {
  ObjectSpec spec;
  std::vector<uint8_t> junk(64, 1);
  spec.object = junk;
  EXPECT_FALSE(load(spec));
  std::ifstream own("/proc/self/exe", std::ios::binary);
  std::vector<uint8_t> program{std::istreambuf_iterator<char>(own), {}};
  spec.object = program;
  auto loaded = load(spec);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("not a relocatable eBPF object"), std::string::npos);
}

}  // namespace
}  // namespace spile::bpf

// Not gtest_main: without the privilege to load programs the tests of the kernel are left out, and it is said.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto privilege = spile::bpf::check_privilege();
  if (!privilege) {
    std::printf("skip: KernelTest.*: %s\n", privilege.error().message.c_str());
    testing::GTEST_FLAG(filter) = "-KernelTest.*";
  }
  return RUN_ALL_TESTS();
}
