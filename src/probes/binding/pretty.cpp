#include "probes/binding/pretty.h"

#include "debuginfo/array_elements.h"
#include "probes/binding/bind_function.h"
#include "probes/kernel/start_place.h"
#include "probes/values/known_types.h"
#include "probes/values/part_list.h"
#include "probes/world/kernel_image.h"
#include "probes/world/kernel_types.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using debuginfo::Type;
using debuginfo::TypeKind;
using sema::PrettyPart;
using syntax::FormatPart;
using syntax::PathStep;

// Whether a value is known where a structure lies: not everything in registers is. Bytes of a string there, which has no
// address, are fetched one by one.
bool is_known(const StartPlace& structure, PrettyPart& part) {
  constexpr uint64_t kMostLetters = 16;
  std::span<const PathStep> path = part.path;
  const bool is_text = !path.empty() && path.back().kind == PathStep::Kind::kText;
  if (is_text) path = path.first(path.size() - 1);
  Result<debuginfo::Place> place = walk_path(structure, path);
  if (!place.ok() || debuginfo::load(*place).ok()) return place.ok();
  const uint64_t count = place->type.count().value_or(0);
  if (!is_text || place->type.shape() || count == 0 || count > kMostLetters) return false;
  for (uint64_t i = 0; i < count; ++i) {
    Result<debuginfo::Place> letter =
        debuginfo::walk(*place, std::vector{debuginfo::Step{debuginfo::Step::Kind::kIndex, "", static_cast<int64_t>(i)}});
    if (!letter.ok() || !debuginfo::load(*letter).ok()) return false;
  }
  part.letters = static_cast<uint32_t>(count);
  return true;
}

// What a module's types need that its debug information lacks.
ModuleFacts facts_of(TracedWorld& world, const StartPlace& start) {
  ModuleFacts facts;
  if (start.module.empty() || is_kernel_module(start.module)) return facts;
  auto module = world.module(start.module);
  if (!module.ok() || !(*module)->is_made_by_go() || (*module)->position_independent()) return facts;
  if (auto types = (*module)->data_symbol("runtime.types")) facts.go_types = types->value;
  return facts;
}

// The whole value by one plan; nullopt: it must be printed part by part.
std::optional<PrettyPart> planned(TracedWorld& world, const StartPlace& start, const debuginfo::Place& place, bool deep) {
  if (world.process_domain() != sema::Domain::kTarget || is_of_kernel(start.module)) return std::nullopt;
  const Detail detail = deep ? Detail::kAll : Detail::kTop;
  PrettyPart part;
  part.has_value = true;
  auto plan = [&](const Type& type, uint32_t bit_offset, uint32_t bit_size) {
    ValuePlan made = ValuePlanner::plan(type, detail, facts_of(world, start), plan_known_type, bit_offset, bit_size);
    part.plan = std::move(made.bytes);
    part.names_code = made.names_code;
    for (const std::string& note : made.notes) world.note_unprintable(start.name + (note.starts_with('\'') ? ": " : " ") + note);
    return std::optional(std::move(part));
  };
  if (const auto summary = debuginfo::summary_of(place)) {
    ValuePlan made = ValuePlanner::plan_summary(summary->type, detail, facts_of(world, start), plan_known_type);
    part.words = 2;
    part.plan = std::move(made.bytes);
    part.names_code = made.names_code;
    return part;
  }
  Type type = place.type;
  // Pointers to objects and references are followed at the top.
  if (!place.bit_size && type.kind() == TypeKind::kPointer && !type.is_string() && !is_known_pointer(type)) {
    const Type target = type.target();
    const TypeKind kind = target.kind();
    const bool is_object = kind != TypeKind::kVoid && kind != TypeKind::kUnknown && kind != TypeKind::kFunction &&
                           (type.is_reference() || kind != TypeKind::kArray) &&
                           (target.size() != 0 || kind == TypeKind::kStruct || kind == TypeKind::kUnion);
    if (is_object) {
      if (type.is_reference()) {  // a reference's value is the object; what it holds is a word
        if (kind != TypeKind::kStruct && kind != TypeKind::kUnion) part.literal = "&";
        part.path.emplace_back().kind = PathStep::Kind::kWord;
      } else if (!debuginfo::load(place).ok()) {
        return std::nullopt;
      }
      return plan(target, 0, 0);
    }
  }
  if ((type.kind() == TypeKind::kFunction && type.size() == 0) || type.kind() == TypeKind::kVoid ||
      type.kind() == TypeKind::kUnknown)
    return std::nullopt;
  if (place.kind == debuginfo::Place::Kind::kMemory && !place.bit_size) {
    part.is_object = true;
    return plan(type, 0, 0);
  }
  // In registers: all of its bytes must be known.
  const uint64_t size = place.bit_size ? (place.bit_offset + place.bit_size + 7) / 8 : type.size();
  if (place.kind == debuginfo::Place::Kind::kMemory || size == 0 || size > 8 * abi::kMostValueWords) return std::nullopt;
  part.words = static_cast<uint32_t>((size + 7) / 8);
  for (uint32_t word = 0; word < part.words; ++word) {
    if (!debuginfo::load_word(place, 8 * uint64_t{word}).ok()) return std::nullopt;
  }
  return plan(type, place.bit_offset, place.bit_size);
}

Result<std::vector<PrettyPart>> print_from(TracedWorld& world, const StartPlace& start, std::span<const PathStep> path,
                                           bool deep) {
  while (!path.empty() && path.back().kind >= PathStep::Kind::kPretty) path = path.first(path.size() - 1);
  TRY(debuginfo::Place place, walk_path(start, path));
  if (!place.available()) return Error{"the value " + place.reason, ""};
  if (auto part = planned(world, start, place, deep)) {
    std::vector<PrettyPart> parts;
    parts.push_back(std::move(*part));
    return parts;
  }
  std::vector<PrettyPart> parts = list_parts(place, deep);
  StartPlace structure = start;
  structure.place = std::move(place);
  structure.is_pointee = start.is_pointee && path.empty();
  for (PrettyPart& part : parts) {
    if (!part.has_value || is_known(structure, part)) continue;
    part.has_value = false;
    part.literal += '?';
  }
  return parts;
}

}  // namespace

Result<std::vector<PrettyPart>> pretty_parts(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                             const syntax::Expression& expression, bool deep) {
  if (auto* variable = syntax::as<syntax::TargetVariable>(expression)) {
    if (point.site.mark && !names_variable_at_mark(point, variable->name)) {  // a mark's arguments have no types
      PrettyPart part;
      part.has_value = true;
      part.format.kind = FormatPart::Kind::kHex;
      part.format.alternate = true;
      std::vector<PrettyPart> parts;
      parts.push_back(std::move(part));
      return parts;
    }
    TRY(StartPlace start, start_of(world, point, at_entry, *variable));
    return print_from(world, start, variable->path, deep);
  }
  auto* operation = syntax::as<syntax::AtOperation>(expression);
  if (!operation) return Error{"this can't be pretty-printed", ""};
  TRY(StartPlace start, start_of(world, &point, *operation));
  return print_from(world, start, operation->path, deep);
}

Result<std::vector<PrettyPart>> pretty_parts(TracedWorld& world, const sema::TargetType& pointer,
                                             const syntax::Dereference& dereference, bool deep) {
  TRY(StartPlace start, start_of(world, pointer));
  return print_from(world, start, dereference.path, deep);
}

Result<std::vector<PrettyPart>> pretty_parts(TracedWorld& world, const syntax::AtOperation& operation, bool deep) {
  TRY(StartPlace start, start_of(world, nullptr, operation));
  return print_from(world, start, operation.path, deep);
}

}  // namespace spile::probes
