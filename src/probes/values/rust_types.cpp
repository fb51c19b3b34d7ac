// Types of Rust, as rustc describes them to gdb and lldb. Layouts of Rust are not fixed: all offsets are from the debug information.

#include <algorithm>

#include "probes/values/known_types.h"

namespace spile::probes {

namespace {

using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;

// Members of a tuple, or of a variant without names, are called __0, __1 ...
bool is_tuple(const std::vector<Member>& members) { return !members.empty() && members.front().name == "__0"; }

void plan_fields(ValuePlanner& planner, Routine& out, const std::vector<Member>& members, uint64_t offset, Detail detail) {
  const bool tuple = is_tuple(members);
  out.text(tuple ? "(" : "{");
  for (size_t i = 0; i < members.size(); ++i) {
    if (i) out.text(", ");
    if (!tuple) out.text("." + members[i].name + "=");
    planner.value(out, members[i].type, offset + members[i].offset, detail);
  }
  out.text(tuple ? ")" : "}");
}

// Option, Result, and enums of the program: the name of the variant, and its data behind it.
void plan_enum(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  std::vector<std::pair<int64_t, size_t>> cases;
  size_t otherwise = planner.text_routine("?");
  const std::vector<debuginfo::Variant> variants = type.variants();
  auto discriminant = type.discriminant();
  for (const debuginfo::Variant& variant : variants) {
    Routine form;
    std::string name = variant.data.name.empty() ? variant.data.type.plain_name() : variant.data.name;
    form.text(name);
    const std::vector<Member> members = variant.data.type.members();
    if (!members.empty()) plan_fields(planner, form, members, offset + variant.data.offset, ValuePlanner::inner(detail));
    const size_t routine = planner.add(std::move(form));
    if (variant.is_default || !discriminant) otherwise = routine;
    else cases.emplace_back(variant.value, routine);
  }
  const uint64_t size = discriminant ? discriminant->type.size() : 0;
  if (size != 1 && size != 2 && size != 4 && size != 8) return out.inlined(0, otherwise);
  // Values are written as unsigned numbers of that size.
  out.choose(Source().base(offset + discriminant->offset).load(static_cast<uint8_t>(size)), cases, otherwise);
}

// Vec<T> and String: somewhere within is a pointer, and the length is a member of its own.
bool plan_vec(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  auto length = type.member("len"), pointer = find_within(type, "pointer", TypeKind::kPointer);
  const std::vector<Type> arguments = type.arguments();
  if (!length || !pointer || arguments.empty() || arguments[0].size() == 0) return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  out.elements("[]", Source().base(offset + pointer->offset).load(), Source().base(offset + length->offset).load(), arguments[0].size(),
               planner.routine_of(arguments[0], ValuePlanner::inner(detail)));
  return true;
}

bool plan_string(Routine& out, const Type& type, uint64_t offset) {
  auto vec = type.member("vec");
  auto length = vec ? vec->type.member("len") : std::nullopt, pointer = vec ? find_within(vec->type, "pointer", TypeKind::kPointer) : std::nullopt;
  if (!length || !pointer) return false;
  const uint64_t at = offset + vec->offset;
  out.span(Source().base(at + pointer->offset).load(), Source().base(at + length->offset).load(), 1);
  return true;
}

// &str, &[T] and their kin: a pointer and a length.
bool plan_slice(ValuePlanner& planner, Routine& out, const Type& type, const std::string& name, uint64_t offset, Detail detail) {
  auto pointer = type.member("data_ptr"), length = type.member("length");
  if (!pointer || !length) return false;
  const Source first = Source().base(offset + pointer->offset).load(), count = Source().base(offset + length->offset).load();
  if (name.find("str") != std::string::npos && pointer->type.target().size() == 1) return out.span(first, count, 1), true;
  const Type element = pointer->type.target();
  if (element.size() == 0) return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  out.elements("[]", first, count, element.size(), planner.routine_of(element, ValuePlanner::inner(detail)));
  return true;
}

}  // namespace

bool plan_rust_type(ValuePlanner& planner, Routine& out, const Type& type, const std::string& name, uint64_t offset, Detail detail) {
  if (type.kind() != TypeKind::kStruct) return false;
  if (!type.variants().empty()) return plan_enum(planner, out, type, offset, detail), true;
  if (name == "String") return plan_string(out, type, offset);
  if (name.starts_with("Vec<")) return plan_vec(planner, out, type, offset, detail);
  if (name.starts_with('&') || name.starts_with("alloc::boxed::Box<") || name.starts_with("Box<")) return plan_slice(planner, out, type, name, offset, detail);
  if (name.starts_with('(') && is_tuple(type.members())) {
    if (detail == Detail::kNested) out.text("(...)");
    else plan_fields(planner, out, type.members(), offset, ValuePlanner::inner(detail));
    return true;
  }
  return false;
}

}  // namespace spile::probes
