#include "bpf/tracefs_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <utility>

#include "base/files/tracefs.h"

namespace spile::bpf {

namespace {

constexpr char kGroup[] = "spile_";  // and the number of the process

// Returns 0 or an errno.
int write_command(const std::string& command) {
  Result<UniqueFd> root = open_tracefs();
  if (!root) return ENOENT;
  UniqueFd file(openat(root->get(), "kprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file) return errno;
  return write(file.get(), command.data(), command.size()) == static_cast<ssize_t>(command.size()) ? 0 : errno;
}

// The kernel gives up an event some time after its last user has.
void remove_event(const std::string& name) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && write_command("-:" + name) == EBUSY; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// "p:spile_4711/p0 loop:lo_open": of processes that are no more.
void remove_leftovers() {
  Result<std::string> text = read_tracefs("kprobe_events");
  if (!text.ok()) return;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find(':') + 1, end = line.find(' ');
    if (begin == 0 || end == std::string::npos || line.compare(begin, sizeof kGroup - 1, kGroup) != 0) continue;
    const std::string name = line.substr(begin, end - begin);
    const int pid = std::atoi(name.c_str() + sizeof kGroup - 1);
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) write_command("-:" + name);
  }
}

}  // namespace

Result<TracefsProbe> TracefsProbe::make(const std::string& function, uint64_t offset, bool at_return) {
  static std::atomic<uint32_t> made = 0;
  const uint32_t number = made++;
  if (number == 0) remove_leftovers();
  TracefsProbe probe;
  const std::string name = fmt::format("{}{}/p{}", kGroup, getpid(), number);
  const std::string place = offset != 0 ? fmt::format("{}+{}", function, offset) : function;
  const int error = write_command(fmt::format("{}:{} {}", at_return ? 'r' : 'p', name, place));
  if (error == EILSEQ) return Error{fmt::format("no instruction begins at {}", place), kNoInstruction};
  if (error != 0)
    return Error::from_errno(fmt::format("write '{}' to kprobe_events of tracefs", place), error,
                             "run as root; the kernel must be built with CONFIG_KPROBE_EVENTS");
  probe.name_ = name;
  return probe;
}

TracefsProbe::TracefsProbe(TracefsProbe&& other) noexcept : name_(std::exchange(other.name_, {})) {}
TracefsProbe& TracefsProbe::operator=(TracefsProbe&& other) noexcept {
  std::swap(name_, other.name_);
  return *this;
}
TracefsProbe::~TracefsProbe() {
  if (!name_.empty()) remove_event(name_);
}

Result<uint64_t> TracefsProbe::id() const {
  TRY(std::string text, read_tracefs(fmt::format("events/{}/id", name_)));
  return std::strtoull(text.c_str(), nullptr, 10);
}

// "  spile_4711/p0    hits    missed"
std::optional<uint64_t> TracefsProbe::missed() const {
  if (name_.empty()) return std::nullopt;
  Result<std::string> text = read_tracefs("kprobe_profile");
  if (!text.ok()) return std::nullopt;
  std::istringstream words(*text);
  const std::string own = name_.substr(name_.find('/') + 1);
  uint64_t hits, missed;
  for (std::string name; words >> name >> hits >> missed;) {
    if (name == name_ || name == own) return missed;
  }
  return std::nullopt;
}

bool is_of_module(const std::string& function) { return function.find(':') != std::string::npos; }

bool waits_for_module(const std::string& function) {
  const size_t colon = function.find(':');
  return colon != std::string::npos && access(("/sys/module/" + function.substr(0, colon)).c_str(), F_OK) != 0;
}

}  // namespace spile::bpf
