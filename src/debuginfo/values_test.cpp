// The places that debug information gives, against the values that are really there: programs built by both compilers,
// with and without optimization, are run under ptrace to a function's first instruction, to a marked one inside, and to
// its return.
#include <gmock/gmock.h>

#include <bit>
#include <map>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::HasSubstr;

constexpr const char* kProgram = R"(
#include <stdbool.h>
#define OUT_OF_LINE __attribute__((noinline))
// A place inside a function with a name; what is listed is alive there.
#define MARK(name, ...) __asm__ volatile(".globl " #name "\n.type " #name ",@object\n.size " #name ",1\n" #name ": nop" :: __VA_ARGS__ : "memory")

struct point { int x, y; };
struct three { long a; int b; };
struct big { long a[5]; };
struct mixed { double d; long n; };
struct reals { double d, e; };
enum color { RED, GREEN = 7, BLUE = -2 };
struct node {
  struct node *next;
  int value;
  unsigned flags : 3;
  signed level : 5;
  union { unsigned u; char c[4]; };
  struct point at[2][3];
  const char *name;
  char text[16];
  struct hidden *opaque;
};
struct hidden { int secret; };

volatile long zero;
long total = 40;
static long file_static = 41;

OUT_OF_LINE long scalars(char a, short b, int c, long d, unsigned char e, _Bool f, int g, long h, enum color i) {
  long sum = a + b + c + d + e + f + g + h + i;
  static int calls = 17;
  calls++;
  MARK(scalars_mark, "r"(sum), "g"(d));
  return sum + zero + total + file_static;
}
OUT_OF_LINE long structs(struct point p, struct three t, struct big b, struct mixed m, double real, struct reals r, long last) {
  MARK(structs_mark, "r"(last));
  return p.x + p.y + t.a + t.b + b.a[1] + m.n + last + (long)real + (long)r.e;
}
OUT_OF_LINE struct big return_big(int n, long m) {
  struct big b = {{n, m, n + m, zero, 4}};
  return b;
}
OUT_OF_LINE struct point return_point(int n) {
  struct point p = {n, n + 1};
  return p;
}
OUT_OF_LINE struct three return_three(int n) {
  struct three t = {n, n + 1};
  return t;
}
OUT_OF_LINE double return_real(int n) { return n * 1.5; }
OUT_OF_LINE signed char return_small(int n) { return (signed char)(n + zero); }
OUT_OF_LINE void return_nothing(int n) { zero += n - n; }
OUT_OF_LINE long pointers(struct node *list, const char *text, char **names, int *numbers, register unsigned n) {
  long local = list->value;
  {
    long inner = local + 1 + zero;
    MARK(pointers_mark, "r"(inner), "r"(list), "r"(n));
    local += inner;
  }
  return local + numbers[n] + text[0] + names[1][0];
}

int main(void) {
  static struct hidden hidden = {99};
  static struct node second = {.value = 22, .name = "second"};
  static struct node first = {.next = &second, .value = -11, .flags = 5, .level = -3, .u = 0x04030201,
                              .name = "first", .text = "in place", .opaque = &hidden};
  first.at[1][2].y = 123;
  static char *names[] = {"zero", "one", "two"};
  static int numbers[] = {10, -20, 30};
  struct point p = {1, -2};
  struct three t = {3, -4};
  struct big b = {{5, 6, 7, 8, 9}};
  struct mixed m = {2.5, 10};
  struct reals r = {1, 2};
  long sum = scalars((char)(-1 + zero), (short)(-2 + zero), (int)(-3 + zero), -4 + zero, (unsigned char)(250 + zero), !zero,
                     (int)(-7 + zero), -8 + zero, zero ? RED : BLUE);
  sum += structs(p, t, b, m, 1.5 + zero, r, 77 + zero);
  sum += return_big(1 + zero, 2).a[2] + return_point(30 + zero).y + return_three(50 + zero).b + (long)return_real(2 + zero) +
         return_small(-5 + zero);
  return_nothing(3 + zero);
  sum += pointers(&first, "hello", names, numbers, 2 + zero);
  return sum == 0;
}
)";

// Name of the case, and the command that makes "program" of program.c.
struct Build {
  const char* name;
  std::string command;
  bool optimized;
};
void PrintTo(const Build& build, std::ostream* out) { *out << build.command; }

class Values : public testing::TestWithParam<Build> {
 protected:
  void SetUp() override {
    if (GetParam().command.find("dwz") != std::string_view::npos && system("command -v dwz >/dev/null") != 0)
      GTEST_SKIP() << "dwz is not installed";
    // Compiled once for all tests of a build.
    static std::map<std::string, TestDirectory> directories;
    auto [entry, is_new] = directories.try_emplace(GetParam().name);
    const TestDirectory& directory = entry->second;
    if (is_new) {
      directory.write("program.c", kProgram);
      ASSERT_TRUE(directory.run(GetParam().command)) << GetParam().command;
    }
    auto opened = Module::open(directory.path("program"), without_cache());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    module_ = *opened;
    ASSERT_TRUE(module_->has_debug_info());
    program_.emplace(directory.path("program"), *module_);
  }

  FileAddress function(const std::string& name) {
    auto found = module_->functions({.name = name, .file = {}});
    EXPECT_TRUE(found.ok());
    EXPECT_EQ(found->size(), 1u) << name;
    return found->empty() ? FileAddress() : found->front().address;
  }
  void run_to_entry(const std::string& name) {
    function_ = pc_ = function(name);
    ASSERT_TRUE(program_->run_to(pc_)) << name;
  }
  void run_to_mark(const std::string& name) {
    auto mark = module_->data_symbol(name);
    ASSERT_TRUE(mark.has_value());
    pc_ = *mark;
    ASSERT_TRUE(program_->run_to(pc_)) << name;
  }

  Result<Place> place(const std::string& variable, const std::vector<Step>& steps = {}) {
    auto found = module_->variable(function_, pc_, variable);
    if (!found.ok()) return found.error();
    if (!found->place.available()) return Error{found->place.reason, {}};
    return walk(found->place, steps);
  }
  int64_t value(const std::string& variable, const std::vector<Step>& steps = {}) {
    auto found = place(variable, steps);
    auto loaded = found.ok() ? load(*found) : Result<location::Operations>(found.error());
    EXPECT_TRUE(loaded.ok()) << variable << " " << (loaded.ok() ? "" : loaded.error().message);
    return loaded.ok() ? static_cast<int64_t>(program_->evaluate(*loaded)) : 0;
  }
  std::string error(const std::string& variable, const std::vector<Step>& steps = {}) {
    auto found = place(variable, steps);
    auto loaded = found.ok() ? load(*found) : Result<location::Operations>(found.error());
    return loaded.ok() ? "no error" : loaded.error().message;
  }
  int64_t returned(const std::vector<Step>& steps = {}) {
    auto whole = module_->return_value(function_);
    EXPECT_TRUE(whole.ok());
    auto part = walk(*whole, steps);
    auto loaded = part.ok() ? load(*part) : Result<location::Operations>(part.error());
    EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    return loaded.ok() ? static_cast<int64_t>(program_->evaluate(*loaded)) : 0;
  }

  std::shared_ptr<Module> module_;
  std::optional<StoppedProgram> program_;
  FileAddress function_, pc_;
};

Step member(const std::string& name) { return {.kind = Step::Kind::kMember, .member = name}; }
Step at(int64_t index) { return {.kind = Step::Kind::kIndex, .member = {}, .index = index}; }

TEST_P(Values, OfScalarParametersAtEntry) {
  run_to_entry("scalars");
  EXPECT_EQ(value("a"), -1);
  EXPECT_EQ(value("b"), -2);
  EXPECT_EQ(value("c"), -3);
  EXPECT_EQ(value("d"), -4);
  EXPECT_EQ(value("e"), 250);
  EXPECT_EQ(value("f"), 1);
  EXPECT_EQ(value("g"), -7);
  EXPECT_EQ(value("h"), -8);
  EXPECT_EQ(value("i"), -2);
}

TEST_P(Values, OfVariablesOfTheFile) {
  run_to_entry("scalars");
  EXPECT_EQ(value("total"), 40);
  EXPECT_EQ(value("calls"), 17);
  if (!GetParam().optimized) {
    EXPECT_EQ(value("file_static"), 41);
  }
  auto global = module_->global_variable("total", "program.c");
  ASSERT_TRUE(global.ok());
  EXPECT_EQ(program_->evaluate(*load(global->place)), 40u);
  EXPECT_FALSE(module_->global_variable("total", "other.c").ok());
}

TEST_P(Values, OfLocalsInside) {
  run_to_entry("scalars");
  if (!GetParam().optimized) {
    EXPECT_EQ(error("sum"), "has no value yet at the function's entry");
  }
  run_to_mark("scalars_mark");
  EXPECT_EQ(value("sum"), -1 - 2 - 3 - 4 + 250 + 1 - 7 - 8 - 2);
  EXPECT_EQ(value("d"), -4);
  EXPECT_EQ(value("calls"), 18);
}

TEST_P(Values, OfStructuresPassedByValue) {
  run_to_entry("structs");
  EXPECT_EQ(value("p", {member("x")}), 1);
  EXPECT_EQ(value("p", {member("y")}), -2);
  EXPECT_EQ(value("t", {member("a")}), 3);
  EXPECT_EQ(value("t", {member("b")}), -4);
  EXPECT_EQ(value("b", {member("a"), at(3)}), 8);
  EXPECT_EQ(value("m", {member("n")}), 10);
  EXPECT_EQ(value("last"), 77);
  // In vector registers, as bits. Optimizers drop what is not used.
  auto expect_real = [&](double wanted, const char* name, std::vector<Step> path) {
    if (GetParam().optimized && error(name, path) != "no error") return;
    EXPECT_EQ(value(name, path), std::bit_cast<int64_t>(wanted)) << name;
  };
  expect_real(1.5, "real", {});
  expect_real(1, "r", {member("d")});
  expect_real(2, "r", {member("e")});
  expect_real(2.5, "m", {member("d")});
}

TEST_P(Values, OfReturns) {
  run_to_entry("return_big");
  if (place("n").ok()) {       // Clang -O2 gives them no location at all
    EXPECT_EQ(value("n"), 1);  // the first register has the address for the result
    EXPECT_EQ(value("m"), 2);
  } else {
    EXPECT_TRUE(GetParam().optimized);
    EXPECT_EQ(error("n"), "is optimized out");
  }
  ASSERT_TRUE(program_->run_to_return());
  EXPECT_EQ(returned({member("a"), at(2)}), 3);

  run_to_entry("return_point");
  ASSERT_TRUE(program_->run_to_return());
  EXPECT_EQ(returned({member("x")}), 30);
  EXPECT_EQ(returned({member("y")}), 31);

  run_to_entry("return_three");
  ASSERT_TRUE(program_->run_to_return());
  EXPECT_EQ(returned({member("a")}), 50);
  EXPECT_EQ(returned({member("b")}), 51);

  EXPECT_EQ(to_string(module_->return_value(function("return_real"))->operations), "xmm0");
  EXPECT_THAT(module_->return_value(function("return_nothing")).error().message, HasSubstr("returns nothing"));

  run_to_entry("return_small");
  ASSERT_TRUE(program_->run_to_return());
  EXPECT_EQ(returned(), -5);
}

TEST_P(Values, ThroughPointers) {
  run_to_entry("pointers");
  EXPECT_EQ(value("list", {member("value")}), -11);
  EXPECT_EQ(value("list", {member("next"), member("value")}), 22);
  EXPECT_EQ(value("list", {member("flags")}), 5);
  EXPECT_EQ(value("list", {member("level")}), -3);
  EXPECT_EQ(value("list", {member("u")}), 0x04030201);
  EXPECT_EQ(value("list", {member("c"), at(2)}), 3);
  EXPECT_EQ(value("list", {member("at"), at(1), at(2), member("y")}), 123);
  EXPECT_EQ(value("list", {member("opaque"), member("secret")}), 99);
  EXPECT_EQ(value("numbers", {at(1)}), -20);
  EXPECT_EQ(program_->read_string(static_cast<uint64_t>(value("names", {at(1)}))), "one");
  EXPECT_EQ(program_->read_string(static_cast<uint64_t>(value("text"))), "hello");
  EXPECT_EQ(program_->read_string(static_cast<uint64_t>(value("list", {member("text")}))), "in place");
  EXPECT_EQ(program_->read_string(static_cast<uint64_t>(value("list", {member("name")}))), "first");
  EXPECT_EQ(value("list", {at(0), member("value")}), -11);

  auto dynamic = walk(*place("numbers"), std::vector<Step>{{.kind = Step::Kind::kDynamicIndex, .member = {}, .index = 0}});
  ASSERT_TRUE(dynamic.ok());
  EXPECT_EQ(program_->evaluate(*load(*dynamic), {2}), 30u);
}

TEST_P(Values, InNestedBlocks) {
  run_to_entry("pointers");
  EXPECT_THAT(error("inner"), HasSubstr("no variable '$inner'"));
  run_to_mark("pointers_mark");
  EXPECT_EQ(value("inner"), -10);
  EXPECT_EQ(value("list", {member("value")}), -11);
  EXPECT_EQ(value("n"), 2);
}

TEST_P(Values, HaveTheTypesOfTheSource) {
  function_ = pc_ = function("pointers");
  auto type = [&](const std::string& name, const std::vector<Step>& steps = {}) { return place(name, steps)->type.name(); };
  EXPECT_EQ(type("list"), "struct node*");
  EXPECT_EQ(type("text"), "const char*");
  EXPECT_EQ(type("names"), "char**");
  EXPECT_EQ(type("n"), "unsigned int");
  EXPECT_EQ(type("list", {member("at")}), "struct point[2][3]");
  EXPECT_TRUE(place("text")->type.is_string());
  EXPECT_TRUE(place("list", {member("text")})->type.is_string());
  EXPECT_FALSE(place("numbers")->type.is_string());
  EXPECT_EQ(place("list")->type.target().size(), 104u);
  EXPECT_EQ(module_->type_named("struct node")->size(), 104u);
  EXPECT_EQ(module_->type_named("point")->member("y")->offset, 4u);
  EXPECT_EQ(module_->type_named("unsigned int")->size(), 4u);
  EXPECT_FALSE(module_->type_named("union node").ok());
  function_ = pc_ = function("scalars");
  const Type color = module_->variable(function_, pc_, "i")->place.type;
  EXPECT_EQ(color.kind(), TypeKind::kEnum);
  EXPECT_EQ(color.name(), "enum color");
  ASSERT_EQ(color.enumerators().size(), 3u);
  EXPECT_EQ(color.enumerators()[2].value, -2);
}

TEST_P(Values, ComeWithSourcePlaces) {
  auto place = module_->declaration(function("return_nothing"));
  ASSERT_TRUE(place.ok());
  EXPECT_THAT(place->file, testing::EndsWith("program.c"));
  EXPECT_GT(place->line, 30);
  auto line = module_->source_line(function("return_nothing"));
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line->line, place->line);
  auto of_file = module_->functions({.name = "return_*", .file = "program.c"});
  ASSERT_TRUE(of_file.ok());
  EXPECT_EQ(of_file->size(), 6u);
  EXPECT_TRUE(module_->functions({.name = "return_*", .file = "other.c"})->empty());
}

// Functions of the shell. The .dwo file is found beside the program only, not in the folder that it was compiled in.
const std::string kSplit =
    "compile() { mkdir objects && cd objects && $* -gsplit-dwarf -c ../program.c && gcc program.o -o ../program && mv "
    "program.dwo .. && cd ..; }; "
    "pack() { objcopy --compress-debug-sections=$1 $2; }; ";

INSTANTIATE_TEST_SUITE_P(
    Builds, Values,
    testing::Values(
        Build{"GccO0Dwarf5", "gcc -O0 -gdwarf-5 program.c -o program", false},
        Build{"GccO2Dwarf5", "gcc -O2 -gdwarf-5 program.c -o program", true},
        Build{"GccO2Dwarf4", "gcc -O2 -gdwarf-4 program.c -o program", true},
        Build{"GccO0Dwarf4Static", "gcc -O0 -gdwarf-4 -no-pie program.c -o program", false},
        Build{"GccO0Split", "gcc -O0 -g -gsplit-dwarf -c program.c && gcc program.o -o program", false},
        Build{"GccO2Split4", "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -c program.c && gcc program.o -o program", true},
        Build{"GccO2TypeUnits", "gcc -O2 -gdwarf-4 -fdebug-types-section program.c -o program", true},
        Build{"GccO2TypeUnits5", "gcc -O2 -gdwarf-5 -fdebug-types-section program.c -o program", true},
        Build{"GccO1FramePointer", "gcc -O1 -fno-omit-frame-pointer -fcf-protection -g program.c -o program", true},
        Build{"ClangO0Dwarf5", "clang-19 -O0 -gdwarf-5 program.c -o program", false},
        Build{"ClangO2Dwarf5", "clang-19 -O2 -gdwarf-5 program.c -o program", true},
        Build{"ClangO0Dwarf4", "clang-19 -O0 -gdwarf-4 program.c -o program", false},
        Build{"ClangO2Split", "clang-19 -O2 -gdwarf-5 -gsplit-dwarf -c program.c && clang-19 program.o -o program", true},
        Build{"GccO0Separate",
              "gcc -O0 -g program.c -o program -Wl,--build-id=none && objcopy --only-keep-debug program program.debug && "
              "strip -s program && objcopy --add-gnu-debuglink=program.debug program",
              false},
        // These keep their frame in other ways: a second one on the heap, rbx for the first.
        Build{"GccO0Asan", "gcc -O0 -g -fsanitize=address program.c -o program", false},
        Build{"ClangO0Asan", "clang-19 -O0 -g -fsanitize=address program.c -o program", false},
        Build{"ClangO0Realigned", "clang-19 -O0 -g -mstackrealign program.c -o program", false},
        Build{"GccO0Realigned", "gcc -O0 -g -mstackrealign program.c -o program", false},
        Build{"GccOg", "gcc -Og -g program.c -o program", true},
        // Debian's -dbgsym packages: common parts are in a file of their own.
        Build{"GccO2Dwz",
              "gcc -O2 -g program.c -o program && gcc -O0 -g program.c -o other && dwz -m common.debug -M "
              "$PWD/common.debug program other",
              true},
        Build{"GccO0Dwz",
              "gcc -O0 -g program.c -o program && gcc -O2 -g program.c -o other && dwz -m common.debug -M "
              "$PWD/common.debug program other",
              false},
        Build{"GccO2Compressed", "gcc -O2 -g -gz program.c -o program", true},
        Build{"GccO2Zstd", "gcc -O2 -g program.c -o program && objcopy --compress-debug-sections=zstd program", true},
        Build{"GccO2OldZlib", "gcc -O2 -g program.c -o program && objcopy --compress-debug-sections=zlib-gnu program", true},
        Build{"GccO0SplitCompressed", "gcc -O0 -g -gz -gsplit-dwarf -c program.c && gcc -gz program.o -o program", false},
        Build{"GccO2SplitZstd", kSplit + "compile gcc -O2 -g && pack zstd program && pack zstd program.dwo", true},
        Build{"GccO2SplitMainZstd", kSplit + "compile gcc -O2 -gdwarf-4 && pack zstd program", true},
        Build{"ClangO2SplitDwoZstd", kSplit + "compile clang-19 -O2 -g && pack zstd program.dwo", true},
        Build{"GccO0SplitOldZlib", kSplit + "compile gcc -O0 -g && pack zlib-gnu program && pack zlib-gnu program.dwo", false},
        Build{"GccO2SplitTypesZstd",
              kSplit + "compile gcc -O2 -gdwarf-4 -fdebug-types-section && pack zstd program && pack zstd program.dwo", true},
        Build{"ClangO2PackageZstd",
              kSplit + "compile clang-19 -O2 -g && llvm-dwp-19 -e program -o program.dwp && rm program.dwo && "
                       "pack zstd program && pack zstd program.dwp",
              true},
        Build{"GccO2PackageZlib",
              kSplit + "compile gcc -O2 -gdwarf-4 && dwp -e program -o program.dwp && rm program.dwo && pack zlib program.dwp",
              true},
        // The common parts are named relative to the program, and compressed, too.
        Build{"GccO2DwzCompressed",
              "gcc -O2 -g program.c -o program && gcc -O0 -g program.c -o other && dwz -m common.debug -r program other && "
              "objcopy --compress-debug-sections=zstd common.debug && objcopy --compress-debug-sections program",
              true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace spile::debuginfo
