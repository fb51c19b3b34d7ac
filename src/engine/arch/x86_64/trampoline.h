#pragma once
// Emits trampolines exactly as abi/trampoline.h promises them to handlers. Each function implements the virtual function of
// Architecture that has its name; engine/arch/architecture.h documents them.

#include <span>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Fragments run in order: each calls its handler and goes on with the next; a kReturn fragment calls the rest as its
// body. Behind the last stand the displaced instructions and the jump back.
Result<Trampoline> emit_trampoline(const SitePlan& plan, std::span<const uint8_t> original, std::span<const Fragment> fragments,
                                   Address at);
uint64_t trampoline_room(std::span<const Fragment> fragments);
bool is_stack_touch(std::span<const uint8_t> code);

std::vector<uint8_t> emit_jump(const SitePlan& plan, Address trampoline);
std::vector<uint8_t> emit_stub(Address at, Address target);
std::vector<uint8_t> emit_trap_unless(Address at, Address word, uint32_t mask, std::span<const uint32_t> only_for,
                                      uint32_t* trap_offset);
std::vector<uint8_t> emit_count(Address at, Address word);

}  // namespace spile::engine::x86_64
