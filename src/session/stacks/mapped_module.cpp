#include "session/stacks/mapped_module.h"

#include "base/files/elf_identity.h"
#include "debuginfo/elf/mapped_file.h"

namespace spile::session {

Result<debuginfo::OpenOptions> options_for(pid_t pid, const engine::Module& mapped) {
  debuginfo::MappedFile file{.pid = pid,
                             .path = mapped.path,
                             .is_program = mapped.main_executable,
                             .device = mapped.device,
                             .inode = mapped.inode,
                             .start = mapped.lowest.value};
  if (!mapped.text.empty()) {
    file.begin = mapped.text.front().begin.value;
    file.end = mapped.text.front().end.value;
  }
  return debuginfo::options_for(file);
}

Result<OpenedModule> open_mapped(pid_t pid, const engine::Module& mapped) {
  TRY(debuginfo::OpenOptions options, options_for(pid, mapped));
  OpenedModule opened;
  TRY(opened.module, debuginfo::Module::open(mapped.path, options));
  opened.identity = elf_identity_of_file(options.place_of(mapped.path));
  return opened;
}

}  // namespace spile::session
