// foreach: a snapshot of a map's elements, in order of insertion or sorted, in the handler's scratch memory. The caller
// releases it by its mark.
//
// Sorting is a stable bottom-up merge of element numbers: no recursion, n log n at worst, and equal elements keep the
// order of insertion. Keys to compare are looked up in the elements each time; they are not copied.

#include "runtime/core/map.h"
#include "runtime/sort_statistic.h"

namespace spile::rt {

struct Iteration {
  Handle map;
  const MapShape* shape;
  uint32_t position, count;
  uint32_t* numbers;
};

namespace {

struct Order {
  Handle map;
  const MapShape* shape;
  uint32_t column;
  uint32_t statistic;
  bool by_string;
  bool descending;
};

const char* column_of(const Order& order, MapElement* element) {
  if (order.column == 0) return static_cast<const char*>(element_value(element, order.shape));
  const char* key = element_key(element);
  uint32_t at = 0;
  for (uint32_t n = 0; n + 1 < order.column; ++n) {
    at = order.shape->string_keys >> n & 1 ? spile_rt_key_skip_string(key, at) : at + 8;
  }
  return key + at;
}

int64_t number_in(const Order& order, const char* at) {
  if (order.column == 0 && order.shape->aggregate) {
    const auto* aggregate = reinterpret_cast<const abi::Aggregate*>(at);
    return sort_statistic(aggregate, static_cast<int64_t>(load_relaxed(&aggregate->count)), order.statistic);
  }
  return *reinterpret_cast<const int64_t*>(at);
}

// Whether `b` has to come before `a`, which was inserted earlier.
bool out_of_order(const Order& order, uint32_t a, uint32_t b) {
  const char* x = column_of(order, map_element(order.map, order.shape, a));
  const char* y = column_of(order, map_element(order.map, order.shape, b));
  if (order.by_string) {
    int32_t compared = spile_rt_string_compare(x, y);
    return order.descending ? compared < 0 : compared > 0;
  }
  int64_t left = number_in(order, x), right = number_in(order, y);
  return order.descending ? left < right : left > right;
}

// Sorted numbers are in the array returned: `numbers` or `spare`.
uint32_t* merge_sort(const Order& order, uint32_t* numbers, uint32_t* spare, uint32_t count) {
  for (uint64_t width = 1; width < count; width *= 2) {
    for (uint64_t begin = 0; begin < count; begin += 2 * width) {
      uint64_t middle = begin + width < count ? begin + width : count;
      uint64_t end = begin + 2 * width < count ? begin + 2 * width : count;
      uint64_t left = begin, right = middle;
      for (uint64_t at = begin; at < end; ++at) {
        bool from_right = left >= middle || (right < end && out_of_order(order, numbers[left], numbers[right]));
        spare[at] = numbers[from_right ? right++ : left++];
      }
    }
    uint32_t* sorted = spare;
    spare = numbers;
    numbers = sorted;
  }
  return numbers;
}

// Few of many: keeps the best `limit` seen so far in order, by insertion from the back.
void select_first(const Order& order, uint32_t* numbers, uint32_t count, uint32_t limit) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t number = numbers[i];
    if (kept == limit && !out_of_order(order, numbers[kept - 1], number)) continue;
    uint32_t at = kept < limit ? kept++ : kept - 1;
    for (; at > 0 && out_of_order(order, numbers[at - 1], number); --at) numbers[at] = numbers[at - 1];
    numbers[at] = number;
  }
}

inline constexpr uint32_t kFew = 32;  // up to here a limit is met by selection

[[gnu::noinline]] Iteration* make_iteration(Order order, char* memory, uint32_t capacity, int32_t direction, int64_t limit) {
  MapHeader* header = map_header(order.map);
  Iteration* iteration = reinterpret_cast<Iteration*>(memory);
  uint32_t* numbers = reinterpret_cast<uint32_t*>(iteration + 1);
  uint32_t count = 0;
  for (uint32_t number = load_relaxed(&header->first); number && count < capacity;) {
    numbers[count++] = number;
    number = load_relaxed(&map_element(order.map, order.shape, number)->next);
  }
  iteration->map = order.map;
  iteration->shape = order.shape;
  iteration->position = 0;
  iteration->count = count;
  if (direction != 0 && count > 1) {
    if (limit >= 0 && limit < kFew && limit < count) {
      if (limit > 0) select_first(order, numbers, count, static_cast<uint32_t>(limit));
    } else {
      numbers = merge_sort(order, numbers, numbers + capacity, count);
    }
  }
  if (limit >= 0 && limit < count) iteration->count = static_cast<uint32_t>(limit);
  iteration->numbers = numbers;
  return iteration;
}

}  // namespace

extern "C" {

SPILE_INLINE Iteration* spile_rt_iterate(Context* context, Handle map, const MapShape* shape, uint32_t column, int32_t direction,
                                         uint32_t statistic, int64_t limit) {
  uint32_t count = load_relaxed(&map_header(map)->count);
  if (count > shape->capacity) count = shape->capacity;
  uint64_t numbers = static_cast<uint64_t>(count) * (direction ? 2 : 1) * sizeof(uint32_t);
  uint64_t bytes = sizeof(Iteration) + numbers;
  if (bytes > spile_rt_scratch_size) return nullptr;
  char* memory = static_cast<char*>(spile_rt_frame(context, static_cast<uint32_t>(bytes)));
  if (!memory) return nullptr;
  // A value is an aggregate, a long (of at most kCountedLong bytes), or else a string.
  bool by_string =
      column ? (shape->string_keys >> (column - 1) & 1) != 0 : !shape->aggregate && shape->value_size > abi::kCountedLong;
  Order order = {map, shape, column, statistic, by_string, direction < 0};
  return make_iteration(order, memory, count, direction, limit);
}

MapElement* spile_rt_iterate_next(Iteration* iteration) {
  while (iteration->position < iteration->count) {
    MapElement* element = map_element(iteration->map, iteration->shape, iteration->numbers[iteration->position++]);
    if (element->length) return element;  // else removed since the snapshot
  }
  return nullptr;
}

SPILE_INLINE const char* spile_rt_element_key(MapElement* element, const MapShape*) { return element_key(element); }
SPILE_INLINE void* spile_rt_element_value(MapElement* element, const MapShape* shape) { return element_value(element, shape); }

}  // extern "C"

}  // namespace spile::rt
