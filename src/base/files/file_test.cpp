#include "base/files/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace spile {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    char pattern[] = "/tmp/spile-file-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string made(const std::string& name, std::string_view bytes) const {
    const UniqueFd file(open(path(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    EXPECT_EQ(write_all(file.get(), bytes), 0);
    return path(name);
  }
  std::string folder_;
};

TEST_F(FileTest, IsReadWhole) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{1} << 20}) {
    std::string bytes(size, 'x');
    if (size > 1) bytes[size / 2] = '\0';
    const Result<std::string> read = read_file(made("a", bytes));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, bytes);
    EXPECT_EQ(read_start(path("a"), 5), bytes.substr(0, 5));
  }
}

TEST_F(FileTest, OfProcIsReadWholeThoughItHasNoSize) {
  const Result<std::string> maps = read_file("/proc/self/maps");
  ASSERT_TRUE(maps.ok());
  EXPECT_GT(maps->size(), 1000u);
  EXPECT_TRUE(maps->ends_with('\n'));
}

TEST_F(FileTest, ThatIsNotThereIsAnError) {
  const Result<std::string> read = read_file(path("none")), named = read_file(path("none"), "script x");
  ASSERT_FALSE(read.ok() || named.ok());
  EXPECT_EQ(read.error().message, "open " + path("none") + ": No such file or directory");
  EXPECT_EQ(named.error().message, "open script x: No such file or directory");
  const Result<std::string> folder = read_file(folder_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, "read " + folder_ + ": Is a directory");
  EXPECT_EQ(read_start(path("none"), 10), "");
  EXPECT_EQ(read_start(folder_, 10), "");
  EXPECT_EQ(first_line(path("none")), "");
  EXPECT_EQ(first_line(folder_), "");
  EXPECT_EQ(read_link(path("none")), "");
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(FileTest, HasAFirstLine) {
  EXPECT_EQ(first_line(made("a", "one\ntwo\n")), "one");
  EXPECT_EQ(first_line(made("a", "no end")), "no end");
  EXPECT_EQ(first_line(made("a", "")), "");
  EXPECT_EQ(first_line(made("a", "\ntwo")), "");
  EXPECT_EQ(first_line(made("a", std::string(1000, 'x') + "\ny")), std::string(1000, 'x'));
}

TEST_F(FileTest, IsReadIntoOtherBytesUpToABound) {
  const UniqueFd file(open(made("a", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<uint8_t> bytes;
  EXPECT_EQ(read_all(file.get(), bytes, 4), 0);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{'0', '1', '2', '3'}));
  EXPECT_EQ(read_all(file.get(), bytes, 0), 0);
  EXPECT_TRUE(bytes.empty());
  EXPECT_EQ(read_all(file.get(), bytes), 0);
  EXPECT_EQ(bytes.size(), 6u);
  EXPECT_EQ(read_all(-1, bytes), EBADF);
  EXPECT_TRUE(bytes.empty());
}

TEST_F(FileTest, LinksAreRead) {
  std::filesystem::create_symlink("somewhere else", path("link"));
  EXPECT_EQ(read_link(path("link")), "somewhere else");
  EXPECT_EQ(read_link(made("a", "x")), "");
}

TEST_F(FileTest, WritingGoesOnUntilAllIsWritten) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const std::string much(1 << 20, 'x');  // more than a pipe has room for
  std::thread writer([&] {
    EXPECT_EQ(write_all(write_end.get(), much), 0);
    write_end.reset();
  });
  std::string got;
  EXPECT_EQ(read_all(read_end.get(), got), 0);
  writer.join();
  EXPECT_EQ(got, much);
  EXPECT_EQ(write_all(-1, "x"), EBADF);
  EXPECT_EQ(write_all(-1, ""), 0);
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(write_all(full.get(), "x"), ENOSPC);
}

}  // namespace
}  // namespace spile
