#pragma once
// What the walk of values (value_walk.cpp) keeps of a routine, or of a container, that is under way.

#include "abi/value_plan.h"

namespace spile::rt {

struct ValueFrame {
  uint64_t base;        // of the value, or of the container
  uint64_t cursor;      // of containers: the node or element at hand
  uint64_t index;       // how many elements were begun
  uint64_t count;       // how many there are, as far as is known
  uint64_t a, b, c, d;  // what the kind of container needs besides
  uint32_t pc;          // the next step
  uint32_t routine;     // of an element
  uint32_t second;      // of a map's value
  abi::ValueStep kind;  // kEnd: a routine; else the container's step
  uint8_t level;
  char close;
  uint8_t state;  // kGoMap: the slot, and whether the value is next; kBTree: what comes next
};

}  // namespace spile::rt
