#include "session/places/kernel_side.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <future>
#include <iterator>

#include "abi/kernel.h"
#include "abi/kernel_interrupts.h"
#include "base/clock.h"
#include "base/messages.h"
#include "base/processes/threads.h"
#include "base/text/number_text.h"
#include "session/arena/skips.h"
#include "session/places/attach_plan.h"
#include "session/places/kernel_constants.h"

namespace spile::session {

Result<std::unique_ptr<KernelSide>> KernelSide::load(const sema::Program& program, const codegen::CompiledScript& script,
                                                     const probes::ModuleFiles& files, const kernelinfo::Features& features,
                                                     pid_t process, const ArenaMemory& memory, ArenaView& arena, int verbosity) {
  TRY_DO(bpf::check_privilege());
  std::unique_ptr<KernelSide> side(new KernelSide(program, script, verbosity));
  bpf::ObjectSpec spec;
  spec.object = script.kernel.object;
  for (const codegen::KernelMap& map : script.kernel.maps) {
    spec.maps.push_back(map_spec(map));
    side->knows_processes_ |= map.symbol == abi::kKernelTargetsMap;
  }
  for (const codegen::KernelProgram& entry : script.kernel.programs) {
    TRY_DO(add_programs(program, entry, files, process, features, spec.programs));
  }
  TRY_DO(check_programs(program, spec.programs));
  spec.data.push_back({abi::kKernelConstantsSymbol, kernel_constants(process)});
  if (std::string_view(reinterpret_cast<const char*>(script.kernel.object.data()), script.kernel.object.size())
          .find(abi::kKernelInterruptsSymbol) != std::string_view::npos) {
    std::vector<uint8_t> constants = interrupt_constants();
    side->knows_interrupts_ = std::ranges::any_of(constants, [](uint8_t byte) { return byte != 0; });
    spec.data.push_back({abi::kKernelInterruptsSymbol, std::move(constants)});
  }
  if (features.members) spec.data.push_back({abi::kKernelMembersSymbol, kernel_members(*features.members)});
  if (!script.kernel.followed.empty()) {
    TRY(side->followed_, FollowedPrograms::open(script.kernel.followed, features));
    spec.data.push_back({abi::kKernelProgramsSymbol, side->followed_->constants()});
  }
  spec.verbosity = verbosity;
  if (memory.kernel()) spec.arena = memory.kernel()->fd();
  spec.shared = memory.shared_fd();
  // Getting memory for the slots takes as long as the verifier does.
  Result<void> populated;
  std::thread slots;
  const auto populate = [&] { populated = side->populate_slots(*memory.kernel()); };
  if (memory.kernel() && !try_to_start(slots, populate)) populate();
  Result<std::unique_ptr<bpf::Kernel>> loaded = bpf::load(spec);
  if (slots.joinable()) slots.join();
  TRY(side->kernel_, std::move(loaded));
  TRY_DO(populated);
  if (memory.kernel()) {
    TRY_DO(side->fill_arena(*memory.kernel()));
    TRY_DO(start(side->rings_thread_, "the thread that makes room for the kernel's records",
                 [kernel_side = side.get(), &kernel = *memory.kernel(), &arena](const std::stop_token& stop) {
                   kernel_side->populate_rings(kernel, arena, stop);
                 }));
  }
  return side;
}

namespace {

uint64_t slot_offset(const codegen::ArenaLayout& layout, uint32_t slot) {
  return layout.slots_offset + (abi::kFirstSlot + slot) * layout.slot_stride;
}

}  // namespace

// All that handlers may touch is there before they run, but the controller's own part.
Result<void> KernelSide::fill_arena(const bpf::Arena& arena) const {
  const codegen::ArenaLayout& layout = script_.kernel.arena;
  std::span<const uint8_t> constants = kernel_->arena_constants();
  if (constants.size() > arena.memory().size() - layout.constants_offset)
    return Error{"the script's texts and tables are too large for handlers in the kernel", "use shorter or fewer texts"};
  if (!constants.empty()) std::memcpy(arena.memory().data() + layout.constants_offset, constants.data(), constants.size());
  // What spile writes there itself is there: the tables of stacks, between two parts that it does not.
  const uint64_t tables = layout.tables_size        ? layout.tables_offset
                          : layout.kernel_code_size ? layout.kernel_code_offset
                                                    : layout.private_offset;
  const uint64_t tables_end =
      std::max(layout.tables_offset + layout.tables_size, layout.kernel_code_offset + layout.kernel_code_size);
  TRY_DO(arena.populate(0, tables));
  if (tables_end > tables && tables_end < layout.private_offset)
    TRY_DO(arena.populate(tables_end, layout.private_offset - tables_end));
  return {};
}

Result<void> KernelSide::populate_slots(const bpf::Arena& arena) const {
  const codegen::ArenaLayout& layout = script_.kernel.arena;
  for (uint32_t i = 0; i < layout.kernel_slots; ++i) TRY_DO(arena.populate(slot_offset(layout, i), layout.ring_offset));
  return {};
}

// A part of each ring after the other. Where memory for the rest can't be had, rings stay as large as they are.
void KernelSide::populate_rings(const bpf::Arena& memory, ArenaView& arena, const std::stop_token& stop) {
  constexpr uint32_t kPart = 1 << 20;
  // Handlers fill the first part in milliseconds, and threads do not inherit the priority of the one that empties it. Without the
  // right to a higher one, this one keeps its own.
  setpriority(PRIO_PROCESS, 0, -10);
  const codegen::ArenaLayout& layout = script_.kernel.arena;
  const uint32_t first = arena.first_kernel_slot();
  auto populate = [&](uint32_t i, uint32_t at) {
    return memory.populate(slot_offset(layout, i) + layout.ring_offset + at, std::min(kPart, arena.ring_size(first + i) - at));
  };
  uint32_t largest = 0;
  Result<void> begun;
  for (uint32_t i = 0; i < layout.kernel_slots && begun.ok(); ++i) {
    const uint32_t size = arena.ring_size(first + i);
    largest = std::max(largest, size);
    arena.withhold(first + i, size - std::min(kPart, size));
    begun = populate(i, 0);
  }
  const bool failed = !begun.ok();
  rings_begun_.set_value(std::move(begun));
  for (uint32_t at = kPart; at < largest && !failed; at += kPart) {
    for (uint32_t i = 0; i < layout.kernel_slots; ++i) {
      const uint32_t size = arena.ring_size(first + i);
      if (at >= size) continue;
      if (stop.stop_requested() || !populate(i, at).ok()) return;
      arena.give_back(first + i, std::min(kPart, size - at));
    }
  }
}

Result<void> KernelSide::attach() {
  // A store to memory that is not there yet is lost without a trace, and handlers run from here on.
  if (rings_thread_.joinable()) TRY_DO(rings_begun_.get_future().get());
  TRY_DO(kernel_->attach());
  attached_ = true;
  watch_.emplace(*kernel_);
  if (followed_) TRY_DO(followed_->add_running(*kernel_));
  if (std::span<uint8_t> control = kernel_->data(abi::kKernelControlSymbol); control.size() >= sizeof(abi::KernelControl)) {
    auto* handlers = reinterpret_cast<abi::KernelControl*>(control.data());
    handlers->interrupts = !kernel_->misses_uncounted();  // where it makes no difference, no handler looks
    handlers->enabled = 1;
  }
  if (const std::vector<Error>& refused = kernel_->refused(); !refused.empty()) {
    const std::string others = refused.size() > 1 ? fmt::format(" (and {} others)", refused.size() - 1) : "";
    warn(refused.front().message + others, refused.front().hint);
  }
  if (verbosity_ > 0) {
    for (const auto& [text, mechanism] : kernel_->attached()) note(fmt::format("{}: {}", text, mechanism));
    const bpf::Verification verified = kernel_->verification();
    note(fmt::format("Kernel: {}, {} instructions verified in {:.1f} ms of processor time.",
                     counted(verified.programs, "program"), verified.instructions,
                     std::chrono::duration<double, std::milli>(verified.time).count()));
  }
  return {};
}

Result<void> KernelSide::detach() {
  if (watch_) watch_->finish(monotonic_ns());
  missed_ = kernel_->missed();
  std::ranges::stable_sort(missed_, std::greater(), [](const auto& point) { return point.second; });
  const std::span<uint8_t> control = kernel_->data(abi::kKernelControlSymbol);
  const bool interrupted = !knows_interrupts_ || control.size() < sizeof(abi::KernelControl) ||
                           reinterpret_cast<const abi::KernelControl*>(control.data())->interrupts != 0;
  misses_uncounted_ = interrupted && kernel_->misses_uncounted();
  return kernel_->detach();
}

namespace {

std::array<uint8_t, sizeof(uint64_t)> bytes_of(uint64_t number) {
  std::array<uint8_t, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

}  // namespace

Result<void> KernelSide::add_process(pid_t pid) {
  if (!knows_processes_) return {};
  if (kernel_->put(abi::kKernelTargetsMap, bytes_of(static_cast<uint64_t>(pid)), bytes_of(1)).ok()) return {};
  return Error{fmt::format("process {} is not sampled: handlers in the kernel know {} traced processes at most", pid,
                           abi::kMostKernelTargets),
               ""};
}

void KernelSide::drop_process(pid_t pid) {
  if (knows_processes_) (void)kernel_->erase(abi::kKernelTargetsMap, bytes_of(static_cast<uint64_t>(pid)));
}

Result<size_t> KernelSide::consume(RecordQueue& records) {
  return kernel_->consume([&](const abi::RecordHeader& header, std::span<const uint8_t> payload) {
    records.add(header, {reinterpret_cast<const char*>(payload.data()), payload.size()});
  });
}

bool KernelSide::exit_requested() const {
  std::span<uint8_t> control = kernel_->data(abi::kKernelControlSymbol);
  return control.size() >= sizeof(abi::KernelControl) &&
         reinterpret_cast<const abi::KernelControl*>(control.data())->exit_requested != 0;
}

uint32_t KernelSide::errors() const {
  std::span<uint8_t> control = kernel_->data(abi::kKernelControlSymbol);
  if (control.size() < sizeof(abi::KernelControl)) return 0;
  return __atomic_load_n(&reinterpret_cast<const abi::KernelControl*>(control.data())->errors, __ATOMIC_RELAXED);
}

Result<void> KernelSide::import_globals(Controller& controller) {
  return attached_ ? globals_.import_all(*kernel_, controller) : Result<void>();
}

Result<void> KernelSide::export_globals(Controller& controller) { return globals_.export_changes(*kernel_, controller); }

std::vector<std::string> KernelSide::losses(std::string_view when_full) const {
  auto counts = kernel_->skipped();
  if (!counts.ok()) return {counts.error().message};
  Skips skips;
  for (size_t i = 0; i < skips.by_reason.size() && i < counts->size(); ++i) skips.by_reason[i] = (*counts)[i];
  std::vector<std::string> warnings = skips.warnings(when_full);
  uint64_t missed = 0;
  for (const auto& [point, count] : missed_) missed += count;
  if (missed > 0) {
    warnings.push_back(fmt::format("the kernel missed {} of {}{}", counted(missed, "hit"), missed_.front().first,
                                   missed_.size() > 1 ? " and others" : ""));
  }
  if (watch_) std::ranges::move(watch_->losses(), std::back_inserter(warnings));
  if (misses_uncounted_)
    warnings.emplace_back(
        "hits of the kernel's functions inside other handlers are missing, and this kernel does not count them (Linux 6.7 does)");
  return warnings;
}

}  // namespace spile::session
