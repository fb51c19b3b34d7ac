// Probe points of SystemTap that this version refuses by name, and those that nobody knows.

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "probes/terms/family.h"

namespace spile::probes {

namespace {

struct Later {
  const char* first;
  const char* second;  // null: whatever follows
};
constexpr Later kLater[] = {
    // Of the kernel's code and data.
    {"kernel", "mark"},
    {"kernel", "syscall"},
    // The library's aliases over them.
    {"sctp", nullptr},
    {"ip", nullptr},
    // Of interpreters and other programs.
    {"java", nullptr},
    {"hotspot", nullptr},
    {"python", nullptr},
    {"python2", nullptr},
    {"python3", nullptr},
    {"debuginfod", nullptr},  // but debuginfod.process(...).NAME, which expand-aliases makes process(...).NAME of
    {"stap", nullptr},
};

// What the names of the library's aliases begin with. Only those files of it are read that a script's names ask for, so that its
// aliases are not known here.
constexpr const char* kLibrary[] = {"syscall",     "nd_syscall", "vfs",  "vm",  "scheduler", "kprocess",    "signal", "ioblock",
                                    "ioscheduler", "socket",     "tcp",  "udp", "netdev",    "irq_handler", "input",  "softirq",
                                    "workqueue",   "tty",        "scsi", "nfs", "nfsd",      "sunrpc",      "generic"};

// What may follow the first part of points: of all families with that name.
std::vector<std::string> second_parts(const syntax::ProbePoint& point) {
  std::vector<std::string> names;
  for (const Family* family : families()) {
    if (family->name != point.components[0].name) continue;
    for (std::string& name : family->components(point, 1)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

bool takes(const syntax::ProbePoint&) { return true; }

Result<Points> resolve(TracedWorld&, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  // process.library("x").mark(..) is process.mark as far as this goes.
  size_t second = parts.size() > 2 && parts[1].name == "library" ? 2 : 1;
  for (const Later& later : kLater) {
    if (parts[0].name != later.first) continue;
    if (later.second && (parts.size() <= second || parts[second].name != later.second)) continue;
    std::string family = later.second ? fmt::format("{}.{}", later.first, later.second) : later.first;
    std::string hint;
    if (family == "kernel.syscall") hint = "there are kernel.syscall(\"read\") and (\"write\"); syscall.NAME is any system call";
    else if (family == "java" || family == "hotspot")
      hint = "a Java machine with marks has them: spile -l 'process(\"libjvm.so\").mark(\"*\")'";
    else if (family.starts_with("python"))
      hint = "an interpreter with marks has them: spile -l 'process(\"python3\").mark(\"*\")'";
    else if (family == "debuginfod")
      hint = "process(...) alone does it: DEBUGINFOD_URLS names the servers of debug information, --download-debuginfo asks them";
    return Error{fmt::format("probe points '{}' are not available in this version", family), hint};
  }
  std::vector<std::string> known(std::begin(kLibrary), std::end(kLibrary));
  if (std::ranges::find(known, parts[0].name) != known.end())
    return Error{fmt::format("unknown probe point '{}'", text_of(point)), ""};
  for (const Family* family : families()) known.emplace_back(family->name);
  if (parts.size() == 1) {
    if (const std::vector<std::string> names = second_parts(point); !names.empty())
      return Error{fmt::format("the probe point '{0}' is incomplete", text_of(point)),
                   fmt::format("after '{}' there may be: {}", parts[0].name, fmt::join(names, ", "))};
  }
  for (const Family* family : families()) {
    if (family->name == parts[0].name && parts.size() > 1)
      return unexpected_component(point, second, family->components(point, second));
  }
  std::string near = nearest_name(parts[0].name, known);
  return Error{fmt::format("unknown probe point '{}'", text_of(point)),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  std::vector<std::string> names;
  for (const Later& later : kLater) {
    if (index == 1 && later.second && point.components[0].name == later.first) names.emplace_back(later.second);
  }
  return names;
}

}  // namespace

extern const Family unavailable_family = {"", takes, resolve, components};

}  // namespace spile::probes
