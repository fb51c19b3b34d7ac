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
  options.events.resolve_module = [&](pid_t, const Module& module) -> std::vector<SiteRequest> {
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

TEST_F(LifecycleTest, SitesThatWereGivenAreNotArmedAgainForTheResolver) {
  EngineOptions options;
  options.events.resolve_module = [&](pid_t, const Module& module) -> std::vector<SiteRequest> {
    if (module.path != kVictim) return {};
    return {entry(kVictim, "many", 1), entry(kVictim, "leaf", 2)};
  };
  open_engine(options);
  Program victim({kVictim, "2"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "many", 1)});
  const uint64_t many = counts(1).entered, leaf = counts(2).entered;
  EXPECT_EQ(victim.ask("calls 2000", engine_.get(), &events_), "done");
  EXPECT_EQ(counts(1).entered - many, 4000u) << troubles();
  EXPECT_GT(counts(2).entered, leaf) << "the resolver's other site";
  detach();
}

TEST_F(LifecycleTest, SignalsAtOneKilohertzKeepCountsExact) {
  Program victim({kVictim, "2"});
  victim.answer();
  EXPECT_EQ(victim.ask("ticks"), "done");
  for (int i = 0; i < 20; i++) {
    attach(victim.pid());
    arm({returns(kVictim, "many", 1), returns(kVictim, "leaf", 2)});
    uint64_t before = counts(1).returned;
    EXPECT_EQ(victim.ask("calls 2000", engine_.get(), &events_), "done");
    for (const Event& event : events_) {
      EXPECT_NE(event.kind, Event::Kind::kProcessExited) << "status " << event.status;
    }
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
      usleep(10000);  // the call lasts for 300 ms
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
  victim.stop();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  for (int i = 0; i < 5; i++) (void)engine_->poll(10);
  std::ifstream status(fmt::format("/proc/{}/status", victim.pid()));
  std::string text((std::istreambuf_iterator<char>(status)), {});
  EXPECT_TRUE(text.find("State:\tt") != std::string::npos || text.find("State:\tT") != std::string::npos);
  kill(victim.pid(), SIGCONT);
  EXPECT_EQ(victim.ask("calls 5", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 20u);
  victim.stop();
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  kill(victim.pid(), SIGCONT);
  EXPECT_EQ(victim.ask("calls 5"), "done");
}

TEST_F(LifecycleTest, StoppedInTheMiddleOfHandlersTheyAreLedOut) {
  Program victim({kVictim, "4"});
  victim.answer();
  EXPECT_EQ(victim.ask("spin"), "done");
  std::vector<SiteRequest> sites;
  const char* names[] = {"leaf", "tiny", "many", "variadic", "recurse", "give_large", "call_through"};
  for (uint32_t i = 0; i < 7; i++) sites.push_back(returns(kVictim, names[i], i));
  for (int round = 0; round < 10; round++) {
    open_engine({});
    attach(victim.pid());
    arm(sites);
    for (int i = 0; i < 3; i++) (void)engine_->poll(3);
    kill(victim.pid(), SIGSTOP);
    for (int i = 0; i < 5; i++) (void)engine_->poll(2);
    detach();
    ASSERT_EQ(traces(victim.pid()), "");
    kill(victim.pid(), SIGCONT);
  }
  EXPECT_EQ(victim.ask("rest"), "done");
}

TEST_F(LifecycleTest, FaultsInHandlersAreFixedAndOthersAreNot) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest reader = base(kVictim, "pointer_taker", 1);
  reader.probe = EntryProbe{handlers_.offset("read_memory")};
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

TEST_F(LifecycleTest, HandlersThatCanNotGoOnAreLeft) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest faulty = base(kVictim, "pointer_taker", 1);
  faulty.probe = EntryProbe{handlers_.offset("store_behind_arena")};
  arm({faulty, entry(kVictim, "leaf", 2)});
  for (int i = 1; i <= 3; i++) {
    EXPECT_EQ(victim.ask("pointer 0", engine_.get(), &events_), "pointer");
    EXPECT_EQ(counts(0).entered, static_cast<uint64_t>(i));
  }
  const Event* left = find(Event::Kind::kHandlerLeft);
  ASSERT_NE(left, nullptr);
  EXPECT_NE(left->message.find("SIGSEGV"), std::string::npos) << left->message;
  EXPECT_EQ(victim.ask("calls 5", engine_.get()), "done");
  EXPECT_EQ(counts(2).entered, 10u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("crash"), "fault caught");
}

TEST_F(LifecycleTest, HandlersThatDoNotEndAreLeftAtTheEnd) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest endless = base(kVictim, "pointer_taker", 1);
  endless.probe = EntryProbe{handlers_.offset("loop_for_ever")};
  arm({endless});
  victim.tell("pointer 0");
  while (counts(0).entered == 0) ASSERT_TRUE(engine_->poll(10).ok());
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.answer(), "pointer");
  EXPECT_EQ(victim.ask("crash"), "fault caught");
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

TEST_F(LifecycleTest, ThreadsAndChildrenComeAndGoWhileAttaching) {
  const std::string churn = ENGINE_CHURN;
  Program victim({churn});
  ASSERT_TRUE(victim.answer().starts_with("ready"));
  for (int round = 0; round < 30; round++) {
    open_engine({});
    attach(victim.pid());
    auto report = arm({entry(churn, "leaf", 1), returns(churn, "leaf", 2)});
    auto start = std::chrono::steady_clock::now();
    auto waited = [&] { return std::chrono::steady_clock::now() - start; };
    // A busy machine may leave the victim no processor for a while.
    while (waited() < std::chrono::milliseconds(20) || (counts(1).entered == 0 && waited() < std::chrono::seconds(10))) {
      auto events = engine_->poll(5);
      events_.insert(events_.end(), events->begin(), events->end());
    }
    EXPECT_GT(counts(1).entered, 0u);
    detach();
    ASSERT_EQ(victim.ask("alive"), "done") << round;
    ASSERT_EQ(traces(victim.pid()), "") << round;
  }
  EXPECT_EQ(troubles(), "");
}

// Forks and vforks of a shell are caught by the detachment at any stage: every child must be let go too, though the
// engine lives on.
TEST_F(LifecycleTest, ChildrenBornDuringADetachmentAreLetGo) {
  for (int round = 0; round < 60; round++) {
    open_engine({});
    auto pid = engine_->launch({.arguments = {"/bin/sh", "-c", "for i in 1 2 3; do /bin/true; (exit 3); done; exit 7"}});
    ASSERT_TRUE(pid.ok()) << pid.error().message;
    engine_->resume_all();
    std::optional<int> status;
    auto listen_for_the_end = [&](int timeout_ms) {
      auto events = engine_->poll(timeout_ms);
      ASSERT_TRUE(events.ok());
      for (const Event& event : *events) {
        bool ended = event.kind == Event::Kind::kProcessExited || event.kind == Event::Kind::kOtherExited;
        if (ended && event.pid == *pid) status = event.status;
      }
    };
    auto begun = std::chrono::steady_clock::now();
    auto waited = [&] { return std::chrono::steady_clock::now() - begun; };
    while (waited() < std::chrono::microseconds(100 * round)) listen_for_the_end(0);
    detach();
    while (!status && waited() < std::chrono::seconds(10)) listen_for_the_end(20);
    if (!status) kill(*pid, SIGKILL);
    ASSERT_TRUE(status) << "round " << round << ": the shell or a child of it stands still";
    EXPECT_EQ(WEXITSTATUS(*status), 7) << "round " << round;
  }
}

// Runs `body` in a child that has become another user; its return value is the child's exit status.
int as_user(uid_t user, const std::function<int()>& body) {
  pid_t pid = fork();
  if (pid == 0) {
    if (setgid(user) != 0 || setuid(user) != 0) _exit(99);
    prctl(PR_SET_DUMPABLE, 1);
    _exit(body());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST_F(LifecycleTest, OrdinaryUsersProbeTheirOwnProcessesAndNoOthers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Program roots({kVictim, "1"});
  roots.answer();
  engine_.reset();
  // What the other user has to read stands where anyone can, or was read before.
  SiteRequest site = entry(kVictim, "leaf", 1);
  std::string copy = fmt::format("/tmp/spile-engine-test-{}", getpid());
  std::filesystem::copy_file(kVictim, copy);
  std::filesystem::permissions(copy, std::filesystem::perms(0755));
  site.module_path = copy;
  int status = as_user(65534, [&] {
    open_engine({});
    auto refused = engine_->attach(roots.pid());
    if (refused.ok()) return 1;
    fmt::print("{}; hint: {}\n", refused.error().message, refused.error().hint);
    if (refused.error().message != fmt::format("attach {}: Operation not permitted (owned by uid 0)", roots.pid())) return 2;
    Program own({copy, "2"});
    own.answer();
    if (!engine_->attach(own.pid()).ok()) return 3;
    auto report = engine_->arm(std::vector{site});
    if (!report.ok()) return fmt::print("{}\n", report.error().message), 4;
    if (report->armed() != 1) return 5;
    if (own.ask("calls 50", engine_.get()) != "done") return 6;
    if (counts(1).entered != 200) return 7;
    if (!engine_->detach().ok() || !traces(own.pid()).empty()) return 8;
    return 0;
  });
  EXPECT_EQ(status, 0);
  // Root probes another user's process, whose /proc/<controller> it could not open.
  open_engine({});
  auto pid = engine_->launch({.arguments = {copy, "1", "70"}, .user = 65534, .group = 65534});
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  arm({site});
  engine_->resume_all();
  int ended = -1;
  while (ended == -1) {
    auto events = engine_->poll(100);
    for (Event& event : *events) {
      if (event.kind == Event::Kind::kProcessExited) ended = event.status;
    }
  }
  EXPECT_EQ(WEXITSTATUS(ended), 11);
  EXPECT_EQ(counts(1).entered, 140u);
  std::filesystem::remove(copy);
}

// In a process of its own, as ptrace ties a controller to its thread: counts calls, entries and returns, of what the first
// one counts too. Lines from `orders` let it arm and leave; it says what it has counted.
TEST_F(LifecycleTest, SecondControllerSharesTheProcess) {
  Program victim({kVictim, "2"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1), returns(kVictim, "many", 2)});
  int orders[2], answers[2];
  ASSERT_EQ(pipe(orders), 0);
  ASSERT_EQ(pipe(answers), 0);
  pid_t other = fork();
  if (other == 0) {
    auto second = Engine::create({});
    bool fine = second.ok() && (*second)->set_image(handlers_.image, kGeometry).ok() && (*second)->attach(victim.pid()).ok();
    auto report =
        fine ? (*second)->arm(std::vector{entry(kVictim, "leaf", 1), returns(kVictim, "many", 2), returns(kVictim, "leaf", 3)})
             : Result<ArmReport>(Error{});
    uint64_t said[4] = {report.ok() ? report->armed() : 0};
    (void)!write(answers[1], said, sizeof said);
    char order;
    (void)!read(orders[0], &order, 1);
    auto* counted = reinterpret_cast<const Counts*>((*second)->arena().data() + 4096);
    for (int i = 1; i <= 3; i++) said[i] = i == 1 ? counted[i].entered : counted[i].returned;
    said[0] = (*second)->detach().ok();
    (void)!write(answers[1], said, sizeof said);
    _exit(0);
  }
  uint64_t said[4] = {};
  auto hear = [&] {
    pollfd wait{answers[0], POLLIN, 0};
    for (int i = 0; i < 1000 && ::poll(&wait, 1, 20) <= 0; i++) (void)engine_->poll(0);
    (void)!read(answers[0], said, sizeof said);
  };
  hear();
  EXPECT_EQ(said[0], 3u);
  EXPECT_EQ(victim.ask("calls 1000", engine_.get()), "done");
  (void)!write(orders[1], "x", 1);
  hear();
  EXPECT_EQ(said[0], 1u);
  EXPECT_EQ(said[1], 4000u);
  EXPECT_EQ(said[2], 2000u);
  EXPECT_EQ(said[3], 4000u);
  EXPECT_EQ(victim.ask("calls 1000", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 8000u);
  EXPECT_EQ(counts(2).returned, 4000u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  waitpid(other, nullptr, 0);
  for (int fd : {orders[0], orders[1], answers[0], answers[1]}) close(fd);
}

TEST_F(LifecycleTest, ExecOfAnotherThreadThanTheFirst) {
  Program victim({kVictim, "3"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  EXPECT_EQ(victim.ask("spin", engine_.get()), "done");
  EXPECT_EQ(victim.ask("threadexec", engine_.get(), &events_), fmt::format("ready {}", victim.pid()));
  uint64_t before = counts(1).entered;
  EXPECT_EQ(victim.ask("calls 10", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered - before, 60u) << troubles();
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(LifecycleTest, StrictSeccompFiltersDoNotMatterOnTheHitPath) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1), returns(kVictim, "many", 2)});
  EXPECT_EQ(victim.ask("seccomp 100", engine_.get()), "filtered");
  EXPECT_EQ(counts(1).entered, 200u);
  EXPECT_EQ(counts(2).returned, 100u);
  auto detached = engine_->detach();
  if (detached.ok()) {
    EXPECT_EQ(traces(victim.pid()), "");
  } else {
    // Without the right to suspend the filter our mappings stay; the text does not.
    EXPECT_NE(detached.error().message.find("seccomp"), std::string::npos) << detached.error().message;
  }
  EXPECT_EQ(victim.ask("here 10"), "done");
  EXPECT_EQ(counts(1).entered, 200u);
}

TEST_F(LifecycleTest, TargetOutlivesAKilledControllerAndTheNextOneCleansUp) {
  Program victim({kVictim, "2"});
  victim.answer();
  pid_t controller = start_controller(victim.pid(), {entry(kVictim, "leaf", 1), returns(kVictim, "recurse", 2)});
  EXPECT_EQ(victim.ask("spin"), "done");
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);
  usleep(50000);  // nothing is to happen: the threads run through what the controller has left
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

TEST_F(LifecycleTest, ControllersKilledAtAnyMoment) {
  Program victim({kVictim, "2"});
  victim.answer();
  EXPECT_EQ(victim.ask("spin"), "done");
  engine_.reset();
  std::vector<SiteRequest> sites = {entry(kVictim, "leaf", 1), returns(kVictim, "recurse", 2)};
  int deaths = 0;
  for (int round = 0; round < 100; round++) {
    pid_t controller = fork();
    if (controller == 0) {
      for (;;) {
        open_engine({});
        if (!engine_->attach(victim.pid()).ok()) _exit(1);
        (void)engine_->arm(sites);
        (void)engine_->poll(1);
        (void)engine_->detach();
      }
    }
    usleep(1000 + (round * 7919) % 20000);  // any moment of what it does
    kill(controller, SIGKILL);
    waitpid(controller, nullptr, 0);
    usleep(1000);  // the victim runs on, or into what would end it
    std::ifstream status(fmt::format("/proc/{}/status", victim.pid()));
    std::string text((std::istreambuf_iterator<char>(status)), {});
    if (text.find("State:\tZ") != std::string::npos) {
      deaths++;
      victim.end();
      victim.start({kVictim, "2"});
      victim.answer();
      victim.ask("spin");
    }
  }
  EXPECT_EQ(deaths, 0);
  open_engine({});
  attach(victim.pid());
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("rest"), "done");
}

}  // namespace
}  // namespace spile::engine::test
