#include "session/stacks/jit_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include "base/clock.h"
#include "base/processes/proc.h"
#include "base/text/split.h"

namespace spile::session {

namespace {

constexpr int64_t kLookNs = 20'000'000;
constexpr uint64_t kLargestFile = 1 << 30;  // bytes that are read of one
constexpr size_t kPortion = 1 << 20;
constexpr size_t kMostProcesses = 4096, kMostRefused = 20;
constexpr uint64_t kLargestCode = 1 << 30;
constexpr uint32_t kJitMagic = 0x4a695444, kDumpVersion = 1;
constexpr size_t kNotOne = ~size_t{0};

bool read_hex(std::string_view& line, uint64_t& number) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const auto read = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (read.ec != std::errc() || read.ptr == line.data() + line.size() || *read.ptr != ' ') return false;
  line.remove_prefix(static_cast<size_t>(read.ptr - line.data()) + 1);
  return true;
}

template <typename T>
T number_at(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The process's number in its own namespace, by which it names its files, and its user; false: it has ended.
bool read_status(pid_t pid, pid_t& own, uid_t& user) {
  const ProcessStatus status = ProcessStatus::read(pid);
  const std::string numbers = status.field("NSpid"), users = status.field("Uid");
  const std::vector<std::string_view> by_namespace = words_of(numbers), users_of = words_of(users);
  constexpr size_t kEffective = 1;
  if (users_of.size() <= kEffective) return false;
  own = by_namespace.empty() ? pid : atoi(std::string(by_namespace.back()).c_str());
  user = static_cast<uid_t>(strtoul(std::string(users_of[kEffective]).c_str(), nullptr, 10));
  return true;
}

}  // namespace

void JitCode::add(uint64_t begin, uint64_t size, std::string_view name) {
  const uint64_t end = begin + size;
  // What is there already ends where this begins, and begins where this ends.
  auto at = ranges_.lower_bound(begin);
  if (at != ranges_.begin()) {
    auto before = std::prev(at);
    if (before->second.end > end && ranges_.size() < kMostEntries)
      ranges_.emplace(end, Range{before->second.end, before->second.name});
    before->second.end = std::min(before->second.end, begin);
  }
  while (at != ranges_.end() && at->first < end) {
    if (at->second.end > end) {
      Range rest = std::move(at->second);
      ranges_.erase(at);
      ranges_.insert_or_assign(end, std::move(rest));
      break;
    }
    at = ranges_.erase(at);
  }
  if (ranges_.size() >= kMostEntries) ++lost_;
  else ranges_.insert_or_assign(begin, Range{end, std::string(name.substr(0, kLongestName))});
}

void JitCode::move(uint64_t from, uint64_t to, uint64_t size) {
  const auto known = ranges_.find(from);
  if (known == ranges_.end()) return;
  const std::string name = std::move(known->second.name);
  ranges_.erase(known);
  add(to, size, name);
}

std::string_view JitCode::name_at(uint64_t address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return {};
  const auto& [begin, range] = *std::prev(after);
  return address < range.end ? std::string_view(range.name) : std::string_view();
}

size_t read_perf_map(std::string_view text, JitCode& code, uint64_t& malformed) {
  size_t taken = 0;
  for (size_t end; (end = text.find('\n', taken)) != std::string_view::npos; taken = end + 1) {
    std::string_view line = text.substr(taken, end - taken);
    uint64_t begin = 0, size = 0;
    if (read_hex(line, begin) && read_hex(line, size) && size > 0 && size <= kLargestCode && begin + size > begin &&
        !line.empty())
      code.add(begin, size, line);
    else ++malformed;
  }
  return taken;
}

size_t read_jitdump(std::string_view bytes, bool is_begin, JitCode& code, uint64_t& malformed) {
  size_t taken = 0;
  if (is_begin) {
    constexpr size_t kHeader = 40;
    if (bytes.size() < kHeader) return 0;
    const auto size = number_at<uint32_t>(bytes, 8);
    if (number_at<uint32_t>(bytes, 0) != kJitMagic || number_at<uint32_t>(bytes, 4) != kDumpVersion || size < kHeader ||
        size > kPortion / 2)
      return kNotOne;
    if (bytes.size() < size) return 0;
    taken = size;
  }
  constexpr size_t kPrefix = 16, kLoad = kPrefix + 40, kMove = kPrefix + 48;
  while (bytes.size() - taken >= kPrefix) {
    const std::string_view record = bytes.substr(taken);
    const auto id = number_at<uint32_t>(record, 0), size = number_at<uint32_t>(record, 4);
    // A reader that goes on behind a record without an end reads nonsense.
    if (size < kPrefix || size > kPortion / 2) return kNotOne;
    if (record.size() < size) break;
    taken += size;
    if (id == 0 && size > kLoad) {
      const auto address = number_at<uint64_t>(record, kPrefix + 16), length = number_at<uint64_t>(record, kPrefix + 24);
      const std::string_view name = record.substr(kLoad, strnlen(record.data() + kLoad, size - kLoad));
      if (length > 0 && length <= kLargestCode && address + length > address && !name.empty()) code.add(address, length, name);
      else ++malformed;
    } else if (id == 1 && size >= kMove) {
      const auto from = number_at<uint64_t>(record, kPrefix + 16), to = number_at<uint64_t>(record, kPrefix + 24),
                 length = number_at<uint64_t>(record, kPrefix + 32);
      if (length > 0 && length <= kLargestCode && to + length > to) code.move(from, to, length);
      else ++malformed;
    } else if (id <= 1) {
      ++malformed;
    }
  }
  return taken;
}

void JitNames::add_file(pid_t pid, Process& process, const std::string& path, bool is_jitdump) {
  pid_t own;
  uid_t user;
  if (!read_status(pid, own, user)) return;
  const UniqueFd root(open(fmt::format("/proc/{}/root", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
  if (!fd) return;
  (is_jitdump ? process.has_dump : process.has_map) = true;
  struct stat status{};
  if (fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || (status.st_uid != user && status.st_uid != 0)) {
    if (refused_.size() < kMostRefused)
      refused_.push_back(fmt::format("names of code in {} are not used: it is not a file of the user of process {}", path, pid));
    return;
  }
  process.files.push_back({std::move(fd), 0, is_jitdump, false});
}

void JitNames::look_for_files(pid_t pid, Process& process) {
  pid_t own;
  uid_t user;
  if (!read_status(pid, own, user)) return;
  if (!process.has_map) add_file(pid, process, fmt::format("tmp/perf-{}.map", own), false);
  if (process.has_dump) return;
  const std::string ending = fmt::format("/jit-{}.dump", own);
  const Result<std::vector<Mapping>> mappings = read_mappings(pid);
  if (!mappings.ok()) return;
  const auto dump = std::ranges::find_if(*mappings, [&](const Mapping& mapping) { return mapping.path.ends_with(ending); });
  if (dump != mappings->end()) add_file(pid, process, dump->path, true);
}

void JitNames::read_more(Process& process) {
  std::string bytes;
  for (File& file : process.files) {
    while (!file.ended) {
      bytes.resize(kPortion);
      const ssize_t count = pread(file.fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(file.read));
      if (count <= 0) break;
      const std::string_view got(bytes.data(), static_cast<size_t>(count));
      const size_t taken = file.is_jitdump ? read_jitdump(got, file.read == 0, process.code, malformed_)
                                           : read_perf_map(got, process.code, malformed_);
      // A line or record that does not fit into a portion.
      if (taken == kNotOne || (taken == 0 && got.size() == kPortion) || file.read + taken > kLargestFile) {
        ++malformed_;
        file.ended = true;
      } else if (taken == 0) {
        break;  // the rest is not there yet
      } else {
        file.read += taken;
      }
    }
  }
}

std::string_view JitNames::name_at(pid_t pid, uint64_t address) {
  if (processes_.size() >= kMostProcesses && !processes_.contains(pid)) return {};
  Process& process = processes_[pid];
  // Code may have moved since, so names that are known are looked up in what the files have now, too.
  if (const int64_t now = monotonic_ns(); now >= process.next_look) {
    process.next_look = now + kLookNs;
    if (!process.has_map || !process.has_dump) look_for_files(pid, process);
    read_more(process);
  }
  return process.code.name_at(address);
}

std::vector<std::string> JitNames::losses() const {
  std::vector<std::string> warnings(refused_.begin(), refused_.end());
  if (malformed_ > 0) warnings.push_back(fmt::format("{} lines or records in files of names of code made no sense", malformed_));
  uint64_t lost = 0;
  for (const auto& [pid, process] : processes_) lost += process.code.lost();
  if (lost > 0)
    warnings.push_back(fmt::format("{} names of code are not used: a process has more than {}", lost, JitCode::kMostEntries));
  return warnings;
}

}  // namespace spile::session
