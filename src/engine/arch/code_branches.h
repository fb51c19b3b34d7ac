#pragma once
// Where code leads by direct jumps and calls. Any thread.

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace spile::engine {

struct BranchOut {
  Address to;
  bool calls = false;
  bool operator==(const BranchOut&) const = default;
};

// Returns all direct jumps and calls in `code`, which lies at `at`, that leave `code`, in their order. Skips bytes that are not
// an instruction, one by one. `code`: of this machine's processor, from an instruction on.
std::vector<BranchOut> branches_out(std::span<const uint8_t> code, Address at);

}  // namespace spile::engine
