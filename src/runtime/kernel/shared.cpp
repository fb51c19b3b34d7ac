// Accesses to memory that may be the arena's or that of globals which processes write too (abi/kernel.h, kKernelSharedMap): codegen/ebpf/pointers.cpp
// puts calls of these in place of an access whose address it does not know, in scripts that have such globals. The kernel's verifier checks
// each of these functions once.
//
// Whatever processes write there, nothing else is reached: an address in the array is compared with its size, and one that is elsewhere is the
// arena's.

#include "runtime/native/native.h"

extern "C" char spile_map_shared[];

namespace spile::rt {

namespace {

// Returns whether `address` is of the shared array, which has room for a T from there on; then it becomes the offset. The kernel takes an atomic
// access for a multiple of its size only.
template <typename T, bool kAtomic = false>
SPILE_INLINE inline bool is_shared(uint64_t& address) {
  uint64_t offset = (address - abi::kKernelSharedBase) & (kAtomic ? ~(sizeof(T) - 1) : ~uint64_t{0});
  asm volatile("" : "+r"(offset));  // the verifier is to see the number compared that is added to the array's address
  if (offset > spile_rt_shared_size - sizeof(T)) return false;
  address = offset;
  return true;
}

// Keeps LLVM from making one access of both, whose pointer the verifier would not follow.
SPILE_INLINE inline void keep_apart() {
  asm volatile("" ::: "memory");
}

template <typename T>
T load(uint64_t address) {
  if (is_shared<T>(address)) return *reinterpret_cast<volatile T*>(spile_map_shared + address);
  T value = *reinterpret_cast<volatile T*>(address);
  keep_apart();
  return value;
}

template <typename T>
uint64_t store(uint64_t address, uint64_t value) {
  if (is_shared<T>(address)) {
    *reinterpret_cast<volatile T*>(spile_map_shared + address) = static_cast<T>(value);
    return 0;
  }
  *reinterpret_cast<volatile T*>(address) = static_cast<T>(value);
  keep_apart();
  return 0;
}

// Returns what was there before.
template <typename T>
T swap_if_equal(uint64_t address, uint64_t expected, uint64_t value) {
  T old = static_cast<T>(expected);
  if (is_shared<T, true>(address)) {
    __atomic_compare_exchange_n(reinterpret_cast<T*>(spile_map_shared + address), &old, static_cast<T>(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
  }
  __atomic_compare_exchange_n(reinterpret_cast<T*>(address), &old, static_cast<T>(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  keep_apart();
  return old;
}

template <typename T>
T add(uint64_t address, uint64_t value) {
  if (is_shared<T, true>(address)) return __atomic_fetch_add(reinterpret_cast<T*>(spile_map_shared + address), static_cast<T>(value), __ATOMIC_SEQ_CST);
  T old = __atomic_fetch_add(reinterpret_cast<T*>(address), static_cast<T>(value), __ATOMIC_SEQ_CST);
  keep_apart();
  return old;
}

template <typename T>
T exchange(uint64_t address, uint64_t value) {
  if (is_shared<T, true>(address)) return __atomic_exchange_n(reinterpret_cast<T*>(spile_map_shared + address), static_cast<T>(value), __ATOMIC_SEQ_CST);
  T old = __atomic_exchange_n(reinterpret_cast<T*>(address), static_cast<T>(value), __ATOMIC_SEQ_CST);
  keep_apart();
  return old;
}

}  // namespace

extern "C" {

#define SPILE_ACCESS [[gnu::noinline]] uint64_t

SPILE_ACCESS spile_rt_shared_load_8(uint64_t address) { return load<uint8_t>(address); }
SPILE_ACCESS spile_rt_shared_load_16(uint64_t address) { return load<uint16_t>(address); }
SPILE_ACCESS spile_rt_shared_load_32(uint64_t address) { return load<uint32_t>(address); }
SPILE_ACCESS spile_rt_shared_load_64(uint64_t address) { return load<uint64_t>(address); }
SPILE_ACCESS spile_rt_shared_store_8(uint64_t address, uint64_t value) { return store<uint8_t>(address, value); }
SPILE_ACCESS spile_rt_shared_store_16(uint64_t address, uint64_t value) { return store<uint16_t>(address, value); }
SPILE_ACCESS spile_rt_shared_store_32(uint64_t address, uint64_t value) { return store<uint32_t>(address, value); }
SPILE_ACCESS spile_rt_shared_store_64(uint64_t address, uint64_t value) { return store<uint64_t>(address, value); }
SPILE_ACCESS spile_rt_shared_swap_32(uint64_t address, uint64_t expected, uint64_t value) { return swap_if_equal<uint32_t>(address, expected, value); }
SPILE_ACCESS spile_rt_shared_swap_64(uint64_t address, uint64_t expected, uint64_t value) { return swap_if_equal<uint64_t>(address, expected, value); }
SPILE_ACCESS spile_rt_shared_add_32(uint64_t address, uint64_t value) { return add<uint32_t>(address, value); }
SPILE_ACCESS spile_rt_shared_add_64(uint64_t address, uint64_t value) { return add<uint64_t>(address, value); }
SPILE_ACCESS spile_rt_shared_exchange_32(uint64_t address, uint64_t value) { return exchange<uint32_t>(address, value); }
SPILE_ACCESS spile_rt_shared_exchange_64(uint64_t address, uint64_t value) { return exchange<uint64_t>(address, value); }

#undef SPILE_ACCESS

}  // extern "C"

}  // namespace spile::rt
