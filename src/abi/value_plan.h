#pragma once
// How a value of a traced program is printed: a plan that probes makes from the value's type when a script is compiled, and that
// the runtime (runtime/core/value_walk.cpp) follows over the program's memory when the script runs. One function of the runtime
// serves all types, so that what a type costs is a constant of some bytes rather than code.
//
//   plan      header, then routines and tables; offsets are in bytes from the end of the header
//   header    4 bytes each, little end first: levels, elements of a container, bytes of a string (0: as many as fit), in all 12
//             bytes
//   routine   steps; kEnd is the last. The first routine is at offset 0 and prints the value whose address the walk is given
//   table     of an enumeration: 1 byte ValueTable, the count of constants, then for each its value (signed), the length of its
//             name, its name
//
// Operands are numbers of 7 bits a byte, the lowest first, bit 7 set in all bytes but the last (LEB128); "signed" ones as DWARF's
// SLEB128. `routine` and `table` are offsets of 4 bytes, little end first. `offset` counts from the address of the value at hand.
// `source` is a computation: ValueSource steps on a small stack, up to ValueSource::kEnd.
//
// A plan is made by spile and trusted; the memory that it is followed over is not. Every step reads with guarded loads, and the
// number of steps, levels and elements is bounded, so that a cycle in a list ends the walk, not the program.

#include <stdint.h>

namespace spile::abi {

inline constexpr uint32_t kValuePlanHeader = 12;
// Where the bytes of a value that lies in registers can be read by the walk: no address of a process is there.
inline constexpr uint64_t kValueWordsAt = uint64_t{0x8bad'0000'0000'0000};
inline constexpr uint32_t kMostValueWords = 4;
inline constexpr uint32_t kMostSourceDepth = 4;

enum class ValueForm : uint8_t {
  kUnsigned,
  kSigned,
  kPointer,    // 0x and 16 digits; NULL
  kByte,       // 'a', or '\377' where it is not ASCII
  kCharacter,  // 'a', a code point
  kTruth,      // true, false
};

enum class ValueStep : uint8_t {
  kEnd,         // of the routine
  kText,        // length, bytes: printed as they are
  kNumber,      // offset, size (1, 2, 4, 8, and 16 of kUnsigned and kSigned), form
  kBits,        // offset, size of the load, first bit, count of bits, form
  kEnumerator,  // offset, size of the load, first bit, count of bits, 1 if signed, table: the name of the constant, or the number
  kFloat,       // offset, kind: 4 float, 8 double, 10 long double of the x87
  kCharacters,  // offset, count, unit: text in an array of units of 1, 2 or 4 bytes, up to a 0
  kCString,     // source, unit: text at that address up to a 0
  kSpan,        // source, source, unit: address and length of a text, whatever is in it
  kCall,        // offset, routine: prints the value at the offset. One level deeper
  kInline,      // offset, routine: the same on this level
  kFollow,      // source, routine: prints the value at that address, or NULL
  kSwitch,  // source, count, so many times value (signed) and routine, routine otherwise: of the same value, chosen by a number
  // Containers: opening and closing character (1 byte each), operands, and the routine that prints an element.
  kElements,  // source of the first one's address, source of the count, source of the bytes from one to the next, routine
  // source of the first node, source of what ends it beside 0, source of the count, offset of the next node in a node (signed),
  // offset of the element in a node, routine
  kList,
  // source of the leftmost node, source of the count, offsets of left, right and parent in a node, offset of the element, routine
  kTree,
  // a deque: source of the array of blocks, source of the first element's number, source of the count, elements of a block, bytes
  // of an element, routine
  kBlocks,
  kBitVector,  // source of the first word, source of the first bit's number, source of the count. No routine
  // Rust's VecDeque: source of the array, source of the first element's number, source of the array's length, source of the
  // count, bytes of an element, routine
  kRing,
  // Rust's hashbrown: source of the control bytes, source of the mask, source of the count, bytes of an element, routine
  kHashTable,
  // Rust's BTreeMap: source of the root, source of its height, source of the count, offsets in a node of keys, values, count,
  // number within the parent, parent and children, bytes of a key, bytes of a value, routine of a key, routine of a value (0: a
  // set)
  kBTree,
  // source of B, of buckets, of oldbuckets, offsets in a bucket of keys, values and overflow, bytes of a key, bytes of a value,
  // routine of a key, routine of a value
  kGoMap,
  kComputed,  // source, form: prints the number
  // address of the module's type data, source of the runtime's type, source of the data: *errors.errorString("text")
  kGoInterface,
  kInstant,  // offset, ticks a second: a time of day since 1970, in UTC
  kCode,     // kind, source, source: ValueCode
};

// What kCode names, by the module's symbols.
enum class ValueCode : uint8_t {
  kFunction,        // the function at the first address
  kStdFunction,     // of libstdc++: the invoker's address, and the address of what it calls if that is a function pointer
  kLibcxxFunction,  // of libc++: the same, the first by the virtual function that calls it
  kArgument,        // the first template argument of the function's name, the type of what is in a std::any
};

enum class ValueTable : uint8_t {
  kConstants,
  kFlags,  // values that name no constant are shown as a sum: A | B | 0x10
};

enum class ValueSource : uint8_t {
  kEnd,
  kBase,        // pushes the address of the value at hand
  kConstant,    // value (signed): pushes it
  kLoad,        // size, 1 if signed: pops an address and pushes what is there
  kPlus,        // value (signed): adds it to the top
  kMinus,       // pops b, then a; pushes a - b
  kAdd,         // pops b, then a; pushes a + b
  kTimes,       // value (signed)
  kDivide,      // value: divides the top, a signed number
  kAnd,         // value (signed)
  kShiftRight,  // bits
  kMultiply,    // pops b, then a; pushes a * b
};

}  // namespace spile::abi
