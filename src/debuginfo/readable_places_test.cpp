// Where variables have a value, against what Module::variables() says at each address; and the hint that is made of it.

#include "debuginfo/readable_places.h"

#include <gmock/gmock.h>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* kProgram = R"(#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int price_of(int* item, int count) {
  int total = *item * count;
  printf("%d\n", total);
  int other = rand() + 3;
  if (other > 100) {
    int inner = other * 3;
    printf("%d %d\n", inner, rand());
    other -= 10 + inner;
  }
  printf("%d\n", other);
  return rand();
}
int main(int argc, char** argv) { return price_of(&argc, 3); }
)";

class ReadablePlacesTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_.write("shop.c", kProgram);
    ASSERT_TRUE(directory_.run(std::string(GetParam()) + " shop.c -o shop"));
    auto module = Module::open(directory_.path("shop"), without_cache());
    ASSERT_TRUE(module.ok());
    module_ = *module;
    auto found = module_->functions({.name = "price_of", .file = {}});
    ASSERT_TRUE(found.ok() && found->size() == 1);
    function_ = found->front();
  }
  bool is_readable(FileAddress pc, const std::string& name) const {
    auto variables = module_->variables(function_.address, pc, 0);
    if (!variables.ok()) return false;
    auto found = std::find_if(variables->begin(), variables->end(), [&](const Variable& v) { return v.name == name; });
    return found != variables->end() && found->place.available();
  }
  std::string hint(const std::string& name, FileAddress pc) const {
    return where_readable(*module_, function_.address, pc, name, 0);
  }
  bool optimized() const { return std::string_view(GetParam()).find("-O2") != std::string_view::npos; }

  TestDirectory directory_;
  std::shared_ptr<Module> module_;
  Function function_;
};

TEST_P(ReadablePlacesTest, RangesAreTheAddressesWhereTheVariableCanBeRead) {
  for (const char* name : {"item", "count", "total", "other", "inner"}) {
    const std::vector<CodeRange> ranges = module_->value_ranges(function_.address, name, 0);
    EXPECT_FALSE(ranges.empty()) << name;
    // Not at the entry, where a place for the whole function is not filled yet.
    for (FileAddress pc(function_.address.value + 1); pc.value < function_.address.value + function_.size;
         pc = FileAddress(pc.value + 1)) {
      const bool has_value =
          std::any_of(ranges.begin(), ranges.end(), [&](const CodeRange& range) { return pc >= range.begin && pc < range.end; });
      EXPECT_EQ(is_readable(pc, name), has_value) << name << " at +" << pc.value - function_.address.value;
    }
  }
  EXPECT_TRUE(module_->value_ranges(function_.address, "nosuch", 0).empty());
}

TEST_P(ReadablePlacesTest, NameALineWhereTheVariableCanBeRead) {
  for (const char* name : {"other", "inner"}) {
    const std::string text = hint(name, function_.address);
    EXPECT_THAT(text,
                MatchesRegex(".*the nearest line where it can be read is [0-9]+: statement\\(\"price_of@shop.c:[0-9]+\"\\)"))
        << name;
    const int line = atoi(text.substr(text.find("read is ") + 8).c_str());
    auto statements = module_->statements("shop.c");
    ASSERT_TRUE(statements.ok());
    bool found = false;
    for (const CodePlace& place : *statements) {
      if (place.function != function_.address || place.source.line != line) continue;
      EXPECT_TRUE(is_readable(place.address, name)) << text;
      found = true;
    }
    EXPECT_TRUE(found) << text;
  }
  EXPECT_THAT(hint("inner", function_.address), MatchesRegex("it has a value at price_of\\+\\[[0-9,-]+\\]; .*")) << "of a block";
  if (!optimized())
    EXPECT_THAT(hint("other", function_.address), MatchesRegex("the nearest line where it can be read is 4.*"))
        << "a slot of the whole function";
}

TEST_P(ReadablePlacesTest, AreSilentWhereThereIsNothingToSay) {
  EXPECT_EQ(hint("item", function_.address), "") << "it can be read there";
  EXPECT_EQ(hint("nosuch", function_.address), "");
  EXPECT_EQ(where_readable(*module_, FileAddress(16), FileAddress(16), "other", 0), "") << "no function is there";
}

INSTANTIATE_TEST_SUITE_P(Builds, ReadablePlacesTest,
                         testing::Values("gcc -g -O0", "gcc -g -O2", "gcc -gdwarf-4 -O2", "gcc -g -O2 -gsplit-dwarf",
                                         "clang-19 -g -O2", "clang-19 -g -O2 -gsplit-dwarf", "clang-19 -g -O0"));

}  // namespace
}  // namespace spile::debuginfo
