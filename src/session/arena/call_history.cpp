#include "session/arena/call_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>

#include "abi/call_history.h"
#include "abi/machine.h"
#include "abi/time_counter.h"
#include "base/processes/proc.h"
#include "runs/timeline/noted_calls.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::session {

namespace {

bool calls_intrinsic(const syntax::Expression& expression, int intrinsic) {
  const auto* call = syntax::as<syntax::Call>(expression);
  return call && call->intrinsic == intrinsic;
}

// Whether the probe calls call_history_add(@entry(get_cycles())), and keeps nothing else before it.
bool notes_first(const sema::Probe& probe) {
  static const int add = sema::find_intrinsic("call_history_add"), cycles = sema::find_intrinsic("get_cycles");
  if (!probe.body || probe.entry_saves.empty() || !calls_intrinsic(*probe.entry_saves[0], cycles)) return false;
  bool found = false;
  syntax::for_each_expression(std::as_const(*probe.body), [&](const syntax::Expression& e) {
    if (!calls_intrinsic(e, add)) return;
    const auto* begun = syntax::as<syntax::EntryValue>(*syntax::as<syntax::Call>(e)->arguments[0]);
    found |= begun && begun->index == 0;
  });
  return found;
}

// Bytes that processes may write to meanwhile: what is looked at is this copy.
template <typename T>
T copy_of(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  asm volatile("" ::: "memory");
  return value;
}

}  // namespace

CallHistory::CallHistory(ArenaView& arena, const sema::Program& program, uint32_t string_size)
    : arena_(arena),
      program_(program),
      names_(codegen::make_site_texts(program, "ppfunc", string_size, false)),
      since_(abi::time_counter()) {
  for (const sema::Probe& probe : program.probes) notes_first_.push_back(notes_first(probe));
}

void CallHistory::stop() {
  uint64_t all = abi::kAllCalls;
  std::atomic_ref<uint64_t>(arena_.header().calls_until).compare_exchange_strong(all, abi::time_counter());
}

void CallHistory::go_on() {
  since_ = abi::time_counter();
  std::atomic_ref<uint64_t>(arena_.header().calls_until).store(abi::kAllCalls);
}

std::string_view CallHistory::name_of(uint32_t probe, uint32_t site) const {
  if (probe >= names_.base.size()) return {};
  const uint64_t index = uint64_t{names_.base[probe]} + (site & names_.mask[probe]);
  return index < names_.offsets.size() ? std::string_view(names_.blob.c_str() + names_.offsets[index]) : std::string_view();
}

bool CallHistory::keeps_begin(uint32_t site) const {
  const sema::ArmedSite* armed = program_.sites.script_site(site);
  if (!armed) return false;
  const std::vector<int>& probes = program_.site_groups[static_cast<size_t>(armed->group)].return_probes;
  return !probes.empty() && notes_first_[static_cast<size_t>(probes.front())];
}

CallHistory::Taken CallHistory::take(runs::Timeline& timeline, int64_t last_ns) {
  const codegen::ArenaLayout& layout = arena_.layout();
  const uint64_t now = abi::time_counter();
  const uint64_t until = std::clamp(std::atomic_ref<uint64_t>(arena_.header().calls_until).load(), since_, now);
  Taken taken;
  taken.end_ns = arena_.time_of(until);
  // ns are ticks * mult >> shift.
  const ArenaView::Clock& clock = arena_.clock();
  const auto last = (static_cast<unsigned __int128>(last_ns) << clock.shift) / std::max<uint64_t>(clock.mult, 1);
  const uint64_t from = last < until - since_ ? until - static_cast<uint64_t>(last) : since_;
  taken.begin_ns = arena_.time_of(from);
  const auto time_of = [this](uint64_t tick) { return arena_.time_of(tick); };
  std::map<int64_t, std::string> process_names;
  std::vector<runs::NotedCall> calls;
  std::set<std::pair<uint64_t, uint64_t>> known;  // begun and stack of calls that ended while they were read
  arena_.for_each_used_slot([&](uint32_t index) {
    if (index < abi::kFirstSlot || arena_.is_kernels(index)) return;
    const char* slot = reinterpret_cast<const char*>(&arena_.slot(index));
    // Pending calls first: one that ends meanwhile is found in both places rather than in none.
    calls.clear();
    known.clear();
    const auto head = copy_of<abi::ThreadSlot>(slot);
    const uint32_t depth = std::min(head.shadow_depth, layout.shadow_capacity);
    for (uint32_t i = 0; head.owner != 0 && i < depth; ++i) {
      const char* at = slot + layout.shadow_offset + uint64_t{i} * layout.shadow_stride;
      const auto frame = copy_of<abi::ShadowFrame>(at);
      if (frame.stack_slot == 0 || frame.site_id > UINT32_MAX || !keeps_begin(static_cast<uint32_t>(frame.site_id))) continue;
      const auto begun = copy_of<uint64_t>(at + sizeof frame);
      const auto site = static_cast<uint32_t>(frame.site_id);
      const auto probe =
          static_cast<uint32_t>(program_.site_groups[static_cast<size_t>(program_.sites[site].group)].return_probes.front());
      const uint64_t cfa = frame.stack_slot - static_cast<uint64_t>(int64_t{abi::kConvention.return_slot});
      if (begun <= until) calls.push_back({begun, until, cfa, timeline.text(name_of(probe, site)), true});
    }
    const uint64_t count = std::atomic_ref<uint64_t>(arena_.slot(index).noted_calls).load(std::memory_order_acquire);
    const uint64_t first = std::min(head.first_noted, count), capacity = layout.calls_capacity;
    // The oldest may be overwritten at this moment.
    const uint64_t begin = count - first >= capacity ? count - capacity + 1 : first;
    const size_t pending = calls.size();
    uint64_t oldest = 0;
    for (uint64_t n = begin; n < count; ++n) {
      const auto record = copy_of<abi::CallRecord>(slot + layout.calls_offset + (n & (capacity - 1)) * sizeof(abi::CallRecord));
      if (n == begin) oldest = record.ended;
      if (record.ended < from) continue;
      if (record.begun > record.ended || record.ended > now + (now >> 8) || record.begun > until ||
          record.probe >= notes_first_.size()) {
        ++damaged_;
        continue;
      }
      const bool runs = record.ended > until;
      if (runs) known.emplace(record.begun, record.stack);
      calls.push_back(
          {record.begun, std::min(record.ended, until), record.stack, timeline.text(name_of(record.probe, record.site)), runs});
    }
    size_t at = 0;
    std::erase_if(calls, [&](const runs::NotedCall& call) { return at++ < pending && known.contains({call.begun, call.stack}); });
    if (calls.empty()) return;
    const uint64_t owner = head.noted_owner;
    runs::NotedThread thread{static_cast<int64_t>(owner >> 32), static_cast<int64_t>(owner & UINT32_MAX), {}, {}};
    auto [process, added] = process_names.try_emplace(thread.process);
    if (added) process->second = process_name(static_cast<pid_t>(thread.process));
    thread.process_name = process->second;
    thread.name = thread_name(static_cast<pid_t>(thread.process), static_cast<pid_t>(thread.thread));
    const uint64_t slices = runs::add_noted_calls(timeline, thread, calls, from, time_of);
    taken.calls += slices;
    taken.threads += slices > 0;
    if (begin > first && oldest > from && oldest <= until) {
      const uint32_t track = timeline.add_thread(timeline.add_process(thread.process, {}), thread.thread, thread.name);
      timeline.add_instant({.time_ns = arena_.time_of(oldest),
                            .thread = track,
                            .name = timeline.text("calls that ended earlier were overwritten")});
      const int64_t complete = taken.end_ns - arena_.time_of(oldest);
      taken.shortest_ns = taken.short_threads++ == 0 ? complete : std::min(taken.shortest_ns, complete);
    }
  });
  timeline.note_missing("calls are not shown: a process has written to spile's memory", std::exchange(damaged_, 0));
  return taken;
}

}  // namespace spile::session
