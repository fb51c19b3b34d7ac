#include "engine/process/frozen.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text/split.h"

namespace spile::engine {
namespace {

// Of version 1, the hierarchy that has the freezer; of version 2, the only one.
bool is_freezers(const std::string& controllers, bool second) {
  if (second) return controllers.empty();
  return std::ranges::count(split(controllers, ','), "freezer") > 0;
}

struct Hierarchy {
  std::string root, where;
  bool second;
};

// Those with freezers that are mounted, as they were when this was asked for the first time.
const std::vector<Hierarchy>& hierarchies() {
  static const std::vector<Hierarchy> mounted = [] {
    std::vector<Hierarchy> found;
    // 36 35 0:31 / /sys/fs/cgroup/freezer rw,relatime shared:9 - cgroup cgroup rw,freezer
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      size_t dash = line.find(" - ");
      if (dash == std::string::npos) continue;
      std::string skipped, root, where, type, source, options;
      std::istringstream(line.substr(0, dash)) >> skipped >> skipped >> skipped >> root >> where;
      std::istringstream(line.substr(dash + 3)) >> type >> source >> options;
      bool second = type == "cgroup2";
      if (second || (type == "cgroup" && is_freezers(options, false))) found.push_back({root == "/" ? "" : root, where, second});
    }
    return found;
  }();
  return mounted;
}

bool has_line(const std::string& file, const std::vector<std::string>& wanted) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& each : wanted) {
      if (line == each) return true;
    }
  }
  return false;
}

}  // namespace

bool is_frozen(pid_t pid) {
  // 7:freezer:/path of version 1, 0::/path of version 2.
  std::ifstream groups(fmt::format("/proc/{}/cgroup", pid));
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), last = line.find(':', first + 1);
    if (last == std::string::npos) continue;
    bool second = line.starts_with("0:");
    if (!is_freezers(line.substr(first + 1, last - first - 1), second)) continue;
    std::string path = line.substr(last + 1);
    for (const Hierarchy& each : hierarchies()) {
      if (each.second != second || !path.starts_with(each.root)) continue;
      std::string folder = each.where + path.substr(each.root.size());
      if (second ? has_line(folder + "/cgroup.events", {"frozen 1"})
                 : has_line(folder + "/freezer.state", {"FROZEN", "FREEZING"}))
        return true;
    }
  }
  return false;
}

}  // namespace spile::engine
