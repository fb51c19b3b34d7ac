#pragma once
// All assembly of the runtime, for x86-64. Another machine's file has the same functions and constants. What they compile to
// runs inside traced programs: general registers only, and nothing on the stack. Where a function may fault, the engine catches
// the fault (load.cpp); REQUIRES there: the controller lives (controller_gone).

#include <asm/unistd.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/trampoline.h"
#include "runtime/core/attributes.h"

namespace spile::rt {

// -- one instruction: a signal handler of this thread comes before or after it. None of them locks the bus: no other thread
// writes these words.

// add: one instruction instead of load, add and store.
SPILE_INLINE inline void add_in_place(uint64_t* p, uint64_t value) {
  asm volatile("addq %1, %0" : "+m"(*p) : "er"(value) : "cc");
}
// xadd: adds 1, and returns what was there before.
SPILE_INLINE inline uint32_t fetch_and_increment(uint32_t* p) {
  uint32_t before = 1;
  asm volatile("xaddl %0, %1" : "+r"(before), "+m"(*p) : : "cc", "memory");
  return before;
}
// dec
SPILE_INLINE inline void decrement_in_place(uint32_t* p) { asm volatile("decl %0" : "+m"(*p) : : "cc", "memory"); }

// -- system calls (psABI A.2.1): `syscall` takes the number in rax and arguments in rdi, rsi, rdx, r10, r8, r9; it returns in
// rax and destroys rcx and r11. Arguments that a call does not have are not set: the checker of handlers (engine's
// arch/x86_64/checker.cpp) wants to see which call it is, and its arguments.

// Returns the kernel's result, or -errno. REQUIRES: may_call_system().
SPILE_INLINE inline long system_call(long number, long a = 0, long b = 0, long c = 0) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
SPILE_INLINE inline long system_call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 asm("r10") = d;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}
SPILE_INLINE inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r9 asm("r9") = f;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

// -- the thread pointer: the base of fs

// rdfsbase: right in every thread of every program; takes 2.5 ns.
SPILE_INLINE inline uint64_t read_thread_pointer() {
  uint64_t base;
  asm volatile("rdfsbase %0" : "=r"(base));
  return base;
}
// mov %fs:0: reads the word that the thread pointer points to, which is the thread pointer itself by the psABI (TLS variant II),
// and takes nothing; ProcessTable::self_pointers says whether it is so in this process. False: the thread pointer does not point
// to memory.
SPILE_INLINE inline bool load_self_pointer(uint64_t* value) {
  uint64_t word;
  asm goto("1: movq %%fs:0, %0\n" SPILE_FIXUP("1b", "%l[fault]") : "=r"(word) : : : fault);
  *value = word;
  return true;
fault:
  return false;
}
// Bytes from the thread pointer to the word with the address of the thread's vector of blocks of thread-local variables ("ELF
// Handling For Thread-Local Storage", variant II).
inline constexpr uint64_t kThreadVector = 8;

// The system call by which a thread moves its thread pointer, and whether this one, which has returned, has done so.
inline constexpr uint64_t kThreadPointerCall = __NR_arch_prctl;
SPILE_INLINE inline bool has_moved_thread_pointer(const abi::Registers& registers) {
  constexpr uint64_t kSetFs = 0x1002;  // ARCH_SET_FS
  if (__builtin_expect(abi::system_call_argument(registers, 0) != kSetFs, 1) || abi::system_call_result(registers) != 0)
    return false;
  return read_thread_pointer() == abi::system_call_argument(registers, 1);
}

// -- time and place

// rdtsc: the counter by which records are ordered; never the same twice in a thread. False: this thread may not read it.
SPILE_INLINE inline bool read_counter(uint64_t* value) {
  uint32_t low, high;
  asm goto("1: rdtsc\n" SPILE_FIXUP("1b", "%l[fault]") : "=a"(low), "=d"(high) : : : fault);
  *value = static_cast<uint64_t>(high) << 32 | low;
  return true;
fault:
  return false;
}
// lsl: the number of the CPU (its low 12 bits), as the vDSO's getcpu finds it: the limit of segment 0x7b, which Linux sets up for
// each CPU.
SPILE_INLINE inline uint16_t current_cpu() {
  uint32_t limit;
  asm volatile("lsl %1, %0" : "=r"(limit) : "r"(0x7bu) : "cc");
  return static_cast<uint16_t>(limit & 0xfff);
}
// pause: between two looks at a lock.
SPILE_INLINE inline void pause_cpu() { asm volatile("pause" ::: "memory"); }

// -- memory that may be bad (load.cpp): one mov each, so that the fault is at a known instruction

#define SPILE_LOAD(INSTRUCTION) \
  asm goto("1: " INSTRUCTION "\n" SPILE_FIXUP("1b", "%l[fault]") : "=r"(word) : "r"(address) : : fault)

// Reads `kSize` (1, 2, 4 or 8) bytes, zero-extended. False: they can't be read, and *value is unchanged.
template <uint32_t kSize>
SPILE_INLINE inline bool load_word(uint64_t address, uint64_t* value) {
  uint64_t word;
  if constexpr (kSize == 1) {
    SPILE_LOAD("movzbl (%1), %k0");
  } else if constexpr (kSize == 2) {
    SPILE_LOAD("movzwl (%1), %k0");
  } else if constexpr (kSize == 4) {
    SPILE_LOAD("movl (%1), %k0");
  } else {
    SPILE_LOAD("movq (%1), %0");
  }
  *value = word;
  return true;
fault:
  return false;
}

#define SPILE_STORE(INSTRUCTION) \
  asm goto("1: " INSTRUCTION "\n" SPILE_FIXUP("1b", "%l[fault]") : : "r"(value), "r"(address) : "memory" : fault)

// Writes the low `kSize` (1, 2, 4 or 8) bytes. False: they can't be written.
template <uint32_t kSize>
SPILE_INLINE inline bool store_word(uint64_t address, uint64_t value) {
  if constexpr (kSize == 1) {
    SPILE_STORE("movb %b0, (%1)");
  } else if constexpr (kSize == 2) {
    SPILE_STORE("movw %w0, (%1)");
  } else if constexpr (kSize == 4) {
    SPILE_STORE("movl %k0, (%1)");
  } else {
    SPILE_STORE("movq %0, (%1)");
  }
  return true;
fault:
  return false;
}

#undef SPILE_LOAD
#undef SPILE_STORE

// -- many bytes: the processor's own loops, which LLVM does not recognize as a call of memcpy or memset

inline constexpr uint64_t kRepeatThreshold = 256;  // bytes; below it `rep movsb` starts slower than a loop of words

SPILE_INLINE inline void repeat_copy(char* to, const char* from, uint64_t count) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}
SPILE_INLINE inline void repeat_fill(char* to, uint8_t byte, uint64_t count) {
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(byte) : "memory");
}

// -- numbers of 128 bits

// shrd: the low 64 bits of high:low shifted right; in C++ it would have to be right for shifts of 64 and more. REQUIRES: shift <
// 64
SPILE_INLINE inline uint64_t shift_right_wide(uint64_t high, uint64_t low, uint32_t shift) {
  asm("shrdq %b2, %1, %0" : "+r"(low) : "r"(high), "c"(shift) : "cc");
  return low;
}
// a * b
SPILE_INLINE inline uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t* high) {
  uint64_t low;
  asm("mulq %3" : "=a"(low), "=d"(*high) : "a"(a), "r"(b) : "cc");
  return low;
}
// mul, div: a * b / c, or the largest number where that needs more than 64 bits or c is 0. In C++ the division is a call of
// LLVM's own library, which is not there.
SPILE_INLINE inline uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t high, low = multiply_wide(a, b, &high);
  if (high >= c) return ~uint64_t{0};
  uint64_t quotient, rest;
  asm("divq %4" : "=a"(quotient), "=d"(rest) : "a"(low), "d"(high), "r"(c) : "cc");
  return quotient;
}

}  // namespace spile::rt
