#include "debuginfo/dwarf/name_search.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

// By one unit's name and by a pattern, for which all units are read, the same calls are found.
class NamedCallsTest : public testing::TestWithParam<const char*> {};

TEST_P(NamedCallsTest, AreThoseOfAllUnits) {
  TestDirectory directory;
  directory.write("inline.h",
                  "extern volatile int sink;\nstatic inline __attribute__((always_inline)) void touch(int n) { sink += n; }\n"
                  "static inline __attribute__((always_inline)) void f(int n) { sink -= n; }\n");
  directory.write(
      "a.c",
      "#include \"inline.h\"\nvolatile int sink;\nvoid b(int);\nint main(int n, char** v) { touch(n); b(n); return 0; }\n");
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
                         testing::Values("gcc", "gcc -flto", "gcc -gz", "gcc -gsplit-dwarf", "gcc -gdwarf-4",
                                         "gcc -gdwarf-4 -fdebug-types-section", "gcc -fdebug-types-section", "clang-19",
                                         "clang-19 -gdwarf-4", "clang-19 -flto -fuse-ld=lld-19", "clang-19 -gdwarf-5 -gpubnames",
                                         "clang-19 -ggnu-pubnames -fuse-ld=lld-19 -Wl,--gdb-index", "g++"));

// Methods are named in their class, which several units describe, and templates in each unit that uses them.
class NamedMethodsTest : public testing::TestWithParam<const char*> {};

TEST_P(NamedMethodsTest, AreThoseOfAllUnits) {
  TestDirectory directory;
  directory.write(
      "till.h",
      "extern volatile int sink;\nnamespace shop { struct Till { int sum; __attribute__((always_inline)) void take(int n) { sum "
      "+= n; sink = sum; } "
      "void count(); };\ntemplate <class T> __attribute__((always_inline)) inline T twice(T n) { sink = 1; return n + n; } }\n");
  directory.write("a.cc",
                  "#include \"till.h\"\nvolatile int sink;\nint b(int);\nint main(int n, char**) { shop::Till t{n}; t.take(n); "
                  "t.count(); return b(n); }\n");
  directory.write("b.cc", "#include \"till.h\"\nint b(int n) { return shop::twice(n); }\n");
  directory.write("c.cc", "#include \"till.h\"\nvoid shop::Till::count() { take(1); take(2); sink = shop::twice(sum); }\n");
  ASSERT_TRUE(directory.run(std::string(GetParam()) + " -g -O1 a.cc b.cc c.cc -o program"));
  auto module = Module::open(directory.path("program"), without_cache()).value();
  for (const auto& [name, count] :
       {std::pair("take", 3u), std::pair("shop::Till::take", 3u), std::pair("twice", 2u), std::pair("Till::twice", 0u)}) {
    auto exact = module->inlined_calls({name, ""});
    auto all = module->inlined_calls({std::string(name) + "*", ""});
    ASSERT_TRUE(exact.ok() && all.ok());
    EXPECT_EQ(exact->size(), all->size()) << name;
    EXPECT_EQ(exact->size(), count) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, NamedMethodsTest,
                         testing::Values("g++", "g++ -gz", "g++ -gdwarf-4", "g++ -fdebug-types-section",
                                         "g++ -gdwarf-4 -fdebug-types-section", "g++ -gsplit-dwarf", "g++ -gstrict-dwarf",
                                         "clang++-19", "clang++-19 -gdwarf-5 -gpubnames"));

// Indexes of names change nothing: they have no inlined calls, and most programs have none.
TEST(NameSearch, IgnoresIndexes) {
  for (const auto& [options, section] : {std::pair("-gdwarf-5 -gpubnames", ".debug_names"),
                                         std::pair("-ggnu-pubnames -fuse-ld=lld-19 -Wl,--gdb-index", ".gdb_index")}) {
    TestDirectory directory;
    directory.write("a.c",
                    "volatile int sink;\nint total = 3;\nstruct item { int price; };\nstatic inline "
                    "__attribute__((always_inline)) void touch(struct item* i) { sink += i->price; }\n"
                    "int main(int n, char** v) { struct item i = {n}; touch(&i); return total; }\n");
    ASSERT_TRUE(directory.run(std::string("clang-19 -g -O1 a.c -o program ") + options));
    ASSERT_TRUE(directory.run(std::string("readelf -SW program | grep -q '[.]") + (section + 1) + " '"));
    auto module = Module::open(directory.path("program"), without_cache()).value();
    EXPECT_EQ(module->inlined_calls({"touch", ""}).value().size(), 1u) << section;
    EXPECT_EQ(module->type_named("struct item").value().member_names().size(), 1u) << section;
    EXPECT_TRUE(module->global_variable("total").ok()) << section;
  }
}

// More than are read before memory is given back.
class ManyUnitsTest : public testing::TestWithParam<const char*> {};

TEST_P(ManyUnitsTest, KeepTheirFilesAndTypes) {
  constexpr int kUnits = 70;
  TestDirectory directory;
  directory.write("touch.h",
                  "struct pair { int first, second; };\nextern volatile int sink;\n"
                  "static inline __attribute__((always_inline)) void touch(struct pair* p) { sink += p->second; }\n");
  std::string calls, files = "main.c";
  for (int i = 0; i < kUnits; ++i) {
    const std::string number = std::to_string(i);
    directory.write("f" + number + ".c", "#include \"touch.h\"\nvoid f" + number + "(struct pair* p) { touch(p); }\n");
    calls += "void f" + number + "(struct pair*); f" + number + "(&p); ";
    files += " f" + number + ".c";
  }
  directory.write("main.c", "#include \"touch.h\"\nvolatile int sink;\nint main(int n, char** v) { struct pair p = {n, n}; " +
                                calls + "return 0; }\n");
  ASSERT_TRUE(directory.run("gcc -g -O1 " + std::string(GetParam()) + " " + files + " -o program"));
  auto module = Module::open(directory.path("program"), without_cache()).value();
  auto places = module->inlined_calls({"touch", ""});
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places->size(), static_cast<size_t>(kUnits));
  for (const CodePlace& place : *places) EXPECT_TRUE(place.source.file.ends_with("touch.h")) << place.source.file;
  EXPECT_EQ(module->type_named("struct pair").value().member_names().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Builds, ManyUnitsTest, testing::Values("", "-gz", "-gdwarf-4"));

TEST(NameSearch, FindsTheCallsInOneFunction) {
  TestDirectory directory;
  directory.write(
      "a.c",
      "volatile int sink;\nstatic inline __attribute__((always_inline)) void touch(int n) { sink += n; }\n"
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
