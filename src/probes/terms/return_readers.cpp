#include "probes/terms/return_readers.h"

#include "debuginfo/elf/defined_symbols.h"

namespace spile::probes {

// The dynamic linker asks for the caller of dlsym: RTLD_NEXT is what comes behind the caller's library, and dlopen searches where
// the caller's library says. gprof's mcount counts the calls from one function to another (gmon/mcount.c).
ReturnReaders return_readers_in(const std::string& path) {
  return {.own = debuginfo::ways_to_functions(path, {"dlopen", "dlmopen", "dlsym", "dlvsym", "dl_iterate_phdr"}),
          .callers = debuginfo::ways_to_functions(path, {"mcount", "_mcount", "__fentry__"})};
}

}  // namespace spile::probes
