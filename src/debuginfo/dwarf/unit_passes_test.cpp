// What several openings of a file find of its units is what one finds.
#include "debuginfo/dwarf/unit_passes.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

constexpr int kFiles = 6, kFunctions = 300;

// Functions of which some inline another one.
std::string source(int number) {
  const std::string mine = std::to_string(number);
  std::string text = "static inline __attribute__((always_inline)) int inner_" + mine + "(int a) { return a * 3; }\n";
  for (int i = 0; i < kFunctions; ++i) {
    const std::string name = "f_" + mine + "_" + std::to_string(i);
    text += "int " + name + "(int a) { return " + (i % 100 == 0 ? "inner_" + mine + "(a)" : "a") + "; }\n";
  }
  return text;
}

constexpr uint64_t kTogether = 20'000;  // two units of 15 KB

TEST(UnitPasses, FindInSeveralOpeningsWhatOneHas) {
  TestDirectory directory;
  std::string command = "gcc -g -shared -fPIC -o all.so";
  for (int i = 0; i < kFiles; ++i) {
    directory.write("f" + std::to_string(i) + ".c", source(i));
    command += " f" + std::to_string(i) + ".c";
  }
  ASSERT_TRUE(directory.run(command));
  UniqueFd fd(::open(directory.path("all.so").c_str(), O_RDONLY | O_CLOEXEC));
  auto file = DwarfFile::open({.path = "all.so",
                               .main_fd = fd.get(),
                               .debug_fd = fd.get(),
                               .debug_file = directory.path("all.so"),
                               .main_file = {},
                               .alternate = {},
                               .alternate_id = {},
                               .kept = {}});
  ASSERT_TRUE(file.ok());
  const std::vector<UnitGroup> groups = unit_groups(**file, kTogether);
  ASSERT_EQ(groups.size(), size_t{kFiles} / 2);
  size_t next = 0;
  for (const UnitGroup& group : groups) {
    EXPECT_EQ(group.begin, next);
    next = group.end;
  }
  EXPECT_EQ(next, static_cast<size_t>(kFiles));
  std::vector<std::string> expected;
  for (DwarfFile::Unit unit : (*file)->units())
    (*file)->each_function(unit, [&](uint64_t, uint64_t, Dwarf_Die& die) { expected.push_back(die_name(die)); });
  EXPECT_EQ(expected.size(), static_cast<size_t>(kFiles * kFunctions));
  const auto found = read_all_units<std::vector<std::string>>(
      **file,
      [](DwarfFile& opening, DwarfFile::Unit& unit, std::vector<std::string>& names) {
        opening.each_function(unit, [&](uint64_t, uint64_t, Dwarf_Die& die) { names.push_back(die_name(die)); });
      },
      kTogether);
  EXPECT_EQ(found, expected);
  // And through a module: every call, and those of a pattern.
  auto module = Module::open(directory.path("all.so"), without_cache());
  EXPECT_EQ((*module)->inlined_calls({"inner_*", ""}).value().size(), static_cast<size_t>(kFiles * kFunctions / 100));
  EXPECT_EQ((*module)->inlined_calls({"*_[13]", ""}).value().size(), static_cast<size_t>(2 * kFunctions / 100));
  EXPECT_EQ((*module)->inlined_calls({"*", ""}).value().size(), static_cast<size_t>(kFiles * kFunctions / 100));
}

}  // namespace
}  // namespace spile::debuginfo
