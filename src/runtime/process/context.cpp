// Clocks and who runs. Who a thread is has been put down by the controller (abi/arena.h, ThreadIdentity); where it could not
// be, and for names and users, which change, the controller is asked (abi/questions.h).

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// The low 64 bits of the 128-bit product, shifted right. REQUIRES: shift < 64
SPILE_INLINE inline uint64_t multiply_shift(uint64_t a, uint64_t b, uint32_t shift) {
  uint64_t high, low = multiply_wide(a, b, &high);
  return shift_right_wide(high, low, shift);
}

// Of the slot's thread; null where the controller must be asked. The overflow slot is nobody's.
SPILE_INLINE inline const abi::ThreadIdentity* identity_of(Context* context) {
  const abi::ProcessTable* table = process_table();
  uint64_t number = load_relaxed(&context->slot->identity);
  if (unlikely(number == 0 || context->overflow || load_relaxed(&table->borrowers))) return nullptr;
  return &table->identities[(number - 1) % (abi::kThreadTableEntries + 1)];
}

SPILE_COLD int64_t ask_pid(Context* context) {
  if (may_call_system()) return system_call(__NR_getpid);
  abi::Question question;
  const abi::ThreadValues* values = values_of_thread(context, &question);
  return values ? values->pid : -1;
}
SPILE_COLD int64_t ask_tid(Context* context) {
  if (may_call_system()) return system_call(__NR_gettid);
  abi::Question question;
  const abi::ThreadValues* values = values_of_thread(context, &question);
  return values ? values->tid : -1;
}

}  // namespace

// The counter when the controller last looked, and since then about what the faults have taken.
SPILE_COLD uint64_t estimate_counter() {
  constexpr uint64_t kCyclesOfAFault = 40'000;
  uint64_t faults = __atomic_add_fetch(&process_table()->tsc_faults, 1, __ATOMIC_RELAXED);
  const abi::ArenaHeader* header = arena_header();
  return load_relaxed(&header->clocks[load_acquire(&header->clock_sequence) % 2].base_tsc) + faults * kCyclesOfAFault;
}

SPILE_COLD int64_t system_clock_ns(long clock) {
  struct {
    int64_t seconds, nanoseconds;
  } now = {0, 0};
  if (!may_call_system()) {
    const int64_t answer = ask_number(abi::Question::kTime, clock);
    return answer > 0 ? answer : 0;
  }
  system_call(__NR_clock_gettime, clock, reinterpret_cast<long>(&now));
  return now.seconds * 1'000'000'000 + now.nanoseconds;
}

namespace {

// Reads the clock whose time at the base `base` is, in ns. False: it is not known yet, or can't be read.
SPILE_INLINE inline bool read_clock(const abi::ArenaHeader* header, uint64_t abi::Clock::* base, int64_t* now) {
  // The clock that is read was written a second time while it was read: a thread stood for long, or somebody else writes there.
  constexpr int kTries = 64;
  for (int tries = 0; tries < kTries; ++tries) {
    const uint32_t sequence = load_acquire(&header->clock_sequence);
    const abi::Clock* clock = &header->clocks[sequence % 2];
    const uint64_t mult = load_relaxed(&clock->mult), base_tsc = load_relaxed(&clock->base_tsc),
                   base_ns = load_relaxed(&(clock->*base));
    const uint32_t shift = load_relaxed(&clock->shift);
    if (unlikely(mult == 0)) return false;
    uint64_t passed = time_counter() - base_tsc;
    compiler_barrier();
    if (unlikely(load_relaxed(&header->clock_sequence) != sequence)) continue;
    // A CPU whose counter is a little behind the one that set the base.
    const bool is_behind = static_cast<int64_t>(passed) < 0;
    *now = static_cast<int64_t>(unlikely(is_behind) ? base_ns - multiply_shift(-passed, mult, shift)
                                                    : base_ns + multiply_shift(passed, mult, shift));
    return true;
  }
  return false;
}

}  // namespace

int64_t monotonic_clock_ns(Context* context) {
  int64_t now;
  return likely(read_clock(context->arena, &abi::Clock::base_monotonic, &now)) ? now : system_clock_ns(1 /* CLOCK_MONOTONIC */);
}

int64_t processor_of(const abi::Subject* subject);  // script_process.cpp

extern "C" {

SPILE_INLINE int64_t spile_rt_clock_ns(Context* context) {
  if (const abi::Subject* subject = subject_of(context); subject && subject->time_ns != 0) return subject->time_ns;
  int64_t now;
  return likely(read_clock(context->arena, &abi::Clock::base_ns, &now)) ? now : system_clock_ns(0 /* CLOCK_REALTIME */);
}

SPILE_INLINE int64_t spile_rt_cycles(Context*) { return static_cast<int64_t>(time_counter()); }

SPILE_INLINE int64_t spile_rt_pid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->pid;
  uint64_t pid = identity_of(context) ? load_relaxed(&process_table()->pid) : 0;
  return likely(pid) ? static_cast<int64_t>(pid) : ask_pid(context);
}
SPILE_INLINE int64_t spile_rt_tid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->tid;
  const abi::ThreadIdentity* identity = identity_of(context);
  uint64_t tid = identity ? load_relaxed(&identity->tid) : 0;
  return likely(tid) ? static_cast<int64_t>(tid) : ask_tid(context);
}
SPILE_INLINE void spile_rt_record_owner(Context* context, abi::RecordOwner* owner) {
  if (spile_rt_in_controller) {
    const abi::Subject* subject = subject_of(context);
    owner->process = subject ? static_cast<uint32_t>(subject->pid) : 0;
    owner->thread = subject ? static_cast<uint32_t>(subject->tid) : 0;
    return;
  }
  const abi::ProcessTable* table = process_table();
  const abi::ThreadIdentity* identity = identity_of(context);
  owner->process = load_relaxed(&table->borrowers) ? 0 : static_cast<uint32_t>(load_relaxed(&table->pid));
  owner->thread = identity ? static_cast<uint32_t>(load_relaxed(&identity->tid)) : 0;
}
[[gnu::noinline]] int64_t spile_rt_uid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->uid;
  if (may_call_system()) return system_call(__NR_getuid);
  abi::Question question;
  const abi::ThreadValues* values = values_of_thread(context, &question);
  return values ? int64_t{values->uid} : -1;
}
SPILE_INLINE int64_t spile_rt_cpu(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return processor_of(subject);
  return current_cpu();
}
SPILE_INLINE int64_t spile_rt_target(Context* context) { return context->arena->target_pid; }

[[gnu::noinline]] void spile_rt_execname(Context* context, char* out) {
  char name[16] = {};
  if (const abi::Subject* subject = subject_of(context)) {
    copy_bytes(name, subject->execname, sizeof(name));
  } else if (may_call_system()) {
    system_call(__NR_prctl, 16 /* PR_GET_NAME */, reinterpret_cast<long>(name));
  } else {
    abi::Question question;
    if (const abi::ThreadValues* values = values_of_thread(context, &question)) copy_bytes(name, values->name, sizeof(name));
  }
  name[15] = 0;
  spile_rt_string_copy(out, name);
}

}  // extern "C"

}  // namespace spile::rt
