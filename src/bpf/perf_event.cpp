#include "bpf/perf_event.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bpf/library.h"
#include "bpf/privilege.h"

namespace spile::bpf {

namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

}  // namespace

std::optional<uint64_t> number_in(const std::string& path, const std::string& prefix) {
  const std::optional<std::string> line = first_line(path);
  if (!line || !line->starts_with(prefix)) return std::nullopt;
  return std::strtoull(line->c_str() + prefix.size(), nullptr, 10);
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end;
    long first = std::strtol(at, &end, 10), last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return cpus;
}

std::vector<int> online_cpus() {
  std::vector<int> cpus = parse_cpu_list(first_line("/sys/devices/system/cpu/online").value_or("0"));
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

UniqueFd try_open_event(perf_event_attr& attributes, pid_t process, int cpu) {
  attributes.size = sizeof attributes;
  return UniqueFd(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, process, cpu, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
}

Result<UniqueFd> open_event(perf_event_attr& attributes, pid_t process, int cpu, const AttachPoint& point) {
  UniqueFd event = try_open_event(attributes, process, cpu);
  if (event) return event;
  std::string what = "attach " + point.text;
  if (is_privilege_error(errno)) return privilege_error(what, errno);
  if (errno == ESRCH) return Error{fmt::format("{}: no process {}", what, process), ""};
  if (errno == ENOENT && point.kind == AttachPoint::Kind::kTracepoint)
    return Error::from_errno(what, errno, "this kernel has no such tracepoint");
  return Error::from_errno(what, errno);
}

Result<Attachment> link_to_event(int program, UniqueFd event, const AttachPoint& point) {
  Attachment attachment;
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.perf_event.bpf_cookie = point.cookie;
  int link = bpf_link_create(program, event.get(), BPF_PERF_EVENT, &options);
  if (link < 0) {
    std::string what = "attach " + point.text;
    if (is_privilege_error(link)) return privilege_error(what, -link);
    if (-link == E2BIG) return Error::from_errno(what, -link, "the kernel runs at most 64 programs at one place");
    return Error::from_errno(what, -link, -link == EINVAL ? "needs Linux 5.15 or later" : "");
  }
  attachment.link.reset(link);
  if (ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return Error::from_errno("start " + point.text, errno);
  attachment.event = std::move(event);
  return attachment;
}

}  // namespace spile::bpf
