#include "codegen/machine/object_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "codegen/script_runner_test.h"

namespace spile::codegen {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/spile-test-object-cache.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    folder_ = root_ + "/below/code";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string found(const std::string& key) {
    auto object = ObjectCache(folder_).find(key);
    return object ? std::string(object->data(), object->size()) : "nothing";
  }
  Compiled compile_text(const std::string& text, int level = 2) {
    auto script = sema::elaborate_text(text);
    EXPECT_TRUE(script.ok()) << script.messages();
    Options options;
    options.process_bitcode = rt::process_bitcode();
    options.optimization = level;
    options.cache_directory = folder_;
    auto compiled = compile(script.program, options);
    EXPECT_TRUE(compiled.ok());
    return std::move(compiled).value();
  }
  size_t entries() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator())); }

  std::string root_, folder_;
};

TEST_F(ObjectCacheTest, FindsWhatWasKept) {
  EXPECT_EQ(found("k"), "nothing");
  ObjectCache(folder_).keep("k", "object");
  EXPECT_EQ(found("k"), "object");
  EXPECT_EQ(found("l"), "nothing");
  ObjectCache(folder_).keep("k", "another");
  EXPECT_EQ(found("k"), "another");
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
}

TEST_F(ObjectCacheTest, IsNoCacheWithoutADirectory) {
  ObjectCache("").keep("k", "object");
  EXPECT_FALSE(ObjectCache("").find("k"));
}

TEST_F(ObjectCacheTest, TakesNothingThatWasChanged) {
  ObjectCache(folder_).keep("k", "object");
  const std::string path = folder_ + "/k";
  std::ifstream stream(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string broken = whole;
    broken[i] ^= 1;
    std::ofstream(path, std::ios::binary) << broken;
    EXPECT_EQ(found("k"), "nothing") << i;
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    EXPECT_EQ(found("k"), "nothing") << i;
  }
  std::ofstream(path, std::ios::binary) << whole;
  EXPECT_EQ(found("k"), "object");
}

TEST_F(ObjectCacheTest, TakesNothingFromWhereOthersCanWrite) {
  ObjectCache(folder_).keep("k", "object");
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::others_write);
  EXPECT_EQ(found("k"), "nothing");
  ObjectCache(folder_).keep("l", "object");
  EXPECT_EQ(entries(), 1u);
  fs::permissions(folder_, fs::perms::owner_all | fs::perms::group_write);
  EXPECT_EQ(found("k"), "nothing");
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_EQ(found("k"), "object");
}

TEST_F(ObjectCacheTest, TakesNoFileOfAnotherUserAndNoLink) {
  ObjectCache(folder_).keep("k", "object");
  fs::create_symlink(folder_ + "/k", folder_ + "/l");
  EXPECT_EQ(found("l"), "nothing");
  fs::create_directory(folder_ + "/m");
  EXPECT_EQ(found("m"), "nothing");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown((folder_ + "/k").c_str(), 65534, 65534), 0);
  EXPECT_EQ(found("k"), "nothing");
  ASSERT_EQ(chown((folder_ + "/k").c_str(), 0, 0), 0);
  ASSERT_EQ(chown(folder_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(found("k"), "nothing");
}

TEST_F(ObjectCacheTest, KeepsLargeObjectsWithinItsRoom) {
  ObjectCache cache(folder_);
  const std::string large(12 << 20, 'x');
  for (int i = 0; i < 30; ++i) {
    const std::string key = std::to_string(i);
    cache.keep(key, large);
    timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/" + key).c_str(), times, 0), 0);
  }
  EXPECT_EQ(cache.find("29"), large);
  EXPECT_EQ(found("0"), "nothing");
  EXPECT_LE(entries() * large.size(), static_cast<size_t>(ObjectCache::kMostBytesOfAll));
  cache.keep("too large", std::string(static_cast<size_t>(ObjectCache::kMostBytes), 'x'));
  EXPECT_EQ(found("too large"), "nothing");
}

TEST_F(ObjectCacheTest, DropsTheLeastRecentlyUsed) {
  ObjectCache cache(folder_);
  for (size_t i = 0; i < ObjectCache::kMostEntries; ++i) {
    const std::string key = std::to_string(i);
    cache.keep(key, key);
    timespec times[2] = {{1000 + static_cast<time_t>(i), 0}, {1000 + static_cast<time_t>(i), 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/" + key).c_str(), times, 0), 0);
  }
  EXPECT_EQ(found("0"), "0");  // from here on it is the newest
  cache.keep("new", "new");
  EXPECT_LE(entries(), ObjectCache::kMostEntries);
  EXPECT_EQ(found("0"), "0");
  EXPECT_EQ(found("1"), "nothing");
  EXPECT_EQ(found("255"), "255");
  EXPECT_EQ(found("new"), "new");
}

TEST_F(ObjectCacheTest, ServesManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  const std::string object(100'000, 'x');
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        ObjectCache(folder_).keep("k", object);
        if (found("k") != object) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ObjectCacheTest, CompilesAnewOnlyWhatIsNew) {
  const std::string text = "global c probe process(\"/bin/fake\").function(\"foo\") { c++ } probe end { println(c) }";
  Compiled first = compile_text(text);
  EXPECT_FALSE(first.from_cache);
  Compiled again = compile_text(text);
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(first.script.controller.image.bytes, again.script.controller.image.bytes);
  EXPECT_EQ(first.script.controller.probes, again.script.controller.probes);
  EXPECT_EQ(first.script.target.image.bytes, again.script.target.image.bytes);
  EXPECT_EQ(first.script.target.groups[0].enter, again.script.target.groups[0].enter);
  EXPECT_FALSE(
      compile_text("global c probe process(\"/bin/fake\").function(\"foo\") { c += 2 } probe end { println(c) }").from_cache);
  EXPECT_FALSE(
      compile_text("global c probe process(\"/bin/fake\").function(\"foo\") { c++ } probe end { println(c + 1) }").from_cache);
  EXPECT_FALSE(compile_text(text, 3).from_cache);
}

TEST_F(ObjectCacheTest, CompilesAnewWhatIsNoObject) {
  const std::string text = "probe begin { println(1) }";
  Compiled first = compile_text(text);
  for (const auto& entry : fs::directory_iterator(folder_)) ObjectCache(folder_).keep(entry.path().filename(), "no ELF object");
  Compiled again = compile_text(text);
  EXPECT_FALSE(again.from_cache);
  EXPECT_EQ(first.script.controller.image.bytes, again.script.controller.image.bytes);
}

}  // namespace
}  // namespace spile::codegen
