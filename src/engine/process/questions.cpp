#include "engine/process/questions.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "abi/script_codes.h"
#include "base/files/file.h"
#include "base/processes/proc.h"
#include "base/text/split.h"
#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

int64_t number_in(std::string_view text) {
  int64_t number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end != text.data() ? number : -1;
}

// The numbers of a line of a status file, and of statm.
std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> numbers;
  for (std::string_view word : words_of(text)) numbers.push_back(number_in(word));
  return numbers;
}

int64_t last_of(const ProcessStatus& status, std::string_view field) {
  const std::vector<int64_t> numbers = numbers_in(status.field(field));
  return numbers.empty() ? -1 : numbers.back();
}

std::string thread_path(pid_t pid, pid_t tid) { return fmt::format("/proc/{}/task/{}", pid, tid); }

abi::ThreadValues values_of(pid_t pid, pid_t tid) {
  abi::ThreadValues values{};
  values.pid = pid;
  values.tid = tid;
  thread_name(pid, tid).copy(values.name, sizeof values.name - 1);
  const ProcessStatus status = ProcessStatus::read(tid);
  const std::vector<int64_t> users = numbers_in(status.field("Uid")), groups = numbers_in(status.field("Gid"));
  if (users.size() < 2 || groups.size() < 2) return values;
  values.uid = static_cast<uint32_t>(users[0]);
  values.euid = static_cast<uint32_t>(users[1]);
  values.gid = static_cast<uint32_t>(groups[0]);
  values.egid = static_cast<uint32_t>(groups[1]);
  return values;
}

// Returns the number that a user namespace has for the user or group `outside`, by a map of lines "INSIDE OUTSIDE COUNT"
// (user_namespaces(7)); nobody's number if the map does not list it.
int64_t name_inside(const std::string& map_path, int64_t outside) {
  constexpr int64_t kNobody = 65534;
  const auto map = read_file(map_path);
  if (!map.ok() || outside < 0) return -1;
  for (std::string_view line : lines_of(*map)) {
    const std::vector<int64_t> numbers = numbers_in(line);
    if (numbers.size() == 3 && outside >= numbers[1] && outside - numbers[1] < numbers[2])
      return numbers[0] + outside - numbers[1];
  }
  return kNobody;
}

// What a process outside of the namespace is called there: 0.
int64_t parent_inside(const ProcessStatus& status) {
  const size_t levels = numbers_in(status.field("NSpid")).size();
  const int64_t parent = number_in(status.field("PPid"));
  if (levels == 0) return -1;
  if (parent <= 0) return 0;
  const std::vector<int64_t> parents = numbers_in(process_status(static_cast<pid_t>(parent), "NSpid"));
  return parents.size() >= levels ? parents[levels - 1] : 0;
}

int64_t namespace_number(int64_t what, pid_t pid, pid_t tid) {
  const ProcessStatus status = ProcessStatus::read(tid);
  const abi::ThreadValues values = values_of(pid, tid);
  const std::string users = fmt::format("/proc/{}/uid_map", pid), groups = fmt::format("/proc/{}/gid_map", pid);
  switch (what) {
    case abi::kPid: return innermost_number(pid);
    case abi::kTid: return innermost_number(tid);
    case abi::kParentPid: return parent_inside(status);
    case abi::kProcessGroup: return last_of(status, "NSpgid");
    case abi::kSessionId: return last_of(status, "NSsid");
    case abi::kUser: return name_inside(users, values.uid);
    case abi::kEffectiveUser: return name_inside(users, values.euid);
    case abi::kUserGroup: return name_inside(groups, values.gid);
    case abi::kEffectiveGroup: return name_inside(groups, values.egid);
    default: return -1;
  }
}

// proc(5) counts fields of stat from 1; field 0 here is the state, which is the third. Those behind the 24th say where things
// lie in memory, which other processes must not learn.
int64_t process_number(int64_t pid, int64_t file, int64_t field) {
  constexpr int64_t kLastField = 24 - 3;
  if (pid <= 0 || pid > INT32_MAX || field < 0 || field > kLastField) return -1;
  if (file == 1) return number_in(stat_field(static_cast<pid_t>(pid), static_cast<int>(field) + 3));
  const auto text = read_file(fmt::format("/proc/{}/statm", pid));
  const std::vector<int64_t> numbers = text.ok() ? numbers_in(*text) : std::vector<int64_t>();
  // Of a process that has ended but is still listed, it says 0.
  return static_cast<size_t>(field) < numbers.size() && numbers[0] > 0 ? numbers[static_cast<size_t>(field)] : -1;
}

// What the kernel has counted for a thread. The counts are its own, but for a switch that comes of the question.
int64_t usage(int64_t what, pid_t pid, pid_t tid) {
  const auto stat = read_file(thread_path(pid, tid) + "/stat");
  if (!stat.ok()) return -1;
  const int64_t minor = number_in(stat_field_in(*stat, 10)), major = number_in(stat_field_in(*stat, 12));
  switch (what) {
    case abi::kCountTaskClock: {
      const auto times = read_file(thread_path(pid, tid) + "/schedstat");  // ns that it has run, and more
      const std::vector<int64_t> numbers = times.ok() ? numbers_in(*times) : std::vector<int64_t>();
      return numbers.empty() ? -1 : numbers[0];
    }
    case abi::kCountPageFaults: return minor + major;
    case abi::kCountMinorFaults: return minor;
    case abi::kCountMajorFaults: return major;
    case abi::kCountContextSwitches: {
      const ProcessStatus status = ProcessStatus::read(tid);
      return number_in(status.field("voluntary_ctxt_switches")) + number_in(status.field("nonvoluntary_ctxt_switches"));
    }
    default: return -1;
  }
}

// The kernel shows a command line that the program has written over as far as its first NUL, also where that lies behind it, in
// the environment.
uint64_t end_of_title(uint64_t begin, uint64_t end, uint64_t most, const TargetMemory& memory) {
  constexpr uint64_t kMostTitle = 4096;
  auto has_letter = [&memory](uint64_t at) {
    const auto letter = memory.read_value<char>(Address(at));
    return letter.ok() && *letter != 0;
  };
  if (begin >= end || !has_letter(end - 1)) return end;
  for (uint64_t at = end; at < std::min(most, end + kMostTitle); at++) {
    if (!has_letter(at)) return at + 1;
  }
  return end;
}

int64_t find_memory(abi::Question& question, pid_t pid, const TargetMemory& memory) {
  auto field = [&](int number) { return static_cast<uint64_t>(std::max<int64_t>(number_in(stat_field(pid, number)), 0)); };
  auto& ranges = question.ranges;
  ranges = {field(48), field(49), field(50), field(51)};
  ranges.arguments_end = end_of_title(ranges.arguments, ranges.arguments_end, ranges.environment_end, memory);
  return 0;
}

}  // namespace

void answer(abi::Question& question, pid_t pid, pid_t tid, const TargetMemory& memory, bool of_others) {
  question.number = [&]() -> int64_t {
    switch (question.what) {
      case abi::Question::kThread: return question.values = values_of(pid, tid), 0;
      case abi::Question::kParent: return number_in(process_status(pid, "PPid"));
      case abi::Question::kGroup: return number_in(stat_field(pid, 5));
      case abi::Question::kSession: return number_in(stat_field(pid, 6));
      case abi::Question::kNamespace: return namespace_number(question.argument, pid, tid);
      case abi::Question::kMemory: return find_memory(question, pid, memory);
      case abi::Question::kNameOf: {
        question.values = {};
        if (!of_others || question.argument <= 0 || question.argument > INT32_MAX) return -1;
        process_name(static_cast<pid_t>(question.argument)).copy(question.values.name, sizeof question.values.name - 1);
        return 0;
      }
      case abi::Question::kProcessNumber:
        if (!of_others && question.argument != 0) return -1;
        return process_number(question.argument == 0 ? pid : question.argument, question.file, question.field);
      case abi::Question::kUsage: return usage(question.argument, pid, tid);
      case abi::Question::kTime: {
        timespec now;
        const bool is_known = question.argument == CLOCK_REALTIME || question.argument == CLOCK_MONOTONIC;
        if (!is_known || clock_gettime(static_cast<clockid_t>(question.argument), &now) != 0) return -1;
        return now.tv_sec * 1'000'000'000 + now.tv_nsec;
      }
      case abi::Question::kRaise: {
        const bool is_signal = question.argument > 0 && question.argument < NSIG;
        return is_signal && syscall(SYS_tgkill, pid, tid, static_cast<int>(question.argument)) == 0 ? 0 : -1;
      }
      default: return -1;
    }
  }();
}

}  // namespace spile::engine
