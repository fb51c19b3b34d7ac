#pragma once
// The file behind what a process has mapped, whatever has become of its name since.

#include <sys/types.h>

#include <memory>
#include <string>

#include "debuginfo/debuginfo.h"
#include "engine/engine.h"

namespace spile::session {

Result<debuginfo::OpenOptions> options_for(pid_t pid, const engine::Module& mapped);

struct OpenedModule {
  std::shared_ptr<debuginfo::Module> module;
  std::string identity;  // base/elf_identity.h
};
Result<OpenedModule> open_mapped(pid_t pid, const engine::Module& mapped);

}  // namespace spile::session
