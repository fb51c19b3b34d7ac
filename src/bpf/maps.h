#pragma once
// The maps of a loaded object: those that the script asked for, and one array for each data section of the object
// (read-only ones frozen, writable ones also mapped into this process).

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/kernel.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf/bpf.h"
#include "bpf/object.h"

namespace spile::bpf {

class Map {
 public:
  // Creates the map in the kernel. Errors: no privilege, no memory.
  static Result<Map> create(const MapSpec& spec);

  // Returns the spec as used: arrays have keys of 4 bytes.
  const MapSpec& spec() const { return spec_; }
  int fd() const { return fd_.get(); }

  // These, and those below without a comment, do what the functions of those names in Kernel do (bpf/bpf.h).
  Result<void> raw_elements(const RawVisitor& visit) const;
  Result<void> elements(const ElementVisitor& visit) const;
  // Removes the elements of an epoch's shards, then visits them, merged by key. epoch: 0 or 1. If removing fails, none is
  // visited. REQUIRES: the map is sharded, and no handler writes to that epoch.
  Result<void> take(uint32_t epoch, const ElementVisitor& visit);
  // only_new: an element that is there keeps its value.
  Result<void> put(std::span<const uint8_t> key, std::span<const uint8_t> value, bool only_new = false);
  Result<void> erase(std::span<const uint8_t> key);
  Result<void> clear();

 private:
  Map(const MapSpec& spec, int fd) : spec_(spec), fd_(fd) {}
  bool is_hash() const;
  bool is_per_cpu() const;
  bool one_element() const;
  uint32_t shards() const { return spec_.sharded ? abi::kKernelShards : 1; }
  uint32_t shard_of(std::span<const uint8_t> kernel_key) const;
  int remove(const std::vector<uint8_t>& kernel_key);  // 0 or a negative errno
  size_t value_bytes() const;                          // of all CPUs together, as the kernel gives and takes them
  uint32_t cpu_stride() const { return (spec_.value_size + 7) & ~7u; }
  // Returns the key in the kernel's form, for one shard.
  std::vector<uint8_t> kernel_key(std::span<const uint8_t> key, uint32_t shard) const;
  Error failure(const char* what, int errnum) const;

  MapSpec spec_;
  UniqueFd fd_;
};

// One data section of the object, as an array of one element.
class DataSection {
 public:
  // bytes: the array's content, in place of Section::bytes. Errors: no privilege, no memory.
  static Result<DataSection> create(const Section& section, std::vector<uint8_t> bytes);
  DataSection(DataSection&& other) noexcept;
  DataSection& operator=(DataSection&&) = delete;
  ~DataSection();

  int fd() const { return fd_.get(); }
  std::span<uint8_t> memory() { return {memory_, size_}; }  // empty for read-only sections

 private:
  DataSection() = default;
  UniqueFd fd_;
  uint8_t* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace spile::bpf
