#include "debuginfo/array_elements.h"

#include <fmt/format.h>

#include "debuginfo/place_parts.h"
#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {
namespace {

using location::Binary;
using location::Operations;
using Kind = ArrayNumber::Kind;

void append(Operations& to, const Operations& more) { to.insert(to.end(), more.begin(), more.end()); }

// A number that is known when a script is compiled, or the operations that leave it.
struct Number {
  std::optional<int64_t> constant;
  Operations operations;

  static Number of(int64_t value) { return {value, {}}; }
  Operations code() const { return constant ? Operations{location::Constant{*constant}} : operations; }
};

Number combined(const Number& a, const Number& b, Binary operation) {
  if (a.constant && b.constant) {
    const auto x = static_cast<uint64_t>(*a.constant), y = static_cast<uint64_t>(*b.constant);
    return Number::of(static_cast<int64_t>(operation == Binary::kPlus ? x + y : operation == Binary::kMinus ? x - y : x * y));
  }
  if (b.constant == (operation == Binary::kMul ? 1 : 0)) return a;
  Number made{std::nullopt, a.code()};
  append(made.operations, b.code());
  made.operations.emplace_back(operation);
  return made;
}

// Reads the numbers of one array.
class Numbers {
 public:
  explicit Numbers(const Place& array) : array_(array), shape_(*array.type.shape()) {}

  const ArrayShape& shape() const { return shape_; }

  std::optional<Number> first(size_t dimension) const { return number(shape_.dimensions[dimension].first, dimension, false); }

  std::optional<Number> count(size_t dimension) const {
    const ArrayDimension& of = shape_.dimensions[dimension];
    const auto end = number(of.end, dimension, true), begin = first(dimension);
    if (!end || of.end_is_count) return end;
    if (!begin) return std::nullopt;
    return combined(combined(*end, *begin, Binary::kMinus), Number::of(1), Binary::kPlus);
  }

  // Bytes from an element to the one whose index in this dimension is 1 more.
  std::optional<Number> stride(size_t dimension) const {
    const ArrayNumber& stated = shape_.dimensions[dimension].stride;
    if (stated.kind != Kind::kAbsent) return number(stated, dimension, false);
    const uint64_t size = Type(array_.type.source(), shape_.element).size();
    if (size == 0) return std::nullopt;
    Number bytes = Number::of(static_cast<int64_t>(size));
    const size_t rank = shape_.dimensions.size();
    const size_t begin = shape_.first_varies_fastest ? 0 : dimension + 1, end = shape_.first_varies_fastest ? dimension : rank;
    for (size_t faster = begin; faster < end; ++faster) {
      const auto elements = count(faster);
      if (!elements) return std::nullopt;
      bytes = combined(bytes, *elements, Binary::kMul);
    }
    return bytes;
  }

  // Of the whole array: where its first element is, and 0 where it has none.
  std::optional<Number> data() const {
    return shape_.data.kind == Kind::kAbsent ? Number{std::nullopt, array_.operations} : number(shape_.data, 0, false);
  }
  std::optional<Number> is_there() const {
    return shape_.is_there.kind == Kind::kAbsent ? Number::of(1) : number(shape_.is_there, 0, false);
  }

 private:
  std::optional<Number> number(const ArrayNumber& wanted, size_t dimension, bool is_end) const {
    switch (wanted.kind) {
      case Kind::kConstant: return Number::of(wanted.value);
      case Kind::kComputed: return of_object(wanted.operations);
      case Kind::kInFrame: return in_frame(dimension, is_end);
      default: return std::nullopt;
    }
  }

  std::optional<Number> of_object(const Operations& operations) const {
    constexpr size_t kMostOperations = 512;  // arrays within arrays multiply them
    if (array_.kind != Place::Kind::kMemory) return std::nullopt;
    Number made;
    for (const location::Operation& operation : operations) {
      if (location::is<location::ScriptPointer>(operation)) append(made.operations, array_.operations);
      else made.operations.push_back(operation);
      if (made.operations.size() > kMostOperations) return std::nullopt;
    }
    return made;
  }

  std::optional<Number> in_frame(size_t dimension, bool is_end) const {
    const uint64_t id = array_.type.node_id(), whole = id & ~(kMostDimensions << kDimensionShift);
    const size_t outer = id >> kDimensionShift & kMostDimensions;
    for (const FrameNumber& known : array_.array_numbers)
      if (known.array == whole && known.dimension == outer + dimension && known.is_end == is_end)
        return Number{std::nullopt, known.operations};
    return std::nullopt;
  }

  const Place& array_;
  const ArrayShape& shape_;
};

Error not_known(const Place& array, const char* what) {
  return {fmt::format("the value is in an array ('{}') whose {} can't be read here", array.type.name(), what), {}};
}

}  // namespace

Result<size_t> count_of_indices(const Type& array, std::span<const Step> steps) {
  const ArrayShape& shape = *array.shape();
  if (!shape.needs_all_indices()) return size_t{1};
  const size_t rank = shape.dimensions.size();
  size_t given = 0;
  while (given < std::min(rank, steps.size()) &&
         (steps[given].kind == Step::Kind::kIndex || steps[given].kind == Step::Kind::kDynamicIndex))
    ++given;
  if (given == rank) return rank;
  return Error{fmt::format("'{}' needs {} indices for an element", array.name(), rank), "write them as $array[i, j]"};
}

Result<location::Operations> data_of(const Place& array) {
  if (array.kind != Place::Kind::kMemory) return address(array);
  const auto data = Numbers(array).data();
  return data ? Result<Operations>(data->code()) : not_known(array, "place");
}

std::optional<ArraySummary> summary_of(const Place& place) {
  Place array = place;
  const bool is_pointer = place.type.kind() == TypeKind::kPointer && !place.bit_size && place.type.target().is_text();
  if (is_pointer) {
    auto there = walk(place, std::vector{Step{Step::Kind::kDereference, "", 0}});
    if (!there.ok()) return std::nullopt;
    array = std::move(*there);
  }
  const ArrayShape* shape = array.type.shape();
  if (!shape || shape->dimensions.size() != 1 || array.kind != Place::Kind::kMemory) return std::nullopt;
  const ArrayDimension& dimension = shape->dimensions[0];
  if (!is_pointer && dimension.first.kind != Kind::kInFrame && dimension.end.kind != Kind::kInFrame) return std::nullopt;
  const Numbers numbers(array);
  const auto data = numbers.data(), count = numbers.count(0);
  if (!data || !count || dimension.stride.kind != Kind::kAbsent) return std::nullopt;
  return ArraySummary{array.type, data->code(), count->code()};
}

Result<Place> element_of(const Place& array, std::span<const Step> indices) {
  const Numbers numbers(array);
  Number offset = Number::of(0);
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto first = numbers.first(i);
    if (!first) return not_known(array, "first index");
    const auto stride = numbers.stride(i);
    if (!stride) return not_known(array, "size of rows or elements");
    const Number index = indices[i].kind == Step::Kind::kIndex
                             ? Number::of(indices[i].index)
                             : Number{std::nullopt, {location::Index{static_cast<uint32_t>(indices[i].index)}}};
    offset = combined(offset, combined(combined(index, *first, Binary::kMinus), *stride, Binary::kMul), Binary::kPlus);
  }
  const bool is_whole = indices.size() == numbers.shape().dimensions.size();
  Type type(array.type.source(), is_whole ? numbers.shape().element : array.type.target().id());
  if (numbers.shape().data.kind == Kind::kAbsent && offset.constant) {
    if (array.kind != Place::Kind::kMemory && *offset.constant < 0) return Error{"the value is outside the array", {}};
    return part_of(array, static_cast<uint64_t>(*offset.constant), type.size(), type);
  }
  if (array.kind != Place::Kind::kMemory)
    return Error{"the value is in an array that is kept in registers, which only constant indices can reach", {}};
  TRY(Operations address, data_of(array));
  // An array that is not there has no such numbers: its elements are at 0.
  const auto there = numbers.is_there();
  if (!there) return not_known(array, "state");
  if (!there->constant) {
    Number truth = *there;
    truth.operations.insert(truth.operations.end(), {location::Constant{0}, Binary::kNe});
    offset = combined(offset, truth, Binary::kMul);
  }
  if (offset.constant) {
    location::append_offset(address, *offset.constant);
  } else {
    append(address, offset.operations);
    address.emplace_back(Binary::kPlus);
  }
  return memory_at(std::move(address), std::move(type));
}

}  // namespace spile::debuginfo
