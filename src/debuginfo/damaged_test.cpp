// Files that are not ELF, cut short, or with flipped bits: every question gets an answer or an error, and nothing
// crashes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::HasSubstr;

std::string open_error(const std::string& path) {
  auto module = Module::open(path, without_cache());
  return module.ok() ? "no error" : module.error().message;
}

TEST(DamagedFiles, AreRefusedWithTheirName) {
  TestDirectory directory;
  EXPECT_THAT(open_error(directory.path("none")), HasSubstr("none: No such file or directory"));
  EXPECT_THAT(open_error(directory.path("")), HasSubstr("not a regular file"));
  EXPECT_THAT(open_error(directory.write("empty", "")), HasSubstr("empty: not an ELF file (too short)"));
  EXPECT_THAT(open_error(directory.write("text", std::string(200, 'x'))), HasSubstr("text: not an ELF file"));
  ASSERT_TRUE(directory.run("mkfifo pipe"));
  EXPECT_THAT(open_error(directory.path("pipe")), HasSubstr("not a regular file"));
  ASSERT_TRUE(directory.run("echo 'int x;' > a.c && gcc -c a.c -o a.o"));
  EXPECT_THAT(open_error(directory.path("a.o")), HasSubstr("neither an executable nor a shared library"));
  std::string elf = directory.read("a.o");
  elf[4] = 1;
  EXPECT_THAT(open_error(directory.write("b32", elf)), HasSubstr("another machine"));
}

TEST(DamagedFiles, ThatAreCompressedUnitsAreNamed) {
  TestDirectory directory;
  std::string source = "int f0(int a) { return a; }\n";
  for (int i = 1; i < 300; ++i) source += fmt::format("int f{}(int a) {{ return f{}(a + {}); }}\n", i, i - 1, i);
  directory.write("a.c", source + "int main(void) { return f299(1); }");
  ASSERT_TRUE(directory.run("gcc -g -gsplit-dwarf -c a.c && gcc a.o -o a && objcopy --compress-debug-sections=zstd a.dwo"));
  const std::string whole = directory.read("a.dwo");
  std::mt19937 random(3);
  int unread = 0;
  for (int i = 0; i < 100; ++i) {
    std::string changed = whole;
    for (int n = 0; n < 20; ++n) changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
    directory.write("a.dwo", changed);
    auto module = Module::open(directory.path("a"), without_cache());
    auto functions = (*module)->functions({.name = "f299", .file = {}});
    auto variables = (*module)->variables(functions->front().address, functions->front().address);
    if (variables.ok()) continue;
    ++unread;
    EXPECT_THAT(variables.error().message,
                testing::AnyOf(HasSubstr("/a.dwo, which "), HasSubstr("does not describe the function")))
        << i;
  }
  EXPECT_GT(unread, 50);
}

TEST(DamagedFiles, ThatNameAFifoAreRefused) {
  for (const char* version : {"4", "5"}) {
    TestDirectory directory;
    directory.write("a.c", "int main(void) { return 0; }");
    ASSERT_TRUE(directory.run(std::string("gcc -gsplit-dwarf -gdwarf-") + version + " a.c -o a && rm *.dwo"));
    auto declaration = [&] {
      auto module = Module::open(directory.path("a"), without_cache());
      auto functions = (*module)->functions({.name = "main", .file = {}});
      auto variables = (*module)->variables(functions->front().address, functions->front().address);
      return variables.ok() ? "no error" : variables.error().message;
    };
    EXPECT_THAT(declaration(), HasSubstr("in a .dwo file that can't be found: there is no "));
    ASSERT_TRUE(directory.run("mkfifo a.dwo"));
    alarm(20);  // it would wait for ever
    EXPECT_THAT(declaration(), HasSubstr("a.dwo, which is not a regular file"));
    alarm(0);
  }
  TestDirectory directory;
  directory.write("b.c", "int b(int x) { return x; } int main(void) { return b(1); }");
  ASSERT_TRUE(
      directory.run("gcc -g b.c -o b && (printf 'common.debug\\0'; head -c 20 /dev/zero) > link && "
                    "objcopy --add-section .gnu_debugaltlink=link b && mkfifo common.debug"));
  auto module = Module::open(directory.path("b"), without_cache());
  auto functions = (*module)->functions({.name = "b", .file = {}});
  alarm(20);
  auto variables = (*module)->variables(functions->front().address, functions->front().address);
  alarm(0);
  ASSERT_FALSE(variables.ok());
  EXPECT_THAT(variables.error().message, HasSubstr("common.debug, which is not a regular file"));
}

TEST(DamagedFiles, WithoutSectionHeadersHaveTheirDynamicSymbols) {
  TestDirectory directory;
  directory.write("a.c", "int exported(int a) { return a; }\nstatic int own(int a) { return a; }\nint (*volatile p)(int) = own;");
  for (const char* style : {"gnu", "sysv"}) {
    ASSERT_TRUE(
        directory.run(std::string("gcc -g -fPIC -shared -Wl,-soname,its.so -Wl,--hash-style=") + style + " a.c -o whole"));
    std::string bytes = directory.read("whole");
    auto whole = Module::open(directory.path("whole"), without_cache());
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ((*whole)->truncation(), "");
    directory.write("cut", bytes.substr(0, bytes.size() - 100));
    bytes.replace(40, 8, 8, '\0');  // e_shoff
    directory.write("headless", bytes);
    for (const char* name : {"cut", "headless"}) {
      auto module = Module::open(directory.path(name), without_cache());
      ASSERT_TRUE(module.ok()) << name;
      auto found = (*module)->functions({.name = "*", .file = {}});
      ASSERT_TRUE(found.ok());
      std::vector<std::string> names;
      for (const Function& function : *found) names.push_back(function.linkage_name);
      EXPECT_THAT(names, testing::ElementsAre("exported")) << style << " " << name;
      EXPECT_EQ((*module)->soname(), "its.so");
      auto of_file = (*module)->functions({.name = "*", .file = "a.c"});
      ASSERT_FALSE(of_file.ok());
      const std::string wanted =
          name == std::string("cut") ? "the file is truncated: its section headers should be at byte" : "install";
      EXPECT_THAT(of_file.error().hint, HasSubstr(wanted));
      EXPECT_EQ((*module)->truncation().empty(), name != std::string("cut"));
    }
  }
}

// Asks everything that can be asked. The answers are not looked at: damaged bytes may say anything, so its tests only assert
// that nothing crashes, and that sanitizers report nothing.
void ask_everything(const std::string& path) {
  auto opened = Module::open(path, without_cache());
  if (!opened.ok()) return;
  Module& module = **opened;
  module.function_names("x");
  module.global_variable("total").ok();
  module.inlined_calls({"touch", ""}).ok();
  module.type_named("struct node").ok();
  auto functions = module.functions({.name = "*", .file = {}});
  if (!functions.ok()) return;
  size_t asked = 0;
  for (const Function& function : *functions) {
    if (++asked > 40) break;
    function.name();
    module.declaration(function.address).ok();
    module.source_line(function.address + 4).ok();
    module.return_value(function.address).ok();
    for (FileAddress pc : {function.address, function.address + 9}) {
      auto variables = module.variables(function.address, pc);
      if (!variables.ok()) continue;
      for (const Variable& variable : *variables) {
        variable.place.type.name();
        variable.place.type.size();
        load(variable.place).ok();
        for (const std::string& member : variable.place.type.target().member_names())
          walk(variable.place, std::vector<Step>{{.kind = Step::Kind::kMember, .member = member}}).ok();
      }
    }
    module.variable(function.address, function.address, "nothing like it").ok();
  }
}

class DamagedProgram : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    directory_.write("a.cpp", R"(
      struct node { node *next; int value : 5; struct point { int x, y; } at[3]; struct hidden *h; virtual int v(int i) { return i; } };
      long total = 3;
      int touch(node *n, int i, const char *s) { int sum = 0; for (; n; n = n->next) { int y = n->at[i].y; sum += y + s[0]; } return sum; }
      int main(int argc, char **argv) { node n = {}; return touch(&n, argc, argv[0]) + n.v(3) + total; })");
    ASSERT_TRUE(directory_.run(GetParam()));
    bytes_ = directory_.read("a");
    ASSERT_GT(bytes_.size(), 1000u);
  }
  TestDirectory directory_;
  std::string bytes_;
};

TEST_P(DamagedProgram, DoesNotCrashTheReaderWhenCutShort) {
  for (size_t i = 0; i < 60; ++i) ask_everything(directory_.write("cut", bytes_.substr(0, bytes_.size() * i / 60)));
}

TEST_P(DamagedProgram, DoesNotCrashTheReaderWithFlippedBits) {
  std::mt19937 random(4711);
  const int passes = getenv("SPILE_FUZZ_PASSES") ? atoi(getenv("SPILE_FUZZ_PASSES")) : 150;
  for (int pass = 0; pass < passes; ++pass) {
    std::string damaged = bytes_;
    // Few flips reach deep, many break early; half of them where the headers and section headers are.
    const int flips = 1 << random() % 7;
    for (int i = 0; i < flips; ++i) {
      const size_t where = pass % 4 == 0   ? random() % 1024
                           : pass % 4 == 1 ? damaged.size() - 1 - random() % 2600
                                           : random() % damaged.size();
      damaged[where] = static_cast<char>(damaged[where] ^ (1 << random() % 8));
    }
    ask_everything(directory_.write("flipped", damaged));
  }
}

INSTANTIATE_TEST_SUITE_P(Builds, DamagedProgram,
                         testing::Values("g++ -O0 -gdwarf-5 a.cpp -o a", "g++ -O2 -gdwarf-4 a.cpp -o a",
                                         "clang++-19 -O2 -gdwarf-5 a.cpp -o a", "g++ -O2 -g -gz a.cpp -o a"));

}  // namespace
}  // namespace spile::debuginfo
