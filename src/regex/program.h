#pragma once
// A compiled regular expression as two read-only blocks of memory, which compiled scripts carry and match.h walks.
// Freestanding: also compiled into the runtime's bitcode. 4-byte aligned, no pointers.
//
//   Table    a deterministic automaton that only says whether there is a match: one look-up a byte
//   Program  instructions of a non-deterministic one, which also finds where the match and its groups lie

#include <stdint.h>

namespace spile::regex {

// Groups of one expression, without the whole match.
inline constexpr uint32_t kMaxGroups = 31;
inline constexpr uint32_t kMaxInstructions = 2000;

inline constexpr uint16_t kDeadState = 0;    // no match any more
inline constexpr uint16_t kAcceptState = 1;  // a match, whatever follows

struct Table {
  uint32_t stride;        // columns of a row: a byte's class, and last the end of the text
  uint32_t start;         // the state before the first byte
  uint32_t cells;         // of next, in all rows
  uint8_t class_of[256];  // the column of each byte, below stride - 1
  // then uint16_t next[states][stride]: the state after a byte of the column, or at the end of the text
};
static_assert(sizeof(Table) == 268);

enum Operation : uint8_t {
  kSet,    // a byte of set x (sets_of), then the next instruction
  kSplit,  // on to x, or to y where that fails
  kJump,   // on to x
  kSave,   // the place is mark x: 2n where group n begins, 2n+1 where it ends
  kBegin,  // ^
  kEnd,    // $
  kMatch,
};
struct Instruction {
  uint8_t operation;
  uint8_t pad;
  uint16_t x, y;
};
static_assert(sizeof(Instruction) == 6);

struct Program {
  uint32_t count;   // instructions
  uint32_t groups;  // with the whole match, number 0
  // then Instruction code[count], rounded up to 4 bytes; uint8_t sets[][32], a bit for each byte
};

inline const Instruction* code_of(const Program* program) { return reinterpret_cast<const Instruction*>(program + 1); }
inline const uint8_t* sets_of(const Program* program) {
  return reinterpret_cast<const uint8_t*>(program + 1) + (program->count * sizeof(Instruction) + 3) / 4 * 4;
}

}  // namespace spile::regex
