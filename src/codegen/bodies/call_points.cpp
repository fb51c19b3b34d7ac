#include "codegen/bodies/call_points.h"

#include <numeric>

#include "abi/system_calls.h"

namespace spile::codegen {

namespace {

constexpr size_t kSystemCalls = 1024;  // numbers, a power of two
static_assert(abi::kSystemCallNumbers <= kSystemCalls);

}  // namespace

llvm::Value* point_of_call(Unit& unit, llvm::IRBuilder<>& b, const sema::Probe& probe, const std::vector<uint32_t>& points,
                           llvm::Value* number) {
  auto call_of = [&](uint32_t point) { return static_cast<uint64_t>(probe.points[point].site.system_call); };
  if (points.size() == 1) {
    llvm::Value* is_it = b.CreateICmpEQ(number, b.getInt64(call_of(points.front())));
    return b.CreateSelect(is_it, b.getInt64(1 + uint64_t{points.front()}), b.getInt64(0));
  }
  llvm::Value* index = b.CreateAnd(number, b.getInt64(kSystemCalls - 1));
  // 16 bits for each number: 1 + the index of its point.
  std::string table(2 * kSystemCalls, '\0');
  for (uint32_t point : points) {
    const size_t at = 2 * call_of(point);
    table[at] = static_cast<char>((point + 1) & 0xff);
    table[at + 1] = static_cast<char>((point + 1) >> 8);
  }
  llvm::Value* place = b.CreateGEP(b.getInt16Ty(), unit.module.text(table), index);
  llvm::Value* point = b.CreateZExt(b.CreateAlignedLoad(b.getInt16Ty(), place, llvm::Align(1)), b.getInt64Ty());
  return b.CreateSelect(b.CreateICmpEQ(index, number), point, b.getInt64(0));
}

llvm::Value* point_of_call(Unit& unit, llvm::IRBuilder<>& b, const sema::Probe& probe, llvm::Value* number) {
  std::vector<uint32_t> all(probe.points.size());
  std::iota(all.begin(), all.end(), 0u);
  return point_of_call(unit, b, probe, all, number);
}

}  // namespace spile::codegen
