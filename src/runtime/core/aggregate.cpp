// Statistics values (abi/aggregate.h). Adding to one is aggregate_update.h's.

#include "runtime/aggregate_update.h"
#include "runtime/core/core.h"
#include "runtime/histogram.h"

namespace spile::rt {

namespace {

using abi::Aggregate;
using abi::AggregateShape;

// Only buckets that can have a count are touched: the others' memory may not be there yet.
[[gnu::noinline]] void merge_sketch(uint64_t* to, uint64_t* from, const Aggregate* shard) {
  for (uint32_t bucket = abi::sketch_bucket(load_relaxed(&shard->min)), last = abi::sketch_bucket(load_relaxed(&shard->max));
       bucket <= last; ++bucket) {
    const uint32_t place = abi::sketch_place(bucket);
    uint64_t count = load_relaxed(&from[place]);
    if (!count) continue;
    to[place] += count;
    from[place] = 0;
  }
}

// Both of one sign.
inline void zero_buckets(uint64_t* sketch, uint32_t first, uint32_t last) {
  if (first <= last) zero_bytes(sketch + abi::sketch_place(first), 8ull * (last - first + 1));
}

}  // namespace

[[gnu::noinline]] void clear_aggregate(Aggregate* aggregate, uint32_t features, uint32_t size) {
  if (features & abi::kAggregateSketch) {
    if (aggregate->count) {
      uint32_t first = abi::sketch_bucket(load_relaxed(&aggregate->min)),
               last = abi::sketch_bucket(load_relaxed(&aggregate->max));
      zero_buckets(sketch_of(aggregate, size), first, last < abi::kSketchZero ? last : abi::kSketchZero - 1);
      zero_buckets(sketch_of(aggregate, size), first < abi::kSketchZero ? abi::kSketchZero : first, last);
    }
    size -= abi::kSketchBytes;
  }
  zero_bytes(aggregate, size);
}

extern "C" {

SPILE_INLINE Aggregate* spile_rt_aggregate_get(Context*, Handle handle) {
  Aggregate* aggregate = static_cast<Aggregate*>(handle);
  return aggregate->count ? aggregate : nullptr;
}

SPILE_INLINE void spile_rt_aggregate_add(Aggregate* aggregate, const AggregateShape* shape, int64_t value) {
  uint32_t features = shape->features;
  update_scalars(aggregate, shape, value);
  if (features & abi::kAggregateLog) ++buckets_of(aggregate)[log_bucket(value)];
  if (features & abi::kAggregateLinear) ++buckets_of(aggregate)[linear_bucket(shape, value)];
  if (features & abi::kAggregateSketch) ++sketch_of(aggregate, shape->size)[abi::sketch_place(abi::sketch_bucket(value))];
}

void spile_rt_aggregate_clear(Aggregate* aggregate, const AggregateShape* shape) {
  clear_aggregate(aggregate, shape->features, shape->size);
}

int64_t spile_rt_aggregate_variance(const Aggregate* aggregate, const AggregateShape*) {
  return variance_of(aggregate, load_relaxed(&aggregate->count));
}

// The nearest rank: the least value that at least so many percent of the values do not exceed.
[[gnu::noinline]] int64_t spile_rt_aggregate_percentile(const Aggregate* aggregate, const AggregateShape* shape, int64_t percent,
                                                        int64_t scale) {
  const uint64_t count = load_relaxed(&aggregate->count), whole = static_cast<uint64_t>(scale) * 100,
                 part = static_cast<uint64_t>(percent);
  const int64_t least = load_relaxed(&aggregate->min), most = load_relaxed(&aggregate->max);
  if (!whole) return least;
  const uint64_t rank = count / whole * part + (count % whole * part + whole - 1) / whole;
  if (rank <= 1) return least;
  if (rank >= count) return most;
  const uint64_t* sketch = sketch_of(const_cast<Aggregate*>(aggregate), shape->size);
  uint64_t seen = 0;
  for (uint32_t bucket = abi::sketch_bucket(least), last = abi::sketch_bucket(most); bucket <= last; ++bucket) {
    seen += load_relaxed(&sketch[abi::sketch_place(bucket)]);
    if (seen < rank) continue;
    const int64_t value = abi::sketch_value(bucket);
    return value < least ? least : value > most ? most : value;
  }
  return most;
}

[[gnu::noinline]] void spile_rt_aggregate_merge(Aggregate* to, Aggregate* shard, const AggregateShape* shape) {
  if (!shard->count) return;
  const uint32_t size = shape->features & abi::kAggregateSketch ? shape->size - abi::kSketchBytes : shape->size;
  if (shape->features & abi::kAggregateSketch) merge_sketch(sketch_of(to, shape->size), sketch_of(shard, shape->size), shard);
  if (!to->count) {
    copy_bytes(to, shard, size);
  } else {
    const Wide squares = add_wide({to->squares_low, to->squares_high}, {shard->squares_low, shard->squares_high});
    to->squares_low = squares.low;
    to->squares_high = squares.high;
    to->count += shard->count;
    to->sum = static_cast<int64_t>(static_cast<uint64_t>(to->sum) + static_cast<uint64_t>(shard->sum));
    if (shard->min < to->min) to->min = shard->min;
    if (shard->max > to->max) to->max = shard->max;
    uint64_t count = (size - sizeof(Aggregate)) / sizeof(uint64_t);
    for (uint64_t i = 0; i < count; ++i) buckets_of(to)[i] += buckets_of(shard)[i];
  }
  zero_bytes(shard, size);
}

[[gnu::noinline]] uint32_t spile_rt_histogram_text(char* out, const uint64_t* buckets, uint32_t count, bool is_log, int64_t low,
                                                   int64_t width, int32_t elision) {
  struct Writer {
    char* out;
    uint32_t at;
    void put(char c) {
      if (at + 1 < spile_rt_string_size) out[at++] = c;
      compiler_barrier();
    }
  } writer{out, 0};
  HistogramShape shape{is_log, low, width, elision};
  HistogramWriter<Writer>(shape, buckets, count, writer).write();
  return writer.at;
}

}  // extern "C"

}  // namespace spile::rt
