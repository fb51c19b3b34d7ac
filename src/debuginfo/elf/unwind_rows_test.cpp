// Rules for finding callers, from what compilers and the linker emit.

#include <gtest/gtest.h>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

constexpr const char* kSource = R"(
__attribute__((noinline)) int leaf(int n) { return n + 1; }
__attribute__((noinline)) int framed(int n) { volatile char bytes[n]; bytes[0] = 1; return leaf(n) + bytes[0]; }
int main(int argc, char** argv) { return framed(argc); }
)";

class UnwindRows : public testing::Test {
 protected:
  std::shared_ptr<Module> build(const std::string& flags) {
    directory_.write("a.c", kSource);
    EXPECT_TRUE(directory_.run("cc -O1 " + flags + " -o a a.c"));
    auto module = Module::open(directory_.path("a"), without_cache());
    EXPECT_TRUE(module.ok());
    rows_ = (*module)->unwind_rows();
    return *module;
  }
  abi::UnwindRule at(FileAddress address) const {
    abi::UnwindRule rule{};
    for (const UnwindRow& row : rows_) {
      if (row.address.value > address.value) break;
      rule = row.rule;
    }
    return rule;
  }
  FileAddress address_of(Module& module, const std::string& name) {
    auto found = module.functions({.name = name, .file = {}});
    EXPECT_TRUE(found.ok() && found->size() == 1) << name;
    return (*found)[0].address;
  }
  TestDirectory directory_;
  std::vector<UnwindRow> rows_;
};

TEST_F(UnwindRows, EveryEntryHasItsReturnAddressOnTop) {
  for (const char* flags : {"", "-fomit-frame-pointer", "-g -fno-asynchronous-unwind-tables -fno-unwind-tables", "-no-pie"}) {
    auto module = build(flags);
    for (const char* name : {"leaf", "framed", "main"}) {
      abi::UnwindRule rule = at(address_of(*module, name));
      EXPECT_EQ(rule.kind, abi::kUnwindStack) << flags << " " << name;
      EXPECT_EQ(rule.offset, 8) << flags << " " << name;
    }
  }
}

TEST_F(UnwindRows, FrameOfVariableSizeIsFoundByItsFramePointer) {
  auto module = build("-fomit-frame-pointer");
  FileAddress begin = address_of(*module, "framed");
  bool found = false;
  for (const UnwindRow& row : rows_) {
    if (row.address.value < begin.value || row.address.value > begin.value + 64) continue;
    found |= row.rule.kind == abi::kUnwindFrame && row.rule.offset == 16 && row.rule.frame == abi::kFrameAtCfa &&
             row.rule.frame_offset == -16;
  }
  EXPECT_TRUE(found);
}

TEST_F(UnwindRows, StartIsTheOutermostFrame) {
  auto module = build("");
  EXPECT_EQ(at(module->entry_point() + 4).kind, abi::kUnwindEnd);
}

TEST_F(UnwindRows, AscendAndEndUnknown) {
  build("");
  ASSERT_FALSE(rows_.empty());
  for (size_t i = 1; i < rows_.size(); ++i) EXPECT_LT(rows_[i - 1].address.value, rows_[i].address.value);
  EXPECT_EQ(rows_.back().rule.kind, abi::kUnwindUnknown);
}

TEST_F(UnwindRows, DamagedSectionsHaveLessToTell) {
  build("");
  size_t whole = rows_.size();
  std::string bytes = directory_.read("a");
  for (size_t at = 64; at < bytes.size(); at += 97) {
    std::string damaged = bytes;
    for (size_t i = at; i < std::min(at + 4, damaged.size()); ++i) damaged[i] = static_cast<char>(0xff);
    auto module = Module::open(directory_.write("b", damaged), without_cache());
    if (module.ok()) EXPECT_LE((*module)->unwind_rows().size(), 100 * whole);
  }
}

}  // namespace
}  // namespace spile::debuginfo
