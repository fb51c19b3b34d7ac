#pragma once
// Finds the elements of Rust's hash tables and B-trees for the walk of values (value_walk.cpp), which gives its loads as
// `memory`.
//
// hashbrown (src/raw/mod.rs): a control byte for each slot, bit 7 clear where the slot is in use; the elements lie in front of
// the control bytes, the first next to them. Behind the last control byte is a copy of the first 16, so that 8 can always be read
// at once.
//
// alloc::collections::btree::node: leaves have up to 11 keys and values, their count, their parent and their number among its
// children; internal nodes are leaves with up to 12 children behind. The height of a leaf is 0. All keys of a map, in order, are
// the leftmost leaf's, then one of its parent, and so on.

#include "runtime/core/value_frame.h"

namespace spile::rt {

// A table may claim any size: so many groups of 8 slots are looked at for all its elements together.
inline constexpr uint64_t kMostGroups = 4096;

// frame.cursor: control bytes, a: the mask, c: bytes of an element, b: the slot to look at next, d: groups looked at.
template <class Memory>
bool find_in_hash_table(Memory& memory, ValueFrame& frame, uint64_t* element) {
  constexpr uint64_t kEmpty = 0x8080'8080'8080'8080;
  while (frame.b <= frame.a && frame.d < kMostGroups) {
    uint64_t group;
    ++frame.d;
    if (!memory.load_word(frame.cursor + frame.b, &group)) return false;
    const uint64_t used = ~group & kEmpty;
    if (!used) {
      frame.b += 8;
      continue;
    }
    frame.b += static_cast<uint64_t>(__builtin_ctzll(used)) / 8;
    if (frame.b > frame.a) break;
    *element = frame.cursor - (frame.b + 1) * frame.c;
    ++frame.b;
    return true;
  }
  memory.fail(frame.cursor);  // fewer are there than the table says
  return false;
}

// Offsets in a node, and sizes in bytes.
struct BTreeNodes {
  uint64_t keys, values, count, place, parent, children, key_size, value_size;
};
inline constexpr uint8_t kBeforeFirst = 0, kKeyIsNext = 1, kValueIsNext = 2;
inline constexpr uint32_t kMostHeight = 24;  // of 6 children at least: more than memory has

inline uint64_t key_of_entry(const ValueFrame& frame, const BTreeNodes& nodes) {
  return frame.cursor + nodes.keys + frame.b * nodes.key_size;
}
inline uint64_t value_of_entry(const ValueFrame& frame, const BTreeNodes& nodes) {
  return frame.cursor + nodes.values + frame.b * nodes.value_size;
}

template <class Memory>
bool descend_to_leaf(Memory& memory, ValueFrame& frame, const BTreeNodes& nodes) {
  for (uint32_t i = 0; frame.a; ++i) {
    if (i == kMostHeight) return memory.fail(frame.cursor), false;
    if (!memory.load_word(frame.cursor + nodes.children, &frame.cursor)) return false;
    --frame.a;
  }
  return true;
}

// frame.cursor: the node, a: its height, b: the number of the key in it, d: the child to descend into first, plus 1 (0: none).
// Moves to the entry at hand; false: what leads to it can't be read.
template <class Memory>
bool find_entry(Memory& memory, ValueFrame& frame, const BTreeNodes& nodes) {
  if (frame.state == kBeforeFirst && !descend_to_leaf(memory, frame, nodes)) return false;
  if (frame.d) {
    if (!memory.load_word(frame.cursor + nodes.children + 8 * (frame.d - 1), &frame.cursor)) return false;
    --frame.a;
    frame.d = 0;
    if (!descend_to_leaf(memory, frame, nodes)) return false;
  }
  for (uint32_t i = 0; i < kMostHeight; ++i) {
    int64_t count, place;
    uint64_t parent;
    if (!memory.load(frame.cursor + nodes.count, 2, false, &count)) return false;
    if (frame.b < static_cast<uint64_t>(count)) return true;
    if (!memory.load_word(frame.cursor + nodes.parent, &parent) || !memory.load(frame.cursor + nodes.place, 2, false, &place))
      return false;
    if (!parent) break;
    frame.cursor = parent;
    frame.b = static_cast<uint64_t>(place);
    ++frame.a;
  }
  return memory.fail(frame.cursor), false;  // fewer are there than the map says
}

// Prepares the step to the entry behind the one at hand.
inline void step_to_next_entry(ValueFrame& frame) {
  ++frame.b;
  if (!frame.a) return;   // a leaf
  frame.d = frame.b + 1;  // the child between the two keys
  frame.b = 0;
}

}  // namespace spile::rt
