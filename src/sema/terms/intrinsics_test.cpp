#include "sema/terms/intrinsics.h"

#include <gtest/gtest.h>

#include <set>

namespace spile::sema {
namespace {

TEST(Intrinsics, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Intrinsic& intrinsic : intrinsics()) EXPECT_TRUE(names.insert(intrinsic.name).second) << intrinsic.name;
}

TEST(Intrinsics, FindsByName) {
  int index = find_intrinsic("strlen");
  ASSERT_GE(index, 0);
  EXPECT_EQ(intrinsics()[index].name, "strlen");
  EXPECT_EQ(find_intrinsic("strlem"), -1);
  EXPECT_EQ(find_intrinsic(""), -1);
}

TEST(Intrinsics, NumberOfArgumentsChoosesTheRow) {
  EXPECT_EQ(find_intrinsic("user_string", 1), find_intrinsic("user_string"));
  EXPECT_EQ(find_intrinsic("user_string", 2), find_intrinsic("user_string2"));
  EXPECT_EQ(find_intrinsic("strlen", 5), find_intrinsic("strlen"));
}

}  // namespace
}  // namespace spile::sema
