#pragma once
// Where control can go within one function (Architecture::analyze_function).

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

FunctionFlow analyze_function(std::span<const uint8_t> text, Address entry, uint64_t size, const MemoryReader& read);

}  // namespace spile::engine::x86_64
