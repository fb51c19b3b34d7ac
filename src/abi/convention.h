#pragma once
// What describes a machine's registers and calls to the folders that know no machine: the shape of the data. Each machine has
// its values (x86_64/convention.h), and machine.h says which of them hold here. Registers have the numbers that the machine's
// ABI gives them in DWARF. Freestanding; the tables hold no pointers, so that the runtime's bitcode can use them at any address.

#include <stddef.h>
#include <stdint.h>

namespace spile::abi {

// Registers by number, in an order that the list's user gives a meaning to; 39 at most.
struct RegisterList {
  template <typename... Numbers>
  constexpr RegisterList(Numbers... of) : count(sizeof...(of)), numbers{static_cast<uint8_t>(of)...} {}

  uint8_t count;
  uint8_t numbers[39];

  constexpr size_t size() const { return count; }
  constexpr int64_t operator[](size_t place) const { return numbers[place]; }
  constexpr const uint8_t* begin() const { return numbers; }
  constexpr const uint8_t* end() const { return numbers + count; }
  // Returns the place of the register in the list; size() if it is not there.
  constexpr size_t find(int64_t number) const {
    size_t place = 0;
    while (place < count && numbers[place] != number) ++place;
    return place;
  }
  constexpr bool has(int64_t number) const { return find(number) < count; }
};

// How the machine's C functions and Linux's system calls take and return values.
struct Convention {
  // -- registers
  uint8_t word_size;          // bytes of a general register, of an address and of a word of the stack
  uint8_t general_registers;  // they have the numbers from 0 up to this one
  uint8_t stack_pointer, frame_pointer;
  uint8_t program_counter;
  uint8_t flags;  // a number that DWARF does not use for something that handlers are given
  uint8_t first_vector, vectors;

  // -- functions
  RegisterList argument_registers;  // of integers and pointers, in order
  RegisterList result_registers;
  uint8_t vector_arguments;  // the number of vector registers, from first_vector on, that take arguments
  // The canonical frame address (CFA) is the stack pointer before the call; arguments that no register takes begin there.
  int8_t entry_cfa;    // bytes: CFA minus the stack pointer at a function's first instruction
  int8_t return_slot;  // where the return address lies, relative to the CFA
  int8_t saved_frame;  // where a function that keeps a frame pointer saves its caller's, relative to the CFA

  // -- functions of Go
  RegisterList go_results;  // of integers and pointers, in order
  uint8_t go_vector_results;

  // -- system calls
  RegisterList system_call_arguments;
  uint8_t system_call_number, system_call_result;

  // Returns the offset in bytes from the CFA of argument `place` (from 0), a machine word that the caller has put onto the stack.
  // REQUIRES: place >= argument_registers.size().
  constexpr int64_t stack_argument(int64_t place) const {
    return word_size * (place - static_cast<int64_t>(argument_registers.size()));
  }
};

// A register, or a part of one, as scripts name it: register("eax").
struct RegisterName {
  char text[8];
  uint8_t number;
  uint8_t bits;
  uint8_t shift;  // bits of the register below the part
};

// Where Linux puts registers that it hands out.
struct KernelLayout {
  uint8_t pt_regs[33];    // offset in bytes in struct pt_regs, by number, of general registers and the program counter
  uint64_t sampled_bits;  // perf_event_attr::sample_regs_user for the registers that handlers are given
  RegisterList sampled;   // their numbers, in the order in which a sample has them
  // Where the registers lie that the kernel saves when it calls a signal handler: bytes from the stack pointer after the
  // handler's return.
  uint16_t signal_frame_pointer, signal_stack_pointer, signal_program_counter;
  // The code to which signal handlers return: its size in bytes, and its first and last 8 bytes.
  uint8_t sigreturn_size;
  uint64_t sigreturn_first, sigreturn_last;
  uint8_t watchpoints;  // the number that may be set for each thread
  // In struct pt_regs, bytes from its start: the number of the system call that the thread makes, and a word that is
  // `native_code` where the thread runs 64-bit code.
  uint8_t pt_regs_call, pt_regs_code;
  uint8_t pt_regs_flags;
  // The range that has both, and the registers of a call's arguments and result.
  uint8_t pt_regs_call_begin, pt_regs_call_end;
  uint8_t native_code;
  uint32_t foreign_call;  // set in the state of a thread (struct thread_info) while it makes a system call of 32-bit code
};

}  // namespace spile::abi
