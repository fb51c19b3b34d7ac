#include "session/places/given_processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/messages.h"
#include "base/processes/spawn.h"
#include "base/text/number_text.h"
#include "engine/process/process_status.h"
#include "session/terms/command_words.h"

namespace spile::session {

namespace {

// Returns "4712 4713 4714"; the first twenty of many.
std::string numbers_of(const std::vector<pid_t>& pids) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(pids.size(), kMost); ++i) text += fmt::format("{}{}", i ? " " : "", pids[i]);
  return pids.size() > kMost ? text + " ..." : text;
}

}  // namespace

Result<pid_t> GivenProcesses::acquire(engine::Engine& engine, bool before_exec, bool attaches) {
  if (is_command()) {
    TRY(first_, engine.launch({.arguments = command_words(options_.command),
                               .environment = {},
                               .user = {},
                               .group = {},
                               .before_exec = before_exec}));
    living_ = {first_};
  } else if (!options_.processes.empty()) {
    first_ = options_.first_process();
    living_ = {options_.processes.begin(), options_.processes.end()};
    if (attaches) {
      TRY_DO(attach_all(engine));
    } else {
      watch();
    }
  }
  return first_;
}

// Nothing is attached to where only handlers in the kernel run: the kernel says when the processes of -x end.
void GivenProcesses::watch() {
  for (const pid_t pid : living_) {
    // One that has ended since it was looked up has no descriptor.
    if (UniqueFd process{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))}) watched_.push_back(std::move(process));
  }
  finished_ = watched_.empty();
}

Result<void> GivenProcesses::start_workload() {
  if (options_.workload.empty()) return {};
  std::vector<std::string> words = command_words(options_.workload);
  const std::string program = words.front();
  if (const int failure = spawn(std::move(words), &workload_); failure != 0)
    return Error::from_errno("start " + program, failure);
  return {};
}

void GivenProcesses::look() {
  if (int status = 0; workload_ > 0 && waitpid(workload_, &status, WNOHANG) == workload_) note_end(workload_, status);
  if (watched_.empty()) return;
  std::erase_if(watched_, [](const UniqueFd& process) {
    pollfd ended{process.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) > 0;
  });
  finished_ |= watched_.empty();
}

Result<void> GivenProcesses::attach_all(engine::Engine& engine) {
  TRY(const std::vector<pid_t> ended, attach_named(engine));
  if (!ended.empty()) {
    warn(fmt::format("{} of {} processes of -x ended before {} traced: {}", ended.size(), options_.processes.size(),
                     plural(ended.size(), "it was", "they were"), numbers_of(ended)));
  }
  if (options_.children) attach_children(engine);
  return {};
}

Result<std::vector<pid_t>> GivenProcesses::attach_named(engine::Engine& engine) {
  std::vector<pid_t> ended;
  for (pid_t pid : options_.processes) {
    const bool stopped = engine::process_status(pid, "State").starts_with("T");
    // Processes that share their memory are attached to together with the first of them.
    const std::vector<pid_t> traced = engine.processes();
    if (std::find(traced.begin(), traced.end(), pid) == traced.end()) {
      const Result<void> attached = engine.attach(pid);
      // Of several processes, as a name of -x may mean them, some can end meanwhile.
      const bool has_ended = !attached.ok() && engine::has_ended(pid);
      if (!attached.ok() && (!has_ended || ended.size() + 1 == options_.processes.size())) return attached.error();
      if (has_ended) {
        ended.push_back(pid);
        living_.erase(pid);
        continue;
      }
      if (!living_.contains(first_)) first_ = pid;
    }
    if (stopped)
      warn(fmt::format("process {} is stopped (state T): it hits no probes until it continues (kill -CONT {})", pid, pid));
  }
  return ended;
}

void GivenProcesses::attach_children(engine::Engine& engine) {
  const engine::Descendants found = engine.attach_descendants();
  const size_t traced = found.traced.size(), refused = found.refused.size();
  if (messages_.verbosity() > 0 && traced > 0) {
    note(fmt::format("{} {} of {} {} traced, too: {}", traced, plural(traced, "child", "children"),
                     options_.processes.size() == 1 ? fmt::format("process {}", first_) : "the processes",
                     plural(traced, "is", "are"), numbers_of(found.traced)));
  }
  if (refused == 0) return;
  const Error& first = found.refused.front();
  warn(fmt::format("{} of {} children {} not traced: {}{}", refused, refused + traced, plural(refused, "is", "are"),
                   first.message, first.hint.empty() ? "" : fmt::format(" ({})", first.hint)));
  for (size_t i = 1; i < refused && messages_.verbosity() > 0; ++i) warn(found.refused[i].message);
}

bool GivenProcesses::note_end(pid_t pid, int status) {
  if (pid == workload_ && workload_ > 0) {
    workload_ = 0;
    finished_ = true;
    if (!detached_) command_status_ = status;
    return false;
  }
  if (living_.erase(pid) == 0) return false;
  finished_ |= living_.empty();
  if (is_command() && !detached_) command_status_ = status;
  return true;
}

void GivenProcesses::kill_unstarted() {
  if (first_ > 0 && !resumed_ && is_command()) kill(first_, SIGKILL);
  resumed_ = true;
}

}  // namespace spile::session
