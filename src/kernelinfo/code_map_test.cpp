#include "kernelinfo/code_map.h"

#include <gmock/gmock.h>

namespace spile::kernelinfo {
namespace {

constexpr const char* kSymbols =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 t first\n"
    "ffffffff81000100 W alias\n"
    "ffffffff81000200 T second\n"
    "ffffffff81000300 T _etext\n"
    "ffffffff82000000 D jiffies\n"
    "ffffffff83000000 t start_kernel\n"
    "ffffffffc0000100 t lo_last\t[loop]\n"
    "ffffffffc0000010 t lo_open\t[loop]\n"
    "ffffffffc0000400 t bpf_prog_6deef7357e7b4530_spile\t[bpf]\n";
constexpr const char* kModules = "loop 4096 0 - Live 0xffffffffc0000000 (E)\nbrd 4096 0 - Live 0xffffffffc0010000\n";

CodeMap make() { return CodeMap::make(Symbols::parse(kSymbols), kModules); }

std::string name_at(const CodeMap& map, uint64_t address) {
  const CodeMap::Function* function = map.function_at(address);
  return function ? std::string(function->name) + " [" + map.modules()[function->module].name + "]" : "";
}

TEST(CodeMap, NamesFunctionsAsTheKernelDoes) {
  CodeMap map = make();
  EXPECT_EQ(name_at(map, 0xffffffff81000100), "first [kernel]");
  EXPECT_EQ(name_at(map, 0xffffffff810001ff), "first [kernel]");
  EXPECT_EQ(name_at(map, 0xffffffff81000200), "second [kernel]");
  EXPECT_EQ(map.function_at(0xffffffff81000200)->end, 0xffffffff81000300);
  EXPECT_EQ(name_at(map, 0xffffffffc0000011), "lo_open [loop]");
  EXPECT_EQ(name_at(map, 0xffffffffc0000fff), "lo_last [loop]");
}

TEST(CodeMap, KnowsWhereCodeEnds) {
  CodeMap map = make();
  EXPECT_EQ(name_at(map, 0xffffffff81000300), "");
  EXPECT_EQ(name_at(map, 0xffffffff83000000), "");
  EXPECT_EQ(name_at(map, 0xffffffffc0001000), "");
  EXPECT_EQ(name_at(map, 0xffffffffc0000000), "");
  EXPECT_EQ(name_at(map, 0), "");
  ASSERT_EQ(map.modules().size(), 2u);
  EXPECT_EQ(map.module_at(0xffffffff81000000)->name, "kernel");
  EXPECT_EQ(map.module_at(0xffffffffc0000500)->name, "loop");
  EXPECT_EQ(map.module_at(0xffffffffc0010000), nullptr);
}

TEST(CodeMap, ComparesModulesWithoutTheirUsers) {
  const std::string text = without_users(kModules);
  EXPECT_EQ(text, "loop 4096 Live 0xffffffffc0000000 (E)\nbrd 4096 Live 0xffffffffc0010000\n");
  EXPECT_EQ(without_users("loop 4096 2 dm_mod,dm_bufio, Live 0xffffffffc0000000 (E)\nbrd 4096 1 - Live 0xffffffffc0010000"),
            text);
  EXPECT_NE(without_users("loop 4096 0 - Live 0xffffffffc0100000 (E)\nbrd 4096 0 - Live 0xffffffffc0010000"), text);
  EXPECT_EQ(without_users(""), "");
  EXPECT_EQ(without_users("loop 4096"), "loop 4096\n");
}

TEST(CodeMap, IsEmptyWithoutSymbols) {
  CodeMap map = CodeMap::make(Symbols::parse(""), "");
  EXPECT_EQ(map.function_at(0xffffffff81000100), nullptr);
  EXPECT_EQ(map.module_at(0xffffffff81000100), nullptr);
}

}  // namespace
}  // namespace spile::kernelinfo
