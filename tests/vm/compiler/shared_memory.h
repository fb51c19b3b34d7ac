#pragma once
// The memory that a guest shares with the compiler beside its emulator (compiler.cpp): a device of QEMU's, ivshmem-plain, whose
// second resource is a file of the host. It has one request at a time, or the answer to it: the spiles of a guest take turns by a
// lock in the guest.
//
//   0     state, beats, step, machine, level, failed   4 bytes each
//   24    size                                         8 bytes
//   4096  size bytes: of a request the bitcode; of an answer the bitcode or object, or (failed) an error's message NUL hint
//
// The guest goes from kIdle or kAnswered to kAsked, the compiler from kAsked to kAnswered; each writes `state` after all else.
// `beats` is the compiler's alone, who counts it up while it lives. Each side copies what it reads, and checks it.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace spile::guest {

enum State : uint32_t { kIdle, kAsked, kAnswered };

struct SharedMemory {
  std::atomic<uint32_t> state;
  std::atomic<uint32_t> beats;
  uint32_t step;
  uint32_t machine;
  int32_t level;
  uint32_t failed;
  uint64_t size;
  char unused[4064];
  char data[(64 << 20) - 4096];
};
static_assert(offsetof(SharedMemory, size) == 24 && offsetof(SharedMemory, data) == 4096);
static_assert(sizeof(SharedMemory) == 64 << 20);  // as tests/vm/run has it

}  // namespace spile::guest
