#pragma once
// Maps memory into a target by calls of one of its threads.
//
// A program that has locked its memory (mlockall with MCL_FUTURE) locks whatever is mapped: the kernel would fill all of it at
// once, which is mostly holes of ours, and count it against RLIMIT_MEMLOCK. There, one page is mapped and unlocked, and grows
// to the size that is wanted: it grows as it is, unlocked.

#include "engine/process/memory_map.h"
#include "engine/space/address_space.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {

struct MemoryRequest {
  const char* what;       // for errors: "map the arena"
  uint64_t size;          // whole pages
  uint64_t protection;    // PROT_*
  int fd = -1;            // a descriptor of the target, shared; the caller closes it. -1: private anonymous memory
  uint64_t offset = 0;    // in the file
  Address where = {};     // maps exactly there, or fails; 0: any place
  bool replaces = false;  // what is mapped at `where` now
};
// Maps memory, and returns its run-time address. calls: by a thread of the process `pid`. Where the process's own limits
// (RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK) forbid it, the error's hint says so.
Result<Address> map_memory(RemoteCalls& calls, pid_t pid, const MemoryRequest& request);

}  // namespace spile::engine
