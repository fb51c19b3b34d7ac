#include "debuginfo/elf/debug_package.h"

#include <fmt/format.h>
#include <glob.h>

#include <array>
#include <fstream>
#include <string_view>
#include <vector>

namespace spile::debuginfo {
namespace {

// Packages whose debug symbols have a package of another name than NAME-dbgsym.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kNamed = {
    {{"libc6", "libc6-dbg"}, {"libc6-i386", "libc6-dbg"}}};
// The servers of distributions with dpkg, by ID of os-release(5).
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kServers = {
    {{"debian", "https://debuginfod.debian.net"}, {"ubuntu", "https://debuginfod.ubuntu.com"}}};

// With and without the /usr in front that a merged file system has.
std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names = {path};
  if (path.starts_with("/usr/")) names.push_back(path.substr(4));
  else names.push_back("/usr" + path);
  return names;
}

bool lists(const std::string& list, const std::vector<std::string>& names) {
  std::ifstream file(list);
  for (std::string line; std::getline(file, line);)
    for (const std::string& name : names)
      if (line == name) return true;
  return false;
}

// "libc6" from "/var/lib/dpkg/info/libc6:amd64.list".
std::string package_of(const std::string& path, const std::string& root) {
  const std::vector<std::string> names = names_of(path);
  std::string package;
  glob_t found{};
  if (glob((root + "/var/lib/dpkg/info/*.list").c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && package.empty(); ++i) {
      std::string list = found.gl_pathv[i];
      if (!lists(list, names)) continue;
      list = list.substr(list.rfind('/') + 1);
      package = list.substr(0, list.find_first_of(":", 0) == std::string::npos ? list.rfind(".list") : list.find(':'));
    }
  }
  globfree(&found);
  return package;
}

std::string distribution(const std::string& root) {
  std::ifstream file(root + "/etc/os-release");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("ID=")) {
      line = line.substr(3);
      std::erase(line, '"');
      return line;
    }
  return {};
}

template <typename Table>
std::string_view look_up(const Table& table, std::string_view name) {
  for (const auto& [key, value] : table)
    if (key == name) return value;
  return {};
}

}  // namespace

std::vector<std::string> debug_package_ways(const std::string& path, const std::string& root, bool asks_servers) {
  const std::string package = package_of(path, root);
  if (package.empty()) return {};
  const std::string_view named = look_up(kNamed, package);
  std::vector<std::string> ways = {named.empty() ? fmt::format("install {}-dbgsym", package) : fmt::format("install {}", named)};
  const std::string_view server = look_up(kServers, distribution(root));
  if (!asks_servers && !server.empty()) ways.push_back(fmt::format("set DEBUGINFOD_URLS={}", server));
  return ways;
}

}  // namespace spile::debuginfo
