#pragma once
// Elements and lengths of arrays that have a shape (terms/array_shape.h).

#include <optional>
#include <span>

#include "base/result.h"
#include "debuginfo/debuginfo.h"

namespace spile::debuginfo {

// Returns how many of the steps are indices of one element of the array: one for each dimension, or 1 where an index leads to an
// array of fewer dimensions. Error: fewer than that are given.
Result<size_t> count_of_indices(const Type& array, std::span<const Step> steps);
// Returns the place of the element that the indices lead to, as the array's language counts them. array: in memory, or with
// constant indices anywhere; has a shape. Errors: a number that this needs is not known here.
Result<Place> element_of(const Place& array, std::span<const Step> indices);
// Returns operations that leave the address of the array's first element; 0: it has none now. Error: it is not in memory.
Result<location::Operations> data_of(const Place& array);

// An array of one dimension as two numbers: where its first element is, and how many it has.
struct ArraySummary {
  Type type;
  location::Operations data, count;
};
// Returns that of an array of which only the frame knows how long it is, or of a text that a pointer points to; nullopt: of other
// places.
std::optional<ArraySummary> summary_of(const Place& place);

}  // namespace spile::debuginfo
