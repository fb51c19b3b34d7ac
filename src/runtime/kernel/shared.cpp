// Accesses to memory that may be the arena's or that of globals which processes write too (abi/kernel.h, kKernelSharedMap):
// codegen/ebpf/pointers.cpp puts calls of these in place of an access whose address it does not know, in scripts that have such
// globals. The kernel's verifier checks each of these functions once.
//
// Whatever processes write there, nothing else is reached: an address in the array is compared with its size, and one that is
// elsewhere is the arena's.

#include "runtime/core/core.h"

extern "C" char spile_map_shared[];

namespace spile::rt {

namespace {

// Returns whether `address` is of the shared array, which has room for a T from there on; then it becomes the offset. The kernel
// takes an atomic access for a multiple of its size only.
template <typename T, bool kAtomic = false>
SPILE_INLINE inline bool is_shared(uint64_t& address) {
  uint64_t offset = (address - abi::kKernelSharedBase) & (kAtomic ? ~(sizeof(T) - 1) : ~uint64_t{0});
  asm volatile("" : "+r"(offset));  // the verifier is to see the number compared that is added to the array's address
  if (offset > spile_rt_shared_size - sizeof(T)) return false;
  address = offset;
  return true;
}

// Gives `act` the place of the access, in the array or in the arena, and returns what it returns. The barrier keeps LLVM from
// making one access of both, whose pointer the verifier would not follow.
template <typename T, bool kAtomic, typename Act>
SPILE_INLINE inline T access(uint64_t address, Act act) {
  if (is_shared<T, kAtomic>(address)) return act(reinterpret_cast<T*>(spile_map_shared + address));
  T result = act(reinterpret_cast<T*>(address));
  asm volatile("" ::: "memory");
  return result;
}

template <typename T>
T load(uint64_t address) {
  return access<T, false>(address, [](volatile T* place) { return *place; });
}

template <typename T>
uint64_t store(uint64_t address, uint64_t value) {
  return access<T, false>(address, [=](volatile T* place) { return *place = static_cast<T>(value), T{0}; });
}

// These return what was there before.
template <typename T>
T swap_if_equal(uint64_t address, uint64_t expected, uint64_t value) {
  return access<T, true>(address, [=](T* place) {
    T old = static_cast<T>(expected);
    __atomic_compare_exchange_n(place, &old, static_cast<T>(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
  });
}

template <typename T>
T add(uint64_t address, uint64_t value) {
  return access<T, true>(address, [=](T* place) { return __atomic_fetch_add(place, static_cast<T>(value), __ATOMIC_SEQ_CST); });
}

template <typename T>
T exchange(uint64_t address, uint64_t value) {
  return access<T, true>(address, [=](T* place) { return __atomic_exchange_n(place, static_cast<T>(value), __ATOMIC_SEQ_CST); });
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
SPILE_ACCESS spile_rt_shared_swap_32(uint64_t address, uint64_t expected, uint64_t value) {
  return swap_if_equal<uint32_t>(address, expected, value);
}
SPILE_ACCESS spile_rt_shared_swap_64(uint64_t address, uint64_t expected, uint64_t value) {
  return swap_if_equal<uint64_t>(address, expected, value);
}
SPILE_ACCESS spile_rt_shared_add_32(uint64_t address, uint64_t value) { return add<uint32_t>(address, value); }
SPILE_ACCESS spile_rt_shared_add_64(uint64_t address, uint64_t value) { return add<uint64_t>(address, value); }
SPILE_ACCESS spile_rt_shared_exchange_32(uint64_t address, uint64_t value) { return exchange<uint32_t>(address, value); }
SPILE_ACCESS spile_rt_shared_exchange_64(uint64_t address, uint64_t value) { return exchange<uint64_t>(address, value); }

#undef SPILE_ACCESS

}  // extern "C"

}  // namespace spile::rt
