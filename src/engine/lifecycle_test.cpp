// What happens to processes while they are probed: fork, vfork, exec, libraries, signals, interrupted system calls,
// stops, faults, the controller's death.

#include <sys/mman.h>
#include <sys/prctl.h>

#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

const std::string kVictim = ENGINE_VICTIM;

class LifecycleTest : public EngineFixture {
 protected:
  const Event* find(Event::Kind kind) const {
    for (const Event& event : events_) {
      if (event.kind == kind) return &event;
    }
    return nullptr;
  }
  std::string troubles() const {
    std::string text;
    for (const Event& event : events_) {
      if (event.kind == Event::Kind::kTrouble) text += event.message + "\n";
    }
    return text;
  }
  std::vector<Event> events_;
};

TEST_F(LifecycleTest, ForkedChildrenAreCountedAndReported) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1), returns(kVictim, "leaf", 2)});
  EXPECT_EQ(victim.ask("fork 1000", engine_.get(), &events_), "child 5");
  EXPECT_EQ(counts(1).entered, 1000u);
  EXPECT_EQ(counts(2).returned, 1000u);
  const Event* started = find(Event::Kind::kProcessStarted);
  const Event* ended = find(Event::Kind::kProcessExited);
  ASSERT_TRUE(started && ended) << troubles();
  EXPECT_EQ(started->parent, victim.pid());
  EXPECT_EQ(ended->pid, started->pid);
  EXPECT_EQ(WEXITSTATUS(ended->status), 5);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, ForkInsideAReturnProbedCallReturnsInBoth) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({returns(kVictim, "fork_inside", 1)});
  for (int i = 0; i < 20; i++) EXPECT_EQ(victim.ask("inside", engine_.get()), "inside 9");
  EXPECT_EQ(counts(1).returned, 20u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, VforkChildrenShareTheirParentsProbes) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1), returns(kVictim, "leaf", 2)});
  for (int i = 0; i < 20; i++) EXPECT_EQ(victim.ask("vfork", engine_.get()), "child 6");
  EXPECT_EQ(counts(1).entered, 20u);
  EXPECT_EQ(counts(2).returned, 20u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, SpawnedProgramsAreArmedAnew) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  EXPECT_EQ(victim.ask("spawn 300", engine_.get(), &events_), "spawned 0 11");
  EXPECT_EQ(counts(1).entered, 600u);
  const Event* executed = find(Event::Kind::kProcessExecuted);
  ASSERT_TRUE(executed) << troubles();
  EXPECT_EQ(executed->path, std::filesystem::canonical(kVictim));
  EXPECT_EQ(executed->report.armed(), 1u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, ExecOfTheTargetIsArmedAnew) {
  Program victim({kVictim, "3"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  EXPECT_EQ(victim.ask("calls 10", engine_.get()), "done");
  EXPECT_EQ(victim.ask("exec", engine_.get()), fmt::format("ready {}", victim.pid()));
  EXPECT_EQ(victim.ask("calls 10", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 120u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, LateLibrariesAreArmedBeforeTheirConstructors) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(ENGINE_LATE_LIBRARY, "late", 1), entry(kVictim, "leaf", 2)});
  for (int i = 1; i <= 3; i++) {
    EXPECT_EQ(victim.ask(fmt::format("dlopen {} 100", ENGINE_LATE_LIBRARY), engine_.get(), &events_), "loaded yes");
    EXPECT_EQ(counts(1).entered, 101u * i) << troubles();
    EXPECT_EQ(victim.ask("dlclose", engine_.get()), "done");
  }
  ASSERT_TRUE(find(Event::Kind::kArmed));
  EXPECT_EQ(find(Event::Kind::kArmed)->report.armed(), 1u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, InitialLibrariesOfLaunchedProgramsAreArmed) {
  std::string libc;
  EngineOptions options;
  options.resolve_module = [&](pid_t, const Module& module) -> std::vector<SiteRequest> {
    if (module.path.find("/libc.so.6") == std::string::npos) return {};
    libc = module.path;
    return {entry(module.path, "pthread_create", 1)};
  };
  open_engine(options);
  auto pid = engine_->launch({.arguments = {"/bin/true"}});
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  engine_->resume_all();
  bool ended = false;
  while (!ended) {
    auto events = engine_->poll(100);
    for (Event& event : *events) ended |= event.kind == Event::Kind::kProcessExited;
    events_.insert(events_.end(), events->begin(), events->end());
  }
  EXPECT_NE(libc, "");
  ASSERT_TRUE(find(Event::Kind::kArmed)) << troubles();
  EXPECT_EQ(find(Event::Kind::kArmed)->report.armed(), 1u);
}

TEST_F(LifecycleTest, SignalsAtOneKilohertzKeepCountsExact) {
  Program victim({kVictim, "2"});
  victim.answer();
  EXPECT_EQ(victim.ask("ticks"), "done");
  for (int i = 0; i < 20; i++) {
    attach(victim.pid());
    arm({returns(kVictim, "many", 1), returns(kVictim, "leaf", 2)});
    uint64_t before = counts(1).returned;
    EXPECT_EQ(victim.ask("calls 2000", engine_.get()), "done");
    EXPECT_EQ(counts(1).returned - before, 4000u);
    detach();
    ASSERT_EQ(traces(victim.pid()), "");
  }
}

TEST_F(LifecycleTest, InterruptedSystemCallsGoOn) {
  for (const char* what : {"nanosleep", "poll"}) {
    Program victim({kVictim, "1"});
    victim.answer();
    victim.tell(std::string("wait ") + what);
    for (int i = 0; i < 5; i++) {
      usleep(10000);
      open_engine({});
      attach(victim.pid());
      arm({entry(kVictim, "leaf", 1)});
      detach();
    }
    std::string answer = victim.answer();
    EXPECT_EQ(answer, "waited 0 0 in time") << what;
  }
}

TEST_F(LifecycleTest, StoppedProcessesStayStopped) {
  Program victim({kVictim, "2"});
  victim.answer();
  kill(victim.pid(), SIGSTOP);
  usleep(20000);
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  for (int i = 0; i < 5; i++) (void)engine_->poll(10);
  std::ifstream status(fmt::format("/proc/{}/status", victim.pid()));
  std::string text((std::istreambuf_iterator<char>(status)), {});
  EXPECT_TRUE(text.find("State:\tt") != std::string::npos || text.find("State:\tT") != std::string::npos);
  kill(victim.pid(), SIGCONT);
  EXPECT_EQ(victim.ask("calls 5", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 20u);
  kill(victim.pid(), SIGSTOP);
  usleep(20000);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  kill(victim.pid(), SIGCONT);
  EXPECT_EQ(victim.ask("calls 5"), "done");
}

TEST_F(LifecycleTest, FaultsInHandlersAreFixedAndOthersAreNot) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest reader = base(kVictim, "pointer_taker", 1);
  reader.enter_offset = handlers_.offset("read_memory");
  arm({reader});
  EXPECT_EQ(victim.ask("pointer 0", engine_.get()), "pointer");
  EXPECT_EQ(counts(0).sum, 42u);
  for (const char* bad : {"pointer 10", "pointer dead00000000beef"}) {
    EXPECT_EQ(victim.ask(bad, engine_.get()), "pointer");
  }
  EXPECT_EQ(counts(0).entered, 3u);
  EXPECT_EQ(counts(0).sum, 42u);
  EXPECT_EQ(victim.ask("crash", engine_.get()), "fault caught");
}

TEST_F(LifecycleTest, AttachAndDetachUnderLoadManyTimes) {
  Program victim({kVictim, "3"});
  victim.answer();
  EXPECT_EQ(victim.ask("ticks"), "done");
  EXPECT_EQ(victim.ask("spin"), "done");
  size_t descriptors = count_descriptors(victim.pid());
  std::vector<SiteRequest> sites;
  const char* names[] = {"leaf", "tiny", "many", "variadic", "recurse", "give_large", "call_through"};
  for (uint32_t i = 0; i < 7; i++) sites.push_back(i % 2 ? returns(kVictim, names[i], i) : entry(kVictim, names[i], i));
  for (int round = 0; round < 60; round++) {
    open_engine({});
    attach(victim.pid());
    arm(sites);
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(round % 7);
    while (std::chrono::steady_clock::now() < until) (void)engine_->poll(1);
    detach();
    ASSERT_EQ(traces(victim.pid()), "") << round;
  }
  EXPECT_EQ(count_descriptors(victim.pid()), descriptors);
  EXPECT_EQ(victim.ask("rest"), "done");
}

TEST_F(LifecycleTest, TargetOutlivesAKilledControllerAndTheNextOneCleansUp) {
  Program victim({kVictim, "2"});
  victim.answer();
  engine_.reset();
  int armed[2];
  ASSERT_EQ(pipe(armed), 0);
  pid_t controller = fork();
  if (controller == 0) {
    open_engine({});
    auto attached = engine_->attach(victim.pid());
    auto report = engine_->arm(std::vector{entry(kVictim, "leaf", 1), returns(kVictim, "recurse", 2)});
    char byte = attached.ok() && report.ok() && report->armed() == 2 ? 'y' : 'n';
    (void)!write(armed[1], &byte, 1);
    for (;;) (void)engine_->poll(100);
  }
  char byte = 0;
  ASSERT_EQ(read(armed[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  EXPECT_EQ(victim.ask("spin"), "done");
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);
  usleep(50000);
  EXPECT_NE(traces(victim.pid()), "");
  open_engine({});
  attach(victim.pid());
  EXPECT_EQ(traces(victim.pid()), "");
  arm({entry(kVictim, "leaf", 1)});
  EXPECT_EQ(victim.ask("rest", engine_.get()), "done");
  uint64_t before = counts(1).entered;
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered - before, 400u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

}  // namespace
}  // namespace spile::engine::test
