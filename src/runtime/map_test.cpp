#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "abi/map_layout.h"
#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

abi::MapShape shape_of(uint32_t key_size, uint32_t value_size, uint32_t capacity, uint32_t key_count = 1,
                       uint32_t string_keys = 0, bool wraps = false) {
  return {key_size, value_size, capacity, wraps, key_count, string_keys, abi::map_buckets(capacity), 0};
}

class Maps : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(spile_rt_enter(&context_)); }
  int64_t* insert(const abi::MapShape& shape, int64_t key) {
    return static_cast<int64_t*>(spile_rt_map_insert_long(&context_, map_, &shape, key));
  }
  int64_t* find(const abi::MapShape& shape, int64_t key) {
    return static_cast<int64_t*>(spile_rt_map_find_long(&context_, map_, &shape, key));
  }
  void remove(const abi::MapShape& shape, int64_t key) {
    spile_rt_map_remove(&context_, map_, &shape, reinterpret_cast<char*>(&key), 8);
  }
  std::vector<std::pair<int64_t, int64_t>> walk(const abi::MapShape& shape, uint32_t column = 0, int32_t direction = 0,
                                                int64_t limit = -1, Handle map = nullptr) {
    uint64_t mark = spile_rt_frame_mark(&context_);
    std::vector<std::pair<int64_t, int64_t>> seen;
    Iteration* iteration = spile_rt_iterate(&context_, map ? map : map_, &shape, column, direction, 1, limit);
    EXPECT_NE(iteration, nullptr);
    while (MapElement* element = spile_rt_iterate_next(iteration)) {
      seen.emplace_back(spile_rt_key_get_long(spile_rt_element_key(element, &shape), 0),
                        *static_cast<int64_t*>(spile_rt_element_value(element, &shape)));
    }
    spile_rt_frame_release(&context_, mark);
    return seen;
  }
  TestArena arena_;
  Context context_{};
  Handle map_ = arena_.global();
};

TEST_F(Maps, RandomOperationsAgreeWithAnOrderedMap) {
  auto shape = shape_of(8, 8, 100);
  std::mt19937_64 random(7);
  std::map<int64_t, int64_t> model;
  std::list<int64_t> order;
  for (int i = 0; i < 200000; ++i) {
    int64_t key = static_cast<int64_t>(random() % 150) << (random() % 2 ? 0 : 40);
    switch (random() % 4) {
      case 0:
      case 1: {
        int64_t* value = insert(shape, key);
        if (model.size() == 100 && !model.contains(key)) {
          ASSERT_EQ(value, nullptr);
          break;
        }
        ASSERT_NE(value, nullptr);
        if (!model.contains(key)) order.push_back(key);
        ASSERT_EQ(*value, model[key]);
        *value = model[key] = static_cast<int64_t>(random());
        break;
      }
      case 2: {
        int64_t* value = find(shape, key);
        ASSERT_EQ(value != nullptr, model.contains(key));
        if (value) ASSERT_EQ(*value, model[key]);
        break;
      }
      case 3:
        remove(shape, key);
        if (model.erase(key)) order.remove(key);
        break;
    }
    if (i % 20000 == 19999) spile_rt_map_clear(&context_, map_, &shape), model.clear(), order.clear();
    ASSERT_EQ(spile_rt_map_size(&context_, map_, &shape), static_cast<int64_t>(model.size()));
    if (i % 1000 == 0) {
      auto seen = walk(shape);
      ASSERT_EQ(seen.size(), order.size());
      size_t at = 0;
      for (int64_t expected : order) ASSERT_EQ(seen[at++], std::make_pair(expected, model[expected]));
    }
  }
}

TEST_F(Maps, WrappingEvictsTheOldest) {
  auto shape = shape_of(8, 8, 5, 1, 0, true);
  for (int64_t key = 0; key < 1000; ++key) *insert(shape, key * 3) = key;
  auto seen = walk(shape);
  ASSERT_EQ(seen.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(seen[i].second, static_cast<int64_t>(995 + i));
  EXPECT_EQ(find(shape, 0), nullptr);
}

TEST_F(Maps, FullShardCountsTheLostUpdate) {
  auto shape = shape_of(8, 8, 2);
  map_ = spile_rt_shard(&context_, 64);
  insert(shape, 1), insert(shape, 2);
  EXPECT_EQ(insert(shape, 3), nullptr);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipMapFull], 1u);
  map_ = arena_.global();
  insert(shape, 1), insert(shape, 2);
  EXPECT_EQ(insert(shape, 3), nullptr);
  EXPECT_EQ(context_.slot->skipped[abi::kSkipMapFull], 1u);
}

TEST_F(Maps, MixedKeysAreKeptApart) {
  auto shape = shape_of(8 + 512, 8, 1000, 2, 2);
  std::map<std::pair<int64_t, std::string>, int64_t> model;
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 20, static_cast<char>('a' + random() % 2));
    int64_t number = random() % 2;
    alignas(8) char key[520];
    uint32_t length = spile_rt_key_put_string(key, spile_rt_key_put_long(key, 0, number), text.c_str());
    auto* value = static_cast<int64_t*>(spile_rt_map_insert(&context_, map_, &shape, key, length));
    ASSERT_NE(value, nullptr);
    ASSERT_EQ(*value, (model[{number, text}]));
    *value = ++model[{number, text}];
    EXPECT_EQ(spile_rt_key_get_long(key, 0), number);
    EXPECT_EQ(spile_rt_key_get_string(key, 8), text);
    EXPECT_EQ(spile_rt_key_skip_string(key, 8), length);
  }
  EXPECT_EQ(spile_rt_map_size(&context_, map_, &shape), static_cast<int64_t>(model.size()));
}

TEST_F(Maps, SortsByKeyAndValueStably) {
  auto shape = shape_of(8, 8, 3000);
  std::mt19937 random(5);
  std::vector<std::pair<int64_t, int64_t>> model;
  for (int i = 0; i < 3000; ++i) {
    int64_t key = static_cast<int64_t>(i) * 7919 % 3001 - 1500, value = static_cast<int64_t>(random() % 50) - 25;
    *insert(shape, key) = value;
    model.emplace_back(key, value);
  }
  for (int32_t direction : {1, -1}) {
    for (uint32_t column : {0u, 1u}) {
      auto expected = model;
      std::stable_sort(expected.begin(), expected.end(), [&](auto& a, auto& b) {
        int64_t x = column ? a.first : a.second, y = column ? b.first : b.second;
        return direction > 0 ? x < y : x > y;
      });
      EXPECT_EQ(walk(shape, column, direction), expected);
      for (int64_t limit : {0, 1, 10, 31, 100}) {
        auto first = expected;
        first.resize(static_cast<size_t>(limit));
        auto seen = walk(shape, column, direction, limit);
        EXPECT_EQ(seen, first);
      }
    }
  }
}

TEST_F(Maps, SortsStringsByBytes) {
  auto shape = shape_of(512, 8, 100, 1, 1);
  for (const char* text : {"pear", "apple", "\xc3\xa4pple", "fig", ""}) {
    alignas(8) char key[512];
    uint32_t length = spile_rt_key_put_string(key, 0, text);
    ASSERT_NE(spile_rt_map_insert(&context_, map_, &shape, key, length), nullptr);
  }
  std::string seen;
  Iteration* iteration = spile_rt_iterate(&context_, map_, &shape, 1, 1, 0, -1);
  while (MapElement* element = spile_rt_iterate_next(iteration)) {
    seen += std::string(spile_rt_key_get_string(spile_rt_element_key(element, &shape), 0)) + "|";
  }
  EXPECT_EQ(seen, "|apple|fig|pear|\xc3\xa4pple|");
}

// Texts with their hash before them (abi::KeyTextHead) and packed texts are the same keys.
TEST_F(Maps, ConstantTextsAreTheKeysOfEqualTexts) {
  auto shape = shape_of(32, 8, 3, 1, 1);
  struct Constant {
    abi::KeyTextHead head;
    alignas(8) char text[32] = {};
  };
  auto constant = [](const char* text) {
    Constant made{};
    made.head.length = spile_rt_key_put_string(made.text, 0, text);
    uint64_t hash = 0;
    for (uint32_t at = 0; at < made.head.length; at += 8)
      hash = abi::hash_next(hash, *reinterpret_cast<uint64_t*>(made.text + at));
    made.head.hash = abi::hash_end(hash);
    return made;
  };
  for (const char* text : {"dictFind", "zfree", "a"}) {
    Constant key = constant(text);
    EXPECT_EQ(spile_rt_map_find_text(&context_, map_, &shape, key.text), nullptr);
    void* value = spile_rt_map_insert_text(&context_, map_, &shape, key.text);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(spile_rt_map_insert_text(&context_, map_, &shape, key.text), value);
    EXPECT_EQ(spile_rt_map_find_text(&context_, map_, &shape, key.text), value);
    EXPECT_EQ(spile_rt_map_find(&context_, map_, &shape, key.text, key.head.length), value);
  }
  EXPECT_EQ(spile_rt_map_size(&context_, map_, &shape), 3);
  Constant full = constant("b"), forged = constant("zfree");
  EXPECT_EQ(spile_rt_map_insert_text(&context_, map_, &shape, full.text), nullptr);
  forged.head.length = 4096;
  EXPECT_EQ(spile_rt_map_find_text(&context_, map_, &shape, forged.text), nullptr);
}

TEST_F(Maps, IterationWithoutScratchIsRefused) {
  auto shape = shape_of(8, 8, 20000);
  for (int64_t key = 0; key < 20000; ++key) insert(shape, key);
  EXPECT_EQ(spile_rt_iterate(&context_, map_, &shape, 0, 1, 0, -1), nullptr);
}

TEST_F(Maps, ElementsRemovedDuringIterationAreLeftOut) {
  auto shape = shape_of(8, 8, 10);
  for (int64_t key = 0; key < 5; ++key) insert(shape, key);
  Iteration* iteration = spile_rt_iterate(&context_, map_, &shape, 0, 0, 0, -1);
  int seen = 0;
  while (MapElement* element = spile_rt_iterate_next(iteration)) {
    int64_t key = spile_rt_key_get_long(spile_rt_element_key(element, &shape), 0);
    if (key == 1) remove(shape, 2);
    ++seen;
  }
  EXPECT_EQ(seen, 4);
}

TEST_F(Maps, MergingAddsAndEmptiesTheShard) {
  auto shape = shape_of(8, 8, 200);
  std::map<int64_t, int64_t> model;
  Handle shard = spile_rt_shard(&context_, 0);
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    for (uint32_t i = 0; i < (round % 2 ? 3u : 100u); ++i) {
      int64_t key = static_cast<int64_t>(random() % 200) * 1024;
      ++*static_cast<int64_t*>(spile_rt_map_insert_long(&context_, shard, &shape, key));
      ++model[key];
    }
    ASSERT_EQ(spile_rt_map_merge(&context_, map_, shard, &shape, nullptr), 0u);
    ASSERT_EQ(spile_rt_map_size(&context_, shard, &shape), 0);
    for (int64_t key = 0; key < 200; ++key) {
      ASSERT_EQ(spile_rt_map_find_long(&context_, shard, &shape, key * 1024), nullptr);
    }
  }
  ASSERT_EQ(walk(shape).size(), model.size());
  for (auto [key, value] : model) EXPECT_EQ(*find(shape, key), value);
}

// A thread killed in the middle of an insertion may leave anything.
// What becomes of the elements is not defined: it asserts that merging does not crash, and that the map is as usable afterwards.
TEST_F(Maps, MergingDoesNotCrashOnGarbage) {
  auto shape = shape_of(8, 8, 64);
  std::mt19937 random(13);
  char* shard = static_cast<char*>(spile_rt_shard(&context_, 0));
  uint64_t bytes = abi::map_bytes(8, 8, 64, shape.buckets);
  for (int round = 0; round < 2000; ++round) {
    for (int64_t key = 0; key < 40; ++key) spile_rt_map_insert_long(&context_, shard, &shape, key + round);
    for (int i = 0; i < 20; ++i) shard[random() % bytes] = static_cast<char>(random());
    spile_rt_map_merge(&context_, map_, shard, &shape, nullptr);
    std::memset(shard, 0, bytes);
    spile_rt_map_clear(&context_, map_, &shape);
  }
  for (int64_t key = 0; key < 40; ++key) spile_rt_map_insert_long(&context_, shard, &shape, key);
  EXPECT_EQ(spile_rt_map_merge(&context_, map_, shard, &shape, nullptr), 0u);
  EXPECT_EQ(spile_rt_map_size(&context_, map_, &shape), 40);
}

TEST_F(Maps, MergeCountsUpdatesOfElementsThatDoNotFit) {
  auto shape = shape_of(8, 8, 4);
  Handle shard = spile_rt_shard(&context_, 0);
  for (int64_t key = 0; key < 4; ++key) insert(shape, key);
  for (int64_t key = 2; key < 6; ++key)
    *static_cast<int64_t*>(spile_rt_map_insert_long(&context_, shard, &shape, key)) = 10 * key;
  EXPECT_EQ(spile_rt_map_merge(&context_, map_, shard, &shape, nullptr), 40u + 50u);
  EXPECT_EQ(spile_rt_map_size(&context_, map_, &shape), 4);
}

TEST_F(Maps, MergeCountsUpdatesOfSums) {
  auto shape = shape_of(8, abi::kCountedLong, 4);
  Handle shard = spile_rt_shard(&context_, 0);
  for (int64_t key = 0; key < 4; ++key) insert(shape, key);
  for (int64_t key = 2; key < 6; ++key) {
    auto* sum = static_cast<int64_t*>(spile_rt_map_insert_long(&context_, shard, &shape, key));
    sum[0] = 1000 * key;
    sum[1] = key;
  }
  EXPECT_EQ(spile_rt_map_merge(&context_, map_, shard, &shape, nullptr), 4u + 5u);
  EXPECT_EQ(find(shape, 3)[0], 3000);
  EXPECT_EQ(find(shape, 3)[1], 3);
}

}  // namespace
}  // namespace spile::rt
