#include "debuginfo/dwarf/dwarf_arrays.h"

#include <dwarf.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "debuginfo/dwarf/dwarf_expression.h"

namespace spile::debuginfo {
namespace {

using Kind = ArrayNumber::Kind;

ArrayNumber constant(int64_t value) { return {.kind = Kind::kConstant, .value = value}; }

// The first index where the debug information leaves it out (DWARF 5, table 7.17).
int64_t default_first(Dwarf_Die& die) {
  constexpr int kFortran18 = 0x2d, kAda2005 = 0x2e, kAda2012 = 0x2f;
  Dwarf_Die unit;
  if (!dwarf_diecu(&die, &unit, nullptr, nullptr)) return 0;
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_Ada83:
    case DW_LANG_Ada95:
    case kAda2005:
    case kAda2012:
    case DW_LANG_Cobol74:
    case DW_LANG_Cobol85:
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
    case kFortran18:
    case DW_LANG_Modula2:
    case DW_LANG_Modula3:
    case DW_LANG_Pascal83:
    case DW_LANG_PLI: return 1;
    default: return 0;
  }
}

bool is_expression(unsigned form) {
  return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 || form == DW_FORM_block2 ||
         form == DW_FORM_block4;
}

// Compilers write signed numbers by forms that have a sign, and 255 as one byte 0xff.
std::optional<int64_t> number_of(Dwarf_Attribute& attribute) {
  Dwarf_Sword number;
  Dwarf_Word bits;
  switch (dwarf_whatform(&attribute)) {
    case DW_FORM_sdata:
    case DW_FORM_implicit_const: return dwarf_formsdata(&attribute, &number) == 0 ? std::optional<int64_t>(number) : std::nullopt;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata:
      if (dwarf_formudata(&attribute, &bits) != 0) return std::nullopt;
      // How old compilers end an empty array (int a[0]).
      return bits == std::numeric_limits<uint32_t>::max() ? -1 : static_cast<int64_t>(bits);
    default: return std::nullopt;
  }
}

ArrayNumber read_number(DwarfFile& file, Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  if (!dwarf_attr_integrate(&die, name, &attribute)) return {};
  if (const auto number = number_of(attribute)) return constant(*number);
  const unsigned form = dwarf_whatform(&attribute);
  ArrayNumber read{.kind = Kind::kUnknown};
  if (is_expression(form)) {
    if (auto operations = compile_for_object(attribute, file)) return {.kind = Kind::kComputed, .operations = *operations};
    read.kind = Kind::kInFrame;
  }
  if (is_reference(form) || form == DW_FORM_sec_offset || form == DW_FORM_loclistx) read.kind = Kind::kInFrame;
  return read;
}

ArrayDimension read_dimension(DwarfFile& file, Dwarf_Die& die, int64_t first) {
  ArrayDimension dimension;
  if (dwarf_tag(&die) == DW_TAG_generic_subrange) {  // how many of these there are is known at run time
    dimension.first.kind = dimension.end.kind = dimension.stride.kind = Kind::kUnknown;
    return dimension;
  }
  dimension.first = read_number(file, die, DW_AT_lower_bound);
  if (dimension.first.kind == Kind::kAbsent) dimension.first = constant(first);
  dimension.end = read_number(file, die, DW_AT_count);
  dimension.end_is_count = dimension.end.kind != Kind::kAbsent;
  if (!dimension.end_is_count) dimension.end = read_number(file, die, DW_AT_upper_bound);
  dimension.stride = read_number(file, die, DW_AT_byte_stride);
  if (dwarf_hasattr(&die, DW_AT_bit_stride)) dimension.stride.kind = Kind::kUnknown;
  return dimension;
}

std::optional<uint64_t> count_of(const ArrayDimension& dimension) {
  if (dimension.end.kind != Kind::kConstant) return std::nullopt;
  if (dimension.end_is_count) return static_cast<uint64_t>(dimension.end.value);
  if (dimension.first.kind != Kind::kConstant) return std::nullopt;
  return static_cast<uint64_t>(dimension.end.value) - static_cast<uint64_t>(dimension.first.value) + 1;
}

// An array that C could have, too: nothing but a count is known of it, or not even that.
bool is_plain(const ArrayDimension& dimension) {
  return dimension.first.kind == Kind::kConstant && dimension.first.value == 0 && dimension.stride.kind == Kind::kAbsent &&
         (dimension.end.kind == Kind::kConstant || dimension.end.kind == Kind::kAbsent);
}

ArrayShape read_shape(DwarfFile& file, Dwarf_Die& die) {
  ArrayShape shape;
  int64_t first = default_first(die);
  if (die_number(die, DW_AT_ordering) == DW_ORD_col_major) {
    shape.first_varies_fastest = true;
    first = 1;  // Fortran, also where dwz has moved the type to a unit without a language
  }
  for (ChildDies children(die); children.valid() && shape.dimensions.size() <= kMostDimensions; children.next())
    if (is_dimension(children.tag())) shape.dimensions.push_back(read_dimension(file, children.die(), first));
  if (shape.dimensions.empty()) shape.dimensions.push_back({.first = constant(first)});
  shape.data = read_number(file, die, DW_AT_data_location);
  shape.is_there = read_number(file, die, DW_AT_allocated);
  if (shape.is_there.kind == Kind::kAbsent) shape.is_there = read_number(file, die, DW_AT_associated);
  ArrayDimension& last = shape.first_varies_fastest ? shape.dimensions.front() : shape.dimensions.back();
  if (last.stride.kind == Kind::kAbsent) last.stride = read_number(file, die, DW_AT_byte_stride);
  if (dwarf_hasattr(&die, DW_AT_bit_stride)) last.stride.kind = Kind::kUnknown;  // Ada's packed arrays
  return shape;
}

// CHARACTER(12): DW_AT_byte_size is its length; else that of the number that DW_AT_string_length leads to.
ArrayShape read_text(DwarfFile& file, Dwarf_Die& die) {
  ArrayShape shape;
  ArrayDimension& length = shape.dimensions.emplace_back();
  length.first = constant(1);
  length.end_is_count = true;
  shape.data = read_number(file, die, DW_AT_data_location);
  shape.is_there = read_number(file, die, DW_AT_allocated);
  length.end = read_number(file, die, DW_AT_string_length);
  if (length.end.kind == Kind::kAbsent) length.end = read_number(file, die, DW_AT_byte_size);
  else if (length.end.kind == Kind::kComputed) length.end.operations.emplace_back(location::Deref{8});
  return shape;
}

}  // namespace

bool is_dimension(int tag) {
  return tag == DW_TAG_subrange_type || tag == DW_TAG_enumeration_type || tag == DW_TAG_generic_subrange;
}

bool is_reference(unsigned form) {
  return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 || form == DW_FORM_ref8 ||
         form == DW_FORM_ref_udata || form == DW_FORM_ref_addr || form == DW_FORM_GNU_ref_alt;
}

void read_array(DwarfFile& file, Dwarf_Die& die, uint64_t id, uint64_t element, TypeNode& node) {
  node.kind = TypeKind::kArray;
  const uint64_t dimension = id >> kDimensionShift & kMostDimensions;
  const bool is_text = dwarf_tag(&die) == DW_TAG_string_type;
  if (is_text && dimension == 1) {  // which has no DIE of its own
    node = {.kind = TypeKind::kInteger, .name = "character", .size = 1, .is_character = true};
    return;
  }
  ArrayShape shape = is_text ? read_text(file, die) : read_shape(file, die);
  const size_t rank = shape.dimensions.size();
  if (dimension >= rank) {
    node.kind = TypeKind::kUnknown;
    return;
  }
  const uint64_t next = id + (uint64_t{1} << kDimensionShift);
  shape.element = is_text ? next : element;
  const bool innermost = dimension + 1 == rank;
  node.target = innermost ? shape.element : next;
  const auto count = count_of(shape.dimensions[shape.first_varies_fastest ? rank - 1 - dimension : dimension]);
  if (count && shape.data.kind == Kind::kAbsent) {
    node.has_count = true;
    node.count = *count;
  }
  if (is_text) node.size = node.count;
  if (die_flag(die, DW_AT_GNU_vector)) {  // lives in xmm registers
    node.kind = TypeKind::kFloat;
    return;
  }
  const bool is_c = !is_text && !shape.first_varies_fastest && shape.data.kind == Kind::kAbsent &&
                    shape.is_there.kind == Kind::kAbsent && std::ranges::all_of(shape.dimensions, is_plain);
  if (is_c || (dimension > 0 && shape.needs_all_indices())) return;
  shape.dimensions.erase(shape.dimensions.begin(), shape.dimensions.begin() + static_cast<ptrdiff_t>(dimension));
  node.shape = std::move(shape);
}

}  // namespace spile::debuginfo
