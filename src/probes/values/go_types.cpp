// Types of Go, as its linker describes them (cmd/link/internal/ld/dwarf.go): strings, slices and interfaces are structures of
// words, a map is a pointer to runtime.hmap (runtime/map.go; up to Go 1.23). A function's value is a pointer to words of which
// the first is its code. Generic functions have types of their own for all that look the same to the machine: go.shape.string_0
// (cmd/compile/internal/types, "shape").

#include "probes/values/known_types.h"

namespace spile::probes {

namespace {

using debuginfo::Type;
using debuginfo::TypeKind;

bool plan_string(Routine& out, const Type& type, uint64_t offset) {
  auto text = type.member("str"), length = type.member("len");
  if (!text || !length) return false;
  out.span(Source().base(offset + text->offset).load(), Source().base(offset + length->offset).load(), 1);
  return true;
}

bool plan_slice(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset, Detail detail) {
  auto array = type.member("array"), length = type.member("len");
  if (!array || !length || array->type.kind() != TypeKind::kPointer || array->type.target().size() == 0) return false;
  if (detail == Detail::kNested) return out.text("[...]"), true;
  const Type element = array->type.target();
  out.elements("[]", Source().base(offset + array->offset).load(), Source().base(offset + length->offset).load(), element.size(),
               planner.routine_of(element, ValuePlanner::inner(detail)));
  return true;
}

bool plan_map(ValuePlanner& planner, Routine& out, const Type& pointer, uint64_t offset, Detail detail) {
  const Type map = pointer.target();
  auto power = map.member("B"), buckets = map.member("buckets"), old = map.member("oldbuckets");
  if (!power || !buckets || !old || buckets->type.kind() != TypeKind::kPointer) return false;
  const Type bucket = buckets->type.target();
  auto keys = bucket.member("keys"), values = bucket.member("values"), overflow = bucket.member("overflow");
  if (!keys || !values || !overflow || keys->type.kind() != TypeKind::kArray || values->type.kind() != TypeKind::kArray)
    return false;
  const Type key = keys->type.target(), value = values->type.target();
  if (key.size() == 0 || bucket.size() != overflow->offset + 8) return false;
  if (detail == Detail::kNested) return out.text("map[...]"), true;
  const Detail inner = ValuePlanner::inner(detail);
  Routine there;
  there.text("map");
  there.go_map("[]", Source().base(power->offset).load(1), Source().base(buckets->offset).load(),
               Source().base(old->offset).load(), {keys->offset, values->offset, overflow->offset, key.size(), value.size()},
               planner.routine_of(key, inner), planner.routine_of(value, inner));
  const size_t shown = planner.add(std::move(there));
  Routine follow;
  follow.follow(Source().base(offset).load(), shown);
  const size_t made = planner.add(std::move(follow));
  out.choose(Source().base(offset).load(), {{0, planner.text_routine("map[]")}}, made);
  return true;
}

// A channel is a pointer to runtime.hchan (runtime/chan.go): a ring of values, of which `recvx` is the next that is received.
bool plan_channel(ValuePlanner& planner, Routine& out, const Type& pointer, uint64_t offset, Detail detail) {
  const Type channel = pointer.target();
  auto count = channel.member("qcount"), room = channel.member("dataqsiz"), buffer = channel.member("buf"),
       next = channel.member("recvx"), closed = channel.member("closed");
  if (!count || !room || !buffer || !next || !closed || buffer->type.kind() != TypeKind::kPointer) return false;
  // The buffer is a void*; the type of its elements is that of what a waiting goroutine receives (cmd/link, synthesizechantypes).
  auto queue = channel.member("recvq");
  auto first = queue ? queue->type.member("first") : std::nullopt;
  auto received = first && first->type.kind() == TypeKind::kPointer ? first->type.target().member("elem") : std::nullopt;
  const Type element = received && received->type.kind() == TypeKind::kPointer ? received->type.target() : Type();
  auto part = [](const debuginfo::Member& member) { return Source().base(member.offset).load(); };
  Routine there;
  there.text("chan");
  const bool has_size = element.valid() && element.kind() != TypeKind::kVoid && element.size() != 0;
  if (has_size && detail == Detail::kNested) there.text("[...]");
  else if (has_size)
    there.ring("[]", part(*buffer), part(*next), part(*room), part(*count), element.size(),
               planner.routine_of(element, ValuePlanner::inner(detail)));
  Routine used;
  used.text(" (");
  used.computed(part(*count), abi::ValueForm::kUnsigned);
  used.text(" of ");
  used.computed(part(*room), abi::ValueForm::kUnsigned);
  used.text(")");
  there.choose(part(*room), {{0, planner.text_routine("")}}, planner.add(std::move(used)));
  there.choose(Source().base(closed->offset).load(4), {{0, planner.text_routine("")}}, planner.text_routine(" closed"));
  const size_t shown = planner.add(std::move(there));
  Routine follow;
  follow.follow(Source().base(offset).load(), shown);
  const size_t made = planner.add(std::move(follow));
  out.choose(Source().base(offset).load(), {{0, planner.text_routine("nil")}}, made);
  return true;
}

// runtime.iface {tab *itab; data}, whose table has the type as its second word; runtime.eface {_type; data}.
bool plan_interface(ValuePlanner& planner, Routine& out, const Type& type, uint64_t offset) {
  auto data = type.member("data"), table = type.member("tab"), direct = type.member("_type");
  if (!data || (!table && !direct) || planner.facts().go_types == 0) return false;
  const Source value = Source().base(offset + data->offset).load();
  if (direct) {
    out.go_interface(planner.facts().go_types, Source().base(offset + direct->offset).load(), value);
    return true;
  }
  constexpr int64_t kTypeInTable = 8;
  Routine there;
  there.go_interface(planner.facts().go_types, Source().base(offset + table->offset).load().plus(kTypeInTable).load(), value);
  const size_t known = planner.add(std::move(there));
  out.choose(Source().base(offset + table->offset).load(), {{0, planner.text_routine("nil")}}, known);
  return true;
}

bool plan_function(ValuePlanner& planner, Routine& out, uint64_t offset) {
  const Source value = Source().base(offset).load();
  Routine there;
  there.code(abi::ValueCode::kFunction, Source().base(offset).load().load(), Source::constant(0));
  const size_t known = planner.add(std::move(there));
  out.choose(value, {{0, planner.text_routine("nil")}}, known);
  return true;
}

// "go.shape.[]int_0" is laid out as "[]int".
std::string_view without_shape(std::string_view name) {
  constexpr std::string_view kShape = "go.shape.";
  if (!name.starts_with(kShape)) return name;
  name.remove_prefix(kShape.size());
  const size_t number = name.find_last_not_of("0123456789");
  return number != name.npos && name[number] == '_' ? name.substr(0, number) : name;
}

}  // namespace

bool plan_go_type(ValuePlanner& planner, Routine& out, const Type& type, const std::string& whole_name, uint64_t offset,
                  Detail detail) {
  const std::string_view name = without_shape(whole_name);
  // those of C have no size
  if (type.kind() == TypeKind::kFunction) return type.size() == 8 && plan_function(planner, out, offset);
  if (type.kind() == TypeKind::kPointer)
    return is_known_pointer(type) &&
           (plan_map(planner, out, type, offset, detail) || plan_channel(planner, out, type, offset, detail));
  if (type.kind() != TypeKind::kStruct) return false;
  if (name == "string") return plan_string(out, type, offset);
  if (name.starts_with("[]")) return plan_slice(planner, out, type, offset, detail);
  if (name == "runtime.iface" || name == "runtime.eface") return plan_interface(planner, out, type, offset);
  return false;
}

}  // namespace spile::probes
