#pragma once
// An array of numbers keyed by tid() alone, of which each handler uses its own thread's element (sema::Sharing::kThreadCells).
// Freestanding.
//
// Each thread has the cells of one set, which the low bits of its number choose. A thread takes a cell by a compare-and-swap of
// the owner, from 0 to itself, and gives it back by a store of 0; nobody else writes to the cell meanwhile. So no lock is needed,
// and no element moves. Numbers that follow one another lie in different sets: a set is full only where many more threads than
// the array has room for have elements.
//
//   set:  cell | cell | ... kCellWays        cell:  uint64_t owner | int64_t value

#include <stdint.h>

namespace spile::abi {

struct ThreadCell {
  uint64_t owner;  // the thread (runtime/thread_cells.h); 0: the cell is free
  int64_t value;
};

inline constexpr uint32_t kCellWays = 8;
struct ThreadCellSet {
  ThreadCell cells[kCellWays];
};
static_assert(sizeof(ThreadCellSet) == 128);

inline constexpr uint32_t kMostCells = 65536;  // larger arrays are of other kinds: cells take more memory

// Returns the number of sets, a power of two, for so many elements.
constexpr uint32_t cell_sets(uint32_t capacity) {
  uint32_t sets = 64;
  while (sets < capacity) sets *= 2;
  return sets;
}

}  // namespace spile::abi
