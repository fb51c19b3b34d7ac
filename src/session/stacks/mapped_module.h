#pragma once
// Opens the file that a process has mapped, even if it has been renamed, replaced or deleted since.

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
  std::string identity;  // of the file's content (base/files/elf_identity.h)
};
// Opens the file for its symbols and debug information. Errors: as options_for(); the file is not an ELF file.
Result<OpenedModule> open_mapped(pid_t pid, const engine::Module& mapped);

}  // namespace spile::session
