#include "engine/change/site_change.h"

#include <algorithm>

#include "engine/change/removal.h"
#include "engine/change/text_patcher.h"
#include "engine/space/breakpoints.h"
#include "engine/space/goroutines.h"
#include "engine/space/space_calls.h"
#include "engine/space/space_setup.h"
#include "engine/space/thread_identities.h"

namespace spile::engine {
namespace {

constexpr int64_t kLongestWindow = 32;  // a jump, and what is left of the instruction that it ends in
constexpr int64_t kEntryMark = 15;      // endbr64 and what XRay writes over, behind which a function's site begins

Address end_of(const PatchedSite& site) { return site.begin + std::max(site.window, site.overwritten); }

bool lies_in(const PatchedSite& site, const ClientSpace* client) {
  return client && std::any_of(client->code.begin(), client->code.end(), [&](const AddressRange& range) {
           return range.contains(site.trampoline) || range.contains(site.body);
         });
}

void take_out(Tracer& tracer, AddressSpace& space, std::span<const PatchedSite> leaving) {
  if (leaving.empty()) return;
  settle_breakpoints(tracer, space);
  (void)leave_relays(space, leaving);
  std::set<Address> untouched, foreign;
  write_patches(space.memory, leaving, PatchDirection::kRestore, [&](size_t index, TextState found) {
    const PatchedSite& site = leaving[index];
    if (found != TextState::kMixed) untouched.insert(site.begin);
    if (found == TextState::kForeign) foreign.insert(site.begin);
    if (found != TextState::kGone && !site.is_relay) space.note_overwritten(site.begin);
  });
  count_semaphores(space.memory, leaving, untouched, PatchDirection::kRestore);
  std::map<Address, Address> struck;
  for (const PatchedSite& site : leaving) {
    // What somebody else has written there may be taken out again, and our jump be back.
    if (!foreign.contains(site.begin)) struck[site.begin] = site.trampoline;
    space.sites.retire(site);
  }
  for (auto& [id, client] : space.clients) {
    for (auto& region : client.regions) {
      if (region.use_count() == 1) region->strike_from_journal(struck);
    }
  }
}

// Where a thread goes on that is in the displaced instructions of a trampoline that nothing leads to any more.
std::optional<Address> out_of_retired(const AddressSpace& space, Address pc) {
  for (const PatchedSite& site : space.sites.retired()) {
    if (pc < site.body || pc >= site.body + site.trampoline_size) continue;
    for (size_t i = 0; i < site.boundary_count; i++) {
      if (site.body + site.boundaries[i].relocated != pc) continue;
      Address original = site.begin + site.boundaries[i].original;
      const PatchedSite* now = site_at(space.sites.in_text(), original);
      if (!now || original == now->begin + now->window) return original;
      // Handlers for this very place have been called; in the middle of another window they would be once more.
      if (now->begin != site.begin) return {};
      return now->relocated(original);
    }
  }
  return {};
}

}  // namespace

std::vector<PatchedSite> find_conflicts(const AddressSpace& space, const Module& module, std::span<const SiteRequest> requests) {
  std::set<Address> begins;
  if (space.sites.in_text().empty()) return {};
  for (const SiteRequest& request : requests) {
    Address at(request.address.value + module.bias);
    for (const PatchedSite& site : space.sites.beginning_in(at - kLongestWindow, at + kEntryMark + kMaxPatch)) {
      if (!space.traps.is_trap_site(site.begin) && !site.is_relay && end_of(site) > at) begins.insert(site.begin);
    }
  }
  return space.sites.with_foundations(std::move(begins));
}

std::vector<PatchedSite> find_sites(const AddressSpace& space, const std::function<bool(SiteUse)>& which,
                                    const ClientSpace* region_of) {
  std::set<Address> begins;
  for (const PatchedSite& site : space.sites.in_text()) {
    auto uses = space.sites.uses_of(site);
    if (std::any_of(uses.begin(), uses.end(), which) || lies_in(site, region_of)) begins.insert(site.begin);
  }
  return space.sites.with_foundations(std::move(begins));
}

Result<ChangeOutcome> apply_change(Tracer& tracer, AddressSpace& space, SiteChange change, uint64_t patience_ms) {
  std::vector<PatchedSite> staying = space.sites.without(change.leaving);
  auto start = Tracer::Clock::now();
  TRY_DO(tracer.keep_still(space.users, patience_ms));
  take_out(tracer, space, change.leaving);
  ChangeOutcome outcome{.left_alone = find_interrupted(space, change.coming)};
  std::erase_if(change.coming, [&](const PatchedSite& site) { return outcome.left_alone.contains(site.begin); });
  space.sites.replace(staying, change.coming);
  // Before the text changes: if we are killed in between, the threads go on in trampolines, which do the same.
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      thread->pc_unchecked = thread->running;  // the listener's thread_stopped will see to it
      if (thread->running) continue;
      introduce_thread(space, *thread);
      move_program_counters(space, *thread,
                            [&](Address pc, bool restarting) { return pc_out_of_window(change.coming, pc, restarting); });
    }
  }
  for (const PatchedSite& site : change.coming) {
    if (!site.takes_stub) continue;
    std::vector<uint8_t> code = native_architecture().emit_stub(site.stub, site.trampoline);
    for (auto& [id, client] : space.clients) {
      for (auto& region : client.regions) region->rewrite_stub(site.stub, code);
    }
  }
  write_patches(space.memory, change.coming, PatchDirection::kApply, [&](size_t index, TextState state) {
    const Address begin = change.coming[index].begin;
    outcome.left_alone.insert(begin);
    uint8_t byte;  // text that can't be written counts as kGone, too
    if (state == TextState::kGone && !space.memory.read(begin, {&byte, 1}).ok()) outcome.gone.insert(begin);
  });
  count_semaphores(space.memory, change.coming, outcome.left_alone, PatchDirection::kApply);
  tracer.let_go(space.users);
  outcome.pause_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(Tracer::Clock::now() - start).count());
  space.sites.remove(outcome.left_alone);
  return outcome;
}

namespace {

// Whether a thread there has made its system call, which the kernel may have to make again.
bool is_behind_call(const AddressSpace& space, Address pc) {
  return std::ranges::any_of(space.sites.retired(),
                             [&](const PatchedSite& site) { return pc == site.waiting_place() && site.call != 0; });
}

// Whether somebody else has written where the patch of a retired site was, and may write our jump there again.
bool is_foreign(const AddressSpace& space, const PatchedSite& site) {
  const bool is_ours = !space.sites.beginning_in(site.begin, site.begin + 1).empty();  // the patch of the site that replaces it
  return !is_ours && text_at(space.memory, site) == TextState::kForeign;
}

struct LeadOut {
  std::optional<ClientId> returns;  // pending returns of this client get their real addresses
  pid_t sparing = 0;                // stays where it is
};

// Runs threads until none is in retired trampolines. Leaves all of them standing still.
Result<void> lead_out(Tracer& tracer, AddressSpace& space, const LeadOut& wanted, uint64_t patience_ms) {
  // A thread that has been seen outside does not come back, as nothing leads to these trampolines.
  constexpr int kPatientTries = 3;
  std::set<pid_t> outside = {wanted.sparing};
  int tries = 0;
  TRY_DO(tracer.keep_still(space.users, patience_ms));
  auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(patience_ms);
  for (std::chrono::milliseconds run(1);; run = std::min(2 * run, std::chrono::milliseconds(64))) {
    if (wanted.returns) resolve_pending_returns(space, *wanted.returns);
    // If handlers run most of the time, no thread is met outside of them by chance.
    bool lead = ++tries > kPatientTries;
    bool all = true;
    std::vector<Thread*> leading;
    for (Process* process : space.users) {
      for (auto& [tid, thread] : process->threads) {
        if (outside.contains(tid)) continue;
        bool inside = false;
        if (thread->running) {
          inside = in_code_while_blocked(space, process->pid, tid);
        } else {
          move_program_counters(space, *thread, [&](Address pc, bool restarting) -> std::optional<Address> {
            if (!space.in_code(pc)) return {};
            bool entering = thread->kind == StopKind::kSystemCall && native_architecture().enters_system_call(tid);
            if (!wanted.returns && !restarting && !entering && is_behind_call(space, pc)) return {};
            // Whether the call is to be reported has not been decided yet, so ptrace reports its return.
            if (entering && is_behind_call(space, pc)) thread->calls.is_open = !space.calls.is_unwanted();
            auto moved = out_of_retired(space, pc);
            if (!moved || space.in_code(*moved)) inside = true;
            return moved;
          });
        }
        if (inside && lead && !thread->running) leading.push_back(thread.get());
        if (inside) all = false;
        else outside.insert(tid);
      }
    }
    if (all) return {};
    for (Thread* thread : leading) {
      if (step_out(tracer, space, *thread)) outside.insert(thread->tid);
    }
    step_out_of_stop(tracer, space, wanted.sparing);
    bool late = Tracer::Clock::now() > deadline;
    tracer.let_go(space.users);
    if (late)
      return Error{"a thread does not leave our code: handlers stay mapped, and are not called",
                   "is the process stopped (SIGSTOP)?"};
    let_run(tracer, space, run);
    if (space.users.empty()) return {};
    TRY_DO(tracer.keep_still(space.users, patience_ms));
  }
}

}  // namespace

Result<void> drain_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms) {
  TRY_DO(lead_out(tracer, space, {.returns = client}, patience_ms));
  tracer.let_go(space.users);
  return {};
}

Result<void> drain_calls(Tracer& tracer, AddressSpace& space, pid_t sparing, uint64_t patience_ms) {
  TRY_DO(lead_out(tracer, space, {.returns = {}, .sparing = sparing}, patience_ms));
  tracer.let_go(space.users);
  return {};
}

Result<void> remove_client(Tracer& tracer, AddressSpace& space, ClientId client, uint64_t patience_ms) {
  TRY_DO(lead_out(tracer, space, {.returns = client}, patience_ms));
  if (space.users.empty()) return {};
  bool stays = false;
  if (auto mine = space.clients.find(client); mine != space.clients.end()) {
    stays = std::ranges::any_of(space.sites.retired(),
                                [&](const PatchedSite& site) { return lies_in(site, &mine->second) && is_foreign(space, site); });
    space.sites.forget_retired_in(mine->second.code);
  }
  auto left = stays ? leave_client(tracer, space, client) : unmap_client(tracer, space, client);
  tracer.let_go(space.users);
  return left;
}

}  // namespace spile::engine
