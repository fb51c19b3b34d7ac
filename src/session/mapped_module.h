#pragma once
// Opens the file that a process has mapped, whatever has become of its name since.

#include <sys/types.h>

#include <memory>
#include <string>

#include "debuginfo/debuginfo.h"
#include "engine/engine.h"

namespace spile::session {

// Returns how to open the file. Errors: the process or the mapping is gone, and no other way leads to the file.
Result<debuginfo::OpenOptions> options_for(pid_t pid, const engine::Module& mapped);

struct OpenedModule {
  std::shared_ptr<debuginfo::Module> module;
  std::string identity;  // base/elf_identity.h
};
// Errors: as options_for(); the file is not an ELF file.
Result<OpenedModule> open_mapped(pid_t pid, const engine::Module& mapped);

}  // namespace spile::session
