#pragma once
// Where control can go within one function (Architecture::analyse_function).

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

FunctionFlow analyse_function(std::span<const uint8_t> text, Address entry, uint64_t size, const MemoryReader& read);

}  // namespace spile::engine::x86_64
