// Real programs with everything that they export probed: they go on working, and arming is quick.

#include <netinet/in.h>
#include <sys/socket.h>

#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

class ScaleTest : public EngineFixture {
 protected:
  std::vector<SiteRequest> all_exports(const std::string& path, bool with_returns) {
    std::vector<SiteRequest> sites;
    uint32_t site = 0;
    std::string canonical = std::filesystem::canonical(path);
    for (auto& [name, symbol] : read_symbols(path, SHT_DYNSYM)) {
      SiteRequest request;
      request.site_id = site++ % 900 + 1;
      request.module_path = canonical;
      request.address = FileAddress(symbol.address);
      request.size = symbol.size;
      if (with_returns) {
        request.probe = ReturnProbe{.enter = handlers_.offset("enter_return"), .exit = handlers_.offset("exit_return")};
      } else {
        request.flags = abi::kWantsSiteId;
        request.probe = EntryProbe{handlers_.offset("count_by_id")};
      }
      sites.push_back(request);
    }
    return sites;
  }
  // Every function that unwinders know, with a name or without (System V psABI, "Exception Frame Header": pairs of a function's
  // begin and its frame description, of 32 bits each, relative to the header).
  std::vector<SiteRequest> all_frames(const std::string& path) {
    std::vector<uint8_t> file = read_file(path);
    auto word = [&](uint64_t at) {
      int32_t value = 0;
      if (at + 4 <= file.size()) memcpy(&value, &file[at], 4);
      return value;
    };
    auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
    auto* programs = reinterpret_cast<const Elf64_Phdr*>(&file[header->e_phoff]);
    std::string canonical = std::filesystem::canonical(path);
    uint32_t handler = handlers_.offset("count_by_id");
    std::vector<SiteRequest> sites;
    for (int i = 0; i < header->e_phnum; i++) {
      if (programs[i].p_type != PT_GNU_EH_FRAME) continue;
      // Addresses and offsets are the same here: both lie in the first segment.
      uint64_t at = programs[i].p_offset;
      EXPECT_EQ(at, programs[i].p_vaddr);
      for (int32_t n = 0; n < word(at + 8); n++) {
        uint64_t pair = at + 12 + 8 * static_cast<uint64_t>(n);
        uint64_t frame = at + static_cast<uint64_t>(static_cast<int64_t>(word(pair + 4)));
        SiteRequest request;
        request.site_id = static_cast<uint32_t>(n % 900 + 1);
        request.module_path = canonical;
        request.address = FileAddress(at + static_cast<uint64_t>(static_cast<int64_t>(word(pair))));
        request.size = static_cast<uint32_t>(word(frame + 12));
        request.flags = abi::kWantsSiteId;
        request.probe = EntryProbe{handler};
        sites.push_back(request);
      }
    }
    return sites;
  }
  void print_mechanisms(const char* what, const ArmReport& report) {
    std::map<std::string, size_t> reasons;
    for (const SiteOutcome& outcome : report.outcomes) {
      reasons[outcome.mechanism == Mechanism::kRefused ? outcome.reason : mechanism_name(outcome.mechanism)]++;
    }
    fmt::print("{}: {} of {} functions armed; prepared in {:.1f} ms, paused {:.2f} ms in all, {:.2f} ms at once\n", what,
               report.armed(), report.outcomes.size(), report.prepare_ns / 1e6, report.total_pause_ns / 1e6,
               report.pause_ns / 1e6);
    for (auto& [reason, count] : reasons) fmt::print("  {:7} {}\n", count, reason);
    fflush(stdout);
  }
};

bool listens(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool yes = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return yes;
}

TEST_F(ScaleTest, RedisUnderLoadWithAllItsExportsProbed) {
  const std::string server = "/usr/bin/redis-server";
  if (access(server.c_str(), X_OK) != 0) GTEST_SKIP() << "redis-server is not installed";
  const int port = 17201;
  Program redis({server, "--port", std::to_string(port), "--save", "", "--bind", "127.0.0.1", "--daemonize", "no"});
  for (int i = 0; i < 1200 && !listens(port); i++) usleep(50000);
  ASSERT_TRUE(listens(port));
  Program load(
      {"/usr/bin/redis-benchmark", "-p", std::to_string(port), "-c", "50", "-n", "60000", "-q", "-t", "set,get,incr,lpush,zadd"});
  std::string executable = std::filesystem::canonical(server);
  size_t descriptors = 0;
  for (int round = 0; round < 5; round++) {
    open_engine({});
    attach(redis.pid());
    auto report = engine_->arm(all_exports(executable, round % 2 == 1));
    ASSERT_TRUE(report.ok()) << report.error().message;
    if (round == 0) print_mechanisms("redis-server", *report);
    EXPECT_GT(report->armed(), report->outcomes.size() * 98 / 100);
    EXPECT_LT(report->pause_ns, 2'000'000'000u);  // 1 to 3 ms on a machine that has nothing else to do
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < until) (void)engine_->poll(20);
    detach();
    ASSERT_EQ(traces(redis.pid()), "");
    if (descriptors == 0) descriptors = count_mappings(redis.pid());
  }
  EXPECT_TRUE(listens(port));
}

TEST_F(ScaleTest, PythonWithAllItsExportsProbed) {
  const std::string python = "/usr/bin/python3.11";
  if (access(python.c_str(), X_OK) != 0) GTEST_SKIP() << "python3.11 is not installed";
  auto pid = engine_->launch({.arguments = {python, "-c",
                                            "import json, sys\nx = 0\nfor i in range(100000): x += len(json.dumps(i))\n"
                                            "sys.exit(x == 488890 and 23)"}});
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  auto report = engine_->arm(all_exports(std::filesystem::canonical(python), true));
  ASSERT_TRUE(report.ok()) << report.error().message;
  print_mechanisms("python3.11", *report);
  engine_->resume_all();
  int status = -1;
  while (status == -1) {
    auto events = engine_->poll(100);
    for (Event& event : *events) {
      if (event.kind == Event::Kind::kProcessExited && event.pid == *pid) status = event.status;
      if (event.kind == Event::Kind::kTrouble) fmt::print("{}\n", event.message);
    }
  }
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 23);
}

TEST_F(ScaleTest, LibcWithAllItsExportsProbed) {
  Program victim({ENGINE_VICTIM, "3"});
  victim.answer();
  attach(victim.pid());
  std::string libc;
  auto modules = engine_->modules(victim.pid());
  for (const Module& module : *modules) {
    if (module.path.find("/libc.so.6") != std::string::npos) libc = module.path;
  }
  ASSERT_NE(libc, "");
  auto report = engine_->arm(all_exports(libc, true));
  ASSERT_TRUE(report.ok()) << report.error().message;
  print_mechanisms("libc", *report);
  EXPECT_EQ(victim.ask("ticks", engine_.get()), "done");
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
    EXPECT_EQ(victim.ask("longjmp 100", engine_.get()), "done");
    EXPECT_EQ(victim.ask("fork 10", engine_.get()), "child 5");
    EXPECT_EQ(victim.ask("vfork", engine_.get()), "child 6");
    EXPECT_EQ(victim.ask("inside", engine_.get()), "inside 9");
    EXPECT_EQ(victim.ask("spawn 10", engine_.get()), "spawned 0 11");
    EXPECT_EQ(victim.ask(fmt::format("dlopen {} 10", ENGINE_LATE_LIBRARY), engine_.get()), "loaded yes");
    EXPECT_EQ(victim.ask("dlclose", engine_.get()), "done");
  }
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("calls 100"), "done");
}

// 118,000 functions, while threads run: 0.9 s of processor time.
TEST_F(ScaleTest, AllFunctionsOfLibLlvm) {
  const std::string library = "/usr/lib/llvm-19/lib/libLLVM.so.19.1";
  if (access(library.c_str(), R_OK) != 0) GTEST_SKIP() << "libLLVM 19 is not installed";
  Program victim({ENGINE_VICTIM, "2"});
  victim.answer();
  EXPECT_EQ(victim.ask("dlopen " + library + " 0"), "loaded yes");
  EXPECT_EQ(victim.ask("spin"), "done");
  attach(victim.pid());
  auto sites = all_frames(library);
  auto processor_time = [] { return static_cast<double>(clock()) / CLOCKS_PER_SEC; };
  double processor = processor_time();
  auto start = std::chrono::steady_clock::now();
  auto report = engine_->arm(sites);
  ASSERT_TRUE(report.ok()) << report.error().message;
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  processor = processor_time() - processor;
  print_mechanisms("libLLVM", *report);
  start = std::chrono::steady_clock::now();
  detach();
  std::chrono::duration<double> left = std::chrono::steady_clock::now() - start;
  fmt::print("armed in {:.2f} s, of these {:.2f} s processor time; detached in {:.2f} s\n", took.count(), processor,
             left.count());
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("rest"), "done");
  EXPECT_GT(report->outcomes.size(), 100'000u);
  EXPECT_GT(report->armed(), report->outcomes.size() / 1000 * 995);
  auto by_int3 = std::count_if(report->outcomes.begin(), report->outcomes.end(),
                               [](const SiteOutcome& outcome) { return outcome.mechanism == Mechanism::kInt3; });
  EXPECT_LT(static_cast<size_t>(by_int3), report->outcomes.size() / 1000);
  EXPECT_LT(took.count(), 50.0);
  EXPECT_LT(report->total_pause_ns, 3'000'000'000u);
}

}  // namespace
}  // namespace spile::engine::test
