#pragma once
// Which shared libraries a program will have, without running it. What a process has is in debuginfo/elf/mapped_file.h.

#include <string>
#include <vector>

namespace spile::probes {

// Finds the libraries that the dynamic linker loads for a program: DT_NEEDED, recursively, looked for as ld.so(8) says: RPATH,
// LD_LIBRARY_PATH, RUNPATH, the directories of /etc/ld.so.conf, the system's. Real paths; what isn't found is left out.
// program: a path; empty if it can't be read. Libraries that the program opens by itself (dlopen) are not among them.
std::vector<std::string> linked_libraries(const std::string& program);

// Returns the real path of the library that the dynamic linker finds for a name ("libc.so.6"): in LD_LIBRARY_PATH, the
// directories of /etc/ld.so.conf, from which ldconfig(8) makes ld.so.cache, and the system's. "": none.
std::string system_library(const std::string& name);

}  // namespace spile::probes
