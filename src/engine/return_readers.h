#pragma once
// Functions that look at return addresses, as far as a module calls them. Return probes replace return addresses, and leave the
// functions alone whose return address such a function would find.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>

namespace spile::engine {

struct Module;

// Addresses by which the module's code comes to such functions: entries of the procedure linkage table, words of the global
// offset table, functions of its own.
struct ReturnReaders {
  std::set<uint64_t> own;      // dlsym and the like look at their own: a function that ends with a jump there shares it
  std::set<uint64_t> callers;  // mcount looks at that of the function which calls it
};

// In addresses of the file. Asked about each module whose functions have return probes.
using ReturnReaderFinder = std::function<ReturnReaders(pid_t pid, const Module& module)>;

}  // namespace spile::engine
