#include "debuginfo/elf/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/files/elf_identity.h"
#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MappedFiles, OfThisProcess) {
  bool has_libc = false;
  int programs = 0;
  for (const MappedFile& file : mapped_files(getpid())) {
    EXPECT_THAT(file.path, Not(HasSubstr("[vdso]")));
    has_libc = has_libc || file.path.find("/libc.so") != std::string::npos;
    programs += file.is_program;
    EXPECT_TRUE(options_for(file).ok()) << file.path;
  }
  EXPECT_TRUE(has_libc);
  EXPECT_EQ(programs, 1);
}

TEST(MappedFiles, OfNoProcess) { EXPECT_TRUE(mapped_files(4194304).empty()); }

// A child that runs a copy of sleep(1), and what of it is mapped.
class MappedCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file("/bin/sleep", path);
    child = fork();
    if (child == 0) {
      execl(path.c_str(), path.c_str(), "30", nullptr);
      _exit(1);
    }
    for (int tries = 0; tries < 6000 && !find(); ++tries) usleep(10'000);
    ASSERT_TRUE(find());
  }
  void TearDown() override {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  bool find() {
    for (const MappedFile& file : mapped_files(child)) {
      if (file.path == path) program = file;
    }
    return !program.path.empty();
  }

  TestDirectory directory;
  std::string path = std::filesystem::canonical(directory.path("")) / "copy";
  pid_t child = 0;
  MappedFile program;
};

TEST_F(MappedCopyTest, IsReadThroughItsPath) {
  EXPECT_TRUE(program.is_program);
  auto options = options_for(program);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->file, "");
  EXPECT_EQ(options->root, "");
}

TEST_F(MappedCopyTest, IsReadThroughTheProcessWhenReplaced) {
  std::string identity = elf_identity_of_file(path);
  std::filesystem::remove(path);
  directory.write("copy", "another");
  program = {};
  ASSERT_TRUE(find()) << "without ' (deleted)'";
  auto options = options_for(program);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->file, "/proc/" + std::to_string(child) + "/exe");
  EXPECT_EQ(elf_identity_of_file(options->file), identity);
}

TEST_F(MappedCopyTest, IsAnErrorWhenNothingLeadsToIt) {
  std::filesystem::remove(path);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  auto options = options_for(program);
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(options.error().message, HasSubstr("can't be opened"));
}

}  // namespace
}  // namespace spile::debuginfo
