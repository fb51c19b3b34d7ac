#pragma once
// Numbers by which compiled handlers say to the runtime what the script wants. Freestanding. codegen asserts that the enumerations
// of the tree, where their order is the same, agree with them.

#include <stdint.h>

namespace spile::abi {

// Of a printf conversion; any of them together.
enum FormatFlags : uint32_t {
  kFormatLeft = 1,        // -
  kFormatZero = 2,        // 0
  kFormatPlus = 4,        // +
  kFormatSpace = 8,       // ' '
  kFormatAlternate = 16,  // #
};

// syntax::FormatPart::Kind
enum FormatConversion : uint32_t {
  kFormatLiteral,
  kFormatSigned,
  kFormatUnsigned,
  kFormatOctal,
  kFormatHex,
  kFormatHexUpper,
  kFormatPointer,
  kFormatString,
  kFormatChar,
  kFormatBinary,
  kFormatMemory,
  kFormatMemoryHex,
};

// syntax::Statistic::Operator: by what foreach sorts an array of aggregates.
enum SortStatistic : uint32_t { kSortByCount, kSortBySum, kSortByMin, kSortByMax, kSortByAverage, kSortByVariance };

// sema::PerfEvent: what @perf reads.
enum ThreadCounter : uint32_t { kCountTaskClock, kCountPageFaults, kCountContextSwitches, kCountMinorFaults, kCountMajorFaults };

}  // namespace spile::abi
