// The library's functions about time and errors.

#include "abi/script_codes.h"
#include "runtime/core/script_functions.h"
#include "runtime/names.h"

namespace spile::rt {

namespace {

// Fixed-width tables: an array of pointers would need relocating.
inline constexpr char kMonths[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
inline constexpr char kDays[7][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};  // 1 January 1970 was a Thursday

struct Date {
  int64_t year;
  uint32_t month, day;
};  // month from 0

// Days since 1 January 1970 to a date: H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
// Years begin in March there, so that the leap day is the last one.
Date date_of(int64_t days) {
  days += 719468;  // since 1 March 0000
  int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  uint32_t day_of_era = static_cast<uint32_t>(days - era * 146097);
  uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  uint32_t month = (5 * day_of_year + 2) / 153;  // from March
  uint32_t day = day_of_year - (153 * month + 2) / 5 + 1;
  bool next_year = month >= 10;
  return {static_cast<int64_t>(year_of_era) + era * 400 + next_year, next_year ? month - 10 : month + 2, day};
}

void put_number(char* at, uint32_t value, uint32_t digits, char filler) {
  for (uint32_t i = digits; i-- > 0; value /= 10) {
    at[i] = value || i == digits - 1 ? static_cast<char>('0' + value % 10) : filler;
    compiler_barrier();
  }
}

}  // namespace

const char* error_name(uint32_t number) {
  static_assert(sizeof(kErrors) / sizeof(kErrors[0]) == kErrorCount && sizeof(kErrors[0]) == 16);
  return kErrors[number];
}

extern "C" {

// "Wed Jun 30 21:49:08 1993", in UTC; outside of 32 bits two texts of the same length.
[[gnu::noinline]] void spile_fn_ctime(Context*, int64_t seconds, char* out) {
  if (seconds < -2147483648LL) return spile_rt_string_copy(out, "a long, long time ago...");
  if (seconds > 2147483647LL) return spile_rt_string_copy(out, "far far in the future...");
  int64_t days = seconds / 86400 - (seconds % 86400 < 0);
  uint32_t rest = static_cast<uint32_t>(seconds - days * 86400);
  Date date = date_of(days);
  char text[25];
  copy_bytes(text, kDays[((days % 7) + 7) % 7], 3);
  copy_bytes(text + 4, kMonths[date.month], 3);
  text[3] = text[7] = text[10] = text[19] = ' ';
  text[13] = text[16] = ':';
  put_number(text + 8, date.day, 2, ' ');
  put_number(text + 11, rest / 3600, 2, '0');
  put_number(text + 14, rest / 60 % 60, 2, '0');
  put_number(text + 17, rest % 60, 2, '0');
  put_number(text + 20, static_cast<uint32_t>(date.year), 4, '0');
  text[24] = 0;
  spile_rt_string_copy(out, text);
}

SPILE_INLINE void spile_fn_ctime_now(Context* context, char* out) {
  spile_fn_ctime(context, spile_rt_clock_ns(context) / 1'000'000'000, out);
}

// Writes ENOENT for 2, and E#3333 for 3333, which no error has.
[[gnu::noinline]] void spile_fn_errno_str(Context*, int64_t number, char* out) {
  uint64_t error = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);  // calls return negative ones
  if (error < sizeof(kErrors) / sizeof(kErrors[0]) && kErrors[error][0]) return spile_rt_string_copy(out, kErrors[error]);
  uint32_t at = spile_rt_format_literal(out, 0, "E#", 2);
  spile_rt_format_end(out, spile_rt_format_long(out, at, number, abi::kFormatSigned, 0, -1, -1));
}

// From 0 below n. The counter's low bits, well mixed (splitmix64): good enough to sample by.
SPILE_INLINE int64_t spile_fn_randint(Context* context, int64_t n) {
  if (n <= 0) return 0;
  uint64_t x = time_counter() + reinterpret_cast<uint64_t>(context->slot);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return static_cast<int64_t>((x ^ x >> 31) % static_cast<uint64_t>(n));
}

// SystemTap's clocks of one CPU are meant for differences; here they are the wall clock's, as exact and ordered over
// CPUs.
#define SPILE_CLOCK(UNIT, DIVISOR)                                                                                    \
  SPILE_INLINE int64_t spile_fn_local_clock_##UNIT(Context* context) { return spile_rt_clock_ns(context) / DIVISOR; } \
  SPILE_INLINE int64_t spile_fn_cpu_clock_##UNIT(Context* context, int64_t) { return spile_rt_clock_ns(context) / DIVISOR; }
SPILE_CLOCK(ns, 1)
SPILE_CLOCK(us, 1'000)
SPILE_CLOCK(ms, 1'000'000)
SPILE_CLOCK(s, 1'000'000'000)
#undef SPILE_CLOCK

SPILE_INLINE int64_t spile_fn_execution_flow(Context* context) {
  if (const int64_t interrupt = interrupt_flow()) return interrupt;
  const int64_t thread = spile_rt_tid(context);
  return thread != 0 ? thread : idle_flow();
}

SPILE_INLINE int64_t spile_fn___task_current(Context*) { return current_task(); }

int64_t spile_fn_ktime_get_ns(Context* context) {
  if (kReadsKernelMemory) return kernel_clock_ns();
  return may_call_system() ? system_clock_ns(1 /* CLOCK_MONOTONIC */) : monotonic_clock_ns(context);
}

// Busy for that long. The time is bounded: a handler holds up the program that it probes, and in the kernel perhaps a processor.
[[gnu::noinline]] void spile_fn___udelay(Context* context, int64_t us) {
  constexpr int64_t kMost = kReadsKernelMemory ? 100'000 : 10'000'000;
  // whose time stands still
  const bool is_sample = !kReadsKernelMemory && subject_of(context) && subject_of(context)->time_ns != 0;
  auto now = [&] { return is_sample ? system_clock_ns(1 /* CLOCK_MONOTONIC */) : spile_rt_clock_ns(context); };
  const int64_t begin = now(), end = begin + (us > kMost ? kMost : us) * 1000;
  while (begin != 0 && now() < end) pause_cpu();  // 0: the time is not known
}

}  // extern "C"

}  // namespace spile::rt
