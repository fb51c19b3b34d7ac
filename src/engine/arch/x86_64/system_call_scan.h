#pragma once
// Finds `syscall` instructions in text (Architecture::find_system_calls). They are certain if disassembly of a function from its
// begin meets them. Bytes outside of known functions may be data, and are left out if no program could have a call there. The
// instructions of 32-bit calls (sysenter, int $0x80) are found, but never certain. (glibc ends the unwind information of clone
// right before its call, so the first instructions behind a function are looked at too, where it goes on to them.)

#include <span>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at, const FunctionBefore& function_before);

}  // namespace spile::engine::x86_64
