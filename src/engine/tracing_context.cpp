#include "engine/tracing_context.h"

#include <algorithm>
#include <utility>

namespace spile::engine {

void EventReports::begin(Arming& arming, const Client& own) {
  arming_ = &arming;
  own_ = &own;
}

// Our own client gets all events except those for one guest; guests get events of the processes that they follow.
void EventReports::report(const Client* client, Event event) {
  if (client && client != own_) {
    if (host_) host_->report(*client, event);
    return;
  }
  for (auto& [id, guest] : arming_->clients().all()) {
    bool concerned = guest->follows.contains(event.pid) || (event.parent != 0 && guest->follows.contains(event.parent));
    if (!client && host_ && concerned) host_->report(*guest, event);
  }
  events_.push_back(std::move(event));
}

void EventReports::watch(ThreadChange::Kind kind, pid_t pid, pid_t tid) const {
  for (auto& [id, client] : arming_->clients().all()) {
    if (!client->watch_threads || (client.get() != own_ && !client->follows.contains(pid))) continue;
    client->watch_threads({.kind = kind, .pid = pid, .tid = tid});
  }
}

void EventReports::report_armed(pid_t pid, Reports& reports) {
  for (auto& [id, armed] : reports) {
    if (armed.outcomes.empty()) continue;
    report(arming_->clients().find(id), {.kind = Event::Kind::kArmed, .pid = pid, .report = std::move(armed)});
  }
}

void EventReports::forget(pid_t pid) {
  std::erase_if(events_, [&](const Event& event) { return event.pid == pid; });
}

void WorkQueue::hold_for(DeferredWork work, Thread& thread) {
  tracer_.hold(thread);
  works_.push_back(work);
}

void WorkQueue::release_hold(pid_t tid) {
  if (Thread* thread = tracer_.find_thread(tid); thread && thread->holds > 0) tracer_.unhold(*thread);
}

void WorkQueue::perform(size_t most) {
  for (; most > 0 && !works_.empty(); most--) {
    DeferredWork work = works_.front();
    works_.pop_front();
    perform_(work);
  }
}

bool WorkQueue::contains(DeferredWork::Kind kind, pid_t pid) const {
  return std::ranges::any_of(works_, [&](const DeferredWork& work) { return work.kind == kind && work.pid == pid; });
}

}  // namespace spile::engine
