#include "codegen/bodies/kernel_lacks.h"

#include <algorithm>
#include <iterator>

namespace spile::codegen {

namespace {

constexpr std::string_view kLoops = "it loops over a string, which kernels before Linux 6.12 do not allow there";
constexpr std::string_view kStacks =
    "stacks are walked there from Linux 6.12 on, and not beside probes on the lives of all processes";
constexpr std::string_view kNames =
    "addresses have names there from Linux 6.12 on, and not beside probes on the lives of all processes";
constexpr std::string_view kLines = "source lines of the kernel are not known";
constexpr std::string_view kSymbolData = "symdata() has the function, and how far behind its begin the address is";
constexpr std::string_view kPrintText = "print the string with %s, or keep it in a global, and do this in a timer or end probe";
constexpr std::string_view kNumbers =
    "kernel_short(), user_uint16() and the like read single characters as numbers; handlers have it from Linux 6.12 on";
constexpr std::string_view kUserStacks =
    "print_ubacktrace() and ubacktrace() show stacks of processes, in handlers there (-x or -c, without --runtime=bpf)";
constexpr std::string_view kOwnStacks = "probes of one process (-x or -c, without --runtime=bpf) show its stacks";
constexpr std::string_view kKeepAddress = "keep the address in a global, and look up its name in a timer or end probe";

constexpr std::string_view kGroups = "the search for groups takes more steps than kernels before Linux 6.12 allow";
constexpr std::string_view kMatchLater =
    "keep the string in a global, and match it in a timer or end probe; =~ alone is available";
constexpr std::string_view kFloats = "it takes more steps than kernels before Linux 6.12 allow";
constexpr std::string_view kKeepNumber = "keep its arguments in globals, and calculate in a timer or end probe";

constexpr std::string_view kSince =
    "handlers have it from Linux 6.12 on, in scripts without probes on the lives of all processes";

constexpr KernelLack kLacks[] = {
    {"matched()", kGroups, kMatchLater},
    {"matched_str()", kGroups, kMatchLater},
    {"ngroups()", kGroups, kMatchLater},
    {"recursion", "eBPF has eight frames of calls at most; from Linux 6.12 on, recursive functions have a stack of their own",
     "write it as a loop"},
    {"isinstr", kLoops, kPrintText},
    {"strtol", kLoops, kPrintText},
    {"kernel_string_utf16", kLoops, kNumbers},
    {"kernel_string_utf32", kLoops, kNumbers},
    {"user_string_utf16", kLoops, kNumbers},
    {"user_string_utf32", kLoops, kNumbers},
    {"backtrace", kStacks, kUserStacks},
    {"callers", kStacks, kUserStacks},
    {"stack", kStacks, kUserStacks},
    {"print_backtrace", kStacks, kUserStacks},
    {"sprint_backtrace", kStacks, kUserStacks},
    {"ubacktrace", kStacks, kOwnStacks},
    {"ucallers", kStacks, kOwnStacks},
    {"ustack", kStacks, kOwnStacks},
    {"__ustack_reference", kStacks, kOwnStacks},
    {"print_ubacktrace", kStacks, kOwnStacks},
    {"sprint_ubacktrace", kStacks, kOwnStacks},
    {"print_ustack", kNames, kKeepAddress},
    {"sprint_ustack", kNames, kKeepAddress},
    {"usymname", kNames, kKeepAddress},
    {"usymdata", kNames, kKeepAddress},
    {"print_usyms", kNames, kKeepAddress},
    {"sprint_usyms", kNames, kKeepAddress},
    {"umodname", kNames, kKeepAddress},
    {"umodbuildid", kNames, kKeepAddress},
    {"umodaddr", kNames, kKeepAddress},
    {"addr", "the place in the kernel's code is known there from Linux 6.12 on", "pp() names the probe point"},
    {"print_stack", kNames, kKeepAddress},
    {"sprint_stack", kNames, kKeepAddress},
    {"print_syms", kNames, kKeepAddress},
    {"sprint_syms", kNames, kKeepAddress},
    {"symname", kNames, kKeepAddress},
    {"symdata", kNames, kKeepAddress},
    {"symfile", kLines, kSymbolData},
    {"symline", kLines, kSymbolData},
    {"symfileline", kLines, kSymbolData},
    {"modname", kNames, kKeepAddress},
    {"ctime", kFloats, kKeepNumber},
    {"fp_add", kFloats, kKeepNumber},
    {"fp_sub", kFloats, kKeepNumber},
    {"fp_mul", kFloats, kKeepNumber},
    {"fp_div", kFloats, kKeepNumber},
    {"fp_rem", kFloats, kKeepNumber},
    {"fp_sqrt", kFloats, kKeepNumber},
    {"fp_eq", kFloats, kKeepNumber},
    {"fp_le", kFloats, kKeepNumber},
    {"fp_lt", kFloats, kKeepNumber},
    {"long_to_fp", kFloats, kKeepNumber},
    {"fp_to_long", kFloats, kKeepNumber},
    {"fp32_to_fp64", kFloats, kKeepNumber},
    {"fp_to_string", kFloats, kKeepNumber},
    {"string_to_fp", kFloats, kKeepNumber},
};

}  // namespace

const KernelLack* kernel_lack(std::string_view construct) {
  const auto* found = std::ranges::find(kLacks, construct, &KernelLack::construct);
  return found == std::end(kLacks) ? nullptr : found;
}

std::string kernel_lack_text(const std::string& shown, const KernelLack* lack) {
  return shown + " is not available in a handler that runs in the kernel: " + std::string(lack ? lack->reason : kSince);
}

}  // namespace spile::codegen
