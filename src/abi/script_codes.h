#pragma once
// Numbers that compiled handlers pass to the runtime. Freestanding. codegen asserts (script_codes.cpp) that the enumerations of
// the tree that are named here have the same values.

#include <stdint.h>

namespace spile::abi {

// Flags of a printf conversion, combined by |.
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

// syntax::Statistic::Operator: the value by which foreach sorts an array of aggregates.
enum SortStatistic : uint32_t { kSortByCount, kSortBySum, kSortByMin, kSortByMax, kSortByAverage, kSortByVariance };

// sema::PerfEvent: the counter that @perf reads.
enum ThreadCounter : uint32_t { kCountTaskClock, kCountPageFaults, kCountContextSwitches, kCountMinorFaults, kCountMajorFaults };

}  // namespace spile::abi
