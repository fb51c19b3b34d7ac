#include "base/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spile {
namespace {

TEST(Diagnostics, PointsACaretAtTheToken) {
  SourceFiles files;
  const SourceFile& file = files.add("a.stp", "probe begin {\n  prnt(1)\n}\n");
  Diagnostics diagnostics;
  diagnostics.error({&file, 16, 20}, "unresolved function 'prnt'").hint("did you mean 'print'?");
  EXPECT_EQ(diagnostics.render(),
            "a.stp:2:3: error: unresolved function 'prnt'\n"
            "    2 |   prnt(1)\n"
            "      |   ^~~~\n"
            "  hint: did you mean 'print'?\n");
}

TEST(Diagnostics, NamesTheVerbThatMadeAScript) {
  SourceFiles files;
  const SourceFile& made = files.add("<input>", "# spile trace 'foo'\nprobe begin { x }\n");
  Diagnostics diagnostics;
  diagnostics.warning({&made, 34, 35}, "nothing is known").hint("install it");
  EXPECT_EQ(diagnostics.render(), "spile trace 'foo': warning: nothing is known\n  hint: install it\n");
  const SourceFile& saved = files.add("saved.stp", std::string(made.text()));
  Diagnostics of_saved;
  of_saved.warning({&saved, 34, 35}, "nothing is known");
  EXPECT_THAT(of_saved.render(), testing::StartsWith("saved.stp:2:15: warning: nothing is known\n    2 | probe begin { x }\n"));
}

TEST(Diagnostics, SaysTheSameOnce) {
  SourceFiles files;
  const SourceFile& file = files.add("a.stp", "probe begin { f(1) f(1) }");
  Diagnostics diagnostics;
  for (uint32_t at : {14u, 19u, 14u}) diagnostics.error({&file, at, at + 1}, "unresolved function 'f'").hint("there is 'g'");
  std::string text = diagnostics.render();
  EXPECT_EQ(std::count(text.begin(), text.end(), '^'), 2);
}

TEST(Diagnostics, ShowsAWindowOfALineOfMegabytes) {
  SourceFiles files;
  std::string text(10'000'000, 'x');
  const SourceFile& file = files.add("big", text);
  Diagnostics diagnostics;
  diagnostics.error({&file, 5'000'000, 5'000'001}, "no");
  EXPECT_LT(diagnostics.render().size(), 1000u);
}

TEST(NearestName, FindsASwapAndRefusesTheFar) {
  EXPECT_EQ(nearest_name("gettimefoday_ns", {"gettimeofday_us", "gettimeofday_ns"}), "gettimeofday_ns");
  EXPECT_EQ(nearest_name("abc", {"xyzzy"}), "");
  EXPECT_EQ(nearest_name("proces", {"procfs", "process"}), "process");
  EXPECT_EQ(nearest_name("printl", {"print", "println", "printd"}), "println");
  EXPECT_EQ(nearest_name("printn", {"print", "println"}), "print");
}

}  // namespace
}  // namespace spile
