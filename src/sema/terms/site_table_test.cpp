#include "sema/terms/site_table.h"

#include <gtest/gtest.h>

namespace spile::sema {
namespace {

SiteTable table_of(size_t sites, size_t kept) {
  SiteTable table;
  for (size_t i = 0; i < sites; ++i) {
    ArmedSite armed{};
    armed.group = static_cast<int>(i);
    table.add(std::move(armed));
  }
  std::vector<KeptFunction> functions(kept);
  for (size_t i = 0; i < kept; ++i) functions[i].address = FileAddress(i);
  table.keep(std::move(functions), {});
  return table;
}

TEST(SiteTable, GivesEachIdOneMeaning) {
  for (size_t sites : {0, 1, 5}) {
    for (size_t kept : {0, 1, 3}) {
      SiteTable table = table_of(sites, kept);
      uint32_t id = 0;
      for (; id < sites; ++id) {
        ASSERT_NE(table.script_site(id), nullptr);
        EXPECT_EQ(table.script_site(id)->group, static_cast<int>(id));
        EXPECT_EQ(table.kept_function(id), nullptr);
      }
      EXPECT_EQ(table.unwind_id(), id++);
      EXPECT_EQ(table.system_call_id(), id++);
      for (size_t i = 0; i < kept; ++i, ++id) {
        EXPECT_EQ(table.kept_id(i), id);
        ASSERT_NE(table.kept_function(id), nullptr);
        EXPECT_EQ(table.kept_function(id)->address, FileAddress(i));
      }
      EXPECT_EQ(table.kept_function(id), nullptr) << "behind the last";
    }
  }
}

TEST(SiteTable, FindsNothingUnderTheIdsOfUnwindersAndSystemCalls) {
  SiteTable table = table_of(2, 1);
  for (uint32_t id : {table.unwind_id(), table.system_call_id(), UINT32_MAX}) {
    EXPECT_EQ(table.script_site(id), nullptr);
    EXPECT_EQ(table.kept_function(id), nullptr);
  }
}

}  // namespace
}  // namespace spile::sema
