#include "probes/terms/shared_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debuginfo/test_program.h"

namespace spile::probes {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SharedLibraries, LinkedOnesRecursively) {
  debuginfo::TestDirectory directory;
  directory.write("c.c", "int c(void) { return 1; }\n");
  directory.write("b.c", "int c(void); int b(void) { return c(); }\n");
  directory.write("a.c", "int b(void); int main(void) { return b(); }\n");
  ASSERT_TRUE(
      directory.run("mkdir sub && cc -shared -fPIC -o sub/libc_inner.so c.c && cc -shared -fPIC -o libb.so b.c -Lsub -lc_inner "
                    "-Wl,-rpath,'$ORIGIN/sub' && cc -o a a.c -L. -lb -Wl,-rpath,'$ORIGIN' -Wl,--allow-shlib-undefined"));
  auto libraries = linked_libraries(directory.path("a"));
  EXPECT_THAT(libraries, Contains(HasSubstr("/libb.so")));
  EXPECT_THAT(libraries, Contains(HasSubstr("/sub/libc_inner.so")));
  EXPECT_THAT(libraries, Contains(HasSubstr("/libc.so.6")));
}

TEST(SharedLibraries, DamagedFilesHaveNone) {
  debuginfo::TestDirectory directory;
  EXPECT_THAT(linked_libraries(directory.path("missing")), IsEmpty());
  EXPECT_THAT(linked_libraries(directory.write("text", "hello")), IsEmpty());
  EXPECT_THAT(linked_libraries(directory.write("short", std::string("\177ELF\2\1\1") + std::string(40, '\xff'))), IsEmpty());
}

}  // namespace
}  // namespace spile::probes
