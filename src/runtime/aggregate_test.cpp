#include "abi/aggregate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "abi/map_layout.h"
#include "runtime/test_arena.h"

namespace spile::rt {
namespace {

struct Storage {
  abi::Aggregate aggregate{};
  uint64_t buckets[abi::kMaxLinearBuckets + 2 + abi::kSketchBuckets] = {};
};

abi::AggregateShape shape_of(uint32_t features, int64_t low = 0, int64_t high = 0, int64_t width = 1) {
  abi::AggregateShape shape{features, 0, low, high, width, 0, sizeof(abi::Aggregate)};
  if (features & abi::kAggregateLog) shape.size += 8 * abi::kLogBuckets;
  if (features & abi::kAggregateLinear) {
    shape.linear_buckets = abi::linear_buckets(low, high, width);
    shape.size += 8 * (shape.linear_buckets + 2);
  }
  if (features & abi::kAggregateSketch) shape.size += abi::kSketchBytes;
  return shape;
}
constexpr uint32_t kPlain = abi::kAggregateCount | abi::kAggregateSum | abi::kAggregateMin | abi::kAggregateMax;

// In numbers of 128 bits, of differences from the first value. REQUIRES: differences of at most 40 bits, few values.
int64_t exact_variance(const std::vector<int64_t>& values) {
  __int128 sum = 0, squares = 0, count = static_cast<__int128>(values.size());
  for (int64_t value : values) {
    const __int128 delta = static_cast<__int128>(value) - values[0];
    sum += delta, squares += delta * delta;
  }
  const __int128 variance = (count * squares - sum * sum) / (count * (count - 1));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return variance > kMost ? kMost : static_cast<int64_t>(variance);
}

TEST(Aggregates, AgreeWithNaiveStatistics) {
  TestArena arena;
  auto shape = shape_of(kPlain | abi::kAggregateVariance);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Storage s;
    std::vector<int64_t> values(2 + random() % 200);
    for (int64_t& value : values) {
      value = static_cast<int64_t>(random() % 20000) - 10000;
      spile_rt_aggregate_add(&s.aggregate, &shape, value);
    }
    int64_t sum = 0;
    for (int64_t value : values) sum += value;
    EXPECT_EQ(s.aggregate.count, values.size());
    EXPECT_EQ(s.aggregate.sum, sum);
    EXPECT_EQ(s.aggregate.min, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(s.aggregate.max, *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(spile_rt_aggregate_variance(&s.aggregate, &shape), exact_variance(values));
  }
}

// Small numbers, negative ones, times since 1970 in nanoseconds, addresses, and numbers whose squares need more than 64 bits.
TEST(Aggregates, VarianceIsExact) {
  TestArena arena;
  auto shape = shape_of(kPlain | abi::kAggregateVariance);
  auto variance = [&](const std::vector<int64_t>& values) {
    Storage s;
    for (int64_t value : values) spile_rt_aggregate_add(&s.aggregate, &shape, value);
    return spile_rt_aggregate_variance(&s.aggregate, &shape);
  };
  EXPECT_EQ(variance({5}), 0);
  EXPECT_EQ(variance({1, 2}), 0);
  EXPECT_EQ(variance({1, 3}), 2);
  EXPECT_EQ(variance({2, 4, 4, 4, 5, 5, 7, 9}), 4);
  EXPECT_EQ(variance({-3, -3, -3}), 0);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(variance({kMost, kMost, kMost}), 0);
  EXPECT_EQ(variance({kLeast, kLeast, kLeast + 3}), 3);
  EXPECT_EQ(variance({kLeast, kMost}), kMost) << "as large as a number can be";
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto base = static_cast<int64_t>(random()) >> random() % 64;
    const auto width = random() % 40;
    std::vector<int64_t> values(2 + random() % 50);
    for (int64_t& value : values) {
      value = static_cast<int64_t>(static_cast<uint64_t>(base) + (random() & ((uint64_t{1} << width) - 1)));
      if (base > 0 && value < 0) value = base;
    }
    ASSERT_EQ(variance(values), exact_variance(values)) << base << " + " << width << " bits";
  }
}

TEST(Sketch, MiddlesOfBucketsAreWithinOnePercent) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    int64_t value = static_cast<int64_t>(random()) >> random() % 64;
    if (i < 600) value = i - 300;
    uint32_t bucket = abi::sketch_bucket(value);
    ASSERT_LT(bucket, abi::kSketchBuckets);
    int64_t middle = abi::sketch_value(bucket);
    ASSERT_EQ(abi::sketch_bucket(middle), bucket) << value;
    ASSERT_LE(std::abs(static_cast<double>(middle) - static_cast<double>(value)), std::abs(static_cast<double>(value)) / 128)
        << value;
  }
  EXPECT_EQ(abi::sketch_bucket(std::numeric_limits<int64_t>::min()), 0u);
  EXPECT_EQ(abi::sketch_bucket(std::numeric_limits<int64_t>::max()), abi::kSketchBuckets - 1);
  EXPECT_EQ(abi::sketch_bucket(0), abi::kSketchZero);
  EXPECT_EQ(abi::sketch_place(abi::sketch_bucket(5)), 5u);
  std::set<uint32_t> places;
  for (uint32_t bucket = 0; bucket < abi::kSketchBuckets; ++bucket) places.insert(abi::sketch_place(bucket));
  EXPECT_EQ(places.size(), abi::kSketchBuckets);
  EXPECT_EQ(*places.rbegin(), abi::kSketchBuckets - 1);
}

constexpr uint32_t kSketched = abi::kAggregateCount | abi::kAggregateMin | abi::kAggregateMax | abi::kAggregateSketch;

// Values as the script's author has them: of one sign, of both, and a few only.
TEST(Sketch, PercentilesAreThoseOfTheNearestRank) {
  TestArena arena;
  std::mt19937_64 random(2);
  for (uint32_t features : {kSketched, kSketched | abi::kAggregateLog}) {
    auto shape = shape_of(features);
    auto whole = std::make_unique<Storage>(), shard = std::make_unique<Storage>();
    for (int round = 0; round < 60; ++round) {
      std::vector<int64_t> values(1 + random() % (round < 30 ? 5 : 3000));
      const int64_t base = round % 3 == 0 ? 0 : static_cast<int64_t>(random() % 2000000) - 1000000;
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = base + static_cast<int64_t>(random() >> (20 + random() % 44));
        spile_rt_aggregate_add(i % 3 ? &whole->aggregate : &shard->aggregate, &shape, values[i]);
      }
      spile_rt_aggregate_merge(&whole->aggregate, &shard->aggregate, &shape);
      std::sort(values.begin(), values.end());
      for (auto [percent, scale] :
           {std::pair{0, 1}, {1, 1}, {25, 1}, {50, 1}, {90, 1}, {99, 1}, {999, 10}, {99999, 1000}, {100, 1}}) {
        auto rank = static_cast<size_t>(std::ceil(static_cast<double>(values.size()) * percent / (100.0 * scale) - 1e-9));
        auto exact = static_cast<double>(values[std::max<size_t>(rank, 1) - 1]);
        auto answer = static_cast<double>(spile_rt_aggregate_percentile(&whole->aggregate, &shape, percent, scale));
        ASSERT_LE(std::abs(answer - exact), std::abs(exact) / 128)
            << percent << "/" << scale << " of " << values.size() << " values";
      }
      EXPECT_EQ(spile_rt_aggregate_percentile(&whole->aggregate, &shape, 0, 1), values.front());
      EXPECT_EQ(spile_rt_aggregate_percentile(&whole->aggregate, &shape, 100, 1), values.back());
      spile_rt_aggregate_clear(&whole->aggregate, &shape);
      for (const Storage* s : {whole.get(), shard.get()})
        ASSERT_TRUE(std::all_of(std::begin(s->buckets), std::end(s->buckets), [](uint64_t count) { return count == 0; }))
            << "a merged or cleared one is empty";
    }
  }
}

TEST(Aggregates, OnlyWhatIsAskedIsKept) {
  TestArena arena;
  auto shape = shape_of(abi::kAggregateCount);
  Storage s;
  EXPECT_EQ(spile_rt_aggregate_get(nullptr, &s), nullptr);
  spile_rt_aggregate_add(&s.aggregate, &shape, 99);
  EXPECT_EQ(spile_rt_aggregate_get(nullptr, &s), &s.aggregate);
  EXPECT_EQ(s.aggregate.sum, 0);
  EXPECT_EQ(s.aggregate.max, 0);
}

TEST(Aggregates, LogBucketsArePowersOfTwo) {
  TestArena arena;
  auto shape = shape_of(abi::kAggregateCount | abi::kAggregateLog);
  auto bucket = [&](int64_t value) {
    Storage s;
    spile_rt_aggregate_add(&s.aggregate, &shape, value);
    return static_cast<int>(std::find(s.buckets, s.buckets + abi::kLogBuckets, 1u) - s.buckets) - 64;
  };
  EXPECT_EQ(bucket(0), 0);
  EXPECT_EQ(bucket(1), 1);
  EXPECT_EQ(bucket(-1), -1);
  for (int n = 1; n < 62; ++n) {
    EXPECT_EQ(bucket(int64_t{1} << n), n + 1);
    EXPECT_EQ(bucket((int64_t{1} << (n + 1)) - 1), n + 1);
    EXPECT_EQ(bucket(-(int64_t{1} << n)), -(n + 1));
  }
  EXPECT_EQ(bucket(std::numeric_limits<int64_t>::max()), 63);
  EXPECT_EQ(bucket(std::numeric_limits<int64_t>::min()), -64);
}

TEST(Aggregates, LinearBucketsHaveUnderflowAndOverflow) {
  TestArena arena;
  auto shape = shape_of(abi::kAggregateCount | abi::kAggregateLinear, -10, 50, 7);
  auto bucket = [&](int64_t value) {
    Storage s;
    spile_rt_aggregate_add(&s.aggregate, &shape, value);
    return std::find(s.buckets, std::end(s.buckets), 1u) - s.buckets;
  };
  EXPECT_EQ(bucket(-11), 0);
  EXPECT_EQ(bucket(std::numeric_limits<int64_t>::min()), 0);
  EXPECT_EQ(bucket(-10), 1);
  EXPECT_EQ(bucket(-4), 1);
  EXPECT_EQ(bucket(-3), 2);
  EXPECT_EQ(bucket(50), 1 + 60 / 7);
  EXPECT_EQ(bucket(52), 1 + 60 / 7);  // the last bucket is a whole one
  EXPECT_EQ(bucket(53), shape.linear_buckets + 1);
  EXPECT_EQ(bucket(std::numeric_limits<int64_t>::max()), shape.linear_buckets + 1);
}

TEST(Aggregates, MergedShardsEqualOne) {
  TestArena arena;
  for (uint32_t extra : {uint32_t{abi::kAggregateLog}, uint32_t{abi::kAggregateLinear}}) {
    auto shape = shape_of(kPlain | abi::kAggregateVariance | extra, 0, 1000, 10);
    std::mt19937 random(2);
    Storage whole, merged, shards[4];
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 500; ++i) {
        int64_t value = static_cast<int64_t>(random() % 1200) - 100;
        spile_rt_aggregate_add(&whole.aggregate, &shape, value);
        spile_rt_aggregate_add(&shards[random() % 4].aggregate, &shape, value);
      }
      for (Storage& shard : shards) {
        spile_rt_aggregate_merge(&merged.aggregate, &shard.aggregate, &shape);
        EXPECT_EQ(shard.aggregate.count, 0u);
      }
    }
    EXPECT_EQ(merged.aggregate.count, whole.aggregate.count);
    EXPECT_EQ(merged.aggregate.sum, whole.aggregate.sum);
    EXPECT_EQ(merged.aggregate.min, whole.aggregate.min);
    EXPECT_EQ(merged.aggregate.max, whole.aggregate.max);
    EXPECT_TRUE(std::equal(std::begin(merged.buckets), std::end(merged.buckets), whole.buckets));
    EXPECT_EQ(spile_rt_aggregate_variance(&merged.aggregate, &shape), spile_rt_aggregate_variance(&whole.aggregate, &shape));
  }
}

TEST(Aggregates, InMapsAreMergedAndSortedByStatistic) {
  TestArena arena;
  auto aggregate = shape_of(kPlain | abi::kAggregateLog);
  abi::MapShape shape{8, aggregate.size, 50, 0, 1, 0, abi::map_buckets(50), aggregate.features};
  Context context{};
  ASSERT_TRUE(spile_rt_enter(&context));
  Handle shard = spile_rt_epoch_shard(&context, 0), map = arena.global();
  for (int64_t key = 0; key < 10; ++key) {
    for (int64_t n = 0; n <= key; ++n) {
      auto* value = static_cast<abi::Aggregate*>(spile_rt_map_insert_long(&context, shard, &shape, key));
      spile_rt_aggregate_add(value, &aggregate, 100 - 10 * key);
    }
  }
  ASSERT_EQ(spile_rt_map_merge(&context, map, shard, &shape, &aggregate), 0u);
  auto order = [&](uint32_t statistic, int32_t direction) {
    std::vector<int64_t> keys;
    Iteration* iteration = spile_rt_iterate(&context, map, &shape, 0, direction, statistic, -1);
    while (MapElement* element = spile_rt_iterate_next(iteration)) {
      keys.push_back(spile_rt_key_get_long(spile_rt_element_key(element, &shape), 0));
    }
    return keys;
  };
  EXPECT_EQ(order(0, 1).front(), 0);  // @count
  EXPECT_EQ(order(0, -1).front(), 9);
  EXPECT_EQ(order(3, -1).front(), 0);  // @max
  EXPECT_EQ(order(4, 1).front(), 9);   // @avg
  EXPECT_EQ(order(1, -1).front(), 4);  // @sum: 5 * 60, before 6 * 50
  spile_rt_leave(&context);
}

}  // namespace
}  // namespace spile::rt
