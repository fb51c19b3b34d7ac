// Values that are printed part by part, as text: what stands between the numbers, and how each number is reached.

#include "probes/values/part_list.h"

#include <gmock/gmock.h>

#include "probes/values/test_types.h"

namespace spile::probes {
namespace {

using syntax::FormatPart;
using syntax::PathStep;
using testing::EndsWith;

class PartList : public testing::Test {
 protected:
  static std::string text_of(const sema::PrettyPart& part) {
    std::string text = part.literal;
    if (!part.has_value) return text;
    static const std::map<FormatPart::Kind, std::string> kLetters = {{FormatPart::Kind::kSigned, "d"},
                                                                     {FormatPart::Kind::kUnsigned, "u"},
                                                                     {FormatPart::Kind::kPointer, "p"},
                                                                     {FormatPart::Kind::kString, "s"},
                                                                     {FormatPart::Kind::kChar, "c"}};
    text += "%" + kLetters.at(part.format.kind) + "<";
    for (const PathStep& step : part.path) {
      if (step.kind == PathStep::Kind::kMember) text += "." + step.name;
      else if (step.kind == PathStep::Kind::kElement) text += fmt::format("[{}]", step.number);
      else if (step.kind == PathStep::Kind::kText) text += " text";
    }
    return text + ">";
  }
  std::string text(uint64_t type, bool deep = false) const {
    debuginfo::Place place;
    place.kind = debuginfo::Place::Kind::kMemory;
    place.type = types_[type];
    std::string text;
    for (const sema::PrettyPart& part : list_parts(place, deep)) text += text_of(part);
    return text;
  }

  MadeTypes types_;
  const uint64_t int_ = types_.number("int", 4), char_ = types_.number("char", 1);
};

TEST_F(PartList, ReachesMembersByTheirNames) {
  const uint64_t inner = types_.structure("inner", 4, {{"n", int_, 0}});
  const uint64_t s = types_.structure("s", 32,
                                      {{"in", inner, 0},
                                       {"c", char_, 4},
                                       {"text", types_.pointer(char_), 8},
                                       {"p", types_.pointer(int_), 16},
                                       {"list", types_.array(int_, 2), 24}});
  EXPECT_EQ(text(s), "{.in={...}, .c='%c<.c>', .text=%s<.text text>, .p=%p<.p>, .list=[...]}");
  EXPECT_EQ(text(s, true),
            "{.in={.n=%d<.in.n>}, .c='%c<.c>', .text=%s<.text text>, .p=%p<.p>, .list=[%d<.list[0]>, %d<.list[1]>]}");
  EXPECT_EQ(text(types_.pointer(s)), text(s)) << "a pointer is followed at the top";
  EXPECT_EQ(text(types_.pointer(int_, true)), "&%d<>");
}

TEST_F(PartList, LeavesOutWhatADerivedClassMasks) {
  const uint64_t animal = types_.structure("animal", 8, {{"id", int_, 0}, {"legs", int_, 4}});
  const uint64_t dog = types_.structure("dog", 16, {base(animal, 0), {"id", int_, 8}});
  EXPECT_EQ(text(dog), "{.legs=%d<.legs>, .id=%d<.id>}");
  EXPECT_EQ(text(types_.structure("puppy", 20, {base(dog, 0), {"legs", int_, 16}})), "{.id=%d<.id>, .legs=%d<.legs>}");
  EXPECT_EQ(text(types_.pointer(dog, true)), text(dog)) << "a reference";
}

TEST_F(PartList, NamesTheBaseOfAMemberThatAnotherBaseHas) {
  const uint64_t animal = types_.structure("animal", 4, {{"id", int_, 0}});
  const uint64_t asset = types_.structure("asset", 4, {{"id", int_, 0}});
  EXPECT_EQ(text(types_.structure("cow", 12, {base(animal, 0), base(asset, 4), {"age", int_, 8}})),
            "{.id=%d<.id>, .id=%d<.struct asset.id>, .age=%d<.age>}");
}

TEST_F(PartList, EndsAfterManyValues) { EXPECT_THAT(text(types_.array(int_, 1'000'000'000)), EndsWith("%d<[31]>, ...]")); }

// Debug information from people who wish us ill.
TEST_F(PartList, EndsWhereTypesContainThemselves) {
  const uint64_t nameless = types_.next();
  types_.structure("node", 8, {{"", nameless, 0}});
  EXPECT_THAT(text(nameless), EndsWith("{{...}}}}}}}}}}}}}}}}}}"));
  const uint64_t derived = types_.next();
  types_.structure("derived", 8, {base(derived, 0), base(derived, 4), {"n", int_, 0}});
  EXPECT_THAT(text(derived), EndsWith("}"));
  const uint64_t member = types_.next();
  types_.structure("member", 8, {{"n", int_, 0}, {"in", member, 4}});
  EXPECT_LT(text(member, true).size(), 10'000u);
  EXPECT_LT(text(types_.array(types_.structure("empty", 0, {}), uint64_t{1} << 60), true).size(), 10'000u);
}

}  // namespace
}  // namespace spile::probes
