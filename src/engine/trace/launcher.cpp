#include "engine/trace/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/print.h"
#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

bool is_program(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Finds the program as execvp does. Returns the name itself if it is not found, for exec to fail on.
std::string find_program(const std::string& name) {
  const char* path = getenv("PATH");
  if (name.find('/') != std::string::npos || !path) return name;
  std::string_view rest = path;
  for (;;) {
    size_t end = rest.find(':');
    std::string candidate = std::string(rest.substr(0, end));
    candidate = (candidate.empty() ? "." : candidate) + "/" + name;
    if (is_program(candidate)) return candidate;
    if (end == std::string_view::npos) return name;
    rest.remove_prefix(end + 1);
  }
}

Error cannot_run(const std::string& program, int error) {
  return Error::from_errno("run " + program, error, error == ENOENT ? "is it installed, and in PATH?" : "");
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

struct ChildPlan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const sigset_t* mask;
  const sigset_t* defaults;
  int gate, report;
  std::optional<uid_t> user;
  std::optional<gid_t> group;
};

// The signal mask with which spile itself was started: the session blocks the signals that end it before it makes an engine.
const sigset_t kMaskAtStart = [] {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}();

// Runs between fork and exec: makes only system calls, as the controller may have threads.
[[noreturn]] void run_child(const ChildPlan& plan) {
  // What the session ignores would stay ignored across exec.
  for (int number : {SIGPIPE, SIGXFSZ})
    if (sigismember(plan.defaults, number) == 1) signal(number, SIG_DFL);
  // Not by read(): handlers in the kernel may count that already.
  for (pollfd gate{plan.gate, 0, 0}; poll(&gate, 1, -1) < 0 && errno == EINTR;) {
  }
  bool ready =
      (!plan.group || (setgroups(0, nullptr) == 0 && setgid(*plan.group) == 0)) && (!plan.user || setuid(*plan.user) == 0);
  if (ready) {
    sigprocmask(SIG_SETMASK, plan.mask, nullptr);
    execve(plan.program, plan.arguments, plan.environment);
  }
  int error = errno;
  (void)!write(plan.report, &error, sizeof error);
  _exit(127);
}

// Waits until the child sleeps, which it does at the gate alone: handlers in the kernel are not to see what it does before. On a
// machine so busy that this takes longer than ten seconds, they do.
void wait_at_gate(pid_t child) {
  constexpr int kAttempts = 50'000;
  constexpr int kPauseUs = 200;
  for (int attempt = 0; attempt < kAttempts && !is_sleeping(child) && !has_ended(child); ++attempt) usleep(kPauseUs);
}

}  // namespace

Result<Launcher> Launcher::start(const LaunchOptions& options) {
  if (options.arguments.empty()) return Error{"launch: no program given", ""};
  Launcher launcher;
  launcher.program_ = find_program(options.arguments[0]);
  if (access(launcher.program_.c_str(), F_OK) != 0) return cannot_run(launcher.program_, errno);
  int gate[2], report[2];
  if (pipe2(gate, O_CLOEXEC) != 0) return Error::from_errno("pipe", errno);
  UniqueFd gate_read(gate[0]);
  launcher.gate_ = UniqueFd(gate[1]);
  if (pipe2(report, O_CLOEXEC) != 0) return Error::from_errno("pipe", errno);
  launcher.report_ = UniqueFd(report[0]);
  UniqueFd report_write(report[1]);

  std::optional<gid_t> group = options.group;
  if (options.user && !group) {
    const passwd* entry = getpwuid(*options.user);
    if (!entry) return Error{fmt::format("there is no user {}", *options.user), ""};
    group = entry->pw_gid;
  }
  std::vector<char*> arguments = pointers(options.arguments);
  std::vector<char*> environment;
  if (options.environment) environment = pointers(*options.environment);
  const sigset_t defaults = signals_by_default();
  ChildPlan plan{launcher.program_.c_str(),
                 arguments.data(),
                 options.environment ? environment.data() : environ,
                 &kMaskAtStart,
                 &defaults,
                 gate_read.get(),
                 report_write.get(),
                 options.user,
                 group};
  launcher.pid_ = fork();
  if (launcher.pid_ < 0) return Error::from_errno("fork", errno);
  if (launcher.pid_ == 0) {
    // The gate opens when its last writer closes it: the child must not be one.
    close(gate[1]);
    run_child(plan);
  }
  wait_at_gate(launcher.pid_);
  return launcher;
}

void Launcher::go() { gate_.reset(); }

std::optional<Error> Launcher::failure() {
  int error = 0;
  ssize_t n;
  while ((n = read(report_.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (n != sizeof error) return {};
  return cannot_run(program_, error);
}

}  // namespace spile::engine
