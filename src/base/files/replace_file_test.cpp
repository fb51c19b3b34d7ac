#include "base/files/replace_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace spile {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() {
    char name[] = "/tmp/spile-replace-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~ReplaceFile() override { fs::remove_all(folder_); }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }
  fs::path folder_;
};

TEST_F(ReplaceFile, MakesAndReplacesAFileAndLeavesNothingBeside) {
  ASSERT_TRUE(replace_file(folder_ / "a", "one").ok());
  EXPECT_EQ(read(folder_ / "a"), "one");
  std::ifstream old(folder_ / "a");
  const std::string large(3 << 20, 'x');
  ASSERT_TRUE(replace_file(folder_ / "a", large).ok());
  EXPECT_EQ(read(folder_ / "a"), large);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(old), {}), "one") << "whoever reads it reads on";
  EXPECT_EQ(files(), 1u);
}

TEST_F(ReplaceFile, FollowsALink) {
  ASSERT_TRUE(replace_file(folder_ / "real", "one").ok());
  fs::create_symlink("real", folder_ / "link");
  ASSERT_TRUE(replace_file(folder_ / "link", "two").ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(folder_ / "real"), "two");
}

TEST_F(ReplaceFile, WritesToAPipeRatherThanReplacingIt) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const int reader = open((folder_ / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(replace_file(folder_ / "pipe", "through").ok());
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 7);
  EXPECT_STREQ(got, "through");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
}

TEST_F(ReplaceFile, SaysWhatItCouldNotWrite) {
  auto outcome = replace_file(folder_ / "missing/a", "x");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("write " + (folder_ / "missing/a").string() + ": No such file or directory"));
  EXPECT_FALSE(replace_file(folder_, "x").ok()) << "a folder";
  fs::create_symlink("/dev/full", folder_ / "full");
  outcome = replace_file(folder_ / "full", "x");
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("No space left"));
}

}  // namespace
}  // namespace spile
