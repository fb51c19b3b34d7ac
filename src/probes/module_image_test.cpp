// Probe points by the debug information of a module of the kernel: a small object stands for it, whose sections "are loaded" far
// apart from each other.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "debuginfo/linked_object.h"
#include "probes/kernel_tree_test.h"

namespace spile::probes {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr uint64_t kText = 0xffffffffc0555000, kOther = 0xffffffffc0777000, kData = 0xffffffffc0999000, kBss = 0xffffffffc0aaa000;

constexpr const char* kSource = R"(struct disk { long number; const char *name; };
long counted = 5;
static long hidden;
__attribute__((noinline)) long helper(long given) { hidden += given; return given + counted; }
static inline __attribute__((always_inline)) long twice(long number) { hidden += number; return number * 2; }
__attribute__((noinline)) long m_open(struct disk *disk, long count) {
  long ret = twice(count) + disk->number;
  hidden = ret;
  ret = helper(ret) + ret;
  return ret;
}
__attribute__((section(".text.unlikely"))) long m_rare(long count) { hidden = twice(count); return hidden; }
__attribute__((section(".init.text"))) long m_init(long count) { hidden = count; return 0; }
)";

class ModuleImageTest : public KernelTreeTest {
 protected:
  ModuleImageTest() {
    write("m.c", kSource);
    const std::string compile = "cd " + folder_ +
                                " && gcc -g -O2 -fno-pic -mcmodel=kernel -fcf-protection=none -c m.c -o o.o && ld -r --build-id "
                                "o.o -o m.ko && objcopy -O binary --only-section=.note.gnu.build-id m.ko id";
    EXPECT_EQ(system(compile.c_str()), 0);
    write("proc/sys/kernel/osrelease", std::string(kRelease) + "\n");
    write("modules/" + std::string(kRelease) + "/modules.dep", "kernel/drivers/m.ko.xz: kernel/other.ko.xz\n");
    std::filesystem::create_directories(folder_ + "/sys/module/m/notes");
    std::filesystem::copy(folder_ + "/id", folder_ + "/sys/module/m/notes/.note.gnu.build-id");
    std::filesystem::create_directories(std::filesystem::path(image()).parent_path());
    std::filesystem::copy(folder_ + "/m.ko", image());
    write_sections(kText);
    write("proc/kallsyms", fmt::format("ffffffff81000000 T _text\n{:x} t m_open\t[m]\n{:x} t m_rare\t[m]\n", address_of("m_open"),
                                       address_of("m_rare")));
  }

  std::string image() const { return folder_ + "/debug/lib/modules/" + std::string(kRelease) + "/kernel/drivers/m.ko"; }
  void write_sections(uint64_t text) {
    for (const auto& [name, address] :
         {std::pair(".text", text), {".text.unlikely", kOther}, {".data", kData}, {".bss", kBss}, {".init.text", text}})
      write(fmt::format("sys/module/m/sections/{}", name), fmt::format("{:#018x}\n", address));
  }
  // The run-time address of a function: its section's, and its place there.
  uint64_t address_of(const std::string& name) {
    auto object = debuginfo::open_linked(folder_ + "/m.ko", {.root = {}, .use_cache = false, .cache_directory = ""});
    const auto function = object->module->functions({name, ""})->at(0);
    for (const debuginfo::PlacedSection& section : object->sections) {
      const uint64_t offset = function.address.value - section.address.value;
      if (offset < section.size) return offset + (section.name == ".text" ? kText : kOther);
    }
    return 0;
  }
};

TEST_F(ModuleImageTest, PlacesLinesWhereTheModuleIsLoaded) {
  const auto statement = points("module(\"m\").statement(\"m_open@m.c:8\")");
  ASSERT_THAT(statement, SizeIs(1));
  EXPECT_THAT(statement[0].text, testing::MatchesRegex(R"(module\("m"\)\.statement\("m_open@.*m\.c:8"\))"));
  EXPECT_EQ(statement[0].site.module, "kernel:m");
  EXPECT_EQ(statement[0].site.kernel->symbol, "m_open");
  EXPECT_EQ(statement[0].site.kernel->address, address_of("m_open"));
  EXPECT_TRUE(statement[0].site.kernel->is_unique) << "comes back by its name when the module is loaded anew";
  EXPECT_GT(statement[0].site.kernel->offset, 0u);
  EXPECT_EQ(points("module(\"m\").function(\"m_rare@m.c\")").at(0).site.address.value, kOther);
  const auto inlined = points("module(\"m\").function(\"twice\").inline");
  ASSERT_THAT(inlined, SizeIs(2));
  std::vector<uint64_t> callers;
  for (const sema::ResolvedPoint& point : inlined) callers.push_back(point.site.kernel->address);
  EXPECT_THAT(callers, testing::UnorderedElementsAre(address_of("m_open"), address_of("m_rare")));
}

TEST_F(ModuleImageTest, FindsVariablesWhereTheyAreLoaded) {
  EXPECT_THAT(bindings("global n probe module(\"m\").statement(\"m_open@m.c:8\") { n = $ret }"), testing::MatchesRegex("r..; "));
  EXPECT_THAT(bindings("global n probe module(\"m\").function(\"m_rare@m.c\") { n = @var(\"counted@m.c\") }"),
              HasSubstr(std::to_string(static_cast<int64_t>(kData))));
}

TEST_F(ModuleImageTest, RefusesCodeThatIsGone) {
  EXPECT_THAT(error("probe module(\"m\").function(\"m_init@m.c\") { next }"),
              HasSubstr("in code that is gone since the module was loaded"));
}

TEST_F(ModuleImageTest, SaysWhatKeepsItFromReading) {
  const std::string script = "probe module(\"m\").statement(\"m_open@m.c:8\") { next }";
  EXPECT_THAT(error("probe module(\"other\").statement(\"f@m.c:8\") { next }"), HasSubstr("the module 'other' is not loaded"));
  EXPECT_THAT(error("probe module(\"m\").function(\"m_opne@m.c\") { next }"), HasSubstr("did you mean 'm_open'?"));
  write_sections(0);
  write("sys/module/m/sections/.text.unlikely", "0x0000000000000000\n");
  EXPECT_THAT(error(script), HasSubstr("the kernel hides where the module m is"));
  write_sections(kText);
  ASSERT_EQ(system(("cd " + folder_ + " && gcc -g -O1 -c m.c -o p.o && ld -r --build-id p.o -o " + image()).c_str()), 0);
  EXPECT_THAT(error(script), HasSubstr("is of another build than the module that is loaded"));
  std::filesystem::remove(image());
  EXPECT_THAT(error(script), HasSubstr("the debug information of the module m is not installed"));
  EXPECT_THAT(error(script), HasSubstr("apt install linux-image-6.12.0-test-dbg"));
}

}  // namespace
}  // namespace spile::probes
