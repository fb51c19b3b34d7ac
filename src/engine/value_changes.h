#pragma once
// Calls by which a program changes what handlers keep of it (abi::ThreadValues): its threads' names, users and groups. The
// entries of libc's functions that make such calls count in ProcessTable::changes, of processes whose handlers keep values.
// Where one of them can't, as the script probes it itself, handlers keep nothing. Not seen are calls that a program makes by an
// instruction of its own (Go), and what others do to it: a value that is kept is at most 0.2 s old
// (runtime/process/questions.cpp). Belongs to the engine's thread.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "engine/space/address_space.h"
#include "engine/space/space_setup.h"

namespace spile::engine {

class ValueChanges {
 public:
  // Returns whether the script has a probe that a site at the function's entry would meet.
  using IsProbed = FunctionRef<bool(const Module& module, FileAddress function)>;
  // Builds sites at functions of the space's modules that have none yet, and adds them to `sites`; the caller writes them. own:
  // of our own client, whose handlers keep values, and whose arena is mapped. After an error `sites` has those that were built
  // before it.
  Result<void> add_counters(SetupContext& own, AddressSpace& space, IsProbed is_probed, std::vector<PatchedSite>& sites);

 private:
  const std::vector<FileAddress>& functions_of(const TargetMemory& memory, const Module& module);

  std::map<std::pair<uint64_t, uint64_t>, std::vector<FileAddress>> known_;  // by device and inode
};

}  // namespace spile::engine
