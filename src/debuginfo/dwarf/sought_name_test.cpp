#include "debuginfo/dwarf/sought_name.h"

#include <gtest/gtest.h>

namespace spile::debuginfo {
namespace {

SoughtName name_in(const std::string& text, const std::string& strings) {
  SoughtName name(text);
  name.look_at(0, strings);
  return name;
}

TEST(SoughtName, IsFoundWhereStringsBegin) {
  const SoughtName name = name_in("foo", std::string("main\0foo\0food\0", 14));
  EXPECT_TRUE(name.is_at(5));
  EXPECT_FALSE(name.is_at(0));
  EXPECT_FALSE(name.is_at(9)) << "a longer name";
  EXPECT_FALSE(name.is_at((uint64_t{1} << 32) + 5));
}

TEST(SoughtName, IsFoundAtTheEndOfALongerString) {
  const SoughtName name = name_in("foo", std::string("xfoo\0foo\0", 9));
  EXPECT_TRUE(name.is_at(1));
  EXPECT_TRUE(name.is_at(5));
  EXPECT_FALSE(name.is_at(0));
}

TEST(SoughtName, MayHaveArguments) {
  const SoughtName name = name_in("max", std::string("max<int>\0", 9));
  EXPECT_TRUE(name.is_at(0));
  EXPECT_TRUE(name.is_in("max<int>"));
  EXPECT_TRUE(name.is_in("max"));
  EXPECT_FALSE(name.is_in(std::string_view("maximum", 8)));
}

TEST(SoughtName, IsFoundAcrossParts) {
  const std::string strings("main\0foo\0", 9);
  for (size_t part = 1; part < strings.size(); ++part) {
    SoughtName name("foo");
    for (size_t at = 0; at < strings.size(); at += part)
      name.look_at(at, std::string_view(strings).substr(at, part + name.overlap()));
    EXPECT_TRUE(name.is_at(5)) << part;
  }
}

TEST(SoughtName, NeedsItsEnd) { EXPECT_FALSE(name_in("main", "main").is_at(0)) << "the section is cut off"; }

}  // namespace
}  // namespace spile::debuginfo
