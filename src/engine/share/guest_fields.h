#pragma once
// The fields of messages between the spile that traces a process and its guests (guest_channel.h), as base/files/archive.h writes
// and reads them. Whatever changes here raises kGuestProtocol. Bytes left over at the end of a message are ignored.

#include <concepts>
#include <variant>

#include "abi/code_image.h"
#include "base/files/archive.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/event.h"
#include "engine/terms/module.h"
#include "engine/terms/options.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

struct GuestFormat {
  static constexpr Numbers kNumbers = Numbers::kAsMemory;
  static constexpr auto last(Mechanism) { return Mechanism::kRefused; }
  static constexpr auto last(Event::Kind) { return Event::Kind::kHandlerLeft; }
  static constexpr auto last(ThreadChange::Kind) { return ThreadChange::Kind::kSystemCallReturn; }
};
using MessageWriter = ArchiveWriter<GuestFormat>;
using MessageReader = ArchiveReader<GuestFormat>;

// Structures of numbers alone, which are as they are in memory.
template <class T>
concept OfNumbers = Like<T, abi::FaultFixup> || Like<T, abi::Registers> || Like<T, ArenaGeometry> || Like<T, Module::Range> ||
                    Like<T, EntryProbe> || Like<T, InstructionProbe> || Like<T, FunctionEndsProbe> || Like<T, SystemCallProbe> ||
                    Like<T, ReturnInstructionProbe> || Like<T, PatchRoom>;
template <class A>
void fields(A& a, OfNumbers auto& numbers) {
  a.as_memory(numbers);
}

// The bindings name all members: after one is added, these functions don't compile until they have it.
template <class A>
void fields(A& a, Like<ReturnProbe> auto& probe) {
  auto& [enter, exit, entry_alone, obstacle] = probe;
  a(enter, exit, entry_alone, obstacle);
}

// Reads the alternative of that number; those that clients don't make are wrong.
template <size_t kAlternative = 0, class A>
void read_probe(A& a, uint8_t alternative, Probe& probe) {
  if constexpr (kAlternative == kClientProbes) a.fail();
  else if (alternative == kAlternative) a(probe.emplace<kAlternative>());
  else read_probe<kAlternative + 1>(a, alternative, probe);
}

template <class A>
void fields(A& a, Like<SiteRequest> auto& request) {
  auto& [id, path, identity, address, size, function, probe, flags, semaphore, goroutines, enabled, touches, moves_returns] =
      request;
  a(id, path, identity, address, size, function, flags, semaphore, goroutines, enabled, touches, moves_returns);
  auto alternative = static_cast<uint8_t>(probe.index());
  a(alternative);
  if constexpr (A::kReads) read_probe(a, alternative, probe);
  else std::visit([&](const auto& each) { a(each); }, probe);
}

template <class A>
void fields(A& a, Like<Module> auto& module) {
  auto& [path, bias, inode, device, text, lowest, highest, main, go, goroutines, goroutine] = module;
  a(path, bias, inode, device, text, lowest, highest, main, go, goroutines, goroutine);
}
template <class A>
void fields(A& a, Like<abi::CodeImage> auto& image) {
  auto& [bytes, begin, end, fixups, guru, unchecked, keeps_values, asks_of_others] = image;
  a(bytes, begin, end, fixups, guru, unchecked, keeps_values, asks_of_others);
}
template <class A>
void fields(A& a, Like<SiteOutcome> auto& outcome) {
  auto& [id, pid, mechanism, reason, only_returns] = outcome;
  a(id, pid, mechanism, reason, only_returns);
}
template <class A>
void fields(A& a, Like<ArmReport> auto& report) {
  auto& [outcomes, prepare, pause, total] = report;
  a(outcomes, prepare, pause, total);
}
template <class A>
void fields(A& a, Like<Event> auto& event) {
  auto& [kind, pid, parent, status, path, message, report] = event;
  a(kind, pid, parent, status, path, message, report);
}
template <class A>
void fields(A& a, Like<ThreadChange> auto& change) {
  auto& [kind, pid, tid, registers] = change;
  a(kind, pid, tid, registers);
}

}  // namespace spile::engine
