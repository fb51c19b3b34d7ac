#pragma once
// The globals that handlers in the kernel keep in maps, and the controller's copies of them: brought before each handler that
// spile runs itself, and given back after it. Thread rule: one thread.

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/arena/controller.h"

namespace spile::session {

class KernelGlobals {
 public:
  // Both must outlive this.
  KernelGlobals(const sema::Program& program, const codegen::CompiledScript& script)
      : program_(program), script_(script), imported_(script.kernel.maps.size()) {}

  // Adds what handlers have added to sharded globals to the controller's copies, and replaces the copies of other globals.
  // Errors: the kernel refuses. REQUIRES: called before each controller handler, once handlers run in the kernel.
  Result<void> import_all(bpf::Kernel& kernel, Controller& controller);
  // Writes back what the controller has changed in and deleted from globals that aren't sharded. An element that a handler in the
  // kernel writes between import_all() and this may be overwritten. Errors: the kernel refuses. REQUIRES: called before programs
  // are attached, and after each controller handler.
  Result<void> export_changes(bpf::Kernel& kernel, Controller& controller);

 private:
  struct Element {
    std::vector<uint8_t> key;
    std::vector<uint8_t> value;
  };
  Result<void> add_shards(bpf::Kernel& kernel, Controller& controller);
  // Returns a value as it is compared and sent: bytes behind the NUL of a string become 0.
  std::vector<uint8_t> normal_value(const codegen::KernelMap& map, const uint8_t* bytes) const;

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  std::vector<std::vector<Element>> imported_;  // parallel to script_.kernel.maps
};

}  // namespace spile::session
