#pragma once
// By which of the kernel's mechanisms a handler reaches a place in the kernel's code: a list in the order in which they are
// tried. Pure: the features of the kernel are given.
//
//   fentry, fexit   a call of the handler in the function's prologue, by its description in BTF: the cheapest. A program for each
//                   place
//   kprobe.multi    one link for any number of functions that ftrace can trace (Linux 5.18)
//   kprobe          a breakpoint or jump at any instruction, a perf event for each place (Linux 4.17, with cookies 5.15)

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "abi/kernel.h"

namespace spile::kernelinfo {

enum class Mechanism : uint8_t { kTracing, kMulti, kKprobe };

// Offsets of members in the kernel's structures, in bytes.
struct TaskLayout {
  // of task_struct, mm_struct, file: to the file that a thread executes
  uint32_t task_mm = 0, mm_exe_file = 0, file_inode = 0;
  // of task_struct, signal_struct: to the number of threads of its process
  uint32_t task_signal = 0, signal_threads = 0;
  // of task_struct, files_struct, fdtable: to the array of its open files
  uint32_t task_files = 0, files_table = 0, table_files = 0;
};

// Facts about the kernel; false: not there, or not known to be there.
struct Features {
  bool tracing = false;             // fentry and fexit, with bpf_get_func_arg (5.17)
  bool tracing_cookie = false;      // 5.19
  bool multi = false;               // 5.18
  bool multi_return_stack = false;  // a kprobe.multi handler at the return knows the stack pointer (not from 6.14 on)
  bool kprobe = false;
  std::optional<TaskLayout> tasks = {};  // absent: the kernel does not describe its types
  std::optional<abi::KernelMembers> members = {};  // all but `known`; absent: as `tasks`
};

// What the places of one probe have in common.
struct PlaceTraits {
  size_t places = 1;
  bool at_return = false;
  bool saves_values = false;     // at the entry, for the return: which are found again by the stack pointer
  bool function_entry = true;    // false: some instruction
  bool described = false;        // BTF has all functions, and each argument is in a register
  bool unknown_address = false;  // of functions of modules, which only kprobes name with their modules, and can wait for
};

// Most places that get a program each. Removing one takes a grace period or more (10 to 100 ms), one after another: as long as
// removing a kprobe, and more than one link of kprobe.multi for all.
inline constexpr size_t kMostTracingPlaces = 4;

// Returns whether fentry may be attached to a function: not to those that the kernel calls on the way to a handler, which would
// have no end. Kernels refuse them by a list that was completed in 6.4.
bool may_be_traced(std::string_view function);

// Returns the mechanisms to try, best first; empty: the kernel has no mechanism for this.
std::vector<Mechanism> plan(const Features& features, const PlaceTraits& traits);

}  // namespace spile::kernelinfo
