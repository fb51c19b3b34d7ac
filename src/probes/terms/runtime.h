#pragma once
// --runtime: where the handlers of a script run.

#include <cstdint>

namespace spile::probes {

enum class Runtime : uint8_t {
  kAuto,       // in the kernel where a probe of the script is a kernel probe, otherwise in the traced processes
  kInProcess,  // in the traced processes
  kBpf,        // in the kernel
};

}  // namespace spile::probes
