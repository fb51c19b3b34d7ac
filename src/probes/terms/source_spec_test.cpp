#include "probes/terms/source_spec.h"

#include <gtest/gtest.h>

namespace spile::probes {
namespace {

SourceSpec parsed(const std::string& text) {
  auto spec = parse_source_spec(text);
  EXPECT_TRUE(spec.ok()) << text;
  return spec.ok() ? *spec : SourceSpec{};
}

TEST(SourceSpec, ReadsDistancesFromTheEntry) {
  EXPECT_EQ(parsed("f+12").offset, 12u);
  EXPECT_EQ(parsed("f+0x1f").offset, 0x1fu);
  EXPECT_EQ(parsed("f+0x1f").name, "f");
  EXPECT_EQ(parsed("ns::f+3").name, "ns::f");
}

TEST(SourceSpec, LeavesOperatorsAlone) {
  for (const char* name :
       {"operator+", "operator+=", "operator++", "A::operator+", "+", "f+x", "f+0x", "f+-1", "f+99999999999999999999999"}) {
    EXPECT_EQ(parsed(name).name, name);
    EXPECT_EQ(parsed(name).offset, 0u);
  }
}

TEST(SourceSpec, CountsLinesBehindAFile) {
  EXPECT_EQ(parsed("f@a.c+3").offset, 0u);
  EXPECT_EQ(parsed("f@a.c+3").lines, SourceSpec::Lines::kRelative);
}

}  // namespace
}  // namespace spile::probes
