#include "sema/intrinsics.h"

#include <algorithm>
#include <map>

namespace spile::sema {

namespace {

constexpr ValueType kNone = ValueType::kUnknown;
constexpr ValueType kLong = ValueType::kLong;
constexpr ValueType kString = ValueType::kString;

// Functions whose value is only known inside a traced program: meaningless in begin, end and timers.
constexpr uint32_t kInTraced = kInTarget | kInKernel;

std::vector<Intrinsic> make_table() {
  std::vector<Intrinsic> table = {
      // Clocks.
      {"gettimeofday_ns", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"gettimeofday_us", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"gettimeofday_ms", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"gettimeofday_s", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"get_cycles", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_ns", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_us", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_ms", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"cpu_clock_s", kLong, {kLong}, kNeedsNothing, kEverywhere, true},
      {"local_clock_ns", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"local_clock_us", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"local_clock_ms", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"local_clock_s", kLong, {}, kNeedsNothing, kEverywhere, true},

      // Who runs.
      {"pid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"tid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"ppid", kLong, {}, kNeedsNothing, kInController | kInTarget, true},
      {"uid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"euid", kLong, {}, kNeedsNothing, kInController | kInTarget, true},
      {"gid", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"egid", kLong, {}, kNeedsNothing, kInController | kInTarget, true},
      {"cpu", kLong, {}, kNeedsNothing, kEverywhere, true},
      {"execname", kString, {}, kNeedsNothing, kEverywhere, true},
      {"target", kLong, {}, kNeedsNothing, kEverywhere, true},

      // Where it runs. The runtime doesn't know: the lowering makes them from the probe and the site.
      {"pp", kString, {}, kNeedsSite, kEverywhere, true},
      {"pn", kString, {}, kNeedsSite, kEverywhere, true},
      {"probefunc", kString, {}, kNeedsSite, kEverywhere, true},
      {"ppfunc", kString, {}, kNeedsSite, kEverywhere, true},
      {"is_return", kLong, {}, kNeedsSite, kEverywhere, true},
      {"user_mode", kLong, {}, kNeedsSite, kEverywhere, true},

      // The session.
      {"exit", kNone, {}, kNeedsNothing, kEverywhere, false},
      {"error", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"warn", kNone, {kString}, kNeedsNothing, kEverywhere, false},
      {"log", kNone, {kString}, kNeedsNothing, kEverywhere, false},

      // Strings.
      {"strlen", kLong, {kString}, kNeedsNothing, kEverywhere, true},
      {"substr", kString, {kString, kLong, kLong}, kNeedsNothing, kEverywhere, true},
      {"stringat", kLong, {kString, kLong}, kNeedsNothing, kEverywhere, true},
      {"isinstr", kLong, {kString, kString}, kNeedsNothing, kEverywhere, true},
      {"strtol", kLong, {kString, kLong}, kNeedsNothing, kEverywhere, true},
      {"str_replace", kString, {kString, kString, kString}, kNeedsNothing, kInController | kInTarget, true},
      {"text_str", kString, {kString}, kNeedsNothing, kInController | kInTarget, true},
      {"errno_str", kString, {kLong}, kNeedsNothing, kInController | kInTarget, true},
      {"ctime", kString, {kLong}, kNeedsNothing, kInController | kInTarget, true},
      {"ctime_now", kString, {}, kNeedsNothing, kInController | kInTarget, true},
      {"randint", kLong, {kLong}, kNeedsNothing, kEverywhere, false},

      // Memory of the traced program. The "2" forms give the default instead of failing.
      {"user_string", kString, {kLong}, kCanFail, kInTraced, true},
      {"user_string2", kString, {kLong, kString}, kNeedsNothing, kInTraced, true},
      {"user_string_n", kString, {kLong, kLong}, kCanFail, kInTraced, true},
      {"user_string_n2", kString, {kLong, kLong, kString}, kNeedsNothing, kInTraced, true},
      {"user_string_quoted", kString, {kLong}, kNeedsNothing, kInTraced, true},
      {"user_char", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_short", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_ushort", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_int", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_uint", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_long", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_ulong", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_int8", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_uint8", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_int16", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_uint16", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_int32", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_uint32", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_int64", kLong, {kLong}, kCanFail, kInTraced, true},
      {"user_uint64", kLong, {kLong}, kCanFail, kInTraced, true},

      // Arguments by their number, from 1, as the calling convention passes them; from the seventh on, the stack.
      {"int_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"uint_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"long_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"ulong_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"longlong_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"ulonglong_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"s32_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"u32_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"s64_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"u64_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},
      {"pointer_arg", kLong, {kLong}, kNeedsArguments | kCanFail, kInTraced, true},

      // Registers by name: "rax", "eax", "ax", "al". Always a literal; check-statements sees to that and to its
      // spelling.
      {"register", kLong, {kString}, kNeedsRegisters, kInTraced, true},
      {"u_register", kLong, {kString}, kNeedsRegisters, kInTraced, true},
  };
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

}  // namespace spile::sema
