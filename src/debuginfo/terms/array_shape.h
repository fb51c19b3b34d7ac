#pragma once
// How the elements of an array are found whose indices don't begin at 0, whose elements lie in another order than C's, or that is
// described by numbers in memory: Fortran's allocatable arrays, pointers and dummy arguments, and Ada's and C's arrays of
// variable length (DWARF 5, sections 5.5 and 5.18).
//
//   integer, allocatable :: grid(:,:)      grid  [address of the data | ... | stride, first, last | stride, first, last]
//                                                 DW_AT_data_location         of the first index     of the second

#include <cstdint>
#include <vector>

#include "base/location.h"

namespace spile::debuginfo {

// A number of an array: its first index, or the like.
struct ArrayNumber {
  enum class Kind : uint8_t {
    kAbsent,
    kConstant,  // value
    kComputed,  // operations leave it; a location::ScriptPointer in them stands for the address of the array's object
    kInFrame,   // Place::array_numbers has it
    kUnknown,   // described in a way that can't be read
  };
  Kind kind = Kind::kAbsent;
  int64_t value = 0;
  location::Operations operations{};
};

struct ArrayDimension {
  ArrayNumber first;  // index
  ArrayNumber end;    // the last index; or how many there are
  bool end_is_count = false;
  ArrayNumber stride;  // bytes from an element to the next; kAbsent: elements lie side by side
};

struct ArrayShape {
  std::vector<ArrayDimension> dimensions;  // in the order of the source's indices; empty: an array as C has them
  bool first_varies_fastest = false;       // Fortran's order of elements
  ArrayNumber data;                        // address of the first element; kAbsent: that of the object
  ArrayNumber is_there;                    // 0 where the array has no elements now; kAbsent: it always has
  uint64_t element = 0;                    // id of the elements' type

  // Whether elements can be found with all indices at once only.
  bool needs_all_indices() const {
    return dimensions.size() > 1 && (first_varies_fastest || data.kind != ArrayNumber::Kind::kAbsent);
  }
};

// A number of an array that only the frame of the function knows: the n of a(n).
struct FrameNumber {
  uint64_t array = 0;  // id of the array's type, of its first dimension
  uint8_t dimension = 0;
  bool is_end = false;
  uint64_t variable = 0;            // in records: the number, from 1 on, of the function's variable that has it; 0: none
  location::Operations operations;  // leave it
};

}  // namespace spile::debuginfo
