// Handlers for the engine's tests, compiled freestanding and linked at address 0 into one flat image, as codegen's are:
// count hits and returns by site id, keep a shadow stack.

#include "abi/arena.h"
#include "abi/trampoline.h"

using namespace spile::abi;

#define HANDLER extern "C" __attribute__((no_caller_saved_registers, used, noinline))

extern "C" __attribute__((section(".spile.cells"), used)) volatile const ImageCells spile_cells = {};

namespace {

struct Counts {
  uint64_t entered, returned, skipped, sum;
};
constexpr uint64_t kCounts = 4096, kSlots = 1 << 20, kStride = 1 << 16, kShadow = 4096, kFrame = 32;
constexpr uint32_t kCapacity = 1024, kSlotCount = 512;

char* arena() { return reinterpret_cast<char*>(spile_cells.arena); }
Counts& counts(uint64_t site) { return reinterpret_cast<Counts*>(arena() + kCounts)[site]; }
void add(uint64_t& to, uint64_t value) { __atomic_fetch_add(&to, value, __ATOMIC_RELAXED); }

ThreadSlot* slot_of_thread() {
  auto* table = reinterpret_cast<ProcessTable*>(spile_cells.process_table);
  uint64_t thread;
  asm("rdfsbase %0" : "=r"(thread));
  uint32_t index = (thread >> 12 ^ thread >> 6) & (kThreadTableEntries - 1);
  uint64_t key = thread_table_key(thread);
  for (uint32_t tries = 0; tries < kThreadTableEntries; tries++, index = (index + 1) & (kThreadTableEntries - 1)) {
    ThreadTableEntry& entry = table->entries[index];
    // Reserved until the slot is known: a signal's handler that comes then takes an entry of its own. One that comes
    // before has taken this one for the thread.
    constexpr uint64_t kReserved = 2;
    uint64_t present = 0;
    bool reserved = __atomic_compare_exchange_n(&entry.thread_pointer, &present, kReserved, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_ACQUIRE);
    if (present == key) return reinterpret_cast<ThreadSlot*>(arena() + entry.slot_offset);
    if (!reserved) continue;
    // The arena's last counter hands out slots.
    uint64_t number = __atomic_fetch_add(&counts(1000).entered, 1, __ATOMIC_RELAXED);
    if (number >= kSlotCount) return nullptr;
    entry.slot_offset = kSlots + number * kStride;
    __atomic_store_n(&entry.thread_pointer, key, __ATOMIC_RELEASE);
    return reinterpret_cast<ThreadSlot*>(arena() + entry.slot_offset);
  }
  return nullptr;
}

ShadowFrame* frame(ThreadSlot* slot, uint32_t index) {
  return reinterpret_cast<ShadowFrame*>(reinterpret_cast<char*>(slot) + kShadow + index * kFrame);
}

// A signal's handler that comes while frames are being moved must leave them alone: its own calls are skipped.
class Busy {
 public:
  explicit Busy(ThreadSlot* slot) : slot_(slot) { set(1); }
  ~Busy() { set(0); }

 private:
  void set(uint32_t value) {
    asm volatile("" ::: "memory");
    *const_cast<volatile uint32_t*>(&slot_->busy) = value;
    asm volatile("" ::: "memory");
  }
  ThreadSlot* slot_;
};

uint64_t push_frame(uint64_t* return_slot, uint64_t site) {
  add(counts(site).entered, 1);
  ThreadSlot* slot = slot_of_thread();
  if (!slot || *const_cast<volatile uint32_t*>(&slot->busy) || slot->shadow_depth >= kCapacity) {
    add(counts(site).skipped, 1);
    return 0;
  }
  Busy busy(slot);
  // Frames below us were left by longjmp or a throw.
  uint64_t here = reinterpret_cast<uint64_t>(return_slot);
  while (slot->shadow_depth > 0 && frame(slot, slot->shadow_depth - 1)->stack_slot < here) slot->shadow_depth--;
  *frame(slot, slot->shadow_depth) = {here, *return_slot, site, 0};
  slot->shadow_depth++;
  return 1;
}

uint64_t pop_frame(uint64_t* return_slot, uint64_t value) {
  ThreadSlot* slot = slot_of_thread();
  Busy busy(slot);
  while (slot->shadow_depth > 0) {
    ShadowFrame* top = frame(slot, --slot->shadow_depth);
    if (top->stack_slot != reinterpret_cast<uint64_t>(return_slot)) continue;
    *return_slot = top->return_address;
    add(counts(top->site_id).returned, 1);
    add(counts(top->site_id).sum, value);
    return top->site_id;
  }
  __builtin_trap();
}

}  // namespace

// No frame pointer games: [frame] is the saved rbp, [frame + 1] the return address into the trampoline.
#define ENTRY_STACK (static_cast<uint64_t*>(__builtin_frame_address(0)) + 1)

HANDLER void count_first() { add(counts(0).entered, 1); }
// The checker believes that the place is in the arena.
HANDLER void store_behind_arena() {
  add(counts(0).entered, 1);
  *reinterpret_cast<volatile uint64_t*>(arena() + (uint64_t{1} << 46)) = 1;
}
// Does not end, if the process is asked to have it so.
HANDLER void loop_for_ever() {
  add(counts(0).entered, 1);
  while (*reinterpret_cast<volatile uint64_t*>(&counts(0).entered) != 0) asm volatile("pause");
}
HANDLER void count_by_id(uint64_t first) {
  uint64_t site = ENTRY_STACK[1];
  add(counts(site).entered, 1);
  add(counts(site).sum, first);
}
HANDLER void count_registers(const Registers* registers) {
  add(counts(registers->site_id).entered, 1);
  add(counts(registers->site_id).sum, registers->rdi);
}
// What a guru's script may do: the target goes on with other values.
HANDLER void change_registers(Registers* registers) {
  add(counts(registers->site_id).entered, 1);
  registers->rax += 1000;
  registers->flags &= ~uint64_t{1};  // carry
}
HANDLER void change_returned(Registers* registers) {
  pop_frame(reinterpret_cast<uint64_t*>(registers->rsp - 8), registers->rax);
  registers->rax = 5;
}
HANDLER uint64_t enter_return() { return push_frame(ENTRY_STACK + 3, ENTRY_STACK[1]); }
HANDLER void exit_return(uint64_t value) { pop_frame(ENTRY_STACK + 3, value); }
HANDLER uint64_t enter_skip() {
  add(counts(ENTRY_STACK[1]).skipped, 1);
  return 0;
}
HANDLER uint64_t enter_return_registers(const Registers* registers) {
  return push_frame(reinterpret_cast<uint64_t*>(registers->rsp), registers->site_id);
}
HANDLER void exit_return_registers(const Registers* registers) {
  pop_frame(reinterpret_cast<uint64_t*>(registers->rsp - 8), registers->rax);
}
// Reads through its first argument, which may be bad: the fixup resumes at fault_resume.
HANDLER void read_memory(const uint64_t* pointer) {
  uint64_t value = 0;
  asm volatile(
      ".globl fault_at, fault_resume\n"
      "fault_at: movq (%1), %0\n"
      "fault_resume:\n"
      : "+r"(value)
      : "r"(pointer));
  add(counts(0).entered, 1);
  add(counts(0).sum, value);
  // The attribute does not keep the register of an argument: the compiler must not use it for something else.
  asm volatile("" ::"D"(pointer));
}
