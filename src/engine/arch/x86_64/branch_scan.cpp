// Two steps, since whole libraries are scanned: any four bytes that would lead into the range if they were a rel32, or
// two that look like a short branch, make a function suspect (a loop that vectorizes, a fraction of a nanosecond a
// byte); only suspects are disassembled.

#include "engine/arch/x86_64/branch_scan.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstring>

#include "engine/arch/code_branches.h"
#include "engine/arch/x86_64/decoder.h"

namespace spile::engine::x86_64 {
namespace {

bool any_near(std::span<const uint8_t> code, uint32_t first, uint32_t count) {
  if (code.size() < 5) return false;
  const uint8_t* bytes = code.data();
  uint32_t limit = static_cast<uint32_t>(code.size() - 4);
  uint32_t hits = 0;
  for (uint32_t at = 0; at <= limit; at++) {
    uint32_t displacement;
    std::memcpy(&displacement, bytes + at, 4);
    hits |= displacement + at + 4 - first < count;
  }
  return hits != 0;
}

bool is_short_branch(uint8_t opcode) { return opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0; }

bool any_short(std::span<const uint8_t> code, uint32_t first, uint32_t count) {
  size_t limit = std::min<size_t>(code.size(), first + count + 130);
  for (uint32_t at = 0; at + 1 < limit; at++) {
    if (!is_short_branch(code[at])) continue;
    uint32_t target = at + 2 + static_cast<uint32_t>(static_cast<int8_t>(code[at + 1]));
    if (target - first < count) return true;
  }
  return false;
}

bool disassembly_branches_into(std::span<const uint8_t> code, uint32_t first, uint32_t count) {
  for (size_t at = 0; at < code.size();) {
    auto instruction = decode(code.subspan(at));
    if (!instruction) {
      at++;  // data in the code, such as a jump table: go on behind it
      continue;
    }
    bool direct = instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional ||
                  instruction->flow == Flow::kCounted || instruction->flow == Flow::kCall;
    uint64_t target = at + instruction->length + static_cast<uint64_t>(instruction->relative);
    if (direct && target - first < count) return true;
    at += instruction->length;
  }
  return false;
}

}  // namespace

bool branches_into(std::span<const uint8_t> code, uint32_t first, uint32_t last) {
  uint32_t count = last - first + 1;
  if (!any_near(code, first, count) && !any_short(code, first, count)) return false;
  return disassembly_branches_into(code, first, count);
}

std::vector<TextBranch> find_branches_into(std::span<const uint8_t> text, const std::vector<bool>& covered) {
  std::vector<TextBranch> found;
  const uint8_t* bytes = text.data();
  auto examine = [&](uint64_t at) {
    uint64_t field = at + (bytes[at] == 0x0f ? 2 : 1);
    if (field + 4 > text.size()) return;
    int32_t displacement;
    std::memcpy(&displacement, bytes + field, 4);
    uint64_t target = field + 4 + static_cast<uint64_t>(static_cast<int64_t>(displacement));
    if (target < text.size() && covered[target]) found.push_back({at, target});
  };
  // 16 bytes at a time: call and jmp rel32 are e8 and e9, jcc rel32 is 0f 8x.
  const __m128i near = _mm_set1_epi8(static_cast<char>(0xe8)), all_but_last = _mm_set1_epi8(static_cast<char>(0xfe));
  const __m128i escape = _mm_set1_epi8(0x0f), conditional = _mm_set1_epi8(static_cast<char>(0x80));
  const __m128i high = _mm_set1_epi8(static_cast<char>(0xf0));
  uint64_t at = 0;
  for (; at + 17 <= text.size(); at += 16) {
    __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at));
    __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at + 1));
    __m128i direct = _mm_cmpeq_epi8(_mm_and_si128(here, all_but_last), near);
    __m128i jcc = _mm_and_si128(_mm_cmpeq_epi8(here, escape), _mm_cmpeq_epi8(_mm_and_si128(next, high), conditional));
    for (unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(direct, jcc))); mask; mask &= mask - 1) {
      examine(at + static_cast<unsigned>(__builtin_ctz(mask)));
    }
  }
  for (; at + 1 < text.size(); at++) {
    bool direct = (bytes[at] & 0xfe) == 0xe8;
    if (direct || (bytes[at] == 0x0f && (bytes[at + 1] & 0xf0) == 0x80)) examine(at);
  }
  return found;
}

std::vector<TextBranch> find_short_branches(std::span<const uint8_t> text) {
  std::vector<TextBranch> found;
  for (uint64_t at = 0; at + 1 < text.size(); at++) {
    if (is_short_branch(text[at])) found.push_back({at, at + 2 + static_cast<uint64_t>(static_cast<int8_t>(text[at + 1]))});
  }
  return found;
}

bool jumps_to(std::span<const uint8_t> code, Address at, Address target) {
  for (size_t offset = 0; offset < code.size();) {
    auto instruction = decode(code.subspan(offset));
    offset += instruction ? instruction->length : 1;
    bool jumps = instruction && (instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional ||
                                 instruction->flow == Flow::kCounted);
    if (jumps && at + static_cast<int64_t>(offset) + instruction->relative == target) return true;
  }
  return false;
}

void find_called(std::span<const uint8_t> text, Address at, std::vector<Address>& called) {
  constexpr uint8_t kCall = 0xe8;
  constexpr int64_t kLength = 5;
  if (text.size() < kLength) return;
  const uint8_t* end = text.data() + text.size() - kLength + 1;
  for (const uint8_t* byte = text.data(); byte < end; byte++) {
    byte = static_cast<const uint8_t*>(std::memchr(byte, kCall, static_cast<size_t>(end - byte)));
    if (!byte) return;
    int32_t distance;
    std::memcpy(&distance, byte + 1, sizeof distance);
    called.push_back(at + (byte - text.data()) + kLength + distance);
  }
}

std::optional<Address> first_branch_out(std::span<const uint8_t> code, Address at) {
  for (size_t offset = 0; offset < code.size();) {
    auto instruction = decode(code.subspan(offset));
    if (!instruction) return {};
    offset += instruction->length;
    bool branches =
        instruction->flow == Flow::kJump || instruction->flow == Flow::kConditional || instruction->flow == Flow::kCall;
    if (!branches) continue;
    Address target = at + static_cast<int64_t>(offset) + instruction->relative;
    if (target < at || target >= at + static_cast<int64_t>(code.size())) return target;
  }
  return {};
}

bool is_stub(std::span<const uint8_t> text) {
  auto skip = [&](std::span<const uint8_t> prefix) {
    if (text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin()))
      text = text.subspan(prefix.size());
  };
  constexpr uint8_t kEndBranch[] = {0xf3, 0x0f, 0x1e, 0xfa}, kBound[] = {0xf2};
  skip(kEndBranch);
  skip(kBound);
  return text.size() >= 6 && text[0] == 0xff && text[1] == 0x25;
}

bool is_instruction(std::span<const uint8_t> text, uint64_t offset) {
  uint64_t at = 0;
  while (at < offset) {
    auto instruction = decode(text.subspan(at));
    at += instruction ? instruction->length : 1;
  }
  return at == offset;
}

}  // namespace spile::engine::x86_64

namespace spile::engine {

std::vector<BranchOut> branches_out(std::span<const uint8_t> code, Address at) {
  std::vector<BranchOut> found;
  for (size_t offset = 0; offset < code.size();) {
    auto instruction = x86_64::decode(code.subspan(offset));
    offset += instruction ? instruction->length : 1;
    if (!instruction) continue;
    const bool calls = instruction->flow == x86_64::Flow::kCall;
    if (!calls && instruction->flow != x86_64::Flow::kJump && instruction->flow != x86_64::Flow::kConditional) continue;
    const Address target = at + static_cast<int64_t>(offset) + instruction->relative;
    if (target < at || target >= at + static_cast<int64_t>(code.size())) found.push_back({target, calls});
  }
  return found;
}

}  // namespace spile::engine
