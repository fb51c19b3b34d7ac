#pragma once
// Which package has the debug information of a file that a package has installed, as dpkg's lists of files say. Thread rule: any
// thread.

#include <string>
#include <vector>

namespace spile::debuginfo {

// Returns ways to have it: "install libc6-dbg", "set DEBUGINFOD_URLS=https://..."; empty if no package has installed the file.
// root: in front of all paths, as OpenOptions::root. asks_servers: debuginfod servers are asked already. Takes some 20 ms: for
// error messages.
std::vector<std::string> debug_package_ways(const std::string& path, const std::string& root, bool asks_servers);

}  // namespace spile::debuginfo
