#include "debuginfo/name_search.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string word(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

std::vector<uint64_t> places_of_name(const std::string& info, const std::string& strings, const std::string& name) {
  NameSearch search(strings, name);
  search.look_at(0, info);
  return std::move(search).places();
}

TEST(NameSearch, FindsWhatPartsHaveInCommon) {
  const std::string strings = std::string("main\0foo\0", 9);
  const std::string info = "x" + word(5) + word(4) + std::string("foo\0", 4) + "yy" + word(5);
  const std::string name = "foo";
  for (size_t part = 1; part < info.size(); ++part) {
    NameSearch search(strings, name);
    for (size_t at = 0; at < info.size(); at += part) search.look_at(at, std::string_view(info).substr(at, part + search.overlap()));
    std::vector<uint64_t> places = std::move(search).places();
    places.erase(std::unique(places.begin(), places.end()), places.end());
    EXPECT_THAT(places, ElementsAre(1, 9, 15)) << part;
  }
}

TEST(NameSearch, FindsOffsetsOfTheStringAndTheStringItself) {
  const std::string strings = std::string("main\0foo\0", 9);  // foo is at 5
  const std::string info = "x" + word(5) + word(4) + std::string("foo\0", 4) + "yy" + word(5);
  EXPECT_THAT(places_of_name(info, strings, "foo"), ElementsAre(1, 9, 15));
  EXPECT_THAT(places_of_name(info, strings, "fo"), IsEmpty());
  EXPECT_THAT(places_of_name(info, "", "main"), IsEmpty());
}

TEST(NameSearch, FindsTheEndOfALongerString) {
  const std::string strings = std::string("xfoo\0foo\0", 9);
  EXPECT_THAT(places_of_name(word(1) + word(5) + word(0), strings, "foo"), ElementsAre(0, 4));
}

TEST(NameSearch, EndsWithinASectionThatIsCutOff) {
  EXPECT_THAT(places_of_name(std::string("\5\0", 2), std::string("main\0foo\0", 9), "foo"), IsEmpty());
  EXPECT_THAT(places_of_name("fo", std::string("main\0foo", 8), "foo"), IsEmpty());
}

// By one unit's name and by a pattern, for which all units are read, the same calls are found.
class NamedCallsTest : public testing::TestWithParam<const char*> {};

TEST_P(NamedCallsTest, AreThoseOfAllUnits) {
  TestDirectory directory;
  directory.write("inline.h", "extern volatile int sink;\nstatic inline __attribute__((always_inline)) void touch(int n) { sink += n; }\n"
                              "static inline __attribute__((always_inline)) void f(int n) { sink -= n; }\n");
  directory.write("a.c", "#include \"inline.h\"\nvolatile int sink;\nvoid b(int);\nint main(int n, char** v) { touch(n); b(n); return 0; }\n");
  directory.write("b.c", "#include \"inline.h\"\nvoid c(int);\nvoid b(int n) { f(n); c(n); touch(n); }\n");
  directory.write("c.c", "extern volatile int sink;\nvoid c(int n) { sink = n; }\n");
  ASSERT_TRUE(directory.run(std::string(GetParam()) + " -g -O2 a.c b.c c.c -o program"));
  auto module = Module::open(directory.path("program"), without_cache()).value();
  for (const char* name : {"touch", "f", "c"}) {
    auto exact = module->inlined_calls({name, ""});
    auto all = module->inlined_calls({std::string(name) + "*", ""});
    ASSERT_TRUE(exact.ok() && all.ok());
    std::erase_if(*all, [&](const CodePlace& place) { return place.linkage_name != name; });
    EXPECT_EQ(*exact, *all) << name;
    if (std::string(name) == "touch") EXPECT_EQ(exact->size(), 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, NamedCallsTest,
                         testing::Values("gcc", "gcc -flto", "gcc -gsplit-dwarf", "gcc -gdwarf-4", "gcc -gdwarf-4 -fdebug-types-section",
                                         "gcc -fdebug-types-section", "clang-19", "g++"));

// Methods are named in their class, which several units describe, and templates in each unit that uses them.
class NamedMethodsTest : public testing::TestWithParam<const char*> {};

TEST_P(NamedMethodsTest, AreThoseOfAllUnits) {
  TestDirectory directory;
  directory.write("till.h", "extern volatile int sink;\nnamespace shop { struct Till { int sum; __attribute__((always_inline)) void take(int n) { sum += n; sink = sum; } "
                            "void count(); };\ntemplate <class T> __attribute__((always_inline)) inline T twice(T n) { sink = 1; return n + n; } }\n");
  directory.write("a.cc", "#include \"till.h\"\nvolatile int sink;\nint b(int);\nint main(int n, char**) { shop::Till t{n}; t.take(n); t.count(); return b(n); }\n");
  directory.write("b.cc", "#include \"till.h\"\nint b(int n) { return shop::twice(n); }\n");
  directory.write("c.cc", "#include \"till.h\"\nvoid shop::Till::count() { take(1); take(2); sink = shop::twice(sum); }\n");
  ASSERT_TRUE(directory.run(std::string(GetParam()) + " -g -O1 a.cc b.cc c.cc -o program"));
  auto module = Module::open(directory.path("program"), without_cache()).value();
  for (const auto& [name, count] : {std::pair("take", 3u), std::pair("twice", 2u)}) {
    auto exact = module->inlined_calls({name, ""});
    auto all = module->inlined_calls({std::string(name) + "*", ""});
    ASSERT_TRUE(exact.ok() && all.ok());
    EXPECT_EQ(exact->size(), all->size()) << name;
    EXPECT_EQ(exact->size(), count) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, NamedMethodsTest,
                         testing::Values("g++", "g++ -gz", "g++ -gdwarf-4", "g++ -fdebug-types-section", "g++ -gdwarf-4 -fdebug-types-section", "g++ -gsplit-dwarf", "g++ -gstrict-dwarf",
                                         "clang++-19"));

TEST(NameSearch, FindsTheCallsInOneFunction) {
  TestDirectory directory;
  directory.write("a.c", "volatile int sink;\nstatic inline __attribute__((always_inline)) void touch(int n) { sink += n; }\n"
                         "__attribute__((noinline)) void one(int n) { touch(n); }\nint main(int n, char** v) { touch(n); one(n); return 0; }\n");
  ASSERT_TRUE(directory.run("gcc -g -O2 a.c -o program"));
  auto module = Module::open(directory.path("program"), without_cache()).value();
  const auto function = module->functions({"one", ""}).value().at(0);
  auto places = module->inlined_calls_in(function.address);
  ASSERT_TRUE(places.ok());
  ASSERT_EQ(places->size(), 1u);
  EXPECT_EQ(places->at(0).function, function.address);
  EXPECT_EQ(places->at(0).linkage_name, "touch");
}

}  // namespace
}  // namespace spile::debuginfo
