#include "sema/terms/intrinsics.h"

#include <algorithm>
#include <map>

namespace spile::sema {

namespace {

constexpr ValueType kNone = ValueType::kUnknown;
constexpr ValueType kLong = ValueType::kLong;
constexpr ValueType kString = ValueType::kString;

std::vector<Intrinsic> make_table() {
  std::vector<Intrinsic> table = {
      // Clocks.
      {"gettimeofday_ns", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"gettimeofday_us", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"gettimeofday_ms", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"gettimeofday_s", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"get_cycles", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"call_history_add", kNone, {kLong}, kNeedsSite | kNeedsCallHistory, kInTarget, false},
      {"call_history_stop", kLong, {}, kNeedsNothing, kInTarget, false},
      {"__goroutine", kLong, {kLong}, kNeedsNothing, kInTarget, false},
      {"__goroutine_depth", kLong, {kLong}, kNeedsNothing, kInTarget, false},
      {"__heap_call_begins", kLong, {}, kNeedsStack, kInTarget, false},
      {"__heap_call_ends", kLong, {}, kNeedsNothing, kInTarget, false},
      {"cpu_clock_ns", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_us", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_ms", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_s", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"local_clock_ns", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"local_clock_us", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"local_clock_ms", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"local_clock_s", kLong, {}, kNeedsNothing, kEverywhere, true},

      {"ktime_get_ns", kLong, {}, kNeedsNothing, kEverywhere, true},

      // The process and thread that run.
      {"pid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"tid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"execution_flow", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"__task_current", kLong, {}, kNeedsNothing, kEverywhere, true},  // 0: not known here
      // as __task_current(), and in spile itself where it reads the kernel's memory
      {"__running_task", kLong, {}, kNeedsKernelMemory, kEverywhere, true},
      {"__in_kernel", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"__call_word", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__known_call", kLong, {kLong}, kNeedsMembers, kEverywhere, true},
      {"ppid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"uid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"euid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"gid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"egid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__pgrp", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__sid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_pid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_tid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_ppid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_pgrp", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_sid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_uid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"__ns_euid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"__ns_gid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"__ns_egid", kLong, {}, kNeedsMembers, kEverywhere, true},
      {"pid2execname", kString, {kLong}, kNeedsMembers, kEverywhere, true},
      {"__cmdline_args", kString, {kLong, kLong, kString}, kCanFail, kEverywhere, true},
      {"__env_var", kString, {kString}, kCanFail, kEverywhere, true},
      // below 0: not known, as in the kernel
      {"__process_number", kLong, {kLong, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"__parent_of", kLong, {kLong}, kNeedsMembers, kEverywhere, true},
      {"__task_of", kLong, {kLong}, kNeedsMembers, kEverywhere, true},       // 0: not known here
      {"__memory_bound", kLong, {kLong}, kNeedsMembers, kEverywhere, true},  // 0: not known here
      {"cpu", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"execname", kString, {}, kNeedsMembers, kEverywhere, true},
      {"target", kLong, {}, kNeedsNothing, kEverywhere, true},

      // Where it runs. The runtime doesn't know: the lowering makes them from the probe and the site.
      {"pp", kString, {}, kNeedsSite, kEverywhere, true},
      {"pn", kString, {}, kNeedsSite, kEverywhere, true},
      {"probefunc", kString, {}, kNeedsSite, kEverywhere, true},
      {"ppfunc", kString, {}, kNeedsSite, kEverywhere, true},
      {"__tracepoint", kString, {}, kNeedsSite, kEverywhere, true},  // $$name
      {"is_return", kLong, {}, kNeedsSite, kEverywhere, true},
      {"user_mode", kLong, {}, kNeedsSite, kEverywhere, true},

      // The session.
      {"exit", kNone, {}, kNeedsNothing, kEverywhere, false},
      {"error", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"abort", kNone, {}, kNeedsNothing, kEverywhere, false},
      {"system", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"switch_file", kNone, {}, kNeedsNothing, kEverywhere, false},
      {"warn", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"log", kNone, {kString}, kNeedsNothing, kEverywhere, false},

      // Strings.
      {"strlen", kLong, {kString}, kNeedsNothing, kEverywhere, true},
      {"substr", kString, {kString, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"stringat", kLong, {kString, kLong}, kCanFail, kEverywhere, true},
      {"isinstr", kLong, {kString, kString}, kNeedsNothing, kEverywhere, true},
      {"strtol", kLong, {kString, kLong}, kNeedsNothing, kEverywhere, true},
      {"str_replace", kString, {kString, kString, kString}, kNeedsNothing, kEverywhere, true},
      {"text_str", kString, {kString}, kNeedsNothing, kEverywhere, true},
      {"text_strn", kString, {kString, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"string_quoted", kString, {kString}, kNeedsNothing, kEverywhere, true},
      {"strpos", kLong, {kString, kString}, kNeedsNothing, kEverywhere, true},
      {"__string_span", kLong, {kString, kLong, kString, kLong}, kNeedsNothing, kEverywhere, true},
      {"__system_call_name", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"__system_call_number", kLong, {kString}, kNeedsNothing, kEverywhere, true},
      {"__signal_name", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"__errno_number", kLong, {kString}, kNeedsNothing, kEverywhere, true},
      {"errno_str", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"ctime", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"ctime_now", kString, {}, kNeedsNothing, kEverywhere, true},
      // The last =~ of this handler run.
      {"matched", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"matched_str", kString, {}, kNeedsNothing, kEverywhere, true},
      {"ngroups", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"randint", kLong, {kLong}, kNeedsNothing, kEverywhere, false},

      // Memory of the traced program. The "2" forms give the default instead of failing.
      {"user_string", kString, {kLong}, kCanFail, kEverywhere, true},
      {"user_string2", kString, {kLong, kString}, kNeedsNothing, kEverywhere, true},
      {"user_string_n", kString, {kLong, kLong}, kCanFail, kEverywhere, true},
      {"user_string_n2", kString, {kLong, kLong, kString}, kNeedsNothing, kEverywhere, true},
      {"user_string_quoted", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"user_string_n_quoted", kString, {kLong, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      // For $p$: a quoted text of at most that many bytes, or the address; bytes of two words, and their number; a wide character
      // as a letter.
      {"__pretty_string", kString, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"__pretty_letters", kString, {kLong, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"__pretty_value", kString, {kLong, kString}, kNeedsNothing, kEverywhere, true},
      {"__pretty_named", kString, {kLong, kString}, kNeedsSymbols, kEverywhere, true},
      {"__pretty_words", kString, {kString, kLong, kLong, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"__pretty_named_words", kString, {kString, kLong, kLong, kLong, kLong}, kNeedsSymbols, kEverywhere, true},
      {"__pretty_letter", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"user_string_utf16", kString, {kLong}, kCanFail, kEverywhere, true},
      {"user_string_utf32", kString, {kLong}, kCanFail, kEverywhere, true},
      {"user_buffer_quoted", kString, {kLong, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"user_buffer_quoted_error", kString, {kLong, kLong, kLong}, kCanFail, kEverywhere, true},

      // Memory of the kernel: outside the kernel, reading it is a fault.
      {"kernel_string", kString, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_string2", kString, {kLong, kString}, kNeedsKernelMemory, kEverywhere, true},
      {"kernel_string_n", kString, {kLong, kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_string_utf16", kString, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_string_utf32", kString, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_buffer_quoted_error", kString, {kLong, kLong, kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_char", kLong, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_short", kLong, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_int", kLong, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_long", kLong, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},
      {"kernel_pointer", kLong, {kLong}, kCanFail | kNeedsKernelMemory, kEverywhere, true},

      // Writing to the traced program.
      {"raise", kNone, {kLong}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"__udelay", kNone, {kLong}, kNeedsGuru, kEverywhere, false},
      {"set_user_string", kNone, {kLong, kString}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"set_user_string_n", kNone, {kLong, kLong, kString}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"set_user_char", kNone, {kLong, kLong}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"set_user_short", kNone, {kLong, kLong}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"set_user_int", kNone, {kLong, kLong}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"set_user_long", kNone, {kLong, kLong}, kNeedsGuru | kCanFail, kEverywhere, false},
      {"set_user_pointer", kNone, {kLong, kLong}, kNeedsGuru | kCanFail, kEverywhere, false},

      // Doubles, each in a long.
      {"fp_add", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_sub", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_mul", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_div", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_rem", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_sqrt", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_eq", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_le", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_lt", kLong, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"long_to_fp", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_to_long", kLong, {kLong, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"fp32_to_fp64", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"fp_to_string", kString, {kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"string_to_fp", kLong, {kString}, kNeedsNothing, kEverywhere, true},

      // Arguments by their number, from 1, as the calling convention passes them; from the seventh on, the stack.
      {"int_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"uint_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"long_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"ulong_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"longlong_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"ulonglong_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"s32_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"u32_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"s64_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"u64_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      {"pointer_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kEverywhere, true},
      // Of those in vector registers, by their number among these. The kernel keeps no such registers for its handlers.
      {"float_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInController | kInTarget, true},
      {"double_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInController | kInTarget, true},

      // Stacks, and names of addresses. The controller has no stack, but can name addresses that probes have kept.
      {"ubacktrace", kString, {}, kNeedsStack, kEverywhere, true},
      {"ucallers", kString, {kLong}, kNeedsStack, kEverywhere, true},
      {"ustack", kLong, {kLong}, kNeedsStack, kEverywhere, true},
      {"__ustack_reference", kLong, {kLong}, kNeedsStack, kEverywhere, true},
      {"uaddr", kLong, {}, kNeedsStack, kEverywhere, true},
      {"print_ubacktrace", kNone, {}, kNeedsStack, kEverywhere, false},
      {"print_ubacktrace_brief", kNone, {}, kNeedsStack, kEverywhere, false},
      {"print_ubacktrace3", kNone, {kLong, kLong, kLong}, kNeedsStack, kEverywhere, false},
      {"__ustack_from", kLong, {kLong, kLong, kLong, kLong}, kNeedsStack, kEverywhere, true},
      {"sprint_ubacktrace", kString, {}, kNeedsStack | kNeedsSymbols, kEverywhere, true},
      {"print_ustack", kNone, {kString}, kNeedsModules, kEverywhere, false},
      {"print_usyms", kNone, {kString}, kNeedsModules, kEverywhere, false},
      {"sprint_ustack", kString, {kString}, kNeedsSymbols, kEverywhere, true},
      {"sprint_usyms", kString, {kString}, kNeedsSymbols, kEverywhere, true},
      {"usymname", kString, {kLong}, kNeedsSymbols, kEverywhere, true},
      {"usymdata", kString, {kLong}, kNeedsSymbols, kEverywhere, true},
      {"umodname", kString, {kLong}, kNeedsSymbols | kCanFail, kEverywhere, true},
      {"umodbuildid", kString, {kLong}, kNeedsSymbols | kCanFail, kEverywhere, true},
      {"umodaddr", kLong, {kLong}, kNeedsSymbols | kCanFail, kEverywhere, true},
      {"usymfile", kString, {kLong}, kNeedsLines, kEverywhere, true},
      {"usymline", kString, {kLong}, kNeedsLines, kEverywhere, true},
      {"usymfileline", kString, {kLong}, kNeedsLines, kEverywhere, true},

      // The kernel's own stack and symbols. In a process and in the controller the stack is empty; print_syms() and the like
      // print names that spile looks up, others need them where the handler runs.
      {"backtrace", kString, {}, kNeedsKernelStack, kEverywhere, true},
      {"callers", kString, {kLong}, kNeedsKernelStack, kEverywhere, true},
      {"stack", kLong, {kLong}, kNeedsKernelStack, kEverywhere, true},
      {"addr", kLong, {}, kNeedsStack | kNeedsKernelStack, kEverywhere, true},
      {"print_backtrace", kNone, {}, kNeedsKernelStack, kEverywhere, false},
      {"sprint_backtrace", kString, {}, kNeedsKernelStack | kNeedsKernelNames, kEverywhere, true},
      {"print_stack", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"print_syms", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"sprint_stack", kString, {kString}, kNeedsKernelNames, kEverywhere, true},
      {"sprint_syms", kString, {kString}, kNeedsKernelNames, kEverywhere, true},
      {"symname", kString, {kLong}, kNeedsKernelNames, kEverywhere, true},
      {"symdata", kString, {kLong}, kNeedsKernelNames, kEverywhere, true},
      {"symfile", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"symline", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"symfileline", kString, {kLong}, kNeedsNothing, kEverywhere, true},
      {"modname", kString, {kLong}, kCanFail | kNeedsKernelNames, kEverywhere, true},

      // Registers by name: "rax", "eax", "ax", "al".
      {"register", kLong, {kString}, kNeedsRegisters, kEverywhere, true},
      {"u_register", kLong, {kString}, kNeedsRegisters, kEverywhere, true},
      {"returnval", kLong, {}, kNeedsRegisters, kEverywhere, true},
      {"set_returnval", kNone, {kLong}, kNeedsGuru | kNeedsRegisters | kCanFail, kInTarget, false},
  };
  // Numbers in the traced program's memory: 0 if it can't be read, or an error.
  static constexpr std::string_view kNumbers[][2] = {
      {"user_char", "user_char_error"},     {"user_short", "user_short_error"},   {"user_ushort", "user_ushort_error"},
      {"user_int", "user_int_error"},       {"user_uint", "user_uint_error"},     {"user_long", "user_long_error"},
      {"user_ulong", "user_ulong_error"},   {"user_int8", "user_int8_error"},     {"user_uint8", "user_uint8_error"},
      {"user_int16", "user_int16_error"},   {"user_uint16", "user_uint16_error"}, {"user_int32", "user_int32_error"},
      {"user_uint32", "user_uint32_error"}, {"user_int64", "user_int64_error"},   {"user_uint64", "user_uint64_error"},
  };
  // Writing to arguments: two have a result in SystemTap's manual, the number.
  for (const std::string_view setter :
       {"set_int_arg", "set_uint_arg", "set_long_arg", "set_ulong_arg", "set_longlong_arg", "set_ulonglong_arg", "set_s32_arg",
        "set_u32_arg", "set_s64_arg", "set_u64_arg", "set_pointer_arg"}) {
    const bool has_result = setter == "set_uint_arg" || setter == "set_longlong_arg";
    table.push_back({setter,
                     has_result ? kLong : kNone,
                     {kLong, kLong},
                     kNeedsGuru | kNeedsArguments | kNeedsRegisters | kCanFail,
                     kInTarget,
                     false});
  }
  for (const auto& [plain, failing] : kNumbers) {
    table.push_back({plain, kLong, {kLong}, kNeedsNothing, kEverywhere, true});
    table.push_back({failing, kLong, {kLong}, kCanFail, kEverywhere, true});
  }
  return table;
}

const std::map<std::string_view, int>& index_by_name() {
  static const auto map = [] {
    std::map<std::string_view, int> made;
    const auto& table = intrinsics();
    for (size_t i = 0; i < table.size(); ++i) made.emplace(table[i].name, static_cast<int>(i));
    return made;
  }();
  return map;
}

// Names of the language that mean different rows by their number of arguments.
struct Overload {
  std::string_view name;
  size_t arguments;
  std::string_view row;
};
constexpr Overload kOverloads[] = {
    {"user_string", 2, "user_string2"},
    {"user_string_n", 3, "user_string_n2"},
    {"kernel_string", 2, "kernel_string2"},
    {"print_ubacktrace", 3, "print_ubacktrace3"},
    {"ctime", 0, "ctime_now"},
};

}  // namespace

const std::vector<Intrinsic>& intrinsics() {
  static const std::vector<Intrinsic> table = make_table();
  return table;
}

int find_intrinsic(std::string_view name) {
  auto found = index_by_name().find(name);
  return found == index_by_name().end() ? -1 : found->second;
}

int find_intrinsic(std::string_view name, size_t arguments) {
  for (const Overload& overload : kOverloads) {
    if (overload.name == name && overload.arguments == arguments) return find_intrinsic(overload.row);
  }
  return find_intrinsic(name);
}

std::optional<size_t> other_count(std::string_view name) {
  for (const Overload& overload : kOverloads) {
    if (overload.name == name) return overload.arguments;
  }
  return std::nullopt;
}

}  // namespace spile::sema
