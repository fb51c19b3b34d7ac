#include "debuginfo/dwarf/frame_numbers.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "debuginfo/dwarf/dwarf_arrays.h"
#include "debuginfo/dwarf/dwarf_types.h"

namespace spile::debuginfo {
namespace {

using Kind = ArrayNumber::Kind;

uint64_t without_dimension(uint64_t id) { return id & ~(kMostDimensions << kDimensionShift); }

// The value of the variable that has a number of an array.
std::optional<location::Operations> value_of(Dwarf_Die& variable, const FrameContext& context) {
  Dwarf_Attribute attribute;
  if (!dwarf_attr_integrate(&variable, DW_AT_location, &attribute)) return std::nullopt;
  LocatedValue value = compile_location(attribute, context);
  const uint64_t size = std::max<uint64_t>(read_type(context.file, type_id_of(context.file, variable)).size, 1);
  if (value.in_future_frame || (size != 1 && size != 2 && size != 4 && size != 8)) return std::nullopt;
  if (value.place.kind == Place::Kind::kMemory)
    value.place.operations.emplace_back(location::Deref{static_cast<uint8_t>(size), true});
  else if (value.place.kind != Place::Kind::kValue) return std::nullopt;
  return std::move(value.place.operations);
}

std::optional<FrameNumber> read_in_frame(Dwarf_Die& die, unsigned name, const FrameContext& context) {
  Dwarf_Attribute attribute;
  if (!dwarf_attr_integrate(&die, name, &attribute)) return std::nullopt;
  FrameNumber number;
  if (is_reference(dwarf_whatform(&attribute))) {
    Dwarf_Die variable;
    if (!dwarf_formref_die(&attribute, &variable)) return std::nullopt;
    number.variable = context.file.id_of(variable);
    if (auto operations = value_of(variable, context)) number.operations = std::move(*operations);
    return number;
  }
  LocatedValue value = compile_location(attribute, context);
  if (value.in_future_frame || (value.place.kind != Place::Kind::kMemory && value.place.kind != Place::Kind::kValue))
    return std::nullopt;
  number.operations = std::move(value.place.operations);
  if (name == DW_AT_string_length) number.operations.emplace_back(location::Deref{8});
  return number;
}

void add_frame_numbers(Dwarf_Die& die, uint64_t id, const TypeNode& node, const FrameContext& context,
                       std::vector<FrameNumber>& numbers) {
  auto add = [&](Dwarf_Die& of, size_t dimension, bool is_end, const ArrayNumber& wanted, unsigned name) {
    if (wanted.kind != Kind::kInFrame) return;
    auto number = read_in_frame(of, name, context);
    if (!number) return;
    number->array = id;
    number->dimension = static_cast<uint8_t>(dimension);
    number->is_end = is_end;
    numbers.push_back(std::move(*number));
  };
  const auto& dimensions = node.shape.dimensions;
  if (dwarf_tag(&die) == DW_TAG_string_type) return add(die, 0, true, dimensions.front().end, DW_AT_string_length);
  size_t i = 0;
  for (ChildDies children(die); children.valid() && i < dimensions.size(); children.next()) {
    if (!is_dimension(children.tag())) continue;
    add(children.die(), i, false, dimensions[i].first, DW_AT_lower_bound);
    add(children.die(), i, true, dimensions[i].end, dimensions[i].end_is_count ? DW_AT_count : DW_AT_upper_bound);
    ++i;
  }
}

}  // namespace

std::vector<FrameNumber> frame_numbers(uint64_t type, const FrameContext& context) {
  std::vector<FrameNumber> numbers;
  constexpr int kMostTypes = 32;
  uint64_t id = type;
  for (int i = 0; i < kMostTypes && id > kVoidType; ++i) {
    const TypeNode node = read_type(context.file, id);
    if (node.alias == TypeNode::Alias::kNone && node.kind != TypeKind::kPointer && node.kind != TypeKind::kArray) break;
    auto die = node.kind == TypeKind::kArray && !node.shape.dimensions.empty() ? context.file.die_of(without_dimension(id))
                                                                               : std::nullopt;
    if (die) add_frame_numbers(*die, without_dimension(id), node, context, numbers);
    id = die ? node.shape.element : node.target;
  }
  return numbers;
}

}  // namespace spile::debuginfo
