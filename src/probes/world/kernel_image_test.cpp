// Probe points by the kernel's debug information: a small program stands for the image, which "runs" 16 MiB above the addresses
// in its file.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "debuginfo/debuginfo.h"
#include "probes/kernel_tree_test.h"

namespace spile::probes {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr uint64_t kSlide = 0x1000000;

constexpr const char* kImage = R"(struct file { long pos; int mode; };
volatile long sink;
long counter = 5;
static inline __attribute__((always_inline)) long twice(long number) {
  sink += number;
  return number * 2;
}
long both(long number) { sink = number; return number + 1; }
__attribute__((noinline)) long helper(long given) { sink -= given; return given + counter; }
__attribute__((noinline)) long vfs_read(struct file *file, char *buf, long count) {
  long ret = twice(count) + file->pos;
  sink = ret;
  sink = helper(ret) + both(ret) + ret;
  return ret;
}
__attribute__((noinline)) long vfs_write(struct file *file, long count) { return twice(file->pos) + both(count); }
void _start(void) { sink = vfs_read(0, 0, 1) + vfs_write(0, 1); }
)";

class KernelImageTest : public KernelTreeTest {
 protected:
  static void SetUpTestSuite() {
    std::string name = testing::TempDir() + "/image.XXXXXX";
    made_ = mkdtemp(name.data());
    std::ofstream(made_ + "/kernel.c") << kImage;
    const std::string compile =
        "cd " + made_ +
        " && gcc -g -O2 -nostdlib -static -no-pie -fno-pie -mcmodel=kernel -fcf-protection=none -fno-stack-protector"
        " -Wl,-Ttext=0xffffffff81000000,--build-id kernel.c -o vmlinux"
        " && objcopy -O binary --only-section=.note.gnu.build-id vmlinux notes";
    ASSERT_EQ(system(compile.c_str()), 0);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(made_); }

  KernelImageTest() {
    write("sys/kernel/notes", read(made_ + "/notes"));
    write("proc/sys/kernel/osrelease", std::string(kRelease) + "\n");
    std::filesystem::create_directories(folder_ + "/debug/boot");
    std::filesystem::copy(made_ + "/vmlinux", image());
    write_symbols(0x10000);
  }

  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string image() const { return folder_ + "/debug/boot/vmlinux-" + std::string(kRelease); }
  // code: bytes from _stext to _etext.
  void write_symbols(uint64_t code) {
    const uint64_t start = 0xffffffff81000000 + kSlide;
    std::string text;
    auto add = [&](uint64_t address, const std::string& name) { text += fmt::format("{:x} T {}\n", address, name); };
    for (const char* name : {"_text", "_stext"}) add(start, name);
    for (const debuginfo::Function& function : functions()) add(function.address.value + kSlide, function.linkage_name);
    add(start + code, "_etext");
    write("proc/kallsyms", text);
  }
  std::vector<debuginfo::Function> functions() {
    return debuginfo::Module::open(made_ + "/vmlinux", {.root = {}, .use_cache = false, .cache_directory = ""})
        .value()
        ->all_functions();
  }
  // The run-time address of a function.
  uint64_t address_of(const std::string& name) {
    for (const debuginfo::Function& function : functions()) {
      if (function.linkage_name == name) return function.address.value + kSlide;
    }
    return 0;
  }

  static inline std::string made_;
};

TEST_F(KernelImageTest, PlacesInlinedCallsWhereTheKernelRuns) {
  auto made = elaborate("probe kernel.function(\"twice\").inline { next }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  const std::vector<sema::ResolvedPoint> points = made->points();
  ASSERT_THAT(points, SizeIs(2));
  const uint64_t read = address_of("vfs_read"), write = address_of("vfs_write");
  for (const sema::ResolvedPoint& point : points) {
    EXPECT_EQ(point.domain, sema::Domain::kKernel);
    EXPECT_THAT(point.text, testing::MatchesRegex(R"(kernel\.function\("twice@.*kernel\.c:4"\)\.inline)"));
    const sema::KernelFunction& place = *point.site.kernel;
    EXPECT_TRUE((place.symbol == "vfs_read" && place.address == read) || (place.symbol == "vfs_write" && place.address == write))
        << place.symbol;
    EXPECT_EQ(point.site.address.value, place.address + place.offset);
    EXPECT_EQ(point.site.module, "kernel");
  }
}

TEST_F(KernelImageTest, AFunctionStandsForItsInlinedCallsToo) {
  EXPECT_THAT(texts("kernel.function(\"both\")"), SizeIs(3));
  EXPECT_THAT(texts("kernel.function(\"both\").call"), ElementsAre("kernel.function(\"both\").call"));
  EXPECT_THAT(texts("kernel.function(\"twice\")"), SizeIs(2));  // no symbol has that name
  EXPECT_THAT(texts("kernel.function(\"both\").return"), SizeIs(1));
}

TEST_F(KernelImageTest, FindsFilesAndLines) {
  EXPECT_THAT(texts("kernel.function(\"vfs_*@kernel.c\")"), SizeIs(2));
  EXPECT_THAT(texts("kernel.function(\"*@kernel.c:10\").call"), ElementsAre(HasSubstr("vfs_read@")));
  EXPECT_THAT(texts("kernel.statement(\"vfs_read@*kernel.c:12\")"),
              Contains(testing::MatchesRegex(R"(kernel\.statement\("vfs_read@.*kernel\.c:12"\))")));
  EXPECT_THAT(texts("kernel.function(\"vfs_read@kernel.c\").return"), ElementsAre(StartsWith("kernel.function(\"vfs_read@")));
  EXPECT_THAT(error("probe kernel.statement(\"vfs_read@*kernel.c:1\") { next }"), HasSubstr("no line records for"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_raed@kernel.c\") { next }"), HasSubstr("did you mean 'vfs_read'?"));
  EXPECT_THAT(error("probe kernel.function(\"helper\").inline { next }"), HasSubstr("is not inlined anywhere"));
}

TEST_F(KernelImageTest, FindsCallsOfAFunction) {
  auto made = elaborate("probe kernel.function(\"vfs_read\").callee(\"helper\") { println($given) }");
  ASSERT_FALSE(made->diagnostics.has_errors()) << made->diagnostics.render();
  const auto points = made->points();
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_EQ(points[0].text, "kernel.function(\"vfs_read\").callee(\"helper\")");
  EXPECT_EQ(points[0].site.kernel->symbol, "vfs_read");
  EXPECT_GT(points[0].site.kernel->offset, 0u);
  EXPECT_EQ(location::to_string(made->program.probes.at(0).bindings.at(0).ops), "rdi");
  EXPECT_THAT(texts("kernel.function(\"vfs_read\").callees"), Contains("kernel.function(\"vfs_read\").callee(\"twice\")"));
  EXPECT_THAT(error("probe kernel.function(\"vfs_read\").callees(2) { next }"), HasSubstr("can't be chosen by their callers"));
}

TEST_F(KernelImageTest, ReadsLocalsAndGlobalsAtAnInstruction) {
  EXPECT_THAT(bindings("global a probe kernel.statement(\"vfs_read@*kernel.c:13\") { a = $ret }"), Not(IsEmpty()));
  auto module = debuginfo::Module::open(made_ + "/vmlinux", {.root = {}, .use_cache = false, .cache_directory = ""}).value();
  const int64_t counter = static_cast<int64_t>(module->data_symbol("counter")->value + kSlide);
  EXPECT_EQ(bindings("global a probe kernel.statement(\"helper@*kernel.c:9\").nearest { a = $counter }"),
            fmt::format("{} deref8s; ", counter));
  EXPECT_EQ(bindings("global a probe kernel.function(\"vfs_read\").call { a = @var(\"counter\", \"kernel\") }"),
            fmt::format("{} deref8s; ", counter));
  EXPECT_EQ(bindings("global a probe kernel.function(\"vfs_read\").call { a = @var(\"counter@kernel.c\") }"),
            fmt::format("{} deref8s; ", counter));
  EXPECT_THAT(error("probe kernel.function(\"vfs_read\").call { println(@var(\"counter@other.c\")) }"),
              HasSubstr("no variable 'counter'"));
  EXPECT_THAT(error("probe kernel.statement(\"vfs_read@*kernel.c:13\") { println($rte) }"), HasSubstr("did you mean '$ret'?"));
}

TEST_F(KernelImageTest, AsksTheKernelsOwnTypesFirstAtEntries) {
  // By BTF the parameter is the third; struct file has other members there than in the image.
  EXPECT_EQ(bindings("global a probe kernel.function(\"vfs_read\").call { a = $count + $file->pos }"), "rdx; rdi +8 deref8; ");
  EXPECT_EQ(bindings("global a probe kernel.function(\"vfs_write\").call { a = $count + $file->pos }"), "rsi; rdi deref8s; ");
}

// An inlined call may be the first code of a function: the variables are those of the inlined one.
TEST_F(KernelImageTest, TakesVariablesOfTheInlinedFunctionAlsoAtAnEntry) {
  EXPECT_THAT(bindings("global a probe kernel.function(\"twice\").inline { a = $number }"), Not(IsEmpty()));
  EXPECT_THAT(error("probe kernel.function(\"twice\").inline { println($buf) }"), HasSubstr("'$buf'"));
}

TEST_F(KernelImageTest, ListsVariables) {
  auto world = World::open(options()).value();
  SourceFiles files;
  Diagnostics diagnostics;
  auto script = syntax::parse(files.add("<point>", "probe kernel.function(\"twice\").inline {}"), {}, diagnostics);
  auto listed = world->list(script.probes[0]->points[0], true);
  ASSERT_TRUE(listed.ok()) << listed.error().message;
  EXPECT_THAT(listed->at(0).variables, ElementsAre("$number:long int"));
}

TEST_F(KernelImageTest, RefusesTheImageOfAnotherBuild) {
  std::string notes = read(made_ + "/notes");
  notes.back() = static_cast<char>(notes.back() ^ 1);
  write("sys/kernel/notes", notes);
  const std::string told = error("probe kernel.function(\"twice\").inline { next }");
  EXPECT_THAT(told, HasSubstr("is of another build than the running kernel: its build-id is "));
  EXPECT_THAT(told, HasSubstr(debuginfo::Module::open(image()).value()->build_id()));
  EXPECT_THAT(told, HasSubstr("linux-image-6.12.0-test-dbg"));
  // Entries are found without it; that inlined calls are not probed is reported.
  auto made = elaborate("probe kernel.function(\"both\") { next }");
  EXPECT_THAT(made->points(), SizeIs(1));
  EXPECT_THAT(made->world->left_out(), ElementsAre(HasSubstr("inlined calls of kernel.function(\"both\") are not probed")));
}

TEST_F(KernelImageTest, RefusesAnyImageOfAKernelThatShowsNoBuildId) {
  for (const std::string& notes : {std::string(), read(made_ + "/notes").substr(0, 20), std::string(64, '\xff')}) {
    write("sys/kernel/notes", notes);
    EXPECT_THAT(error("probe kernel.function(\"twice\").inline { next }"), HasSubstr("the running kernel shows no build-id"));
  }
}

TEST_F(KernelImageTest, NamesThePackageWithoutAnImage) {
  std::filesystem::remove(image());
  for (const char* point : {"kernel.function(\"twice\").inline", "kernel.statement(\"vfs_read@*kernel.c:12\")",
                            "kernel.function(\"vfs_read\").callees"}) {
    const std::string told = error(fmt::format("probe {} {{ next }}", point));
    EXPECT_THAT(told, HasSubstr("the debug information of this kernel is not installed")) << point;
    EXPECT_THAT(told, HasSubstr("apt install linux-image-6.12.0-test-dbg")) << point;
  }
  EXPECT_THAT(error("probe kernel.function(\"vfs_read\") { println($ret) }"),
              HasSubstr("other variables need debug information"));
  auto made = elaborate("probe kernel.function(\"both\") { next }");
  EXPECT_THAT(made->points(), SizeIs(1));
  EXPECT_THAT(made->world->left_out(), IsEmpty());
}

TEST_F(KernelImageTest, LeavesOutWhereTheKernelAllowsNoProbes) {
  uint64_t size = 0;
  for (const debuginfo::Function& function : functions()) size = function.linkage_name == "vfs_write" ? function.size : size;
  write("sys/kernel/debug/kprobes/blacklist",
        fmt::format("{:#x}-{:#x}\tvfs_write\n", address_of("vfs_write"), address_of("vfs_write") + size));
  EXPECT_THAT(error("probe kernel.function(\"vfs_write@kernel.c\").call { next }"),
              HasSubstr("it is on the kernel's blacklist of kprobes"));
  auto made = elaborate("probe kernel.function(\"twice\").inline { next }");
  ASSERT_THAT(made->points(), SizeIs(1));
  EXPECT_EQ(made->points()[0].site.kernel->symbol, "vfs_read");
  EXPECT_THAT(made->world->left_out(),
              ElementsAre(HasSubstr("1 of 2 places can't be probed: it is on the kernel's blacklist of kprobes")));
  write("sys/kernel/debug/kprobes/blacklist", "");
  write_symbols(1);  // all code but its first byte is that of the kernel's start
  EXPECT_THAT(error("probe kernel.function(\"twice\").inline { next }"),
              HasSubstr("2 of 2 places can't be probed: they are in code that is gone since the kernel has started"));
}

TEST_F(KernelImageTest, SaysWhenAddressesAreHidden) {
  write("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _stext\n0000000000000000 T _etext\n");
  EXPECT_THAT(error("probe kernel.function(\"twice\").inline { next }"), HasSubstr("the kernel hides its addresses"));
}

}  // namespace
}  // namespace spile::probes
