#include "sema/written_place.h"

#include <gtest/gtest.h>

#include <vector>

namespace spile::sema {
namespace {

using Kind = LocationOp::Kind;

TEST(WrittenPlace, IsWhatTheLastLoadLoads) {
  std::vector<LocationOp> ops{{Kind::kRegister, 5}, {Kind::kConstant, 16}, {Kind::kAdd}, {Kind::kLoad, 0, 4, true}};
  auto place = written_place(ops);
  ASSERT_TRUE(place);
  EXPECT_FALSE(place->in_register);
  EXPECT_EQ(place->address.size(), 3u);
  EXPECT_EQ(place->bytes, 4u);
  EXPECT_EQ(place->bits, 32u);
}

TEST(WrittenPlace, IsSomeBitsOfAWord) {
  std::vector<LocationOp> ops{{Kind::kCfa}, {Kind::kLoad, 0, 4}, {Kind::kBitField, 3, 5}};
  auto place = written_place(ops);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->shift, 3u);
  EXPECT_EQ(place->bits, 5u);
  EXPECT_EQ(place->bytes, 4u);
}

TEST(WrittenPlace, OfAFloatTakesADouble) {
  std::vector<LocationOp> ops{{Kind::kCfa}, {Kind::kLoad, 0, 4}, {Kind::kWiden}};
  ASSERT_TRUE(written_place(ops));
  EXPECT_TRUE(written_place(ops)->is_float);
  EXPECT_EQ(written_place(ops)->bytes, 4u);
}

TEST(WrittenPlace, IsARegisterOrItsPart) {
  std::vector<LocationOp> whole{{Kind::kRegister, 5}, {Kind::kExtend, 0, 4, true}};
  ASSERT_TRUE(written_place(whole));
  EXPECT_TRUE(written_place(whole)->in_register);
  EXPECT_EQ(written_place(whole)->number, 5);
  EXPECT_EQ(written_place(whole)->bits, 32u);
  std::vector<LocationOp> upper{{Kind::kRegister, 4}, {Kind::kConstant, 32}, {Kind::kShiftRight}, {Kind::kExtend, 0, 4}};
  ASSERT_TRUE(written_place(upper));
  EXPECT_EQ(written_place(upper)->shift, 32u);
  EXPECT_EQ(written_place(upper)->bits, 32u);
}

TEST(WrittenPlace, IsNowhereForWhatIsComputed) {
  EXPECT_FALSE(written_place({}));
  EXPECT_FALSE(written_place(std::vector<LocationOp>{{Kind::kConstant, 7}}));
  EXPECT_FALSE(written_place(std::vector<LocationOp>{{Kind::kExtend, 0, 4}}));
  EXPECT_FALSE(written_place(std::vector<LocationOp>{{Kind::kRegister, 3}, {Kind::kConstant, 1}, {Kind::kAdd}}));
  EXPECT_FALSE(written_place(std::vector<LocationOp>{{Kind::kRegister, 3}, {Kind::kConstant, 60}, {Kind::kShiftRight}, {Kind::kExtend, 0, 1}}));
}

}  // namespace
}  // namespace spile::sema
