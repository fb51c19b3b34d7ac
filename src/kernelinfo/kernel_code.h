#pragma once
// The running kernel's own code, as /proc/kcore shows it: with what the kernel has changed in it since it started (alternatives,
// static calls and keys), unlike its image on disk. proc(5); fs/proc/kcore.c. Thread rule: any thread.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernelinfo/places.h"

namespace spile::kernelinfo {

class KernelCode {
 public:
  // Errors: the file can't be read (root alone may), is not there (CONFIG_PROC_KCORE), or the kernel is locked down.
  static Result<KernelCode> open(const Places& places = {});
  // Returns the bytes at an address, as many as can be read up to `size`; empty: none can.
  std::vector<uint8_t> read(uint64_t address, size_t size) const;

 private:
  struct Segment {
    uint64_t address, size, offset;
  };
  UniqueFd file_;
  std::vector<Segment> segments_;
};

}  // namespace spile::kernelinfo
