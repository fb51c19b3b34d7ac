// Records as bytes: what was written is read again, and bytes that no writer makes are refused.
#include "debuginfo/answers/records.h"

#include <gtest/gtest.h>

namespace spile::debuginfo {
namespace {

using location::Operations;

const Operations kAll = {
    location::Register{5},     location::PlusConstant{-16}, location::Deref{4, true}, location::Convert{2},
    location::Constant{-7},    location::Binary::kGe,       location::Unary::kNot,    location::Address{FileAddress(0x4010)},
    location::Stack::kSwap,    location::Pick{1},           location::Stack::kRot,    location::Constant{40},
    location::FormTlsAddress{}};

VariableRecord record_of(Operations operations, Place::Kind kind = Place::Kind::kMemory) {
  VariableRecord record;
  record.name = "x";
  record.place.kind = kind;
  record.place.operations = std::move(operations);
  return record;
}

bool is_read(const VariableRecord& record) { return variable_from_bytes(to_bytes(record)).has_value(); }

TEST(Records, KeepEveryOperation) {
  auto read = variable_from_bytes(to_bytes(record_of(kAll)));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->place.operations, kAll);
}

TEST(Records, WithOperationsThatLackOperandsAreRefused) {
  EXPECT_TRUE(is_read(record_of({location::Constant{1}})));
  EXPECT_FALSE(is_read(record_of({})));
  EXPECT_FALSE(is_read(record_of({location::Constant{1}, location::Binary::kPlus})));
  EXPECT_FALSE(is_read(record_of({location::FormTlsAddress{}})));
  EXPECT_FALSE(is_read(record_of({location::Constant{1}}, Place::Kind::kUnavailable)));
}

TEST(Records, WithValuesOutOfBoundsAreRefused) {
  EXPECT_FALSE(is_read(record_of({location::Register{16}})));
  EXPECT_FALSE(is_read(record_of({location::Register{33}})));
  EXPECT_FALSE(is_read(record_of({location::Register{-1}})));
  EXPECT_FALSE(is_read(record_of({location::Register{7}, location::Deref{3}})));
  EXPECT_FALSE(is_read(record_of({location::Register{7}, location::Deref{255}})));
  EXPECT_FALSE(is_read(record_of({location::Register{7}, static_cast<location::Unary>(100)})));
  EXPECT_FALSE(is_read(record_of({location::Constant{7}}, static_cast<Place::Kind>(9))));
}

std::optional<Operations> entry_value_read(int number) {
  FunctionRecord record;
  record.variables.push_back(record_of({location::Register{7}, location::EntryValue{number, FileAddress(0x1020)}}));
  auto read = function_from_bytes(to_bytes(record), FileAddress(0x1020));
  return read ? std::optional(read->variables.at(0).place.operations) : std::nullopt;
}

TEST(Records, OfFunctionsKeepTheirEntryValues) {
  EXPECT_EQ(entry_value_read(4), (Operations{location::Register{7}, location::EntryValue{4, FileAddress(0x1020)}}));
  EXPECT_FALSE(entry_value_read(7));
  EXPECT_FALSE(entry_value_read(17));
  // A variable outside functions has none.
  EXPECT_FALSE(is_read(record_of({location::Register{7}, location::EntryValue{4, FileAddress(0x1020)}})));
}

TEST(Records, KeepBothEndsOfCode) {
  const std::vector<CodeRange> code = {{FileAddress(0x1020), FileAddress(0x1031)},
                                       {FileAddress(0xffff'0000'0000), FileAddress(0xffff'0000'0001)}};
  auto read = ranges_from_bytes(to_bytes(code));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->at(i).begin, code[i].begin);
    EXPECT_EQ(read->at(i).end, code[i].end);
  }
  EXPECT_FALSE(ranges_from_bytes(to_bytes(code).substr(0, 5)));
}

TypeNode allocatable_array() {
  TypeNode node{.kind = TypeKind::kArray, .target = 70};
  node.shape.element = 70;
  node.shape.first_varies_fastest = true;
  node.shape.data = {.kind = ArrayNumber::Kind::kComputed, .operations = {location::ScriptPointer{}, location::Deref{8}}};
  ArrayDimension& dimension = node.shape.dimensions.emplace_back();
  dimension.first = {.kind = ArrayNumber::Kind::kConstant, .value = -3};
  dimension.end.kind = ArrayNumber::Kind::kInFrame;
  return node;
}

TEST(Records, OfTypesKeepTheShapesOfArrays) {
  auto read = type_from_bytes(to_bytes(allocatable_array()));
  ASSERT_TRUE(read);
  const ArrayShape& shape = read->shape;
  ASSERT_EQ(shape.dimensions.size(), 1u);
  EXPECT_TRUE(shape.first_varies_fastest);
  EXPECT_EQ(shape.element, 70u);
  EXPECT_EQ(shape.data.operations, (Operations{location::ScriptPointer{}, location::Deref{8}}));
  EXPECT_EQ(shape.is_there.kind, ArrayNumber::Kind::kAbsent);
  EXPECT_EQ(shape.dimensions[0].first.value, -3);
  EXPECT_EQ(shape.dimensions[0].end.kind, ArrayNumber::Kind::kInFrame);
}

// Whatever one byte becomes, what is read can be used: the operations are well-formed.
TEST(Records, WithADamagedByteAreRefusedOrWellFormed) {
  const std::string good = to_bytes(record_of(kAll));
  for (size_t i = 0; i < good.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string bad = good;
      bad[i] = static_cast<char>(value);
      auto read = variable_from_bytes(bad);
      if (read && read->place.available() && read->place.kind != Place::Kind::kPieces) {
        EXPECT_TRUE(location::is_well_formed(read->place.operations)) << i << " " << value;
      }
    }
  }
}

}  // namespace
}  // namespace spile::debuginfo
