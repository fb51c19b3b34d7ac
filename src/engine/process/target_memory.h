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

// An open descriptor of one address space. Keeps to it: after an execve of the process it does not see the new one. Any thread
// may use it.
class TargetMemory {
 public:
  TargetMemory() = default;  // not open: reads and writes fail
  // Opens the memory that the process has now. Needs the rights of ptrace(2), but not to trace it.
  static Result<TargetMemory> open(pid_t pid);

  bool is_open() const { return static_cast<bool>(fd_); }

  // True if no process has this memory any more: it has ended, or has executed another program. False if it is not open.
  bool has_gone() const;

  // Read or write all bytes at a run-time address, or fail with errno's message. A failed read leaves `into` undefined; a failed
  // write may have written some of the bytes.
  Result<void> read(Address from, std::span<uint8_t> into) const;
  Result<void> write(Address to, std::span<const uint8_t> bytes) const;
  // Reads as many bytes as can be read from the start, up to the first page that can't be. Returns how many.
  size_t read_some(Address from, std::span<uint8_t> into) const;

  // Read or write the bytes of a trivially copyable T.
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
