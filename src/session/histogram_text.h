#pragma once
// Makes the text of a histogram from a record's buckets (runtime/histogram.h).

#include <cstdint>
#include <span>
#include <string>

#include "codegen/codegen.h"

namespace spile::session {

// Returns the histogram's rows, each with its newline. buckets: as abi/aggregate.h lays them out. REQUIRES: as many as the format has.
std::string histogram_text(const codegen::OutputFormat& format, std::span<const uint64_t> buckets);

}  // namespace spile::session
