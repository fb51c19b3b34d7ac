// The handlers of signals, run here: as functions, and in children that end by what is not theirs.

#include <gtest/gtest.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "engine/arch/architecture.h"
#include "engine/space/region.h"
#include "engine/space/signal_actions.h"

namespace spile::engine {
namespace {

using Handler = void (*)(int, siginfo_t*, ucontext_t*);

// What the kernel says of a signal.
struct Signal {
  int number = SIGSEGV, code = SEGV_MAPERR, error = 0;
  greg_t flags = 0;
};

class SignalHandlers : public testing::Test {
 protected:
  void SetUp() override {
    abi::CodeImage image;
    image.bytes.resize(8192);
    image.fixups = {{0x100, 0x180}, {0x200, 0x280}, {0x1f00, 0x10}};
    auto made = Region::create(16, 1 << 20, image);
    ASSERT_TRUE(made.ok());
    region = *made;
    void* at = mmap(nullptr, region->size(), PROT_READ | PROT_EXEC, MAP_SHARED, region->fd(), 0);
    ASSERT_NE(at, MAP_FAILED);
    region->place(Address(reinterpret_cast<uint64_t>(at)));
    region->list_region(Address(0x1000), Address(0x2000), false);  // taken out again: not looked at
    region->list_region(region->address(), region->end(), true);
    region->unlist_region(Address(0x1000));
    // Other memory, in another process perhaps a region.
    region->list_region(Address(reinterpret_cast<uint64_t>(other)), Address(reinterpret_cast<uint64_t>(other + 512)), false);
  }
  void TearDown() override { munmap(reinterpret_cast<void*>(region->address().value), region->size()); }

  SignalHandler append(const SignalHandler& code) {
    entry = region->append_code(code.bytes);
    return code;
  }
  void emit_fault_handler() {
    restorer = append(native_architecture().emit_fault_handler(region->next(), region->list())).restorer_offset;
  }
  Address emit_trap_handler() {
    SignalHandler code = append(native_architecture().emit_trap_handler(region->next(), 8));
    restorer = code.restorer_offset;
    return entry + static_cast<int64_t>(code.table_offset);
  }

  uint64_t next(uint64_t pc, Signal signal) const {
    siginfo_t info{};
    info.si_signo = signal.number;
    info.si_code = signal.code;
    info.si_errno = signal.error;
    ucontext_t context{};
    context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
    context.uc_mcontext.gregs[REG_EFL] = signal.flags;
    reinterpret_cast<Handler>(entry.value)(signal.number, &info, &context);
    return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
  }

  // A child that has the handler as its action; how it ends.
  int status_of(int signal, const std::function<void()>& run) const {
    pid_t child = fork();
    if (child == 0) {
      SignalAction action{entry.value, kHandlerFlags, entry.value + restorer, 0};
      if (syscall(SYS_rt_sigaction, signal, &action, nullptr, 8) != 0) _exit(1);
      run();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::shared_ptr<Region> region;
  Address entry;
  uint64_t restorer = 0;
  alignas(16) uint8_t other[512] = {};
};

TEST_F(SignalHandlers, FaultsGoOnAtTheirFixups) {
  emit_fault_handler();
  uint64_t image = region->image().value;
  EXPECT_EQ(next(image + 0x100, {}), image + 0x180);
  EXPECT_EQ(next(image + 0x200, {.number = SIGBUS}), image + 0x280);
  EXPECT_EQ(next(image + 0x1f00, {.code = SI_KERNEL}), image + 0x10);
  // A tracer was killed when it had moved the thread on.
  EXPECT_EQ(next(image + 0x180, {.error = kMovedOn}), image + 0x180);
}

TEST_F(SignalHandlers, FaultsOfTheProgramEndIt) {
  emit_fault_handler();
  auto ends_by = [&](int signal, const std::function<void()>& run) {
    int status = status_of(signal, run);
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
  };
  EXPECT_TRUE(ends_by(SIGSEGV, [] { *reinterpret_cast<volatile int*>(8) = 1; }));
  EXPECT_TRUE(ends_by(SIGSEGV, [] { kill(getpid(), SIGSEGV); }));
  EXPECT_TRUE(ends_by(SIGSEGV, [&] { reinterpret_cast<void (*)()>(region->image().value + 0x101)(); }));
  EXPECT_TRUE(ends_by(SIGSEGV, [&] { reinterpret_cast<void (*)()>(other)(); }));
  EXPECT_TRUE(ends_by(SIGBUS, [] { raise(SIGBUS); }));
}

TEST_F(SignalHandlers, BreakpointsGoOnInTheirTrampolines) {
  Address table = emit_trap_handler();
  region->put_word(table, 0x5001);
  region->put_word(table + 8, 0x7000);
  region->put_word(table + 16, 0x6001);
  region->put_word(table + 24, 0x8000);
  EXPECT_EQ(next(0x5001, {.number = SIGTRAP, .code = SI_KERNEL}), 0x7000u);
  EXPECT_EQ(next(0x6001, {.number = SIGTRAP, .code = SI_KERNEL}), 0x8000u);
  EXPECT_EQ(next(0x8000, {.number = SIGTRAP, .code = SI_KERNEL, .error = kMovedOn}), 0x8000u);
}

// The kernel delivers what a step has raised even when nobody is there who made it.
TEST_F(SignalHandlers, StepsOfAKilledTracerMeanNothing) {
  emit_trap_handler();
  static const uint8_t call[] = {0x0f, 0x05, 0x90};
  EXPECT_EQ(next(0x9000, {.number = SIGTRAP, .code = TRAP_TRACE}), 0x9000u);
  uint64_t behind = reinterpret_cast<uint64_t>(call) + 2;
  EXPECT_EQ(next(behind, {.number = SIGTRAP, .code = TRAP_BRKPT}), behind);
  EXPECT_EQ(WTERMSIG(status_of(SIGTRAP, [] { asm volatile("int3"); })), SIGTRAP);
  EXPECT_EQ(WTERMSIG(status_of(SIGTRAP, [] { raise(SIGTRAP); })), SIGTRAP);
  // One that the program makes itself.
  EXPECT_EQ(WTERMSIG(status_of(SIGTRAP,
                               [] {
                                 asm volatile("pushfq; orl $0x100, (%%rsp); popfq; nop; nop" ::: "memory", "cc");
                               })),
            SIGTRAP);
}

}  // namespace
}  // namespace spile::engine
