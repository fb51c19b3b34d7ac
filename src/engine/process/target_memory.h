#pragma once
// Memory of a traced process through /proc/PID/mem, which writes read-only text too (by copy-on-write, for this
// process alone) without making it writable.

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::engine {

class TargetMemory {
 public:
  TargetMemory() = default;
  static Result<TargetMemory> open(pid_t pid);

  bool is_open() const { return static_cast<bool>(fd_); }

  // True if no process has this memory any more: it has ended, or has executed another program.
  bool has_gone() const;

  // Reads or writes all bytes, or fails. A failed write may have written some of them.
  Result<void> read(Address from, std::span<uint8_t> into) const;
  Result<void> write(Address to, std::span<const uint8_t> bytes) const;
  // Reads as many bytes as can be read from the start. Returns how many.
  size_t read_some(Address from, std::span<uint8_t> into) const;

  template <typename T>
  Result<T> read_value(Address from) const {
    T value;
    TRY_DO(read(from, {reinterpret_cast<uint8_t*>(&value), sizeof value}));
    return value;
  }
  template <typename T>
  Result<void> write_value(Address to, const T& value) const {
    return write(to, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
  }

 private:
  UniqueFd fd_;
  pid_t pid_ = 0;
};

}  // namespace spile::engine
