#pragma once
// Writes plans of values (abi/value_plan.h): computations, routines, and at the end the plan as a whole. Knows nothing of types.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/value_plan.h"

namespace spile::probes {

// A computation over the value at hand. Each function appends a step and returns the computation, so that they can be chained:
// Source().base(8).load() is the word at offset 8.
class Source {
 public:
  static Source constant(int64_t value) { return std::move(Source().push(value)); }
  Source& push(int64_t value);
  Source& base(uint64_t offset = 0);  // the address of the value, plus `offset`
  Source& load(uint8_t size = 8, bool is_signed = false);
  Source& plus(int64_t value);
  Source& times(int64_t value);
  Source& divide(uint64_t value);
  Source& bits(uint32_t first, uint32_t count);  // of the number so far
  Source& minus(const Source& other);
  Source& add(const Source& other);
  Source& multiply(const Source& other);
  std::string bytes() const { return bytes_ + static_cast<char>(abi::ValueSource::kEnd); }

 private:
  Source& step(abi::ValueSource op);
  std::string bytes_;
};

// The steps of one routine. Routines and tables are named by their index in the plan.
class Routine {
 public:
  // control characters and bytes beyond ASCII become escapes: names come from other people's files
  void text(std::string_view text);
  void number(uint64_t offset, uint8_t size, abi::ValueForm form);
  void bits(uint64_t offset, uint8_t size, uint8_t first, uint8_t count, abi::ValueForm form);
  void enumerator(uint64_t offset, uint8_t size, uint8_t first, uint8_t count, bool is_signed, size_t table);
  void floating(uint64_t offset, uint8_t kind);
  void characters(uint64_t offset, uint64_t count, uint8_t unit);
  void c_string(const Source& at, uint8_t unit);
  void span(const Source& at, const Source& length, uint8_t unit);
  void computed(const Source& value, abi::ValueForm form);
  void call(uint64_t offset, size_t routine);
  void inlined(uint64_t offset, size_t routine);
  void follow(const Source& at, size_t routine);
  // cases: values, each with the routine for it.
  void choose(const Source& value, const std::vector<std::pair<int64_t, size_t>>& cases, size_t otherwise);
  void elements(std::string_view brackets, const Source& first, const Source& count, uint64_t stride, size_t routine);
  void elements(std::string_view brackets, const Source& first, const Source& count, const Source& stride, size_t routine);
  void list(std::string_view brackets, const Source& first, const Source& end, const Source& count, int64_t next,
            uint64_t element, size_t routine);
  struct TreeShape {
    uint64_t left, right, parent, element;  // offsets in a node
  };
  void tree(std::string_view brackets, const Source& first, const Source& count, const TreeShape& shape, size_t routine);
  void blocks(std::string_view brackets, const Source& array, const Source& first, const Source& count, uint64_t of_block,
              uint64_t stride, size_t routine);
  void bit_vector(std::string_view brackets, const Source& words, const Source& first, const Source& count);
  void ring(std::string_view brackets, const Source& array, const Source& first, const Source& length, const Source& count,
            uint64_t stride, size_t routine);
  void hash_table(std::string_view brackets, const Source& control, const Source& mask, const Source& count, uint64_t stride,
                  size_t routine);
  struct BTreeNode {
    uint64_t keys, values, count, place, parent, children, key_size, value_size;  // offsets and sizes in bytes
  };
  // value: nothing of a set.
  void b_tree(std::string_view brackets, const Source& root, const Source& height, const Source& count, const BTreeNode& node,
              size_t key, std::optional<size_t> value);
  struct GoBucket {
    uint64_t keys, values, overflow, key_size, value_size;  // offsets and sizes in bytes
  };
  void go_map(std::string_view brackets, const Source& power, const Source& buckets, const Source& old, const GoBucket& bucket,
              size_t key, size_t value);
  void go_interface(uint64_t types, const Source& type, const Source& data);
  void instant(uint64_t offset, uint64_t ticks);
  void code(abi::ValueCode kind, const Source& first, const Source& second);

  size_t size() const { return bytes_.size() + text_.size(); }
  bool names_code() const { return names_code_; }

 private:
  friend class PlanWriter;
  void step(abi::ValueStep op);
  void container(abi::ValueStep op, std::string_view brackets, std::initializer_list<const Source*> sources);
  void put(uint64_t number);
  void put_signed(int64_t number);
  void put_byte(uint8_t byte) { bytes_ += static_cast<char>(byte); }
  void target(size_t routine);
  void flush();

  std::string text_;  // not yet a step
  std::string bytes_;
  std::vector<std::pair<size_t, size_t>> targets_;  // where in bytes_ the offset of which routine belongs
  std::vector<std::pair<size_t, size_t>> tables_;
  bool names_code_ = false;
};

class PlanWriter {
 public:
  // Reserve the index of a routine, and give it its steps. Routine 0 is the first that is reserved, which prints the whole value.
  size_t reserve() { return routines_.emplace_back(), routines_.size() - 1; }
  void set(size_t index, Routine routine);
  // Adds the table of an enumeration's constants; returns its index.
  size_t add_table(abi::ValueTable kind, const std::vector<std::pair<std::string, int64_t>>& constants);
  size_t size() const { return size_; }
  bool names_code() const { return names_code_; }
  // Returns the plan without its header.
  std::string finish();

 private:
  std::vector<Routine> routines_;
  std::vector<std::string> tables_;
  size_t size_ = 0;
  bool names_code_ = false;
};

}  // namespace spile::probes
