#pragma once
// Does a function branch into its own first bytes? A jump laid over a branch target would be entered in its middle.
//
// Functions other than branches_into implement the virtual function of Architecture or VariableLengthPatching that has their
// name; engine/arch/architecture.h documents them. Any thread.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// Whether a direct branch or call in `code` (one function, from its first instruction) leads to an offset in [first, last].
// Offsets are from the start of `code`. For a jump at 0, `first` is 1: a branch to 0 itself is not an obstacle, as it meets the
// jump. REQUIRES: first <= last.
bool branches_into(std::span<const uint8_t> code, uint32_t first, uint32_t last);

// Finds bytes anywhere in `text` that could be a branch with a 32-bit distance to a byte marked in `covered` (the bytes that
// jumps are going to lie over): a cold part of a function lies far from it. A few of what is found are not branches but happen to
// look like one.
std::vector<TextBranch> find_branches_into(std::span<const uint8_t> text, const std::vector<bool>& covered);
std::vector<TextBranch> find_short_branches(std::span<const uint8_t> text);
bool jumps_to(std::span<const uint8_t> code, Address at, Address target);
void find_called(std::span<const uint8_t> text, Address at, std::vector<Address>& called);
// Does not look at loop and jrcxz, which lead 127 bytes far at most.
std::optional<Address> first_branch_out(std::span<const uint8_t> code, Address at);
// Looks for jmp *x(%rip), perhaps behind endbr64 and with a bnd prefix: f3 0f 1e fa f2 ff 25 x x x x.
bool is_stub(std::span<const uint8_t> text);
bool is_instruction(std::span<const uint8_t> text, uint64_t offset);

}  // namespace spile::engine::x86_64
