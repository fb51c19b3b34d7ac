#include "sema/terms/written_place.h"

#include <gtest/gtest.h>

#include <vector>

namespace spile::sema {
namespace {

using namespace location;

TEST(WrittenPlace, IsWhatTheLastLoadLoads) {
  Operations ops{Register{5}, Constant{16}, Binary::kPlus, Deref{4, true}};
  auto place = written_place(ops);
  ASSERT_TRUE(place);
  EXPECT_FALSE(place->in_register);
  EXPECT_EQ(place->address.size(), 3u);
  EXPECT_EQ(place->bytes, 4u);
  EXPECT_EQ(place->bits, 32u);
}

TEST(WrittenPlace, IsSomeBitsOfAWord) {
  Operations ops{CallFrameCfa{}, Deref{4}, BitField{3, 5}};
  auto place = written_place(ops);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->shift, 3u);
  EXPECT_EQ(place->bits, 5u);
  EXPECT_EQ(place->bytes, 4u);
}

TEST(WrittenPlace, OfAFloatTakesADouble) {
  Operations ops{CallFrameCfa{}, Deref{4}, Unary::kFloatToDouble};
  ASSERT_TRUE(written_place(ops));
  EXPECT_TRUE(written_place(ops)->is_float);
  EXPECT_EQ(written_place(ops)->bytes, 4u);
}

TEST(WrittenPlace, IsARegisterOrItsPart) {
  Operations whole{Register{5}, Convert{4, true}};
  ASSERT_TRUE(written_place(whole));
  EXPECT_TRUE(written_place(whole)->in_register);
  EXPECT_EQ(written_place(whole)->number, 5);
  EXPECT_EQ(written_place(whole)->bits, 32u);
  Operations upper{Register{4}, Constant{32}, Binary::kShr, Convert{4}};
  ASSERT_TRUE(written_place(upper));
  EXPECT_EQ(written_place(upper)->shift, 32u);
  EXPECT_EQ(written_place(upper)->bits, 32u);
}

TEST(WrittenPlace, OfACallNumberIsARegisterThatIsNotSaved) {
  auto place = written_place(Operations{CallNumber{}});
  ASSERT_TRUE(place);
  EXPECT_TRUE(place->in_register);
  EXPECT_EQ(place->number, -1);
}

TEST(WrittenPlace, IsNowhereForWhatIsComputed) {
  EXPECT_FALSE(written_place({}));
  EXPECT_FALSE(written_place(Operations{Constant{7}}));
  EXPECT_FALSE(written_place(Operations{Convert{4}}));
  EXPECT_FALSE(written_place(Operations{Register{3}, Constant{1}, Binary::kPlus}));
  EXPECT_FALSE(written_place(Operations{Register{3}, Constant{60}, Binary::kShr, Convert{1}}));
}

}  // namespace
}  // namespace spile::sema
