// Probe points of SystemTap that this version refuses by name, and those that nobody knows.

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "probes/family.h"

namespace spile::probes {

namespace {

struct Later {
  const char* first;
  const char* second;  // null: whatever follows
};
constexpr Later kLater[] = {
    // Of the kernel's code and data.
    {"kernel", "mark"}, {"kernel", "syscall"},
    // The library's aliases over them.
    {"generic", nullptr}, {"input", nullptr}, {"sctp", nullptr}, {"ip", nullptr}, {"sunrpc", nullptr}, {"nfs", nullptr}, {"nfsd", nullptr},
    // Of interpreters and other programs.
    {"java", nullptr}, {"hotspot", nullptr}, {"python", nullptr}, {"python2", nullptr}, {"python3", nullptr},
    {"debuginfod", nullptr}, {"stap", nullptr},
};

bool takes(const syntax::ProbePoint&) {
  return true;
}

Result<Points> resolve(TracedWorld&, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  // process.library("x").mark(..) is process.mark as far as this goes.
  size_t second = parts.size() > 2 && parts[1].name == "library" ? 2 : 1;
  for (const Later& later : kLater) {
    if (parts[0].name != later.first) continue;
    if (later.second && (parts.size() <= second || parts[second].name != later.second)) continue;
    std::string family = later.second ? fmt::format("{}.{}", later.first, later.second) : later.first;
    return Error{fmt::format("probe points '{}' are not available in this version", family),
                 family == "kernel.syscall" ? "there are kernel.syscall(\"read\") and (\"write\"); syscall.NAME is any system call" : ""};
  }
  std::vector<std::string> known;
  for (const Family* family : families()) known.emplace_back(family->name);
  for (const Later& later : kLater) known.emplace_back(later.first);
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
