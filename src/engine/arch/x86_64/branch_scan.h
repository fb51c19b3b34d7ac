#pragma once
// Does a function branch into its own first bytes? A jump laid over a branch target would be entered in its middle.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/arch/architecture.h"

namespace spile::engine::x86_64 {

// True if a direct branch in `code` (one function, from its first instruction) leads to an offset in [first, last].
// Offsets are from the start of `code`. A branch to the first instruction itself is no obstacle: it meets the jump.
bool branches_into(std::span<const uint8_t> code, uint32_t first, uint32_t last);

// Bytes anywhere in `text` that could be a direct branch to a byte marked in `covered` (of the same size; the bytes
// that jumps are going to lie over): a cold part of a function lies far from it. A few of what is found are no branches
// but happen to look like one; is_instruction distinguishes them.
std::vector<TextBranch> find_branches_into(std::span<const uint8_t> text, const std::vector<bool>& covered);
// Short branches, wherever they lead, and what looks like one.
std::vector<TextBranch> find_short_branches(std::span<const uint8_t> text);
// Whether a direct jump in `code`, which lies at `at`, leads to `target`.
bool jumps_to(std::span<const uint8_t> code, Address at, Address target);
// Adds where direct calls in `text`, which lies at `at`, lead to, and what looks like one.
void find_called(std::span<const uint8_t> text, Address at, std::vector<Address>& called);
// Where the first direct jump or call in `code`, which lies at `at`, leads that does not stay in it.
std::optional<Address> first_branch_out(std::span<const uint8_t> code, Address at);
// Begins with jmp *x(%rip), perhaps behind endbr64 and with a bnd prefix: f3 0f 1e fa f2 ff 25 x x x x.
bool is_stub(std::span<const uint8_t> text);
bool is_instruction(std::span<const uint8_t> text, uint64_t offset);

}  // namespace spile::engine::x86_64
