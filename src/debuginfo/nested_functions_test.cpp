// Functions that compilers describe inside others: lambdas, methods of local classes, GNU C's nested functions.
#include <gmock/gmock.h>

#include <algorithm>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::Contains;
using testing::UnorderedElementsAre;

constexpr const char* kCxx = R"(#define KEPT __attribute__((noipa))
volatile int sink;
template <typename F> KEPT int apply(F f, int a) {
  return f(a);
}
KEPT int outer(int n) {
  struct Local {
    KEPT signed char method(int a) { return sink = a; }
  } local;
  int sum = local.method(n);
  if (n > 0) {
    union InBlock {
      KEPT long method(int a) { return sink = a; }
    } in_block;
    sum += in_block.method(n);
    auto lambda = [&](unsigned char c) KEPT -> short {
      return c + 250; };
    sum += apply(lambda, n);
  }
  return sum;
}
int main() { return outer(1); }
)";
constexpr const char* kC = R"(volatile int sink;
__attribute__((noipa)) int outer(int n) {
  __attribute__((noipa)) int nested(int a) { return sink = a + n; }
  {
    __attribute__((noipa)) short in_block(int a) { return sink = a * n; }
    n += in_block(n);
  }
  return nested(n);
}
int main(void) { return outer(1); }
)";

class NestedFunctions : public testing::TestWithParam<const char*> {
 protected:
  void build(const std::string& source, const char* text) {
    directory.write(source, text);
    const bool built = directory.run(std::string(GetParam()) + " -g -w " + source + " -o a");
    if (!built) GTEST_FAIL() << GetParam();
    auto opened = Module::open(directory.path("a"), without_cache());
    ASSERT_TRUE(opened.ok());
    module = *opened;
  }
  std::vector<Function> functions(const std::string& pattern, const std::string& file) {
    auto found = module->functions({.name = pattern, .file = file});
    EXPECT_TRUE(found.ok());
    return found.ok() ? std::move(*found) : std::vector<Function>();
  }
  // The size of what the only function that matches returns.
  uint64_t result_size(const std::string& pattern) {
    auto found = functions(pattern, "");
    if (found.size() != 1) return 0;
    auto place = module->return_value(found[0].address);
    return place.ok() ? place->type.size() : 0;
  }
  static OpenOptions without_cache() {
    OpenOptions options;
    options.use_cache = false;
    return options;
  }

  TestDirectory directory;
  std::shared_ptr<Module> module;
};
using NestedInCxx = NestedFunctions;
using NestedInC = NestedFunctions;

TEST_P(NestedInCxx, AreWhereTheyAreDeclared) {
  build("a.cc", kCxx);
  std::vector<int> lines;
  for (const Function& function : functions("*", "a.cc")) lines.push_back(function.declared.line);
  EXPECT_THAT(lines, UnorderedElementsAre(3, 6, 8, 13, 16, 22));
  auto lambda = functions("operator()*", "a.cc");
  ASSERT_EQ(lambda.size(), 1u);
  EXPECT_EQ(lambda[0].declared.line, 16);
}

TEST_P(NestedInCxx, HaveStatementsAndTypes) {
  build("a.cc", kCxx);
  auto statements = module->statements("a.cc");
  ASSERT_TRUE(statements.ok());
  auto owner_of = [&](int line) {
    auto found = std::find_if(statements->begin(), statements->end(), [&](const CodePlace& p) { return p.source.line == line; });
    auto function = found == statements->end() ? std::nullopt : module->function_at(found->function);
    return function ? function->name() : "";
  };
  EXPECT_EQ(owner_of(8), "outer::Local::method");
  EXPECT_EQ(owner_of(13), "outer::InBlock::method");
  EXPECT_THAT(owner_of(17), testing::EndsWith("operator()"));
  EXPECT_EQ(result_size("outer::Local::method"), 1u);
  EXPECT_EQ(result_size("outer::InBlock::method"), 8u);
  EXPECT_EQ(result_size("operator()*"), 2u);
}

TEST_P(NestedInC, AreWhereTheyAreDeclared) {
  build("a.c", kC);
  std::vector<int> lines;
  for (const Function& function : functions("*", "a.c")) lines.push_back(function.declared.line);
  EXPECT_THAT(lines, UnorderedElementsAre(2, 3, 5, 10));
  auto nested = functions("nested*", "a.c");
  ASSERT_EQ(nested.size(), 1u);
  auto variables = module->variables(nested[0].address, nested[0].address);
  ASSERT_TRUE(variables.ok());
  std::vector<std::string> names;
  for (const Variable& variable : *variables) names.push_back(variable.name);
  EXPECT_THAT(names, Contains("a"));
  EXPECT_EQ(result_size("in_block*"), 2u);
}

INSTANTIATE_TEST_SUITE_P(Compilers, NestedInCxx,
                         testing::Values("g++ -O0", "g++ -O1", "g++ -O2", "g++ -O0 -gdwarf-4", "g++ -O0 -gsplit-dwarf",
                                         "clang++-19 -O0 -Dnoipa=noinline", "clang++-19 -O2 -Dnoipa=noinline"));
INSTANTIATE_TEST_SUITE_P(Compilers, NestedInC, testing::Values("gcc -O0", "gcc -O1", "gcc -O2", "gcc -O0 -gdwarf-4"));

}  // namespace
}  // namespace spile::debuginfo
