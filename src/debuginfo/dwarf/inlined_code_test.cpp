// Code of inlined calls, and lines that such calls are at, in programs of both compilers and all forms of DWARF.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr const char* kSource = R"(#define INLINED static inline __attribute__((always_inline))
volatile int sink;
INLINED int leaf(int x) {
  sink = x;
  return x * 3;
}
INLINED int middle(int x) {
  return leaf(x + 1);
}
INLINED int top(int x) {
  return middle(x);
}
__attribute__((noinline)) int one(int x) {
  return top(x);
}
int main(int n, char** v) { return one(n) + leaf(n); }
)";

class InlinedCode : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_.write("a.c", kSource);
    ASSERT_TRUE(directory_.run(std::string(GetParam()) + " -g -c a.c -o a.o"));
    ASSERT_TRUE(directory_.run(std::string(GetParam()) + " -g a.o -o program"));
  }
  std::shared_ptr<Module> open(const OpenOptions& options = without_cache()) {
    return Module::open(directory_.path("program"), options).value();
  }
  // The inlined calls in one(), by name.
  static std::map<std::string, CodePlace> calls_in_one(Module& module) {
    std::map<std::string, CodePlace> calls;
    const FileAddress one = module.functions({"one", ""}).value().at(0).address;
    const CodePlaces inlined = module.inlined_calls_in(one).value();
    for (const CodePlace& call : inlined) calls[call.linkage_name] = call;
    return calls;
  }
  static bool contains(const std::vector<CodeRange>& code, FileAddress pc) {
    return std::ranges::any_of(code, [&](const CodeRange& range) { return pc >= range.begin && pc < range.end; });
  }

  TestDirectory directory_;
};

TEST_P(InlinedCode, OfACallHasTheCallsThatAreInlinedIntoIt) {
  auto module = open();
  auto calls = calls_in_one(*module);
  ASSERT_EQ(calls.size(), 3u);
  const Function one = module->functions({"one", ""}).value().at(0);
  const std::vector<CodeRange> top = module->code_of_call(calls["top"].scope), leaf = module->code_of_call(calls["leaf"].scope);
  ASSERT_FALSE(top.empty());
  ASSERT_FALSE(leaf.empty());
  for (const CodeRange& range : leaf) EXPECT_TRUE(contains(top, range.begin));
  for (const CodeRange& range : top) {
    EXPECT_LT(range.begin, range.end);
    EXPECT_GE(range.begin, one.address);
    EXPECT_LE(range.end.value, one.address.value + one.size);
  }
  EXPECT_THAT(module->code_of_call(0xfffffff), IsEmpty());
}

TEST_P(InlinedCode, IsRemembered) {
  OpenOptions options;
  options.cache_directory = directory_.path("cache");
  std::vector<CodeRange> first;
  const uint64_t scope = calls_in_one(*open())["top"].scope;
  for (const bool knows : {false, true}) {
    auto module = open(options);
    const std::vector<CodeRange> code = module->code_of_call(scope);
    ASSERT_FALSE(code.empty());
    if (!knows) first = code;
    EXPECT_EQ(module->opened_dwarf(), !knows);
    ASSERT_EQ(code.size(), first.size());
    for (size_t i = 0; i < code.size(); ++i) {
      EXPECT_EQ(code[i].begin, first[i].begin);
      EXPECT_EQ(code[i].end, first[i].end);
    }
  }
}

// Lines 8, 11 and 14 are calls alone, and need not have instructions of their own.
TEST_P(InlinedCode, BeginsTheLinesOfItsCalls) {
  auto module = open();
  std::map<std::string, std::vector<int>> lines;
  const CodePlaces statements = module->statements("a.c").value();
  for (const CodePlace& place : statements) lines[place.linkage_name].push_back(place.source.line);
  EXPECT_THAT(lines["leaf"], Contains(4));
  EXPECT_THAT(lines["middle"], Contains(8));
  EXPECT_THAT(lines["top"], Contains(11));
  EXPECT_THAT(lines["one"], Contains(14));
  // Each once in a copy.
  EXPECT_EQ(std::ranges::count(lines["top"], 11), 1);
  EXPECT_EQ(std::ranges::count(lines["one"], 14), 1);
}

// Two copies of one line may follow each other, and GCC may have a copy begin at an instruction of what is around it.
TEST_P(InlinedCode, HasItsLinesInEachCopy) {
  directory_.write("b.c", R"(#define INLINED static inline __attribute__((always_inline))
volatile int sink;
__attribute__((cold, noinline)) void seldom(int x) { sink += x; }
INLINED int leaf(int x) {
  sink = x;
  if (x % 10 == 9)
    seldom(x);
  return x * 3;
}
INLINED int middle(int x) { return leaf(x + 1); }
__attribute__((noinline)) int one(int x) {
  int sum = middle(x);
  sum ^= middle(x + 5);
  return sum ^ leaf(x);
}
int main(int n, char** v) { return one(n); }
)");
  ASSERT_TRUE(directory_.run(std::string(GetParam()) + " -g b.c -o program"));
  auto module = open();
  const CodePlaces statements = module->statements("b.c").value(), copies = module->inlined_calls({"leaf", ""}).value();
  ASSERT_EQ(copies.size(), 3u);
  for (const int line : {5, 7}) {
    std::vector<uint64_t> found, wanted;
    for (const CodePlace& place : statements)
      if (place.source.line == line) found.push_back(place.scope);
    for (const CodePlace& copy : copies) wanted.push_back(copy.scope);
    EXPECT_THAT(found, UnorderedElementsAreArray(wanted)) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Builds, InlinedCode,
                         testing::Values("gcc -O0", "gcc -O2", "gcc -O3 -gdwarf-4", "gcc -O2 -gsplit-dwarf", "gcc -O2 -flto",
                                         "clang-19 -O0", "clang-19 -O2", "clang-19 -O3 -gdwarf-4", "clang-19 -O2 -gsplit-dwarf"));

}  // namespace
}  // namespace spile::debuginfo
