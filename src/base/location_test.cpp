#include "base/location.h"

#include <gtest/gtest.h>

namespace spile::location {
namespace {

TEST(Location, IsOneWordAnOperation) {
  EXPECT_EQ(to_string({Register{7}, PlusConstant{16}, Deref{4, true}, Convert{1}}), "rsp +16 deref4s convert1");
  EXPECT_EQ(to_string({Address{FileAddress(0x4010)}, Address{FileAddress(0x4010), true}, Binary::kMinus}),
            "&0x4010 &&0x4010 minus");
  EXPECT_EQ(to_string({CallFrameCfa{}, EntryValue{5, FileAddress(0x1020)}, BitField{3, 5, true}}),
            "cfa entry(rdi, 0x1020) bits5@3s");
  EXPECT_EQ(to_string({Binary::kGe, Stack::kRot, Unary::kFloatToDouble, Pick{2}}), "ge rot double pick2");
}

TEST(Location, JoinsOffsets) {
  Operations operations = {Register{7}};
  append_offset(operations, 8);
  append_offset(operations, 16);
  EXPECT_EQ(to_string(operations), "rsp +24");
  append_offset(operations, -24);
  EXPECT_EQ(to_string(operations), "rsp");
}

TEST(Location, IsWellFormedWhereEveryOperationFindsItsOperands) {
  EXPECT_TRUE(is_well_formed({Constant{1}}));
  EXPECT_TRUE(is_well_formed({Constant{1}, Constant{2}, Binary::kPlus, Unary::kNeg, PlusConstant{1}}));
  EXPECT_TRUE(is_well_formed({Constant{1}, Constant{2}, Pick{1}}));
  EXPECT_TRUE(is_well_formed({Constant{1}, Stack::kDup, Stack::kDup, Stack::kRot, Stack::kSwap, Stack::kDrop}));
  EXPECT_FALSE(is_well_formed({}));
  EXPECT_FALSE(is_well_formed({Constant{1}, Binary::kPlus}));
  EXPECT_FALSE(is_well_formed({Deref{}}));
  EXPECT_FALSE(is_well_formed({Constant{1}, Stack::kSwap}));
  EXPECT_FALSE(is_well_formed({Constant{1}, Stack::kDup, Stack::kRot}));
  EXPECT_FALSE(is_well_formed({Constant{1}, Stack::kDrop}));
  EXPECT_FALSE(is_well_formed({Constant{1}, Pick{1}}));
}

TEST(Location, IsNotWellFormedWithSizesOutOfBounds) {
  EXPECT_FALSE(is_well_formed({Constant{1}, Deref{3}}));
  EXPECT_FALSE(is_well_formed({Constant{1}, Convert{0}}));
  EXPECT_FALSE(is_well_formed({Constant{1}, BitField{60, 5}}));
  EXPECT_FALSE(is_well_formed({Constant{1}, BitField{60, 0}}));
  EXPECT_TRUE(is_well_formed({Constant{1}, BitField{60, 4}}));
  EXPECT_FALSE(is_well_formed({RecordField{0, 16}}));
}

TEST(Location, KnowsWhatCanFail) {
  EXPECT_TRUE(can_fail(Deref{}));
  EXPECT_TRUE(can_fail(Binary::kDiv));
  EXPECT_FALSE(can_fail(Binary::kPlus));
  EXPECT_FALSE(can_fail(Address{FileAddress(1)}));
  EXPECT_TRUE(can_fail(Address{FileAddress(1), true}));
}

}  // namespace
}  // namespace spile::location
