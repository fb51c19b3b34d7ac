#pragma once
// The kernel domain of a running script: its eBPF programs and maps, and the way of its globals between the maps and
// the controller's copies.

#include <memory>
#include <vector>

#include "base/result.h"
#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "sema/program.h"
#include "session/controller.h"
#include "session/options.h"
#include "session/output.h"

namespace spile::session {

class KernelSide {
 public:
  // Loads programs and creates maps; nothing is attached. process: what -c or -x name, 0 for none (uprobes and
  // timer.profile are limited to it).
  static Result<std::unique_ptr<KernelSide>> load(const sema::Program& program, const codegen::CompiledScript& script,
                                                  const Options& options, pid_t process);

  Result<void> attach();
  void detach();

  // Maps to the controller's copies, before a controller handler runs; and what the handler changed or deleted back.
  Result<void> import_globals(Controller& controller);
  Result<void> export_globals(Controller& controller);

  int poll_fd() const { return kernel_->poll_fd(); }
  Result<void> consume(Output& output);
  bool exit_requested() const;
  // "WARNING: ..." lines, or empty.
  std::string skips_text() const;

 private:
  struct Element {
    std::vector<uint8_t> key;
    std::vector<uint8_t> value;
  };
  KernelSide(const codegen::CompiledScript& script, const Options& options) : script_(script), options_(options) {}

  const codegen::CompiledScript& script_;
  const Options& options_;
  std::unique_ptr<bpf::Kernel> kernel_;
  std::vector<std::vector<Element>> imported_;  // parallel to script_.kernel.maps
};

}  // namespace spile::session
