#pragma once
// Programs that are recorded (session/output/run_recorder.h): spile reads all globals while handlers run, and the statistics have
// what a later reader may ask for.

#include "sema/terms/program.h"

namespace spile::sema {

// Bits of Program::needs, beside those of IntrinsicNeeds. Set before elaboration. kNeedsKernelSketches: sketches of percentiles
// are kept by handlers in the kernel, too, which only those over an arena can.
inline constexpr uint32_t kNeedsRecording = 1u << 31, kNeedsKernelSketches = 1u << 30;

inline bool is_recorded(const Program& program) { return (program.needs & kNeedsRecording) != 0; }

}  // namespace spile::sema
