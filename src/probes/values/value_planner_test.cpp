// Plans of types that are made by hand, as text. What plans do is tested in runtime/value_walk_test.cpp, both together by
// tests/e2e/standard_types.py.

#include "probes/values/value_planner.h"

#include <gmock/gmock.h>

#include <chrono>

#include "probes/values/known_types.h"
#include "probes/values/test_types.h"

namespace spile::probes {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Planner : public testing::Test {
 protected:
  ValuePlan plan(uint64_t type, Detail detail) const { return ValuePlanner::plan(types_[type], detail, {}, plan_known_type); }
  std::string text(uint64_t type, Detail detail = Detail::kTop) const { return PlanText::of(plan(type, detail).bytes); }

  MadeTypes types_;
  const uint64_t int_ = types_.number("int", 4), char_ = types_.number("char", 1), long_ = types_.number("long", 8);
};

TEST_F(Planner, PrintsNumbersByTheirSizeAndSign) {
  EXPECT_EQ(text(int_), "signed4@0");
  EXPECT_EQ(text(types_.number("unsigned short", 2, false)), "unsigned2@0");
  EXPECT_EQ(text(char_), "byte1@0");
  EXPECT_EQ(text(types_.number("char32_t", 4, false)), "character4@0");
  EXPECT_EQ(text(types_.number("char", 4, false)), "character4@0") << "Rust's";
  EXPECT_EQ(text(types_.pointer(int_)), "pointer8@0");
}

TEST_F(Planner, SaysWhyANumberCantBePrinted) {
  const uint64_t wide = types_.number("_BitInt(256)", 32), half = types_.floating("_Float16", 2),
                 quad = types_.floating("_Float128", 16);
  const ValuePlan made = plan(types_.structure("s", 64, {{"a", wide, 0}, {"b", half, 32}, {"c", quad, 48}}), Detail::kTop);
  EXPECT_EQ(PlanText::of(made.bytes), R"("{.a=?, .b=?, .c=?}")");
  EXPECT_THAT(made.notes, ElementsAre("'.a' is a number of 32 bytes ('_BitInt(256)')",
                                      "'.b' is a floating-point number of 2 bytes ('_Float16')",
                                      "'.c' is a floating-point number of 16 bytes ('_Float128')"));
}

TEST_F(Planner, NamesTheWayToAMemberInItsNotes) {
  const uint64_t inner = types_.structure("inner", 32, {{"deep", types_.number("_BitInt(256)", 32), 0}});
  EXPECT_THAT(plan(types_.structure("s", 32, {{"in", inner, 0}}), Detail::kAll).notes,
              ElementsAre("'.in.deep' is a number of 32 bytes ('_BitInt(256)')"));
}

TEST_F(Planner, PrintsFloatingPointNumbers) {
  EXPECT_EQ(text(types_.floating("float", 4)), "float4@0");
  EXPECT_EQ(text(types_.floating("double", 8)), "float8@0");
  EXPECT_EQ(text(types_.floating("long double", 16, true)), "float10@0");
  EXPECT_EQ(text(types_.floating("complex double", 16, false, true)), R"(float8@0 " + " float8@8 "i")");
  EXPECT_EQ(text(types_.floating("_Decimal64", 8)), R"("?")");
}

TEST_F(Planner, PrintsCharactersAsText) {
  EXPECT_EQ(text(types_.array(char_, 16)), "characters1@0x16");
  EXPECT_EQ(text(types_.array(types_.number("wchar_t", 4), 3)), "characters4@0x3");
  EXPECT_EQ(text(types_.pointer(char_)), "text1[base load8]");
  EXPECT_EQ(text(types_.pointer(types_.number("char16_t", 2, false))), "text2[base load8]");
  EXPECT_EQ(text(types_.pointer(char_, true)), "pointer8@0") << "a reference to a character has no end";
  EXPECT_EQ(text(types_.flexible_array(char_)), "characters1@0x1048576");
}

TEST_F(Planner, PrintsMembersAtTheirPlaces) {
  const uint64_t s = types_.structure("s", 16, {{"n", int_, 0}, {"c", char_, 4}, {"p", types_.pointer(char_), 8}});
  EXPECT_EQ(text(s), R"("{.n=" signed4@0 ", .c=" byte1@4 ", .p=" text1[base+8 load8] "}")");
}

TEST_F(Planner, ShowsOneLevelOrAll) {
  const uint64_t inner = types_.structure("inner", 4, {{"n", int_, 0}});
  const uint64_t s = types_.structure("s", 16, {{"in", inner, 8}, {"list", types_.array(int_, 2), 0}});
  EXPECT_EQ(text(s, Detail::kNested), R"("{...}")");
  EXPECT_EQ(text(s, Detail::kTop), R"("{.in={...}, .list=[...]}")");
  EXPECT_EQ(text(s, Detail::kAll), R"("{.in=" call#1@8 ", .list=" elements [] [base] [2] [4] #2 "}")"
                                   "\n#1: \"{.n=\" signed4@0 \"}\"\n#2: signed4@0");
}

TEST_F(Planner, MakesOneRoutineOfATypeHoweverOftenItOccurs) {
  const uint64_t inner = types_.structure("inner", 4, {{"n", int_, 0}});
  const uint64_t s = types_.structure("s", 8, {{"a", inner, 0}, {"b", inner, 4}});
  EXPECT_EQ(text(s, Detail::kAll), "\"{.a=\" call#1@0 \", .b=\" call#1@4 \"}\"\n#1: \"{.n=\" signed4@0 \"}\"");
}

TEST_F(Planner, ListsBasesAndNamelessMembersAsTheirOwn) {
  const uint64_t animal = types_.structure("animal", 16, {{"_vptr.animal", types_.pointer(int_), 0}, {"legs", int_, 8}});
  const uint64_t nameless = types_.structure("", 8, {{"x", int_, 0}, {"y", int_, 4}});
  const uint64_t dog =
      types_.structure("dog", 32, {base(animal, 0), {"name", types_.pointer(char_), 16}, {"", nameless, 24}, {"", int_, 12}});
  EXPECT_EQ(text(dog), R"("{.legs=" signed4@8 ", .name=" text1[base+16 load8] ", {.x=" signed4@24 ", .y=" signed4@28 "}}")");
}

TEST_F(Planner, LoadsBitFieldsByTheirUnit) {
  const uint64_t unsigned_ = types_.number("unsigned", 4, false);
  const uint64_t s =
      types_.structure("s", 16, {bits("a", unsigned_, 0, 3, 5), bits("b", int_, 0, 30, 4), bits("c", long_, 8, 60, 8)});
  const ValuePlan made = plan(s, Detail::kTop);
  EXPECT_EQ(PlanText::of(made.bytes), R"("{.a=" unsigned4@0:3-8 ", .b=" signed8@0:30-34 ", .c=?}")");
  EXPECT_THAT(made.notes, ElementsAre("'.c' is a packed bit-field across more than 8 bytes"));
  EXPECT_EQ(PlanText::of(ValuePlanner::plan(types_[int_], Detail::kTop, {}, plan_known_type, 2, 3).bytes), "signed4@0:2-5");
}

TEST_F(Planner, NamesConstantsOfEnumerations) {
  const uint64_t color = types_.enumeration("color", 4, {{"RED", 0}, {"GREEN", 7}, {"BLUE", -2}}, true);
  EXPECT_EQ(text(color), "enum4s@0:0-32{RED=0 GREEN=7 BLUE=-2}");
  const uint64_t s = types_.structure("s", 4, {bits("c", color, 0, 4, 3)});
  EXPECT_EQ(text(s), R"("{.c=" enum4s@0:4-7{RED=0 GREEN=7 BLUE=-2} "}")");
}

TEST_F(Planner, TellsFlagsFromNumbersInARow) {
  EXPECT_EQ(text(types_.enumeration("mode", 4, {{"RW", 3}, {"R", 1}, {"W", 2}, {"X", 8}, {"NONE", 0}})),
            "enum4@0:0-32flags{NONE=0 R=1 W=2 X=8 RW=3}");
  EXPECT_THAT(text(types_.enumeration("row", 4, {{"A", 0}, {"B", 1}, {"C", 2}})), HasSubstr(":0-32{"));
  EXPECT_THAT(text(types_.enumeration("row", 4, {{"A", 1}, {"B", 2}, {"C", 3}, {"D", 4}})), HasSubstr(":0-32{"));
  EXPECT_THAT(text(types_.enumeration("negative", 4, {{"A", 1}, {"B", 4}, {"C", -1}}, true)), HasSubstr(":0-32{"));
  EXPECT_THAT(text(types_.enumeration("gaps", 4, {{"A", 1}, {"B", 8}, {"C", 16 | 32}})), HasSubstr(":0-32{"))
      << "bits that have no name";
}

TEST_F(Planner, EscapesNames) {
  const uint64_t s = types_.structure("s", 4, {{"\033[31m", int_, 0}});
  EXPECT_EQ(text(s), R"("{.\033[31m=" signed4@0 "}")");
  EXPECT_EQ(text(types_.enumeration("e", 4, {{"A\n", 1}})), R"(enum4@0:0-32{A\012=1})");
}

TEST_F(Planner, PrintsWhatHasNoSizeAsAQuestion) {
  const uint64_t opaque = types_.declared("opaque");
  const ValuePlan made = plan(opaque, Detail::kTop);
  EXPECT_EQ(PlanText::of(made.bytes), R"("?")");
  EXPECT_THAT(made.notes, ElementsAre("is of a type that is only declared ('struct opaque')"));
  EXPECT_EQ(text(types_.array(opaque, 3), Detail::kAll), R"("[...]")");
  EXPECT_EQ(text(types_.structure("empty", 0, {}), Detail::kAll), R"("{}")");
}

// ---- debug information from people who wish us ill

TEST_F(Planner, EndsWhereATypeContainsItself) {
  const uint64_t node = types_.next();
  types_.structure("node", 8, {{"n", int_, 0}, {"in", node, 4}});
  EXPECT_EQ(text(node, Detail::kAll),
            "\"{.n=\" signed4@0 \", .in=\" call#1@4 \"}\"\n#1: \"{.n=\" signed4@0 \", .in=\" call#1@4 \"}\"");
  const uint64_t array = types_.next();
  types_.array(array, 2);
  EXPECT_EQ(text(array, Detail::kAll), R"("[...]")") << "it has no size";
}

TEST_F(Planner, EndsWithTypesThatAreNestedVeryDeep) {
  uint64_t inner = types_.structure("s0", 4, {{"n", int_, 0}});
  for (int i = 1; i < 100'000; ++i) inner = types_.structure(fmt::format("s{}", i), 4, {{"in", inner, 0}});
  EXPECT_LT(plan(inner, Detail::kAll).bytes.size(), 40'000u);
  EXPECT_LT(plan(types_.structure("vector<s>", 8, {{"in", inner, 0}}, {inner}), Detail::kAll).bytes.size(), 40'000u);
}

// A Rust enum whose variants have the enum itself.
TEST_F(Planner, EndsWhereAVariantIsTheEnumItself) {
  const uint64_t self = types_.next();
  debuginfo::TypeNode node{.kind = debuginfo::TypeKind::kStruct, .name = "struct Tree", .size = 8};
  const uint64_t variant = self + 1;
  node.variants = {{{"A", variant, 0}, false, 0}, {{"B", variant, 0}, false, 1}};
  node.discriminant = {"", int_, 0};
  types_.add(node);
  types_.structure("A", 8, {{"__0", self, 0}, {"__1", self, 0}});
  EXPECT_LT(plan(self, Detail::kAll).bytes.size(), 500'000u);
}

TEST_F(Planner, EndsWhereANamelessMemberIsTheTypeItself) {
  const uint64_t node = types_.next();
  types_.structure("node", 8, {{"", node, 0}});
  const ValuePlan made = plan(node, Detail::kAll);
  EXPECT_LT(made.bytes.size(), 1000u);
  EXPECT_THAT(made.bytes, HasSubstr("..."));
}

// Each class has the next one as a base or a member twice: 2^40 in all.
class DoublingTypes : public Planner {
 protected:
  uint64_t make(bool as_base, const char* name) {
    const uint64_t first = types_.next();
    for (uint64_t i = 0; i < 40; ++i) {
      debuginfo::MemberNode a{name, first + i + 1, 0}, b{name, first + i + 1, 8};
      a.is_base = b.is_base = as_base;
      types_.structure(fmt::format("level{}", i), 16, {a, b});
    }
    types_.structure("last", 8, {{"n", int_, 0}});
    return first;
  }
  void SetUp() override { begun_ = std::chrono::steady_clock::now(); }
  void TearDown() override { EXPECT_LT(std::chrono::steady_clock::now() - begun_, std::chrono::seconds(5)); }
  std::chrono::steady_clock::time_point begun_;
};

TEST_F(DoublingTypes, BasesEnd) { EXPECT_LT(plan(make(true, ""), Detail::kAll).bytes.size(), 100'000u); }
TEST_F(DoublingTypes, NamelessMembersEnd) { EXPECT_LT(plan(make(false, ""), Detail::kAll).bytes.size(), 100'000u); }
TEST_F(DoublingTypes, NamedMembersEnd) { EXPECT_LT(plan(make(false, "m"), Detail::kAll).bytes.size(), 100'000u); }
TEST_F(DoublingTypes, SearchesEnd) {
  EXPECT_FALSE(find_within(types_[make(false, "m")], "none"));
  EXPECT_FALSE(types_[make(true, "")].member("none"));
  EXPECT_FALSE(types_[make(false, "")].member("none"));
  EXPECT_LT(types_[make(true, "")].member_names().size(), 100'000u);
  EXPECT_EQ(types_[make(false, "m")].alignment(), 1u) << "not known so deep";
}

TEST_F(Planner, EndsWithAStructureOfVeryManyMembers) {
  MadeTypes::Members members;
  for (uint64_t i = 0; i < 100'000; ++i) members.push_back({fmt::format("member{}", i), int_, 4 * i});
  const std::string made = text(types_.structure("large", 400'000, std::move(members)), Detail::kAll);
  EXPECT_LT(made.size(), 100'000u);
  EXPECT_THAT(made, StartsWith("\"{.member0=\""));
  EXPECT_THAT(made, EndsWith(", ...}\""));
}

TEST_F(Planner, KeepsAPlanSmallHoweverManyTypesThereAre) {
  uint64_t inner = types_.structure("s0", 4, {{"n", int_, 0}});
  for (int i = 1; i < 5000; ++i)
    inner = types_.structure(fmt::format("s{}", i), 4, {{"first_member", int_, 0}, {"second_member", inner, 0}});
  EXPECT_LT(plan(inner, Detail::kAll).bytes.size(), 40'000u);
}

}  // namespace
}  // namespace spile::probes
