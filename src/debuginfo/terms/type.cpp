#include "debuginfo/terms/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {
namespace {

// Stops cyclic descriptions (typedefs of each other), which only damage can make.
constexpr int kMostAliases = 64;
constexpr int kDeepestNesting = 32;
// Stops searches through members of members where each level has the next one several times.
constexpr size_t kMostSearched = 4096;

// The id behind typedefs and qualifiers; kUnknownType for a cycle.
uint64_t without_aliases(TypeSource& source, uint64_t id) {
  for (int i = 0; i < kMostAliases; ++i) {
    const TypeNode& node = source.type_node(id);
    if (node.alias == TypeNode::Alias::kNone) return id;
    id = node.target;
  }
  return kUnknownType;
}

const TypeNode& unknown_node() {
  static const TypeNode node;
  return node;
}

// How many elements an array has in a dimension, in brackets, where that is constant.
std::string extent(const ArrayDimension& dimension) {
  constexpr auto kConstant = ArrayNumber::Kind::kConstant;
  if (dimension.first.kind != kConstant || dimension.end.kind != kConstant) return "[]";
  const auto end = static_cast<uint64_t>(dimension.end.value);
  return fmt::format("[{}]", dimension.end_is_count ? end : end - static_cast<uint64_t>(dimension.first.value) + 1);
}

// C's declarators read inside out: "int(*)[3]" is a pointer to an array. `inside` is what has been said so far.
std::string spell(TypeSource& source, uint64_t id, std::string inside, int depth) {
  const TypeNode& node = source.type_node(id);
  if (depth > kDeepestNesting) return "..." + inside;
  if (node.alias == TypeNode::Alias::kTypedef) return node.name + inside;
  if (node.alias != TypeNode::Alias::kNone) {
    const char* qualifier = node.alias == TypeNode::Alias::kConst      ? "const"
                            : node.alias == TypeNode::Alias::kVolatile ? "volatile"
                                                                       : "";
    const TypeNode& target = source.type_node(node.target);
    if (!*qualifier) return spell(source, node.target, inside, depth + 1);
    // A qualified pointer has the qualifier behind its star: char* const.
    if (target.kind == TypeKind::kPointer && target.alias == TypeNode::Alias::kNone)
      return spell(source, node.target, fmt::format(" {}{}", qualifier, inside), depth + 1);
    std::string spelled = spell(source, node.target, std::move(inside), depth + 1);
    // An array of constants is also said to be constant itself.
    return spelled.starts_with(fmt::format("{} ", qualifier)) ? spelled : fmt::format("{} {}", qualifier, spelled);
  }
  switch (node.kind) {
    case TypeKind::kVoid: return (node.name.empty() ? "void" : node.name) + inside;
    case TypeKind::kPointer: {
      const TypeNode& target = source.type_node(node.target);
      std::string star = node.is_reference ? "&" : "*";
      star += inside;
      if (target.alias == TypeNode::Alias::kNone && (target.kind == TypeKind::kArray || target.kind == TypeKind::kFunction))
        star = "(" + star + ")";
      return spell(source, node.target, star, depth + 1);
    }
    case TypeKind::kArray:
      if (node.shape.needs_all_indices()) {
        for (const ArrayDimension& dimension : node.shape.dimensions) inside += extent(dimension);
        return spell(source, node.shape.element, inside, depth + 1);
      }
      return spell(source, node.target, inside + (node.has_count ? fmt::format("[{}]", node.count) : "[]"), depth + 1);
    case TypeKind::kFunction: return spell(source, node.target, inside + "(...)", depth + 1);
    default: return (node.name.empty() ? "<unknown type>" : node.name) + inside;
  }
}

uint64_t size_of(TypeSource& source, uint64_t id, int depth) {
  const TypeNode* node = &source.type_node(without_aliases(source, id));
  if (node->is_declaration)
    if (uint64_t definition = source.type_definition(without_aliases(source, id))) node = &source.type_node(definition);
  if (node->kind != TypeKind::kArray || node->size || depth > kDeepestNesting) return node->size;
  return node->has_count ? node->count * size_of(source, node->target, depth + 1) : 0;
}

std::optional<Member> find_member(const Type& type, std::string_view name, int depth, size_t& left) {
  if (depth > kDeepestNesting || left == 0) return std::nullopt;
  --left;
  const std::vector<Member> members = type.members();
  for (const Member& member : members)
    if (member.name == name && !member.is_base) return member;
  for (const Member& outer : members) {
    if (!outer.is_base && !outer.name.empty()) continue;
    if (auto inner = find_member(outer.type, name, depth + 1, left)) {
      inner->offset += outer.offset;
      return inner;
    }
  }
  return std::nullopt;
}

uint64_t alignment_of(const Type& type, int depth, size_t& left) {
  if (const uint64_t stated = type.stated_alignment()) return stated;
  if (depth > kDeepestNesting || left == 0) return 1;
  --left;
  switch (type.kind()) {
    case TypeKind::kStruct:
    case TypeKind::kUnion: {
      uint64_t most = 1;
      for (const Member& member : type.members()) most = std::max(most, alignment_of(member.type, depth + 1, left));
      return most;
    }
    case TypeKind::kArray: return alignment_of(type.target(), depth + 1, left);
    default: {
      const uint64_t size = type.size();
      return std::has_single_bit(size) && size <= 16 ? size : 1;
    }
  }
}

void collect_names(const Type& type, std::vector<std::string>& names, int depth, size_t& left) {
  if (depth > kDeepestNesting || left == 0) return;
  --left;
  for (const Member& member : type.members()) {
    if (member.is_base || member.name.empty()) collect_names(member.type, names, depth + 1, left);
    else names.push_back(member.name);
  }
}

}  // namespace

const TypeNode& Type::node() const { return source_ ? source_->type_node(without_aliases(*source_, id_)) : unknown_node(); }

const TypeNode& Type::complete() const {
  const TypeNode& found = node();
  if (!found.is_declaration) return found;
  const uint64_t definition = source_->type_definition(without_aliases(*source_, id_));
  return definition == kUnknownType ? found : source_->type_node(definition);
}

bool Type::is_only_declared() const { return complete().is_declaration; }

uint64_t Type::node_id() const { return source_ ? without_aliases(*source_, id_) : kUnknownType; }
TypeKind Type::kind() const { return node().kind; }
std::string Type::name() const { return source_ ? spell(*source_, id_, "", 0) : "<unknown type>"; }
std::string Type::plain_name() const {
  if (!source_) return {};
  const std::string name = spell(*source_, without_aliases(*source_, id_), "", 0);
  for (std::string_view keyword : {"struct ", "class ", "union ", "enum "})
    if (name.starts_with(keyword)) return name.substr(keyword.size());
  return name;
}
uint64_t Type::size() const { return source_ ? size_of(*source_, id_, 0) : 0; }
bool Type::is_signed() const { return node().is_signed; }
bool Type::is_boolean() const { return node().is_boolean; }
bool Type::is_character() const { return node().is_character; }
bool Type::is_reference() const { return node().is_reference; }
uint64_t Type::stated_alignment() const { return complete().alignment; }
bool Type::is_complex() const { return node().is_complex; }
bool Type::is_extended() const { return node().is_extended; }
bool Type::passed_by_reference() const { return complete().passed_by_reference; }

bool Type::is_scalar() const {
  const TypeNode& found = complete();
  if (found.kind != TypeKind::kInteger && found.kind != TypeKind::kEnum && found.kind != TypeKind::kPointer) return false;
  return found.size == 1 || found.size == 2 || found.size == 4 || found.size == 8;
}

bool Type::is_string() const {
  const TypeKind own = kind();
  return (own == TypeKind::kPointer || own == TypeKind::kArray) && target().is_character();
}

bool Type::is_text() const {
  const ArrayShape* found = shape();
  return found && found->dimensions.size() == 1 && found->dimensions[0].end_is_count && target().plain_name() == "character";
}

Type Type::target() const {
  const TypeNode& found = node();
  const bool has_target = found.kind == TypeKind::kPointer || found.kind == TypeKind::kArray || found.kind == TypeKind::kFunction;
  return has_target ? Type(source_, found.target) : Type();
}

std::optional<uint64_t> Type::count() const {
  const TypeNode& found = node();
  return found.kind == TypeKind::kArray && found.has_count ? std::optional(found.count) : std::nullopt;
}

const ArrayShape* Type::shape() const {
  const TypeNode& found = node();
  return found.kind == TypeKind::kArray && !found.shape.dimensions.empty() ? &found.shape : nullptr;
}

std::vector<Member> Type::members() const {
  std::vector<Member> members;
  for (const MemberNode& m : complete().members)
    members.push_back({m.is_base ? Type(source_, m.type).name() : m.name, Type(source_, m.type), m.offset, m.bit_offset,
                       m.bit_size, m.is_base});
  return members;
}

std::vector<Type> Type::arguments() const {
  std::vector<Type> arguments;
  for (uint64_t id : complete().arguments) arguments.emplace_back(id == kUnknownType ? Type() : Type(source_, id));
  return arguments;
}

std::vector<Variant> Type::variants() const {
  std::vector<Variant> variants;
  for (const VariantNode& v : complete().variants)
    variants.push_back({{v.data.name, Type(source_, v.data.type), v.data.offset}, v.is_default, v.value});
  return variants;
}

std::optional<Member> Type::discriminant() const {
  const TypeNode& found = complete();
  if (found.variants.empty() || found.discriminant.type == kUnknownType) return std::nullopt;
  return Member{found.discriminant.name, Type(source_, found.discriminant.type), found.discriminant.offset};
}

uint64_t Type::alignment() const {
  size_t left = kMostSearched;
  return source_ ? alignment_of(*this, 0, left) : 1;
}

std::vector<Enumerator> Type::enumerators() const { return complete().enumerators; }

std::optional<Member> Type::member(std::string_view name) const {
  size_t left = kMostSearched;
  return name.empty() ? std::nullopt : find_member(*this, name, 0, left);
}

std::vector<std::string> Type::member_names() const {
  std::vector<std::string> names;
  size_t left = kMostSearched;
  collect_names(*this, names, 0, left);
  return names;
}

}  // namespace spile::debuginfo
