// What paths and loads refuse, and how they say it; values_test.cpp shows that they are right.
#include <gmock/gmock.h>

#include <map>

#include "debuginfo/debuginfo.h"
#include "debuginfo/terms/type_node.h"

namespace spile::debuginfo {
namespace {

using testing::HasSubstr;

enum Id : uint64_t {
  kInt = 10,
  kNode,
  kNodePointer,
  kVoidPointer,
  kOpaque,
  kOpaquePointer,
  kDouble,
  kArray,
  kIntReference,
  kNodeReference,
  kWide,
  kLoop,
  kPacked,
  kAnonymous
};

class Types : public TypeSource {
 public:
  Types() {
    using enum TypeKind;
    nodes_[kVoidType].kind = kVoid;
    nodes_[kInt] = {.kind = kInteger, .name = "int", .size = 4, .is_signed = true};
    nodes_[kWide] = {.kind = kInteger, .name = "__int128", .size = 16};
    nodes_[kDouble] = {.kind = kFloat, .name = "double", .size = 8};
    nodes_[kNodePointer] = {.kind = kPointer, .size = 8, .target = kNode};
    nodes_[kVoidPointer] = {.kind = kPointer, .size = 8, .target = kVoidType};
    nodes_[kIntReference] = {.kind = kPointer, .size = 8, .target = kInt, .is_reference = true};
    nodes_[kNodeReference] = {.kind = kPointer, .size = 8, .target = kNode, .is_reference = true};
    nodes_[kOpaque] = {.kind = kStruct, .name = "struct opaque", .is_declaration = true};
    nodes_[kOpaquePointer] = {.kind = kPointer, .size = 8, .target = kOpaque};
    nodes_[Id::kArray] = {.kind = TypeKind::kArray, .target = kInt, .has_count = true, .count = 4};
    nodes_[kLoop] = {.alias = TypeNode::Alias::kTypedef, .name = "loop", .target = kLoop};
    nodes_[kAnonymous] = {.kind = kUnion, .name = "union {...}", .size = 4, .members = {{.name = "inside", .type = kInt}}};
    nodes_[kNode] = {.kind = kStruct,
                     .name = "struct node",
                     .size = 32,
                     .members = {{.name = "next", .type = kNodePointer},
                                 {.name = "value", .type = kInt, .offset = 8},
                                 {.name = "", .type = kAnonymous, .offset = 12},
                                 {.name = "bits", .type = kInt, .offset = 16, .bit_offset = 3, .bit_size = 5},
                                 {.name = "wide", .type = kWide, .offset = 16}}};
    nodes_[kPacked] = {.kind = kStruct,
                       .name = "struct packed",
                       .size = 9,
                       .members = {{.name = "far", .type = kInt, .offset = 0, .bit_offset = 7, .bit_size = 60}}};
  }
  const TypeNode& type_node(uint64_t id) override { return nodes_[id]; }
  uint64_t type_definition(uint64_t) override { return kUnknownType; }

 private:
  std::map<uint64_t, TypeNode> nodes_;
};

Place in_register(uint64_t type) {
  Place place;
  place.kind = Place::Kind::kValue;
  place.operations = {location::Register{5}};
  place.type = Type(std::make_shared<Types>(), type);
  return place;
}
Place in_memory(uint64_t type) {
  Place place = in_register(type);
  place.kind = Place::Kind::kMemory;
  return place;
}
Step member(const std::string& name) { return {.kind = Step::Kind::kMember, .member = name}; }
Step at(int64_t index) { return {.kind = Step::Kind::kIndex, .member = {}, .index = index}; }
const Step kStar{.kind = Step::Kind::kDereference, .member = {}};

Error walk_error(const Place& place, const std::vector<Step>& steps) {
  auto walked = walk(place, steps);
  if (walked.ok()) return {"no error", {}};
  return walked.error();
}
std::string loaded(const Place& place, const std::vector<Step>& steps = {}) {
  auto walked = walk(place, steps);
  if (!walked.ok()) return walked.error().message;
  auto code = load(*walked);
  return code.ok() ? to_string(*code) : code.error().message;
}

TEST(Walk, GoesThroughPointersAndMembers) {
  EXPECT_EQ(loaded(in_register(kNodePointer), {member("value")}), "rdi +8 deref4s");
  EXPECT_EQ(loaded(in_register(kNodePointer), {member("next"), member("value")}), "rdi deref8 +8 deref4s");
  EXPECT_EQ(loaded(in_memory(kNodePointer), {member("inside")}), "rdi deref8 +12 deref4s");
  EXPECT_EQ(loaded(in_register(kNodePointer), {at(2), member("value")}), "rdi +72 deref4s");
  EXPECT_EQ(loaded(in_register(kNodePointer), {at(-1), member("next")}), "rdi -32 deref8");
  EXPECT_EQ(loaded(in_register(kNodePointer), {kStar, member("value")}), "rdi +8 deref4s");
  EXPECT_EQ(loaded(in_register(kNodePointer), {member("bits")}), "rdi +16 deref4 bits5@3s");
  EXPECT_EQ(loaded(in_memory(Id::kArray), {at(3)}), "rdi +12 deref4s");
  EXPECT_EQ(loaded(in_memory(Id::kArray), {kStar}), "rdi deref4s");
  EXPECT_EQ(loaded(in_memory(Id::kArray)), "rdi");
  EXPECT_EQ(loaded(in_memory(Id::kArray), {{.kind = Step::Kind::kDynamicIndex, .member = {}, .index = 1}}),
            "rdi #1 4 mul plus deref4s");
}

TEST(Walk, FollowsReferencesLikeTheSourceDoes) {
  EXPECT_EQ(loaded(in_register(kIntReference)), "rdi deref4s");
  EXPECT_EQ(loaded(in_memory(kIntReference)), "rdi deref8 deref4s");
  EXPECT_EQ(loaded(in_register(kNodeReference), {member("value")}), "rdi +8 deref4s");
  EXPECT_EQ(loaded(in_register(kNodeReference)), "rdi");
}

TEST(Walk, SuggestsMembers) {
  const Error near = walk_error(in_register(kNodePointer), {member("valeu")});
  EXPECT_EQ(near.message, "'struct node' has no member 'valeu'");
  EXPECT_EQ(near.hint, "did you mean 'value'?");
  EXPECT_THAT(walk_error(in_register(kNodePointer), {member("zzzzzzzzz")}).hint, HasSubstr("it has: next, value, inside, bits"));
  EXPECT_THAT(walk_error(in_register(kOpaquePointer), {member("x")}).message, HasSubstr("only declared"));
  EXPECT_THAT(walk_error(in_register(kInt), {member("x")}).message, HasSubstr("'int' has no member 'x': it is not a struct"));
}

TEST(Walk, RefusesWhatHasNoMeaning) {
  EXPECT_THAT(walk_error(in_register(kInt), {at(0)}).message, HasSubstr("can't be indexed"));
  EXPECT_THAT(walk_error(in_register(kVoidPointer), {at(0)}).message, HasSubstr("size of its elements is unknown"));
  EXPECT_THAT(walk_error(in_register(kInt), {kStar}).message, HasSubstr("not a pointer"));
  Place gone;
  gone.reason = "is optimized out";
  EXPECT_EQ(walk_error(gone, {member("x")}).message, "the value is optimized out");
}

TEST(Load, RefusesWhatIsNoNumber) {
  EXPECT_THAT(loaded(in_memory(kNode)), HasSubstr("a whole 'struct node'"));
  EXPECT_THAT(loaded(in_memory(kDouble)), HasSubstr("deref8"));  // its bits
  EXPECT_THAT(loaded(in_memory(kWide)), HasSubstr("16 bytes"));
  EXPECT_THAT(loaded(in_memory(kLoop)), HasSubstr("no size"));
  EXPECT_THAT(loaded(in_memory(kPacked), {member("far")}), HasSubstr("more than 8 bytes"));
  EXPECT_THAT(loaded(in_memory(kVoidType)), HasSubstr("no size"));
}

TEST(Load, ExtendsWhatIsInRegisters) {
  EXPECT_EQ(loaded(in_register(kInt)), "rdi convert4s");
  EXPECT_EQ(loaded(in_register(kNodePointer)), "rdi");
}

TEST(Address, IsOfMemoryOnly) {
  EXPECT_EQ(to_string(*address(*walk(in_register(kNodePointer), std::vector<Step>{member("value")}))), "rdi +8");
  EXPECT_THAT(address(in_register(kInt)).error().message, HasSubstr("in a register"));
  EXPECT_THAT(address(*walk(in_register(kNodePointer), std::vector<Step>{member("bits")})).error().message,
              HasSubstr("bit-field"));
}

TEST(Parts, OfObjectsInRegisters) {
  Place pair;
  pair.kind = Place::Kind::kPieces;
  pair.type = Type(std::make_shared<Types>(), kNode);
  pair.pieces = {{.kind = Piece::Kind::kValue, .size = 8, .operations = {location::Register{5}}},
                 {.kind = Piece::Kind::kValue, .size = 8, .operations = {location::Register{4}}},
                 {.kind = Piece::Kind::kMissing, .size = 16, .operations = {}}};
  EXPECT_EQ(loaded(pair, {member("value")}), "rsi convert4s");
  EXPECT_EQ(loaded(pair, {member("inside")}), "rsi 32 shr convert4s");
  EXPECT_EQ(loaded(pair, {member("next"), member("value")}), "rdi +8 deref4s");
  EXPECT_THAT(loaded(pair, {member("bits")}), HasSubstr("optimized out"));
}

TEST(TypeName, IsWrittenAsInC) {
  EXPECT_EQ(in_register(kNodePointer).type.name(), "struct node*");
  EXPECT_EQ(in_register(Id::kArray).type.name(), "int[4]");
  EXPECT_EQ(in_register(kIntReference).type.name(), "int&");
  EXPECT_EQ(in_register(kVoidPointer).type.name(), "void*");
  EXPECT_EQ(in_register(kLoop).type.name(), "loop");
  EXPECT_EQ(Type().name(), "<unknown type>");
}

}  // namespace
}  // namespace spile::debuginfo
