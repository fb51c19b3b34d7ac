#include "kernelinfo/symbols.h"

#include <gmock/gmock.h>

namespace spile::kernelinfo {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSymbols =
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 t show\n"
    "ffffffff81000200 t show\n"
    "ffffffff82000000 D jiffies\n"
    "ffffffffc0000010 t lo_open\t[loop]\n"
    "ffffffffc0000020 t bpf_prog_6deef7357e7b4530_spile\t[bpf]\n"
    "ffffffffc0000030 t ftrace_trampoline\t[__builtin__ftrace]\n"
    "damaged\n"
    "ffffffffc0000040 t \n"
    "ffffffffc0000050 tt two\n"
    "ffffffff81000300 T last";

TEST(Symbols, ReadsNamesModulesAndAddresses) {
  Symbols symbols = Symbols::parse(kSymbols);
  EXPECT_THAT(symbols.all(), SizeIs(6));
  EXPECT_FALSE(symbols.addresses_hidden());
  auto found = symbols.named("lo_open", "loop");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].address, 0xffffffffc0000010);
  EXPECT_TRUE(found[0].is_code());
  EXPECT_FALSE(symbols.named("jiffies", "")[0].is_code());
  EXPECT_THAT(symbols.named("lo_open", ""), IsEmpty());
  EXPECT_THAT(symbols.named("last", ""), SizeIs(1));
}

// As Linux 7.3 lists them.
TEST(Symbols, KnowsDataByItsPlace) {
  Symbols symbols = Symbols::parse(
      "ffffffff81000000 T _stext\nffffffff81000100 t show\nffffffff82000000 T _etext\nffffffff82e00000 T _sdata\n"
      "ffffffff82e11140 T jiffies\nffffffff82e11148 t kept\nffffffff836ac000 T _sinittext\nffffffff836ac010 t start\n"
      "ffffffff83744454 T _einittext\nffffffffc0000010 t lo_open\t[loop]\n");
  for (const char* name : {"show", "start"}) EXPECT_TRUE(symbols.named(name, "")[0].is_code()) << name;
  for (const char* name : {"jiffies", "kept"}) EXPECT_FALSE(symbols.named(name, "")[0].is_code()) << name;
  EXPECT_TRUE(symbols.named("lo_open", "loop")[0].is_code());
}

TEST(Symbols, HasAllOfOneName) {
  Symbols symbols = Symbols::parse(kSymbols);
  auto found = symbols.named("show", "");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NE(found[0].address, found[1].address);
}

TEST(Symbols, FindsTheSymbolOfAnAddress) {
  Symbols symbols = Symbols::parse(kSymbols);
  EXPECT_EQ(symbols.at(0xffffffff81000234)->name, "show");
  EXPECT_EQ(symbols.at(0xffffffff81000234)->address, 0xffffffff81000200);
  EXPECT_EQ(symbols.at(0x1000), nullptr);
}

TEST(Symbols, NoticesHiddenAddresses) {
  Symbols symbols = Symbols::parse("0000000000000000 T a\n0000000000000000 t b\t[m]\n");
  EXPECT_TRUE(symbols.addresses_hidden());
  EXPECT_THAT(symbols.named("b", "m"), SizeIs(1));
  EXPECT_EQ(symbols.at(0x1000), nullptr);
}

TEST(Traceable, ReadsListsWithAndWithoutAddresses) {
  auto plain = parse_traceable("vfs_read\nlo_open [loop]\n__ftrace_invalid_address___8\n\n", false);
  ASSERT_THAT(plain, SizeIs(2));
  EXPECT_EQ(plain[0].name, "vfs_read");
  EXPECT_EQ(plain[1].module, "loop");
  EXPECT_EQ(plain[1].address, 0u);
  auto addressed = parse_traceable("ffffffff81000010 vfs_read\nffffffffc0000010 lo_open [loop]\nnonsense x\n", true);
  ASSERT_THAT(addressed, SizeIs(2));
  EXPECT_EQ(addressed[0].address, 0xffffffff81000010);
  EXPECT_EQ(addressed[1].module, "loop");
}

TEST(Blacklist, DecidesByAddressWhereThereIsOne) {
  auto list = parse_blacklist("0xffffffff81000000-0xffffffff81000010\tdo_int3\nnonsense\n0x1-\tx\n");
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_TRUE(is_blacklisted(list, "do_int3", 0));
  EXPECT_TRUE(is_blacklisted(list, "another name of it", 0xffffffff8100000f));
  EXPECT_FALSE(is_blacklisted(list, "do_int3", 0xffffffff81000010));
  EXPECT_FALSE(is_blacklisted(list, "vfs_read", 0));
}

TEST(Blacklist, DecidesByNameWhereAddressesAreHidden) {
  auto list = parse_blacklist("0x0000000000000000-0x0000000000000000\tdo_int3\n");
  EXPECT_TRUE(is_blacklisted(list, "do_int3", 0xffffffff81000000));
  EXPECT_FALSE(is_blacklisted(list, "vfs_read", 0xffffffff81000000));
}

}  // namespace
}  // namespace spile::kernelinfo
