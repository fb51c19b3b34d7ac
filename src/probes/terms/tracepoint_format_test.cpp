#include "probes/terms/tracepoint_format.h"

#include <gtest/gtest.h>

namespace spile::probes {
namespace {

constexpr const char* kFormat =
    "name: sched_switch\nID: 300\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:__data_loc char[] name;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:__rel_loc char[] other;\toffset:32;\tsize:4;\tsigned:0;\n"
    "\tfield:const char * filename;\toffset:40;\tsize:8;\tsigned:0;\n"
    "\tfield:unsigned long args[6];\toffset:48;\tsize:48;\tsigned:0;\n"
    "\tfield:struct odd thing;\toffset:96;\tsize:24;\tsigned:0;\n"
    "\nprint fmt: \"field:%s;\", REC->prev_comm\n";

TEST(TracepointFormat, ReadsFields) {
  auto fields = parse_tracepoint_format(kFormat);
  ASSERT_TRUE(fields.ok());
  ASSERT_EQ(fields->size(), 8u);
  using Kind = TracepointField::Kind;
  EXPECT_TRUE(fields->at(0).common);
  EXPECT_EQ(fields->at(1).name, "prev_comm");
  EXPECT_EQ(fields->at(1).type, "char[16]");
  EXPECT_EQ(fields->at(1).kind, Kind::kCharacters);
  EXPECT_EQ(fields->at(2).kind, Kind::kNumber);
  EXPECT_TRUE(fields->at(2).is_signed);
  EXPECT_EQ(fields->at(2).offset, 24u);
  EXPECT_EQ(fields->at(3).name, "name");
  EXPECT_EQ(fields->at(3).kind, Kind::kDataLocation);
  EXPECT_EQ(fields->at(4).kind, Kind::kRelativeLocation);
  EXPECT_EQ(fields->at(5).name, "filename");
  EXPECT_EQ(fields->at(5).kind, Kind::kNumber);
  EXPECT_EQ(fields->at(6).kind, Kind::kArray);
  EXPECT_EQ(fields->at(6).element_size, 8u);
  EXPECT_EQ(fields->at(7).kind, Kind::kOther);
}

TEST(TracepointFormat, RefusesOtherText) {
  EXPECT_FALSE(parse_tracepoint_format("").ok());
  EXPECT_FALSE(parse_tracepoint_format("hello\nworld").ok());
  EXPECT_FALSE(parse_tracepoint_format("\tfield:int x;\n").ok());
}

TEST(TracepointFormat, DamagedLinesHaveLessToTell) {
  auto fields = parse_tracepoint_format(
      "\tfield:;\toffset:0;\tsize:2;\n\tfield:int ok;\toffset:0;\tsize:4;\n\tfield:x];\toffset:0;\tsize:4;\n");
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->size(), 1u);
}

}  // namespace
}  // namespace spile::probes
