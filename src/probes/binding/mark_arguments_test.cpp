// What the notes of SDT marks say about their arguments.
#include "probes/binding/mark_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debuginfo/test_program.h"

namespace spile::probes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MarkArguments, AreWordsWhoseParenthesesMayHaveBlanks) {
  EXPECT_THAT(mark_arguments(""), IsEmpty());
  EXPECT_THAT(mark_arguments("  "), IsEmpty());
  EXPECT_THAT(mark_arguments("-4@%eax 8@-8(%rbp)"), ElementsAre("-4@%eax", "8@-8(%rbp)"));
  EXPECT_THAT(mark_arguments("8@(%rax, %rbx, 8)\t4@$7 "), ElementsAre("8@(%rax, %rbx, 8)", "4@$7"));
  EXPECT_THAT(mark_arguments("8@4(%rax"), IsEmpty());  // never closed
}

class ReadMarkArgument : public testing::Test {
 protected:
  void SetUp() override {
    directory_.write("a.c", "long table[4] = {1, 2, 3, 4};\nint main(void) { return table[1] != 2; }\n");
    ASSERT_TRUE(directory_.run("gcc a.c -o program"));
    module_ = debuginfo::Module::open(directory_.path("program"), debuginfo::without_cache()).value();
  }
  std::string read(const std::string& description) {
    auto operations = read_mark_argument(*module_, "$arg1", description);
    return operations.ok() ? "read" : operations.error().message;
  }
  debuginfo::TestDirectory directory_;
  std::shared_ptr<debuginfo::Module> module_;
};

TEST_F(ReadMarkArgument, KnowsRegistersMemoryAndNumbers) {
  for (const char* description : {"-4@%eax", "8@%r12", "1@%ah", "8@-8(%rbp)", "4@(%rax,%rbx,4)", "4@$-3", "8f@%xmm1",
                                  "4f@8(%rsp)", "8@table(%rip)", "8@8+table(%rip)", "8@table+16(%rip)", "%rax"})
    EXPECT_EQ(read(description), "read") << description;
}

TEST_F(ReadMarkArgument, SaysWhatItCannotRead) {
  for (const char* description :
       {"8@nowhere(%rip)", "16@%xmm0", "8@%fs:16", "8@%mm0", "3@%eax", "8@", "@%rax", "x@%rax", "8@(%rax", "8@%xmm16", ""})
    EXPECT_THAT(read(description), HasSubstr("'$arg1' can't be read: its location '" + std::string(description) + "'"));
  EXPECT_THAT(read("10f@%xmm0"), HasSubstr("'$arg1' is a floating-point number of 10 bytes"));
}

}  // namespace
}  // namespace spile::probes
