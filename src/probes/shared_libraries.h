#pragma once
// Which shared libraries a process has, or a program will have, without running anything.

#include <sys/types.h>

#include <string>
#include <vector>

namespace spile::probes {

// Files other than the program that the process has mapped executable, by /proc/PID/maps, in the order of their
// addresses.
std::vector<std::string> mapped_files(pid_t process, const std::string& program);

// What the dynamic linker loads for a program: DT_NEEDED, recursively, looked for as ld.so(8) says: RPATH,
// LD_LIBRARY_PATH, RUNPATH, the directories of /etc/ld.so.conf, the system's. Real paths; what isn't found is left out.
// Libraries that the program opens by itself (dlopen) are not among them.
std::vector<std::string> linked_libraries(const std::string& program);

}  // namespace spile::probes
