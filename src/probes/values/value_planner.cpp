#include "probes/values/value_planner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <set>

#include "debuginfo/terms/array_shape.h"
#include "debuginfo/terms/virtual_bases.h"

namespace spile::probes {

namespace {

using abi::ValueForm;
using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;

bool is_wide_character(const Type& type) {
  if (type.kind() != TypeKind::kInteger) return false;
  const std::string name = type.plain_name();
  // the last is Rust's
  return name == "char16_t" || name == "char32_t" || name == "wchar_t" || (name == "char" && type.size() == 4);
}

// Bytes of a unit of text; 0: the type is not a character.
uint8_t unit_of(const Type& type) {
  if (type.is_character()) return 1;
  const uint64_t size = type.size();
  return is_wide_character(type) && (size == 2 || size == 4) ? static_cast<uint8_t>(size) : uint8_t{0};
}

// Whether constants stand for bits that can be combined: some are single bits, the others consist of these, and they are not just
// numbers in a row.
bool are_flags(const std::vector<std::pair<std::string, int64_t>>& constants) {
  std::set<int64_t> values;
  uint64_t covered = 0;
  size_t single = 0;
  for (const auto& [name, value] : constants) {
    if (value < 0) return false;
    if (values.insert(value).second && std::has_single_bit(static_cast<uint64_t>(value))) {
      ++single;
      covered |= static_cast<uint64_t>(value);
    }
  }
  if (single < 2) return false;
  const auto in_a_row = static_cast<size_t>(*values.rbegin() - *values.begin()) + 1 == values.size();
  const size_t several = values.size() - single - values.count(0);
  return !in_a_row && 2 * several <= single &&
         std::ranges::all_of(values, [&](int64_t v) { return (static_cast<uint64_t>(v) & ~covered) == 0; });
}

// A number of an array at an offset, as a computation; nullopt: it is not known, or takes other operations.
std::optional<Source> source_of(const location::Operations& operations, uint64_t offset) {
  Source made;
  for (size_t i = 0; i < operations.size(); ++i) {
    const location::Operation& operation = operations[i];
    if (location::is<location::ScriptPointer>(operation)) made.base(offset);
    else if (const auto* constant = std::get_if<location::Constant>(&operation)) made.push(constant->value);
    else if (const auto* more = std::get_if<location::PlusConstant>(&operation)) made.plus(more->value);
    else if (const auto* load = std::get_if<location::Deref>(&operation)) made.load(load->bytes, load->is_signed);
    else if (operation == location::Operation(location::Binary::kPlus)) made.add({});
    else if (operation == location::Operation(location::Binary::kMinus)) made.minus({});
    else if (operation == location::Operation(location::Binary::kMul)) made.multiply({});
    else return std::nullopt;
  }
  return made;
}
std::optional<Source> source_of(const debuginfo::ArrayNumber& number, uint64_t offset) {
  if (number.kind == debuginfo::ArrayNumber::Kind::kConstant) return Source::constant(number.value);
  return number.kind == debuginfo::ArrayNumber::Kind::kComputed ? source_of(number.operations, offset) : std::nullopt;
}
// Of a number that is 0 or not: "x != 0" is x.
std::optional<Source> source_of_truth(const debuginfo::ArrayNumber& number, uint64_t offset) {
  location::Operations operations = number.operations;
  const size_t size = operations.size();
  const bool compares = size > 2 && operations[size - 1] == location::Operation(location::Binary::kNe) &&
                        operations[size - 2] == location::Operation(location::Constant{0});
  if (compares) operations.resize(size - 2);
  return number.kind == debuginfo::ArrayNumber::Kind::kComputed ? source_of(operations, offset) : std::nullopt;
}

}  // namespace

std::optional<Member> find_within(const Type& type, std::string_view name, TypeKind of_kind) {
  constexpr size_t kMostTypes = 512;
  std::vector<std::pair<Type, uint64_t>> queue = {{type, 0}};
  for (size_t i = 0; i < queue.size() && queue.size() < kMostTypes; ++i) {
    const auto [at, offset] = queue[i];
    for (Member& member : at.members()) {
      member.offset += offset;
      const TypeKind kind = member.type.kind();
      if (member.name == name && !member.is_base && (of_kind == TypeKind::kUnknown || of_kind == kind)) return member;
      if (kind == TypeKind::kStruct || kind == TypeKind::kUnion) queue.emplace_back(member.type, member.offset);
    }
  }
  return std::nullopt;
}

ValuePlan ValuePlanner::plan(const Type& type, Detail detail, const ModuleFacts& facts, PlanKnownType known, uint32_t bit_offset,
                             uint32_t bit_size) {
  ValuePlanner planner(facts, known);
  const size_t main = planner.writer_.reserve();
  Routine out;
  if (bit_size) planner.bit_field(out, type, 0, bit_offset, bit_size);
  else planner.value(out, type, 0, detail);
  planner.writer_.set(main, std::move(out));
  planner.plan_pending();
  return {planner.writer_.finish(), planner.writer_.names_code(), std::move(planner.notes_)};
}

ValuePlan ValuePlanner::plan_summary(const Type& array, Detail detail, const ModuleFacts& facts, PlanKnownType known) {
  ValuePlanner planner(facts, known);
  const size_t main = planner.writer_.reserve();
  Routine out;
  planner.elements_of(out, array, detail, Source().base().load(), Source().base(8).load(), std::nullopt);
  planner.writer_.set(main, std::move(out));
  planner.plan_pending();
  return {planner.writer_.finish(), planner.writer_.names_code(), std::move(planner.notes_)};
}

size_t ValuePlanner::add(Routine routine) {
  const size_t index = writer_.reserve();
  writer_.set(index, std::move(routine));
  return index;
}

size_t ValuePlanner::text_routine(const std::string& text) {
  auto [known, is_new] = texts_.try_emplace(text, 0);
  if (is_new) {
    Routine out;
    out.text(text);
    known->second = add(std::move(out));
  }
  return known->second;
}

size_t ValuePlanner::routine_of(const Type& type, Detail detail) {
  auto [known, is_new] = routines_.try_emplace({type.id(), detail}, 0);
  if (!is_new) return known->second;
  known->second = writer_.reserve();  // known before its steps are, as types may contain themselves
  pending_.push_back({known->second, type, detail, path_});
  return known->second;
}

// One after the other rather than within each other: types can be nested as deep as a file is long.
void ValuePlanner::plan_pending() {
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Pending next = std::move(pending_[i]);
    path_ = next.path;
    Routine out;
    if (is_full()) out.text("...");
    else value(out, next.type, 0, next.detail);
    writer_.set(next.index, std::move(out));
  }
}

// Whether there is room for one more value, or list of members, in the one at hand. Each true is followed by a --depth_.
bool ValuePlanner::enter() {
  if (depth_ >= kDeepest || values_ >= kMostValues) return false;
  ++depth_;
  ++values_;
  return true;
}

void ValuePlanner::unknown(Routine& out, const std::string& reason) {
  out.text("?");
  notes_.push_back(path_.empty() ? reason : fmt::format("'{}' {}", fmt::join(path_, ""), reason));
}

void ValuePlanner::value(Routine& out, const Type& type, uint64_t offset, Detail detail) {
  if (!enter()) return out.text("...");
  value_of_kind(out, type, offset, detail);
  --depth_;
}

void ValuePlanner::value_of_kind(Routine& out, const Type& type, uint64_t offset, Detail detail) {
  switch (type.kind()) {
    case TypeKind::kStruct:
    case TypeKind::kUnion:
      if (plan_known_type_(*this, out, type, offset, detail)) return;
      if (detail == Detail::kNested || is_full()) return out.text("{...}");
      if (type.is_only_declared()) return unknown(out, fmt::format("is of a type that is only declared ('{}')", type.name()));
      return members(out, type, offset, detail);
    case TypeKind::kArray: return array(out, type, offset, detail);
    case TypeKind::kPointer:
      if (plan_known_type_(*this, out, type, offset, detail)) return;
      return pointer(out, type, offset);
    case TypeKind::kEnum:
    case TypeKind::kInteger: return integer(out, type, offset);
    case TypeKind::kFloat: return floating(out, type, offset);
    case TypeKind::kFunction:
      if (plan_known_type_(*this, out, type, offset, detail)) return;
      [[fallthrough]];
    default:
      if (const std::string name = type.plain_name(); name == "decltype(nullptr)" || name == "nullptr_t") return out.text("NULL");
      return unknown(out, fmt::format("has no size ('{}')", type.name()));
  }
}

void ValuePlanner::integer(Routine& out, const Type& type, uint64_t offset) {
  if (type.size() == 0 && type.plain_name() == "()") return out.text("()");  // Rust's
  if (type.plain_name() == "member pointer" && type.size() == 16) return member_function(out, offset);
  if (type.size() == 16 && type.kind() == TypeKind::kInteger)
    return out.number(offset, 16, type.is_signed() ? ValueForm::kSigned : ValueForm::kUnsigned);
  if (!type.is_scalar()) return unknown(out, fmt::format("is a number of {} bytes ('{}')", type.size(), type.name()));
  const auto size = static_cast<uint8_t>(type.size());
  if (type.kind() == TypeKind::kEnum)
    return out.enumerator(offset, size, 0, static_cast<uint8_t>(8 * size), type.is_signed(), table_of(type));
  if (type.is_character()) return out.number(offset, size, ValueForm::kByte);
  if (is_wide_character(type)) return out.number(offset, size, ValueForm::kCharacter);
  out.number(offset, size, type.is_signed() ? ValueForm::kSigned : ValueForm::kUnsigned);
}

// A pointer to a member function (Itanium C++ ABI, section 2.3): an address, or the odd number of a place in the table of virtual
// functions.
void ValuePlanner::member_function(Routine& out, uint64_t offset) {
  Routine direct, in_table;
  direct.code(abi::ValueCode::kFunction, Source().base(offset).load(), Source::constant(0));
  in_table.text("virtual[");
  in_table.computed(Source().base(offset).load().plus(-1).divide(8), ValueForm::kSigned);
  in_table.text("]");
  const size_t named = add(std::move(direct)), numbered = add(std::move(in_table));
  out.choose(Source().base(offset).load().bits(0, 1), {{0, named}}, numbered);
}

size_t ValuePlanner::table_of(const Type& type) {
  auto [known, is_new] = tables_.try_emplace(type.id(), 0);
  if (!is_new) return known->second;
  std::vector<std::pair<std::string, int64_t>> constants;
  for (const debuginfo::Enumerator& enumerator : type.enumerators()) constants.emplace_back(enumerator.name, enumerator.value);
  const bool is_flags = are_flags(constants);
  if (is_flags) {  // names for several bits come last: A | B, rather than AB
    std::ranges::stable_sort(constants, {},
                             [](const auto& constant) { return std::popcount(static_cast<uint64_t>(constant.second)); });
  }
  constexpr size_t kMostConstants = 2000;
  if (constants.size() > kMostConstants) constants.resize(kMostConstants);
  return known->second = writer_.add_table(is_flags ? abi::ValueTable::kFlags : abi::ValueTable::kConstants, constants);
}

void ValuePlanner::bit_field(Routine& out, const Type& type, uint64_t offset, uint32_t bit_offset, uint32_t bit_size) {
  const uint32_t end = bit_offset + bit_size;
  const uint64_t unit = type.size(), bytes = (end + 7) / 8;
  if (end > 64) return unknown(out, "is a packed bit-field across more than 8 bytes");
  const bool unit_fits = bytes <= unit && (unit == 1 || unit == 2 || unit == 4 || unit == 8);
  const auto size = static_cast<uint8_t>(unit_fits ? unit : bytes > 4 ? 8 : bytes > 2 ? 4 : bytes);
  const auto first = static_cast<uint8_t>(bit_offset), count = static_cast<uint8_t>(bit_size);
  if (type.kind() == TypeKind::kEnum) return out.enumerator(offset, size, first, count, type.is_signed(), table_of(type));
  out.bits(offset, size, first, count, type.is_signed() ? ValueForm::kSigned : ValueForm::kUnsigned);
}

void ValuePlanner::floating(Routine& out, const Type& type, uint64_t offset) {
  const uint64_t size = type.is_complex() ? type.size() / 2 : type.size();
  const std::string name = type.plain_name();
  const uint8_t kind = size == 4 ? 4 : size == 8 ? 8 : size == 16 && type.is_extended() ? 10 : 0;
  if (!kind || name.find("decimal") != std::string::npos || name.starts_with("_Decimal"))
    return unknown(out, fmt::format("is a floating-point number of {} bytes ('{}')", type.size(), type.name()));
  out.floating(offset, kind);
  if (!type.is_complex()) return;
  out.text(" + ");
  out.floating(offset + size, kind);
  out.text("i");
}

void ValuePlanner::pointer(Routine& out, const Type& type, uint64_t offset) {
  const uint8_t unit = type.is_reference() ? 0 : unit_of(type.target());
  if (unit) return out.c_string(Source().base(offset).load(), unit);
  out.number(offset, 8, ValueForm::kPointer);
}

void ValuePlanner::owner(Routine& out, const Type& pointee, uint64_t offset, Detail detail) {
  const TypeKind kind = pointee.kind();
  const bool is_object =
      kind != TypeKind::kVoid && kind != TypeKind::kUnknown && kind != TypeKind::kFunction && pointee.size() != 0;
  Routine behind;
  behind.number(offset, 8, ValueForm::kPointer);
  if (detail == Detail::kNested || !is_object || is_full()) {
    out.number(offset, 8, ValueForm::kPointer);
    return;
  }
  behind.text(" -> ");
  behind.follow(Source().base(offset).load(), routine_of(pointee, detail));
  const size_t there = add(std::move(behind));
  out.choose(Source().base(offset).load(), {{0, text_routine("NULL")}}, there);
}

// Prints the elements, from an address on. stride: nullopt: they lie side by side.
void ValuePlanner::elements_of(Routine& out, const Type& type, Detail detail, const Source& first, const Source& count,
                               const std::optional<Source>& stride) {
  const Type element = type.target();
  if (const uint8_t unit = unit_of(element); unit && !stride) return out.span(first, count, unit);
  if (detail == Detail::kNested || is_full() || element.size() == 0) return out.text("[...]");
  out.elements("[]", first, count, stride ? *stride : Source::constant(static_cast<int64_t>(element.size())),
               routine_of(element, inner(detail)));
}

// An array that is described by numbers in memory, such as Fortran's allocatable ones. False: it is another one, or it has
// several dimensions.
bool ValuePlanner::array_by_numbers(Routine& out, const Type& type, uint64_t offset, Detail detail) {
  using Kind = debuginfo::ArrayNumber::Kind;
  const debuginfo::ArrayShape* shape = type.shape();
  if (!shape || shape->dimensions.size() != 1) return false;
  const debuginfo::ArrayDimension& dimension = shape->dimensions[0];
  std::optional<Source> data = Source().base(offset), first = source_of(dimension.first, offset),
                        count = source_of(dimension.end, offset), stride;
  if (shape->data.kind != Kind::kAbsent) data = source_of(shape->data, offset);
  if (!data || !first || !count) return false;
  if (!dimension.end_is_count) count->minus(*first).plus(1);
  if (dimension.stride.kind != Kind::kAbsent && !(stride = source_of(dimension.stride, offset))) return false;
  if (shape->is_there.kind == Kind::kAbsent) {
    elements_of(out, type, detail, *data, *count, stride);
    return true;
  }
  const auto there = source_of_truth(shape->is_there, offset);
  if (!there) return false;
  Routine elements;
  elements_of(elements, type, detail, *data, *count, stride);
  const size_t present = add(std::move(elements));
  out.choose(*there, {{0, text_routine("NULL")}}, present);
  return true;
}

void ValuePlanner::array(Routine& out, const Type& type, uint64_t offset, Detail detail) {
  if (array_by_numbers(out, type, offset, detail)) return;
  const Type element = type.target();
  const uint64_t count = type.count().value_or(0);
  if (type.is_text()) return unknown(out, "has a length that can't be read here");
  if (const uint8_t unit = unit_of(element); unit && (!type.shape() || type.count())) {
    // A flexible array ends where its text does.
    if (type.count()) return out.characters(offset, count, unit);
    return out.characters(offset, 1 << 20, unit);
  }
  if (detail == Detail::kNested || is_full() || !type.count() || element.size() == 0) return out.text("[...]");
  out.elements("[]", Source().base(offset), Source::constant(static_cast<int64_t>(count)), element.size(),
               routine_of(element, inner(detail)));
}

void ValuePlanner::members(Routine& out, const Type& type, uint64_t offset, Detail detail) {
  out.text("{");
  bool first = true;
  list_members(out, type, offset, detail, first);
  for (const debuginfo::VirtualBase& base : debuginfo::virtual_bases(type)) {
    Routine there;
    bool none = true;
    list_members(there, base.type, 0, detail, none);
    if (none) continue;
    if (!first) out.text(", ");
    first = false;
    const uint64_t at = offset + base.offset;
    out.follow(Source().base(at).load().plus(base.slot).load().add(Source().base(at)), add(std::move(there)));
  }
  out.text("}");
}

void ValuePlanner::list_members(Routine& out, const Type& type, uint64_t offset, Detail detail, bool& first,
                                const std::set<std::string>& masked) {
  if (!enter()) return out.text("...");
  std::set<std::string> masked_in_bases = masked;
  for (const Member& member : type.members()) {
    if (!member.is_base) masked_in_bases.insert(member.name);
  }
  for (const Member& member : type.members()) {
    if (member.name.starts_with("_vptr")) continue;
    const TypeKind kind = member.type.kind();
    const bool nameless = member.name.empty();
    if (nameless && kind != TypeKind::kStruct && kind != TypeKind::kUnion) continue;  // padding bits
    const uint64_t at = offset + member.offset;
    if (member.is_base) {
      Routine known;
      if (plan_known_type_(*this, known, member.type, at, detail)) {  // class Names : public std::vector<std::string>
        if (!first) out.text(", ");
        first = false;
        out.inlined(0, add(std::move(known)));
        continue;
      }
      list_members(out, member.type, at, detail, first, masked_in_bases);
      continue;
    }
    if (!nameless && masked.contains(member.name)) continue;
    if (!first) out.text(", ");
    first = false;
    if (is_full() || out.size() > kMostBytes) {
      out.text("...");
      break;
    }
    if (nameless) {  // its members are reached as if they were ours
      members(out, member.type, at, detail);
      continue;
    }
    out.text("." + member.name + "=");
    path_.push_back("." + member.name);
    const bool is_struct = kind == TypeKind::kStruct || kind == TypeKind::kUnion;
    if (member.bit_size) bit_field(out, member.type, at, member.bit_offset, member.bit_size);
    else if (!is_struct || detail != Detail::kAll || is_full()) value(out, member.type, at, inner(detail));
    else if (!plan_known_type_(*this, out, member.type, at, detail)) out.call(at, routine_of(member.type, detail));
    path_.pop_back();
  }
  --depth_;
}

}  // namespace spile::probes
