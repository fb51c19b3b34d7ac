#include "debuginfo/cache/answer_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "debuginfo/answers/answer_archive.h"
#include "debuginfo/answers/records.h"

namespace spile::debuginfo {
namespace {

class AnswerCacheTest : public testing::Test {
 protected:
  AnswerCacheTest() {
    char pattern[] = "/tmp/spile-cache-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~AnswerCacheTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void put(const std::string& name, const std::string& key, const std::string& answer, const std::string& stamp = "stamp") {
    AnswerCache cache(file(name), stamp, "/bin/program");
    cache.put(key, answer);
    ASSERT_TRUE(cache.save());
  }
  static std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  std::string folder_;
};

TEST_F(AnswerCacheTest, FindsWhatEarlierRunsHavePut) {
  put("a.answers", "one", "1");
  put("a.answers", "two", std::string(100'000, 'x'));
  AnswerCache cache(file("a.answers"), "stamp", "");
  ASSERT_NE(cache.find("one"), nullptr);
  EXPECT_EQ(*cache.find("one"), "1");
  EXPECT_EQ(cache.find("two")->size(), 100'000u);
  EXPECT_EQ(cache.find("three"), nullptr);
  EXPECT_EQ(cache.read_all().size(), 2u);
}

TEST_F(AnswerCacheTest, IgnoresAFileWithAnotherStamp) {
  put("a.answers", "one", "1");
  AnswerCache other(file("a.answers"), "another", "");
  EXPECT_FALSE(other.has_file());
  EXPECT_EQ(other.find("one"), nullptr);
}

TEST_F(AnswerCacheTest, NeverReturnsAWrongAnswerOfADamagedFile) {
  put("a.answers", "one", "first");
  put("a.answers", "two", "second");
  const std::string good = contents(file("a.answers"));
  for (size_t at = 0; at < good.size(); ++at) {
    for (char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = good;
      damaged[at] = value;
      write(file("a.answers"), damaged);
      AnswerCache cache(file("a.answers"), "stamp", "");
      const std::string* one = cache.find("one");
      if (one) EXPECT_EQ(*one, "first") << at;
    }
    write(file("a.answers"), good.substr(0, at));
    AnswerCache cache(file("a.answers"), "stamp", "");
    const std::string* two = cache.find("two");
    if (two) EXPECT_EQ(*two, "second") << at;
  }
}

TEST_F(AnswerCacheTest, RemovesTheLeastRecentlyUsedFiles) {
  for (const char* name : {"00.answers", "11.answers", "22.imported"}) put(name, "key", std::string(1000, 'x'));
  const timespec long_ago[] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, file("11.answers").c_str(), long_ago, 0), 0);
  ASSERT_EQ(cached_files(folder_).front().build_id, "11");
  EXPECT_EQ(cached_files(folder_).front().name, "/bin/program");
  EXPECT_GT(prune_answers(folder_, 2500), 1000u);
  EXPECT_EQ(cached_files(folder_).size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(file("11.answers")));
}

TEST_F(AnswerCacheTest, CarriesAnswersToAnotherFolder) {
  const std::string place = to_bytes(SourcePlace{"file.c", 12});
  put("0123456789abcdef.answers", "line 40", place);
  auto exported = export_answers(folder_, {"0123456789abcdef"}, file("archive"));
  ASSERT_TRUE(exported.ok()) << exported.error().message;
  EXPECT_EQ(exported->answers, 1u);
  const std::string other = file("other");
  auto imported = import_answers(other, file("archive"));
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  AnswerCache cache(imported_path(other, "0123456789abcdef"), kImportedStamp, "");
  ASSERT_NE(cache.find("line 40"), nullptr);
  EXPECT_EQ(*cache.find("line 40"), place);
}

TEST(IsAnswer, RejectsOtherKeysAndAnswersThatDoNotRead) {
  const std::string place = to_bytes(SourcePlace{"file.c", 12});
  EXPECT_TRUE(is_answer("line 40", place));
  EXPECT_FALSE(is_answer("line 40", place.substr(1)));
  EXPECT_FALSE(is_answer("function", place));
  EXPECT_FALSE(is_answer("function zz 40", ""));
  EXPECT_FALSE(is_answer("../../etc", place));
  EXPECT_FALSE(is_answer("", ""));
}

}  // namespace
}  // namespace spile::debuginfo
