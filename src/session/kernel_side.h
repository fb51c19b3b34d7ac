#pragma once
// The kernel domain of a running script: its eBPF programs and maps, and the way of its globals between the maps and
// the controller's copies.

#include <memory>
#include <vector>

#include "base/result.h"
#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "probes/probes.h"
#include "sema/program.h"
#include "session/controller.h"
#include "session/output.h"

namespace spile::session {

class KernelSide {
 public:
  // Loads programs and creates maps; nothing is attached. process: what -c or -x name, 0 for none (uprobes and
  // timer.profile are limited to it).
  static Result<std::unique_ptr<KernelSide>> load(const sema::Program& program, const codegen::CompiledScript& script,
                                                  const probes::ModuleFiles& files, pid_t process, int verbosity);

  Result<void> attach();
  void detach();

  // What handlers have added to sharded globals goes to the controller's copies, and other globals are copied there:
  // before a controller handler runs.
  Result<void> import_globals(Controller& controller);
  // What the controller has changed in globals that aren't sharded, and what it has deleted of them, goes back: before
  // programs are attached, and after a controller handler has run. A handler of the kernel that writes the same element
  // between the two may lose.
  Result<void> export_globals(Controller& controller);

  int poll_fd() const { return kernel_->poll_fd(); }
  // How many records there were; more may be left.
  Result<size_t> consume(Output& output);
  bool exit_requested() const;
  // "WARNING: ..." lines, or empty.
  std::string skips_text() const;

 private:
  struct Element {
    std::vector<uint8_t> key;
    std::vector<uint8_t> value;
  };
  KernelSide(const sema::Program& program, const codegen::CompiledScript& script, int verbosity)
      : program_(program), script_(script), verbosity_(verbosity) {}
  // A value as it is compared and sent: of strings, what follows the NUL is of no meaning.
  std::vector<uint8_t> normal_value(const codegen::KernelMap& map, const uint8_t* bytes) const;

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  int verbosity_;
  std::unique_ptr<bpf::Kernel> kernel_;
  bool attached_ = false;                       // ever: before, the controller's globals are the only ones
  std::vector<std::vector<Element>> imported_;  // parallel to script_.kernel.maps
};

}  // namespace spile::session
