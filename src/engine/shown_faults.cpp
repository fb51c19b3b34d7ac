#include "engine/shown_faults.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>

namespace spile::engine {
namespace {

constexpr int64_t kBelow = 65'536, kAbove = 4096;  // how far from the stack pointer the stack's end may be met
constexpr size_t kMostShown = 8;                   // a handler that faults, and its handler ...

bool touches_stack(const AddressSpace& space, const PatchedSite& site) {
  auto uses = space.sites.uses_of(site);
  return std::any_of(uses.begin(), uses.end(), [&](SiteUse use) { return space.sites.request(use).flags & abi::kTouchesStack; });
}

// The site whose trampoline has the pc, or nullptr.
const PatchedSite* site_of_code(const AddressSpace& space, Address pc) {
  for (auto sites : {space.sites.in_text(), space.sites.retired()}) {
    for (const PatchedSite& site : sites) {
      auto within = [&](Address begin) { return pc >= begin && pc < begin + static_cast<int64_t>(site.trampoline_size); };
      if (!site.is_relay && (within(site.trampoline) || within(site.body))) return &site;
    }
  }
  return nullptr;
}

bool is_touch(const AddressSpace& space, Address pc) {
  std::vector<uint8_t> code(native_architecture().lookahead());
  code.resize(space.memory.read_some(pc, code));
  return native_architecture().is_stack_touch(code);
}

void forget_left(Thread& thread, Address sp) {
  std::erase_if(thread.shown_faults, [&](const ShownFault& shown) {
    return sp > shown.stack_pointer && sp < shown.stack_pointer + (int64_t{1} << 23);
  });
}

}  // namespace

void show_fault(const AddressSpace& space, Thread& thread) {
  bool fault = thread.signal == SIGSEGV || thread.signal == SIGBUS || thread.signal == SIGFPE || thread.signal == SIGILL;
  siginfo_t info;
  if (!fault || ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0 || info.si_code <= 0) return;
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return;
  Address pc = machine.pc(registers), sp = machine.sp(registers), at(reinterpret_cast<uint64_t>(info.si_addr));
  const PatchedSite* site = space.in_code(pc) ? site_of_code(space, pc) : nullptr;
  if (!site) return;
  bool stack = thread.signal == SIGSEGV && at >= sp - kBelow && at <= sp + kAbove && touches_stack(space, *site);
  auto place = stack && is_touch(space, pc) ? std::optional(site->begin) : site->restored(pc);
  if (!place) return;
  machine.set_pc(registers, *place);
  if (stack && at < sp) machine.set_sp(registers, Address(at.value / 16 * 16));
  if (!machine.write_registers(thread.tid, registers).ok()) return;
  // Signals of these kinds name the instruction, not an address.
  if (thread.signal == SIGFPE || thread.signal == SIGILL) {
    info.si_addr = reinterpret_cast<void*>(place->value);
    (void)ptrace(PTRACE_SETSIGINFO, thread.tid, 0, &info);
  }
  if (stack || pc == site->trampoline) return;  // it goes on elsewhere, or where it was shown to be
  forget_left(thread, sp);
  if (thread.shown_faults.size() == kMostShown) thread.shown_faults.erase(thread.shown_faults.begin());
  thread.shown_faults.push_back({*place, sp});
}

void return_from_shown_fault(const AddressSpace& space, Thread& thread) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.enters_system_call(thread.tid) || !machine.read_registers(thread.tid, registers).ok()) return;
  const abi::Registers call = machine.call_registers(thread.tid, registers);
  if (call.site_id != SYS_rt_sigreturn) return forget_left(thread, machine.sp(registers));
  Address frame_pc = machine.signal_frame_pc(registers), frame_sp = machine.signal_frame_sp(registers);
  auto place = space.memory.read_value<uint64_t>(frame_pc), sp = space.memory.read_value<uint64_t>(frame_sp);
  if (!place.ok() || !sp.ok()) return;
  auto shown = std::find_if(thread.shown_faults.begin(), thread.shown_faults.end(),
                            [&](const ShownFault& each) { return each.stack_pointer.value == *sp; });
  if (shown == thread.shown_faults.end()) return;
  bool same = shown->place.value == *place;
  thread.shown_faults.erase(shown, thread.shown_faults.end());
  // Where the handler has chosen another place, that may be within the patch too; at its begin the function is called anew.
  const PatchedSite* site = site_at(space.sites.in_text(), Address(*place));
  auto moved = site ? site->relocated(Address(*place)) : std::nullopt;
  if (moved && (same || site->begin.value != *place)) (void)space.memory.write_value(frame_pc, moved->value);
}

}  // namespace spile::engine
