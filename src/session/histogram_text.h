#pragma once
// Histograms as SystemTap prints them: a bar of at most 50 '@' a bucket, empty stretches cut short by '~'.

#include <cstdint>
#include <span>
#include <string>

#include "codegen/codegen.h"

namespace spile::session {

// buckets: as abi/aggregate.h lays them out for the format.
std::string histogram_text(const codegen::OutputFormat& format, std::span<const uint64_t> buckets);

}  // namespace spile::session
