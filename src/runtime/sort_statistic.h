#pragma once
// The number by which foreach sorts aggregates (abi::SortStatistic). What lies in an aggregate may be anything: neither 0 nor -1
// may make the machine trap.

#include <stdint.h>

#include "abi/aggregate.h"
#include "abi/script_codes.h"
#include "runtime/variance.h"

namespace spile::rt {

inline int64_t divide_any(int64_t left, int64_t right) {
  if (right == 0) return 0;
  return right == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(left)) : left / right;
}

// count: the aggregate's, as the place reads it.
inline int64_t sort_statistic(const abi::Aggregate* aggregate, int64_t count, uint32_t statistic) {
  switch (statistic) {
    case abi::kSortByCount: return count;
    case abi::kSortByMin: return aggregate->min;
    case abi::kSortByMax: return aggregate->max;
    case abi::kSortByAverage: return divide_any(aggregate->sum, count);
    case abi::kSortByVariance: return variance_of(aggregate, static_cast<uint64_t>(count));
    default: return aggregate->sum;
  }
}

}  // namespace spile::rt
