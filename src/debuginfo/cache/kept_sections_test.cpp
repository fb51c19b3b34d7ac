// Uncompressed sections that are kept in the cache: found again by the same file only, whole, and given up before answers are.
#include "debuginfo/cache/kept_sections.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <random>

#include "debuginfo/cache/answer_cache.h"
#include "debuginfo/files/plain_sections.h"
#include "debuginfo/test_program.h"

namespace spile::debuginfo {
namespace {

// Tests run in a folder on a disk: in memory nothing is kept.
class KeptSectionsTest : public testing::Test {
 protected:
  KeptSectionsTest() {
    char pattern[] = "/var/tmp/spile-kept-XXXXXX";
    folder_ = mkdtemp(pattern);
    kept_ = {folder_ + "/cache/0123456789abcdef.sections", "stamp", "/bin/program"};
  }
  ~KeptSectionsTest() override { std::filesystem::remove_all(folder_); }
  void make(uint64_t bytes) {
    const UniqueFd file = make_keepable(kept_, bytes);
    ASSERT_TRUE(file);
    ASSERT_EQ(pwrite(file.get(), "contents", 8, 0), 8);
    ASSERT_TRUE(keep(kept_, file.get(), bytes));
  }
  static uint64_t number_of(const UniqueFd& fd) {
    struct stat status{};
    return fstat(fd.get(), &status) == 0 ? status.st_ino : 0;
  }

  std::string folder_;
  KeptSections kept_;
};

TEST_F(KeptSectionsTest, AreFoundByTheSameFileOnly) {
  EXPECT_FALSE(open_kept(kept_));
  make(10'000);
  const UniqueFd found = open_kept(kept_);
  ASSERT_TRUE(found);
  char bytes[8];
  EXPECT_EQ(pread(found.get(), bytes, 8, 0), 8);
  EXPECT_EQ(std::string(bytes, 8), "contents");
  KeptSections other = kept_;
  other.stamp = "another";
  EXPECT_FALSE(open_kept(other));
  std::filesystem::resize_file(kept_.path, 8192);
  EXPECT_FALSE(open_kept(kept_));
}

TEST_F(KeptSectionsTest, OfAnEarlierStartOfTheMachineAreNotUsed) {
  make(100);
  std::fstream file(kept_.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + static_cast<int>(std::string("spile sections 1\n8192\n").size()));
  file << "0000";
  file.close();
  EXPECT_FALSE(open_kept(kept_));
  EXPECT_EQ(cached_files(folder_ + "/cache").at(0).name, "");
}

TEST_F(KeptSectionsTest, AreListedAndRemovedBeforeAnswers) {
  AnswerCache answers(folder_ + "/cache/0123456789abcdef.answers", "stamp", "/bin/program");
  answers.put("one", "1");
  ASSERT_TRUE(answers.save());
  make(20'000);
  const auto files = cached_files(folder_ + "/cache");
  ASSERT_EQ(files.size(), 2u);
  for (const CachedFile& file : files) EXPECT_EQ(file.name, "/bin/program");
  EXPECT_GT(prune_answers(folder_ + "/cache", 20'000), 20'000u);
  const auto left = cached_files(folder_ + "/cache");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_FALSE(left[0].sections);
}

TEST_F(KeptSectionsTest, AreNotUncompressedAgain) {
  TestDirectory directory;
  std::mt19937 random(8);
  std::string digits(36 << 20, '\0');
  for (char& digit : digits) digit = "0123456789abcdef"[random() & 15];
  directory.write("digits", digits);
  directory.write("a.c", "int main(void) { return 0; }\n");
  ASSERT_TRUE(
      directory.run("gcc -g a.c -o a && objcopy --add-section .debug_more=digits a && objcopy --compress-debug-sections=zlib a"));
  auto plain = [&] {
    UniqueFd fd(::open(directory.path("a").c_str(), O_RDONLY | O_CLOEXEC));
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.get(), ELF_C_READ_MMAP_PRIVATE, nullptr), elf_end);
    auto made = with_plain_sections(elf.get(), fd.get(), "it", kept_);
    return made.ok() ? std::move(*made) : UniqueFd();
  };
  const UniqueFd first = plain(), second = plain();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(number_of(first), number_of(second));
  kept_.stamp = "changed";
  EXPECT_NE(number_of(plain()), number_of(first));
}

}  // namespace
}  // namespace spile::debuginfo
