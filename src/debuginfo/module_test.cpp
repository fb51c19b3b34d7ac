// Functions of modules, separate debug files and the cache, on small programs and on what Debian has installed.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::shared_ptr<Module> open_module(const std::string& path, const OpenOptions& options = without_cache()) {
  auto module = Module::open(path, options);
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().message);
  return module.ok() ? *module : nullptr;
}

std::vector<std::string> names(Module& module, const std::string& pattern, const std::string& file = {}) {
  auto found = module.functions({.name = pattern, .file = file});
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  std::vector<std::string> names;
  for (const Function& function : *found) names.push_back(function.linkage_name);
  return names;
}

OpenOptions without_cache() {
  OpenOptions options;
  options.use_cache = false;
  return options;
}

constexpr const char* kCallsByTable = R"(
    int twice(int a) { return 2 * a; }
    int check(int a) { return a + 1; }
    int __cfi_check_all(int a) { return a; }
    int (*volatile table[2])(int) = {twice, check};
    int main(int count, char **names) { return table[count & 1](3) + __cfi_check_all(0); })";

TEST(Functions, AreNotPreamblesOfChecks) {
  TestDirectory directory;
  directory.write("a.c", kCallsByTable);
  ASSERT_TRUE(directory.run("clang-19 -O1 -fno-inline -fsanitize=kcfi a.c -o a"));
  auto module = open_module(directory.path("a"));
  EXPECT_THAT(names(*module, "*twice"), ElementsAre("twice"));
  EXPECT_THAT(names(*module, "__cfi*"), ElementsAre("__cfi_check_all"));
}

TEST(Functions, AreNotEntriesOfJumpTables) {
  TestDirectory directory;
  directory.write("a.c", kCallsByTable);
  ASSERT_TRUE(directory.run("clang-19 -O1 -fno-inline -flto -fuse-ld=lld -fvisibility=hidden -fsanitize=cfi-icall a.c -o a"));
  auto module = open_module(directory.path("a"));
  auto found = module->functions({.name = "twice", .file = {}});
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().linkage_name, "twice.cfi");
  EXPECT_EQ(found->front().name(), "twice");
  EXPECT_THAT(names(*module, "check"), ElementsAre("check.cfi"));
}

TEST(Functions, OfOneAddressAreOne) {
  TestDirectory directory;
  directory.write("a.c", R"(
    int real(int a) { return a; }
    int other(int) __attribute__((alias("real")));
    static int __hidden(int) __attribute__((alias("real"), used));
    int data = 3;
    int unused_import(void) __attribute__((weak));
    __thread int thread_local_data;
    int main(void) { return real(data) + thread_local_data + (unused_import ? unused_import() : 0); })");
  ASSERT_TRUE(directory.run("gcc -O0 a.c -o a"));
  auto module = open_module(directory.path("a"));
  EXPECT_FALSE(module->has_debug_info());
  auto found = module->functions({.name = "*", .file = {}});
  ASSERT_TRUE(found.ok());
  std::vector<std::string> all;
  for (const Function& f : *found) all.push_back(f.linkage_name);
  EXPECT_THAT(all, testing::Not(testing::Contains("data")));
  EXPECT_THAT(all, testing::Not(testing::Contains("unused_import")));
  auto other = module->functions({.name = "other", .file = {}});
  ASSERT_EQ(other->size(), 1u);
  EXPECT_EQ(other->front().linkage_name, "other");
  EXPECT_THAT(other->front().aliases, UnorderedElementsAre("real", "__hidden"));
  EXPECT_THAT(names(*module, "__hid*"), ElementsAre("__hidden"));
  EXPECT_EQ(module->functions({.name = "*", .file = "a.c"}).ok(), false);
  auto inside = module->function_at(other->front().address + 2);
  ASSERT_TRUE(inside.has_value());
  EXPECT_EQ(inside->address, other->front().address);
  EXPECT_FALSE(module->function_at(FileAddress(1)).has_value());
  EXPECT_TRUE(module->is_executable());
  const FileAddress address = other->front().address;
  EXPECT_EQ(module->address_of(*module->file_offset(address)), address);
  EXPECT_FALSE(module->file_offset(FileAddress(1ull << 60)).has_value());
}

TEST(Functions, ThatChooseOthersAreMarked) {
  TestDirectory directory;
  directory.write("a.c", R"(
    static int one(void) { return 1; }
    static void *choose(void) { return one; }
    int chosen(void) __attribute__((ifunc("choose")));
    int main(void) { return chosen(); })");
  ASSERT_TRUE(directory.run("gcc -O0 a.c -o a"));
  auto module = open_module(directory.path("a"));
  auto chosen = module->functions({.name = "chosen", .file = {}});
  ASSERT_EQ(chosen->size(), 1u);
  EXPECT_TRUE(chosen->front().is_ifunc);
  EXPECT_FALSE(module->functions({.name = "one", .file = {}})->front().is_ifunc);
}

TEST(Functions, IncludeClonesAndNoFragments) {
  TestDirectory directory;
  directory.write("a.c", R"(
    #include <stdlib.h>
    volatile int sink;
    __attribute__((noinline)) static int cloned(int a, int unused, int *p) { sink = a; return *p + a; }
    __attribute__((noinline)) int split(int a) {
      if (__builtin_expect(a < 0, 0)) { sink = 1; sink = 2; sink = 3; sink = 4; abort(); }
      return a + 1;
    }
    int main(int argc, char **argv) { int x = argc; return cloned(argc, 3, &x) + cloned(argc + 1, 4, &x) + split(argc); })");
  ASSERT_TRUE(directory.run("gcc -O2 -g a.c -o a && nm a > symbols"));
  ASSERT_THAT(directory.read("symbols"),
              HasSubstr("cloned."));  // else the compiler has changed and the test is worthless
  ASSERT_THAT(directory.read("symbols"), HasSubstr("split.cold"));
  auto module = open_module(directory.path("a"));
  auto cloned = module->functions({.name = "cloned", .file = {}});
  ASSERT_EQ(cloned->size(), 1u);
  EXPECT_THAT(cloned->front().linkage_name, testing::StartsWith("cloned."));
  EXPECT_EQ(cloned->front().name(), "cloned");
  EXPECT_THAT(names(*module, "split*"), ElementsAre("split"));
  EXPECT_THAT(names(*module, "cloned", "a.c"), testing::SizeIs(1));
  // Its parameters: those that are left are read, the others are told as gone.
  auto variables = module->variables(cloned->front().address, cloned->front().address);
  ASSERT_TRUE(variables.ok());
  EXPECT_TRUE(module->variable(cloned->front().address, cloned->front().address, "a")->place.available());
  EXPECT_FALSE(module->variable(cloned->front().address, cloned->front().address, "unused")->place.available());
}

TEST(Functions, OfCxxAreFoundByScope) {
  TestDirectory directory;
  directory.write("a.cpp", R"(
    #include <string>
    #include <vector>
    namespace ns {
    struct Base { virtual ~Base() {} int in_base = 5; };
    struct Shape : Base {
      int sides; bool filled : 1; struct Inner { int deep; } inner; union { int i; float f; };
      Shape(int n) : sides(n) {}
      Shape(const Shape& o) : sides(o.sides) {}
      int area(int scale) const { return sides * scale; }
      static int counter;
    };
    int Shape::counter = 3;
    template <typename T> T twice(T t) { return t + t; }
    }
    __attribute__((noinline)) int by_reference(ns::Shape s, const ns::Shape& r, std::string text, int last) { return s.sides + r.sides + text.size() + last; }
    int main() { ns::Shape s(3); s.filled = false; std::vector<int> v{1}; v.push_back(2);
      return s.area(2) + ns::twice(4) + by_reference(s, s, "abc", 9) + v.size() + ns::Shape::counter; })");
  for (const char* compiler : {"g++ -O0 -g", "clang++-19 -O0 -g"}) {
    SCOPED_TRACE(compiler);
    ASSERT_TRUE(directory.run(compiler + std::string(" a.cpp -o a")));
    auto module = open_module(directory.path("a"));
    EXPECT_THAT(names(*module, "area"), ElementsAre("_ZNK2ns5Shape4areaEi"));
    EXPECT_THAT(names(*module, "Shape::area"), ElementsAre("_ZNK2ns5Shape4areaEi"));
    EXPECT_THAT(names(*module, "twice"), ElementsAre("_ZN2ns5twiceIiEET_S1_"));
    EXPECT_THAT(names(*module, "vector*::push_back"), testing::SizeIs(testing::Ge(1)));
    EXPECT_EQ(module->functions({.name = "area", .file = {}})->front().name(), "ns::Shape::area");
    EXPECT_THAT(module->function_names("x"), testing::IsSupersetOf({"area", "twice", "by_reference"}));

    auto area = module->functions({.name = "area", .file = "a.cpp"});
    ASSERT_EQ(area->size(), 1u);
    const FileAddress at = area->front().address;
    auto self = module->variable(at, at, "this");
    ASSERT_TRUE(self.ok());
    EXPECT_THAT(self->place.type.name(), testing::StartsWith("const struct Shape*"));
    EXPECT_EQ(to_string(*load(self->place)), "rdi");
    const Type shape = self->place.type.target();
    EXPECT_EQ(shape.member("in_base")->offset, 8u);
    EXPECT_EQ(shape.member("i")->type.name(), "int");
    EXPECT_FALSE(shape.member("counter").has_value());
    EXPECT_EQ(to_string(*load(*walk(self->place, std::vector<Step>{{.kind = Step::Kind::kMember, .member = "sides"}}))),
              "rdi +12 deref4s");

    auto function = module->functions({.name = "by_reference", .file = {}});
    const FileAddress entry = function->front().address;
    auto load_text = [&](const char* name, std::vector<Step> steps = {}) {
      return to_string(*load(*walk(module->variable(entry, entry, name)->place, steps)));
    };
    const Step sides{.kind = Step::Kind::kMember, .member = "sides"};
    EXPECT_EQ(load_text("s", {sides}), "rdi +12 deref4s");  // passed by hidden reference: it has a copy constructor
    EXPECT_EQ(load_text("r", {sides}), "rsi +12 deref4s");
    EXPECT_EQ(load_text("r"), "rsi");
    EXPECT_EQ(load_text("last"), "rcx convert4s");
    EXPECT_EQ(to_string(module->global_variable("counter")->place.operations).substr(0, 1), "&");
  }
}

class SeparateDebug : public testing::Test {
 protected:
  void SetUp() override {
    directory_.write("a.c", "static int quiet(int a) { return a; } int main(int argc, char **argv) { return quiet(argc); }");
    ASSERT_TRUE(directory_.run("gcc -O0 -g a.c -o a && objcopy --only-keep-debug a a.debug && cp a unstripped"));
  }
  TestDirectory directory_;
};

TEST_F(SeparateDebug, IsFoundByBuildId) {
  const std::string id = open_module(directory_.path("a"))->build_id();
  ASSERT_EQ(id.size(), 40u);
  const std::string folder = "debug/.build-id/" + id.substr(0, 2);
  ASSERT_TRUE(directory_.run("strip -s a && mkdir -p " + folder + " && cp a.debug " + folder + "/" + id.substr(2) + ".debug"));
  OpenOptions options = without_cache();
  EXPECT_THAT(names(*open_module(directory_.path("a"), options), "quiet"), IsEmpty());
  options.debug_directories = {directory_.path("debug")};
  auto module = open_module(directory_.path("a"), options);
  EXPECT_TRUE(module->has_debug_info());
  EXPECT_THAT(names(*module, "quiet"), ElementsAre("quiet"));
  EXPECT_THAT(names(*module, "quiet", "a.c"), ElementsAre("quiet"));
  // Another build's debug file at that place is not believed.
  ASSERT_TRUE(directory_.run("gcc -O1 -g a.c -o b && objcopy --only-keep-debug b " + folder + "/" + id.substr(2) + ".debug"));
  EXPECT_FALSE(open_module(directory_.path("a"), options)->has_debug_info());
}

TEST_F(SeparateDebug, IsFoundByLinkBesideTheFile) {
  ASSERT_TRUE(directory_.run("strip -s a && objcopy --add-gnu-debuglink=a.debug a && mkdir .debug && mv a.debug .debug"));
  EXPECT_TRUE(open_module(directory_.path("a"))->has_debug_info());
}

TEST_F(SeparateDebug, IsCheckedBySumWhereThereIsNoBuildId) {
  ASSERT_TRUE(
      directory_.run("gcc -O0 -g -Wl,--build-id=none a.c -o a && objcopy --only-keep-debug a a.debug && strip -s a && "
                     "objcopy --add-gnu-debuglink=a.debug a"));
  EXPECT_TRUE(open_module(directory_.path("a"))->has_debug_info());
  ASSERT_TRUE(directory_.run("printf x >> a.debug"));
  EXPECT_FALSE(open_module(directory_.path("a"))->has_debug_info());
}

TEST_F(SeparateDebug, IsFoundUnderAnotherRoot) {
  ASSERT_TRUE(directory_.run("mkdir -p root/bin && cp unstripped root/bin/a"));
  OpenOptions options = without_cache();
  options.root = directory_.path("root");
  auto module = open_module("/bin/a", options);
  EXPECT_EQ(module->path(), "/bin/a");
  EXPECT_THAT(names(*module, "quiet"), ElementsAre("quiet"));
}

TEST_F(SeparateDebug, FunctionsComeFromDwarfWithoutSymbols) {
  ASSERT_TRUE(
      directory_.run("objcopy --strip-all --keep-section='.debug_*' a b 2>/dev/null && nm b 2>&1 | grep -q 'no symbols'"));
  auto module = open_module(directory_.path("b"));
  ASSERT_TRUE(module->has_debug_info());
  EXPECT_THAT(names(*module, "quiet"), ElementsAre("quiet"));
}

TEST_F(SeparateDebug, IsMissedByName) {
  ASSERT_TRUE(directory_.run("gcc -O0 -g -gsplit-dwarf -c a.c && gcc a.o -o split && rm a.dwo"));
  auto module = open_module(directory_.path("split"));
  const FileAddress main_address = module->functions({.name = "main", .file = {}})->front().address;
  auto variables = module->variables(main_address, main_address);
  ASSERT_FALSE(variables.ok());
  EXPECT_THAT(variables.error().message, testing::AllOf(HasSubstr("a.dwo"), HasSubstr("can't be found")));
}

TEST_F(SeparateDebug, IsMissedWhereDwzMovedPartOfIt) {
  if (system("command -v dwz >/dev/null") != 0) GTEST_SKIP() << "dwz is not installed";
  ASSERT_TRUE(directory_.run("gcc -O2 -g a.c -o b && dwz -m common.debug a b && rm common.debug"));
  auto module = open_module(directory_.path("a"));
  auto variable = module->variable(module->functions({.name = "quiet", .file = {}})->front().address, {}, "a");
  ASSERT_FALSE(variable.ok());
  EXPECT_THAT(variable.error().message, HasSubstr("needs common.debug, which can't be found"));
}

class Cache : public SeparateDebug {
 protected:
  void SetUp() override {
    SeparateDebug::SetUp();
    options_.cache_directory = directory_.path("cache/deeper");
  }
  // Asks, and tells whether DWARF was opened for it.
  bool ask() {
    auto module = open_module(directory_.path("a"), options_);
    auto found = module->functions({.name = "quiet", .file = "a.c"});
    EXPECT_EQ(found->size(), 1u);
    auto variable = module->variable(found->front().address, found->front().address, "a");
    EXPECT_TRUE(variable.ok());
    EXPECT_EQ(to_string(*load(variable->place)), "rdi convert4s");
    EXPECT_EQ(variable->place.type.name(), "int");
    return module->opened_dwarf();
  }
  std::string cache_file() {
    for (const auto& entry : std::filesystem::directory_iterator(options_.cache_directory)) return entry.path();
    return {};
  }
  OpenOptions options_;
};

TEST_F(Cache, AnswersTheSameQuestionsWithoutDwarf) {
  EXPECT_TRUE(ask());
  EXPECT_FALSE(ask());
  EXPECT_FALSE(ask());
}

TEST_F(Cache, KeepsOldAnswersWithNewOnes) {
  ask();
  {
    auto module = open_module(directory_.path("a"), options_);
    auto found = module->functions({.name = "main", .file = {}});
    EXPECT_TRUE(module->variables(found->front().address, found->front().address).ok());
    EXPECT_TRUE(module->opened_dwarf());
  }
  EXPECT_FALSE(ask());
}

TEST_F(Cache, IsIgnoredWhereItIsDamagedOrOfAnotherFile) {
  ask();
  const std::string path = cache_file();
  std::string good;
  {
    std::stringstream contents;
    contents << std::ifstream(path, std::ios::binary).rdbuf();
    good = contents.str();
  }
  ASSERT_GT(good.size(), 100u);
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_TRUE(ask()) << "byte " << i;
  }
  for (size_t length : {0ul, 5ul, 20ul, good.size() / 2, good.size() - 1}) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    EXPECT_TRUE(ask()) << "length " << length;
  }
  EXPECT_FALSE(ask());
  ASSERT_TRUE(directory_.run("touch -d '2001-01-01' a"));  // the debug file is not the one that the answers came from
  EXPECT_TRUE(ask());
}

TEST_F(Cache, ThatCannotBeWrittenCostsNothingElse) {
  options_.cache_directory = "/proc/nowhere";
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
}

TEST_F(Cache, TypesOutliveTheirModule) {
  Type type;
  {
    auto module = open_module(directory_.path("a"), options_);
    auto found = module->functions({.name = "main", .file = {}});
    type = module->variable(found->front().address, found->front().address, "argv")->place.type;
  }
  EXPECT_EQ(type.name(), "char**");
  EXPECT_TRUE(type.target().is_string());
}

TEST(InstalledPrograms, HaveTheirExportedFunctions) {
  if (access("/usr/bin/redis-server", R_OK) != 0) GTEST_SKIP() << "redis-server is not installed";
  auto module = open_module("/usr/bin/redis-server");
  EXPECT_GT(names(*module, "*Command").size(), 200u);
  EXPECT_TRUE(module->is_executable());
  auto variable = module->variable(module->functions({.name = "call", .file = {}})->front().address, {}, "c");
  ASSERT_FALSE(variable.ok());
  EXPECT_THAT(variable.error().message, HasSubstr("no debug information"));
}

TEST(InstalledPrograms, LibcHasItsDebugFile) {
  auto module = open_module("/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_FALSE(module->is_executable());
  auto malloc_ = module->functions({.name = "malloc", .file = {}});
  ASSERT_EQ(malloc_->size(), 1u);
  EXPECT_EQ(malloc_->front().linkage_name, "malloc");
  if (!module->has_debug_info()) GTEST_SKIP() << "libc6-dbg is not installed";
  const FileAddress at = malloc_->front().address;
  auto bytes = module->variable(at, at, "bytes");
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(to_string(*load(bytes->place)), "rdi");
  auto wrong = module->variable(at, at, "byte");
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().hint, HasSubstr("'$bytes'"));
}

TEST(InstalledPrograms, LargeLibrariesAreSearchedQuickly) {
  constexpr const char* kPath = "/usr/lib/llvm-19/lib/libLLVM.so.19.1";
  if (access(kPath, R_OK) != 0) GTEST_SKIP() << "libLLVM-19 is not installed";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(names(*open_module(kPath), "*Pass*").size(), 1000u);
  const auto took = std::chrono::steady_clock::now() - start;
  // 30 ms on an idle machine; generous, since tests run beside others and with sanitizers.
  EXPECT_LT(std::chrono::duration_cast<std::chrono::milliseconds>(took).count(), 5000);
}

TEST(ThreadLocals, AreFoundByTheThreadPointer) {
  TestDirectory directory;
  directory.write("t.c",
                  "__thread long a = 1, b = 2; static __thread long c __attribute__((aligned(64)));\n"
                  "long f(void) { return a + b + c++; }\nextern __thread int outside; int g(void) { return outside; }\n"
                  "#ifdef MAIN\n__thread int outside; int main() { return f() + g(); }\n#endif\n");
  ASSERT_TRUE(
      directory.run("cc -g -O1 -DMAIN -o program t.c && cc -g -O1 -shared -fPIC -o late.so t.c && "
                    "cc -g -O1 -shared -fPIC -ftls-model=initial-exec -o early.so t.c && "
                    "cc -g -O1 -shared -fPIC -mtls-dialect=gnu2 -o described.so t.c"));
  auto place = [&](const std::string& file, const std::string& name) {
    auto module = Module::open(directory.path(file), without_cache());
    auto found = (*module)->global_variable(name);
    return !found.ok()                ? found.error().message
           : found->place.available() ? to_string(found->place.operations)
                                      : found->place.reason;
  };
  // The compiler chose the order; an executable's block ends at the thread pointer, and is as large as its alignment asks.
  EXPECT_THAT(place("program", "a"), testing::MatchesRegex("fs -[0-9]+"));
  EXPECT_NE(place("program", "a"), place("program", "b"));
  EXPECT_THAT(place("program", "outside"), testing::MatchesRegex("fs -[0-9]+"));
  EXPECT_THAT(place("late.so", "c"), testing::MatchesRegex("&0x[0-9a-f]+ block( \\+[0-9]+)?"));
  EXPECT_THAT(place("early.so", "c"), testing::MatchesRegex("fs &0x[0-9a-f]+ deref8 plus( [-+][0-9]+)?"));
  EXPECT_THAT(place("described.so", "c"), testing::HasSubstr("does not record its module number"));
  EXPECT_EQ(place("late.so", "outside"), "is defined in another module");
}

// A parameter that nobody needs any more is only in the register of the function's entry.
TEST(EntryValues, AreFoundByTheFrame) {
  TestDirectory directory;
  directory.write("a.c", R"(
    volatile long sink;
    __attribute__((noipa)) void clobber(long value) { sink = value; }
    __attribute__((noipa)) long f(long a, int b) {
      sink = a + b;
      clobber(1);
      __asm__ volatile(".globl inside\n.type inside,@object\n.size inside,1\ninside: nop");
      clobber(2);
      return sink;
    }
    int main(void) { return f(1, 2); })");
  ASSERT_TRUE(directory.run("gcc -O2 -g a.c -o a"));
  OpenOptions options;
  options.cache_directory = directory.path("cache");
  for (bool again : {false, true}) {  // from the cache
    auto module = open_module(directory.path("a"), options);
    const FileAddress function = module->functions({.name = "f", .file = {}})->front().address;
    const FileAddress inside = *module->data_symbol("inside");
    auto place_of = [&](const char* name, FileAddress pc) {
      auto found = module->variable(function, pc, name);
      auto code = found.ok() ? load(found->place) : Result<location::Operations>(found.error());
      return code.ok() ? to_string(*code) : code.error().message;
    };
    EXPECT_EQ(place_of("a", function), "rdi");
    const std::string behind = fmt::format(", {:#x})", function.value);
    EXPECT_EQ(place_of("a", inside), "rsp +16 entry(rdi" + behind);
    EXPECT_EQ(place_of("b", inside), "rsp +16 entry(rsi" + behind + " convert4s");
    EXPECT_EQ(module->opened_dwarf(), !again);
  }
}

TEST(Calls, SayWhereTheyLead) {
  TestDirectory directory;
  directory.write("t.c",
                  "__attribute__((noinline)) long leaf(long x) { __asm__(\"\"); return x + 1; }\n"
                  "__attribute__((noinline)) static long clone(long x, int y) { __asm__(\"\"); return x * y; }\n"
                  "__attribute__((noinline)) long jumps(long x) { __asm__(\"\"); return leaf(x * 2); }\n"
                  "long (*volatile unknown)(long) = leaf;\n"
                  "int main(int n, char** w) { return leaf(n) + clone(n, 7) + jumps(n) + unknown(n); }\n");
  for (const char* compiler : {"gcc -O2", "clang-19 -O2", "gcc -O2 -gdwarf-4"}) {
    ASSERT_TRUE(directory.run(std::string(compiler) + " -g -o t t.c"));
    auto module = *Module::open(directory.path("t"), without_cache());
    auto named = [&](const char* name) { return module->functions({name, ""})->at(0); };
    auto calls = *module->calls(named("main").address);
    std::sort(calls.begin(), calls.end(), [](const CodePlace& a, const CodePlace& b) { return a.name < b.name; });
    ASSERT_EQ(calls.size(), 3u) << compiler;  // who is called through a pointer, nobody knows
    for (size_t i = 0; i < 3; ++i) {
      const char* name = std::array{"clone", "jumps", "leaf"}[i];
      EXPECT_EQ(calls[i].name, name);
      EXPECT_EQ(calls[i].target, named(name).address) << compiler;  // clone.constprop.0, where that was made
      EXPECT_EQ(calls[i].length, 5);
      EXPECT_FALSE(calls[i].tail);
    }
    calls = *module->calls(named("jumps").address);
    ASSERT_EQ(calls.size(), 1u) << compiler;
    EXPECT_TRUE(calls[0].tail);
    EXPECT_EQ(calls[0].target, named("leaf").address);
    EXPECT_TRUE(calls[0].length == 2 || calls[0].length == 5);
    EXPECT_EQ(module->function_at(calls[0].address)->name(), "jumps");
  }
}

}  // namespace
}  // namespace spile::debuginfo
