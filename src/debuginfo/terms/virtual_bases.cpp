#include "debuginfo/terms/virtual_bases.h"

#include <algorithm>

#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {

namespace {

const TypeNode* complete_node(const Type& type) {
  constexpr int kMostNames = 32;
  if (!type.valid()) return nullptr;
  const TypeNode* node = &type.source()->type_node(type.id());
  uint64_t id = type.id();
  for (int i = 0; i < kMostNames && node->alias != TypeNode::Alias::kNone; ++i) {
    id = node->target;
    node = &type.source()->type_node(id);
  }
  if (!node->is_declaration) return node;
  const uint64_t definition = type.source()->type_definition(id);
  return definition == kUnknownType ? node : &type.source()->type_node(definition);
}

// Types come from other people's files: classes within each other, and bases in all.
void collect(const Type& type, uint64_t offset, std::vector<VirtualBase>& found, int depth, size_t& left) {
  constexpr int kDeepest = 32;
  constexpr size_t kMostBases = 64;
  const TypeNode* node = complete_node(type);
  if (!node || depth > kDeepest || left == 0) return;
  --left;
  for (const VirtualBaseNode& base : node->virtual_bases) {
    const Type of_base(type.source(), base.type);
    const bool is_known = std::ranges::any_of(found, [&](const VirtualBase& known) { return known.type.id() == of_base.id(); });
    if (!is_known && found.size() < kMostBases) found.push_back({of_base, offset, base.slot});
  }
  for (const Member& member : type.members()) {
    if (member.is_base) collect(member.type, offset + member.offset, found, depth + 1, left);
  }
}

}  // namespace

std::vector<VirtualBase> virtual_bases(const Type& type) {
  std::vector<VirtualBase> found;
  size_t left = 1000;
  collect(type, 0, found, 0, left);
  return found;
}

}  // namespace spile::debuginfo
