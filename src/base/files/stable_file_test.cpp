#include "base/files/stable_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace spile {
namespace {

class StableFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/spile-stable-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string make(const char* name, const std::string& text, mode_t mode) {
    std::string path = folder_ + "/" + name;
    UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(fchmod(fd.get(), mode), 0);
    return path;
  }
  std::string folder_;
};

std::string read_all(const StableFile& file) {
  void* bytes = mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.fd.get(), 0);
  if (bytes == MAP_FAILED) return "";
  std::string text(static_cast<const char*>(bytes), file.size);
  munmap(bytes, file.size);
  return text;
}

TEST_F(StableFileTest, ShowsWhatWasThereThoughOthersChangeIt) {
  std::string text(10000, 'a');
  std::string path = make("shared", text, 0666);
  auto file = open_stable(path, path);
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  EXPECT_EQ(read_all(*file), text);
}

TEST_F(StableFileTest, CopiesNothingThatIsOurs) {
  std::string path = make("own", "text", 0644);
  auto file = open_stable(path, path);
  ASSERT_TRUE(file.ok());
  struct stat status{}, original{};
  ASSERT_EQ(fstat(file->fd.get(), &status), 0);
  ASSERT_EQ(stat(path.c_str(), &original), 0);
  EXPECT_EQ(status.st_ino, original.st_ino);
}

TEST_F(StableFileTest, OpensNothingButFiles) {
  std::string fifo = folder_ + "/fifo", link = folder_ + "/link";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0666), 0);
  ASSERT_EQ(symlink("/dev/zero", link.c_str()), 0);
  for (const std::string& path : {fifo, link, folder_, folder_ + "/none"}) EXPECT_FALSE(open_stable(path, path).ok()) << path;
}

TEST_F(StableFileTest, KeepsHolesAsHoles) {
  std::string path = make("sparse", "begin", 0666);
  ASSERT_EQ(truncate(path.c_str(), int64_t{3} << 30), 0);
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(pwrite(fd.get(), "middle", 6, int64_t{1} << 30), 6);
  auto file = open_stable(path, path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  struct stat status{};
  ASSERT_EQ(fstat(file->fd.get(), &status), 0);
  EXPECT_EQ(status.st_size, int64_t{3} << 30);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
  char text[6] = "";
  ASSERT_EQ(pread(file->fd.get(), text, 5, 0), 5);
  EXPECT_STREQ(text, "begin");
  ASSERT_EQ(pread(file->fd.get(), text, 5, int64_t{1} << 30), 5);
  EXPECT_STREQ(text, "middl");
}

TEST_F(StableFileTest, RefusesHugeFilesOfOthers) {
  std::string path = make("huge", "x", 0666);
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 40), 0);
  EXPECT_FALSE(open_stable(path, path).ok());
}

}  // namespace
}  // namespace spile
