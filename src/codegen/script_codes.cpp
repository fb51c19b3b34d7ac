// Handlers pass enumerators of the tree to the runtime as they are: here the orders are compared, at compile time.

#include "abi/script_codes.h"

#include "sema/terms/target_info.h"
#include "syntax/tree.h"

namespace spile::codegen {
namespace {

template <typename Tree, typename Code>
constexpr bool same(Tree tree, Code code) {
  return static_cast<uint32_t>(tree) == static_cast<uint32_t>(code);
}

using FormatKind = syntax::FormatPart::Kind;
static_assert(same(FormatKind::kLiteral, abi::kFormatLiteral) && same(FormatKind::kSigned, abi::kFormatSigned) &&
              same(FormatKind::kUnsigned, abi::kFormatUnsigned) && same(FormatKind::kOctal, abi::kFormatOctal) &&
              same(FormatKind::kHex, abi::kFormatHex) && same(FormatKind::kHexUpper, abi::kFormatHexUpper) &&
              same(FormatKind::kPointer, abi::kFormatPointer) && same(FormatKind::kString, abi::kFormatString) &&
              same(FormatKind::kChar, abi::kFormatChar) && same(FormatKind::kBinary, abi::kFormatBinary) &&
              same(FormatKind::kMemory, abi::kFormatMemory) && same(FormatKind::kMemoryHex, abi::kFormatMemoryHex));

using Statistic = syntax::Statistic::Operator;
static_assert(same(Statistic::kCount, abi::kSortByCount) && same(Statistic::kSum, abi::kSortBySum) &&
              same(Statistic::kMin, abi::kSortByMin) && same(Statistic::kMax, abi::kSortByMax) &&
              same(Statistic::kAverage, abi::kSortByAverage) && same(Statistic::kVariance, abi::kSortByVariance));

using Event = sema::PerfEvent;
static_assert(same(Event::kTaskClock, abi::kCountTaskClock) && same(Event::kPageFaults, abi::kCountPageFaults) &&
              same(Event::kContextSwitches, abi::kCountContextSwitches) && same(Event::kMinorFaults, abi::kCountMinorFaults) &&
              same(Event::kMajorFaults, abi::kCountMajorFaults));

}  // namespace
}  // namespace spile::codegen
