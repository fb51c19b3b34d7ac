#pragma once
// System calls of other kinds than x86-64's own: of i386 (32-bit programs, and `int $0x80` anywhere) and of x32 (x86-64's with a
// bit set in the number). They are known by the numbers of x86-64's calls that have their names and arguments; i386's that
// x86-64 does not have, by 512 and their own number. Freestanding.

#include <stddef.h>
#include <stdint.h>

#include "abi/x86_64/trampoline.h"

namespace spile::abi::x86_64 {

inline constexpr uint32_t kForeignCalls = 512;

// By i386's number (arch/x86/entry/syscalls/syscall_32.tbl): what its call is known by.
inline constexpr uint16_t kI386Calls[512] = {
    219, 60, 57, 0, 1, 2, 3, 519, 85, 86, 87, 59, 80, 201, 133, 90, 94, 529, 530, 8, 39, 165, 534, 105, 102, 537, 101, 37,
    540, 34, 132, 543, 544, 21, 546, 547, 162, 62, 82, 83, 84, 32, 22, 100, 556, 12, 106, 104, 560, 107, 108, 163, 166, 565,
    16, 72, 568, 109, 570, 571, 95, 161, 136, 33, 110, 111, 112, 579, 580, 581, 113, 114, 584, 585, 170, 160, 97, 98, 96, 164,
    115, 116, 594, 88, 596, 89, 134, 167, 169, 601, 602, 11, 76, 77, 91, 93, 140, 141, 610, 137, 138, 173, 614, 103, 38, 36,
    4, 6, 5, 621, 172, 153, 624, 625, 61, 168, 99, 629, 74, 631, 56, 171, 63, 154, 159, 10, 638, 174, 175, 176, 177, 179, 121,
    81, 646, 139, 135, 183, 122, 123, 652, 78, 654, 73, 26, 19, 20, 124, 75, 156, 149, 150, 151, 152, 142, 143, 144, 145, 24,
    146, 147, 148, 35, 25, 117, 118, 678, 178, 7, 180, 119, 120, 157, 15, 13, 14, 127, 128, 129, 130, 17, 18, 92, 79, 125,
    126, 131, 40, 181, 182, 58, 703, 704, 705, 706, 707, 708, 709, 710, 711, 712, 713, 714, 715, 716, 717, 718, 719, 720, 721,
    722, 723, 724, 725, 726, 727, 728, 155, 27, 28, 217, 733, 734, 735, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196,
    197, 198, 199, 200, 751, 202, 203, 204, 205, 211, 206, 207, 208, 209, 210, 221, 763, 231, 212, 213, 233, 232, 216, 218,
    222, 223, 224, 225, 226, 227, 228, 229, 230, 780, 781, 234, 235, 784, 236, 237, 239, 238, 240, 241, 242, 243, 244, 245,
    246, 247, 797, 248, 249, 250, 251, 252, 253, 254, 255, 256, 257, 258, 259, 260, 261, 812, 263, 264, 265, 266, 267, 268,
    269, 270, 271, 272, 273, 274, 275, 277, 276, 278, 279, 309, 281, 280, 282, 283, 284, 285, 286, 287, 289, 290, 291, 292,
    293, 294, 295, 296, 297, 298, 299, 300, 301, 302, 303, 304, 305, 306, 307, 308, 310, 311, 312, 313, 314, 315, 316, 317,
    318, 319, 321, 322, 41, 53, 49, 42, 50, 288, 55, 54, 51, 52, 44, 46, 45, 47, 48, 323, 324, 325, 326, 327, 328, 329, 330,
    331, 332, 158, 333, 334, 899, 900, 901, 902, 903, 904, 64, 66, 29, 31, 30, 67, 68, 69, 70, 71, 915, 916, 917, 918, 919,
    920, 921, 922, 923, 924, 925, 926, 927, 928, 929, 930, 931, 932, 933, 934, 935, 424, 425, 426, 427, 428, 429, 430, 431,
    432, 433, 434, 435, 436, 437, 438, 439, 440, 441, 442, 443, 444, 445, 446, 447, 448, 449, 450, 451, 452, 453, 454, 455,
    456, 457, 458, 459, 460, 461, 462, 463, 464, 465, 466, 467, 468, 469,
};
inline constexpr uint32_t kI386CallNumbers = 470;  // the others in use

// x32's calls from number 512 on (syscall_64.tbl): what each is known by.
inline constexpr uint16_t kX32Calls[] = {
    13, 15, 16, 19, 20, 45, 46, 47, 59, 101, 127, 128, 129, 131, 222, 244, 246, 247, 273, 274, 278, 279, 295, 296, 297, 299,
    307, 310, 311, 54, 55, 206, 209, 322, 327, 328,
};
inline constexpr uint32_t kX32Bit = 0x40000000;

// Returns what a call of i386 is known by; numbers without a call stay, at 512 and more.
[[gnu::always_inline]] constexpr uint64_t number_of_i386_call(uint64_t number) {
  const auto own = static_cast<uint32_t>(number);
  return own < kI386CallNumbers ? kI386Calls[own & 511] : uint64_t{kForeignCalls} + own;
}

// Returns what a call that was made as x86-64's is known by: all but x32's are these.
[[gnu::always_inline]] constexpr uint64_t number_of_native_call(uint64_t number) {
  if ((number & ~uint64_t{0xfff}) != kX32Bit) return number;
  const uint64_t own = number & 0xfff;
  if (own < kForeignCalls) return own;
  return own - kForeignCalls < sizeof kX32Calls / sizeof kX32Calls[0] ? kX32Calls[own - kForeignCalls] : number;
}

// The arguments of a call of i386, of 32 bits each, as those of the call that it is known by: numbers that are passed in two
// halves are put together.
struct CallArguments {
  uint64_t of[6];
};
[[gnu::always_inline]] constexpr void join_i386_arguments(uint64_t number, CallArguments& arguments) {
  uint64_t(&of)[6] = arguments.of;
  auto whole = [&](uint32_t at) { return (of[at] & 0xffffffff) | of[at + 1] << 32; };
  switch (static_cast<uint32_t>(number)) {
    case 19:    // lseek
    case 92:    // truncate
    case 93: {  // ftruncate
      of[1] = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(of[1])));
      return;
    }
    case 120: {  // clone has its last two the other way around
      const uint64_t tls = of[3];
      of[3] = of[4];
      of[4] = tls;
      return;
    }
    case 180:  // pread64
    case 181:  // pwrite64
      of[3] = whole(3);
      of[4] = 0;
      return;
    case 333:  // preadv
    case 334:  // pwritev
    case 378:  // preadv2
    case 379:  // pwritev2
      of[3] = whole(3);
      return;
    case 193:  // truncate64
    case 194:  // ftruncate64
      of[1] = whole(1);
      of[2] = 0;
      return;
    case 225:  // readahead
    case 250:  // fadvise64
      of[1] = whole(1);
      of[2] = of[3];
      of[3] = of[4];
      of[4] = 0;
      return;
    case 272:  // fadvise64_64
    case 314:  // sync_file_range
      of[1] = whole(1);
      of[2] = whole(3);
      of[3] = of[5];
      of[4] = of[5] = 0;
      return;
    case 324:  // fallocate
      of[2] = whole(2);
      of[3] = whole(4);
      of[4] = of[5] = 0;
      return;
    case 339:  // fanotify_mark
      of[2] = whole(2);
      of[3] = of[4];
      of[4] = of[5];
      of[5] = 0;
      return;
    case 253:  // lookup_dcookie
      of[0] = whole(0);
      of[1] = of[2];
      of[2] = of[3];
      of[3] = 0;
      return;
    default: return;
  }
}

// Whether a number is that of a call that only i386 has and that may map executable memory: old_mmap, mmap2, ipc (shmat).
constexpr bool maps_foreign_memory(uint64_t number) {
  return number == kForeignCalls + 90 || number == kForeignCalls + 192 || number == kForeignCalls + 117;
}

// Whether a number is that of i386's sigreturn.
constexpr bool is_old_sigreturn(uint64_t number) { return number == kForeignCalls + 119; }

// Set in the flags of the registers of a call of i386: words that its arguments point to have 4 bytes.
inline constexpr uint64_t kForeignCallFlag = uint64_t{1} << 63;

// Where struct pt_regs has rbp, and behind it rbx.
inline constexpr uint32_t kFirstForeignWord = 32;

// registers: in a call of i386, whose arguments are in ebx, ecx, edx, esi, edi and ebp. They become those of the call that it is
// known by.
constexpr void make_native_call(Registers& registers) {
  auto word = [](uint64_t value) { return value & 0xffffffff; };
  CallArguments arguments{{word(registers.rbx), word(registers.rcx), word(registers.rdx), word(registers.rsi),
                           word(registers.rdi), word(registers.rbp)}};
  join_i386_arguments(registers.site_id, arguments);
  registers.rdi = arguments.of[0];
  registers.rsi = arguments.of[1];
  registers.rdx = arguments.of[2];
  registers.r10 = arguments.of[3];
  registers.r8 = arguments.of[4];
  registers.r9 = arguments.of[5];
  registers.site_id = number_of_i386_call(registers.site_id);
  registers.flags |= kForeignCallFlag;
}

}  // namespace spile::abi::x86_64
