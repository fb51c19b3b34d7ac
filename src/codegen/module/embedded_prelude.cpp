#include "codegen/module/embedded_prelude.h"

namespace spile::codegen {

// Functions of the runtime are declared as runtime/interface.h has them. Numbers of conversions, flags
// and records are those of abi/script_codes.h and abi/record.h.
const char kEmbeddedPrelude[] = R"~(
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef int8_t s8; typedef int16_t s16; typedef int32_t s32; typedef int64_t s64;
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#ifndef min
#define min(a, b) ({ __typeof__(a) min_a = (a); __typeof__(b) min_b = (b); min_a < min_b ? min_a : min_b; })
#define max(a, b) ({ __typeof__(a) max_a = (a); __typeof__(b) max_b = (b); max_a > max_b ? max_a : max_b; })
#endif

struct spile_rt;
struct context {
  struct spile_rt *runtime;
  const char *last_error;
  char *error_buffer;
  const char *last_stmt;
  int64_t next;
};
uint32_t spile_rt_string_length(const char *);
uint32_t spile_rt_format_long(char *, uint32_t, int64_t, uint32_t, uint32_t, int32_t, int32_t);
uint32_t spile_rt_format_string(char *, uint32_t, const char *, uint32_t, int32_t, int32_t);
char *spile_rt_record_begin(struct spile_rt *, uint32_t, uint32_t, uint32_t);
char *spile_rt_record_put_string(char *, const char *, uint32_t);
void spile_rt_record_end(struct spile_rt *, char *, char *);
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);

static inline size_t strlen(const char *s) { const char *e = s; while (*e) { ++e; __asm__ volatile("" ::: "memory"); } return e - s; }
static inline size_t strnlen(const char *s, size_t n) { size_t i = 0; while (i < n && s[i]) ++i; return i; }
static inline size_t strlcpy(char *to, const char *from, size_t size) {
  size_t n = strlen(from), m = n < size ? n : size - 1;
  if (size) { memmove(to, from, m); to[m] = 0; }
  return n;
}
static inline size_t strlcat(char *to, const char *from, size_t size) {
  size_t n = strnlen(to, size);
  return n < size ? n + strlcpy(to + n, from, size - n) : n + strlen(from);
}
static inline char *strcpy(char *to, const char *from) { memmove(to, from, strlen(from) + 1); return to; }
static inline char *strcat(char *to, const char *from) { strcpy(to + strlen(to), from); return to; }
static inline char *strncpy(char *to, const char *from, size_t n) {
  size_t m = strnlen(from, n);
  memmove(to, from, m);
  if (m < n) memset(to + m, 0, n - m);
  return to;
}
static inline int strncmp(const char *a, const char *b, size_t n) {
  for (; n; --n, ++a, ++b) if (*a != *b || !*a) return (unsigned char)*a - (unsigned char)*b;
  return 0;
}
static inline int strcmp(const char *a, const char *b) { return strncmp(a, b, (size_t)-1); }
static inline char *strchr(const char *s, int c) { for (;; ++s) { if (*s == (char)c) return (char *)s; if (!*s) return 0; } }
static inline char *strrchr(const char *s, int c) {
  char *found = 0;
  for (;; ++s) { if (*s == (char)c) found = (char *)s; if (!*s) return found; }
}
static inline char *strstr(const char *s, const char *what) {
  size_t n = strlen(what);
  for (;; ++s) { if (!strncmp(s, what, n)) return (char *)s; if (!*s) return 0; }
}
static inline long simple_strtol(const char *s, char **end, unsigned base) {
  long value = 0, sign = 1;
  if (*s == '-') sign = -1, ++s;
  if ((!base || base == 16) && s[0] == '0' && (s[1] | 32) == 'x') s += 2, base = 16;
  if (!base) base = *s == '0' ? 8 : 10;
  for (;; ++s) {
    unsigned digit = *s >= '0' && *s <= '9' ? *s - '0' : (*s | 32) >= 'a' && (*s | 32) <= 'z' ? (*s | 32) - 'a' + 10 : 99;
    if (digit >= base) break;
    value = value * base + digit;
  }
  if (end) *end = (char *)s;
  return sign * value;
}

static int spile_c_format(char *out, size_t size, const char *format, va_list arguments) {
  char text[MAXSTRINGLEN];
  uint32_t at = 0;
  for (; *format && at < MAXSTRINGLEN - 1; ++format) {
    if (*format != '%') { text[at++] = *format; continue; }
    uint32_t flags = 0, longs = 0, kind = 0;
    int32_t width = -1, precision = -1;
    for (++format;; ++format) {
      if (*format == '-') flags |= 1; else if (*format == '0') flags |= 2; else if (*format == '+') flags |= 4;
      else if (*format == ' ') flags |= 8; else if (*format == '#') flags |= 16; else break;
    }
    if (*format == '*') width = va_arg(arguments, int), ++format;
    else if (*format >= '0' && *format <= '9') for (width = 0; *format >= '0' && *format <= '9'; ++format) width = width * 10 + *format - '0';
    if (*format == '.') {
      ++format;
      if (*format == '*') precision = va_arg(arguments, int), ++format;
      else for (precision = 0; *format >= '0' && *format <= '9'; ++format) precision = precision * 10 + *format - '0';
    }
    for (;; ++format) {
      if (*format == 'l' || *format == 'z' || *format == 'j' || *format == 't') ++longs;
      else if (*format != 'h') break;
    }
    if (*format == 0) break;
    if (*format == 's') {
      const char *s = va_arg(arguments, const char *);
      at = spile_rt_format_string(text, at, s ? s : "(null)", flags, width, precision);
      continue;
    }
    if (*format == 'd' || *format == 'i') kind = 1;
    if (*format == 'u') kind = 2;
    if (*format == 'o') kind = 3;
    if (*format == 'x') kind = 4;
    if (*format == 'X') kind = 5;
    if (*format == 'p') kind = 4, flags |= 16, longs = 1;
    if (*format == 'c') kind = 8;
    if (!kind) { text[at++] = *format; continue; }
    int64_t value = longs ? va_arg(arguments, int64_t) : kind == 1 ? va_arg(arguments, int) : (int64_t)va_arg(arguments, unsigned);
    at = spile_rt_format_long(text, at, value, kind, flags, width, precision);
  }
  text[at] = 0;
  if (size) strlcpy(out, text, size);
  return (int)at;
}
static inline int vsnprintf(char *out, size_t size, const char *format, va_list arguments) { return spile_c_format(out, size, format, arguments); }
static int snprintf(char *out, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = spile_c_format(out, size, format, arguments);
  va_end(arguments);
  return length;
}
static int sprintf(char *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = spile_c_format(out, MAXSTRINGLEN, format, arguments);
  va_end(arguments);
  return length;
}
#define scnprintf snprintf
#define _stp_snprintf snprintf
#define _stp_vsnprintf vsnprintf
static void spile_c_write(struct context *c, uint32_t kind, const char *text) {
  uint32_t length = spile_rt_string_length(text);
  char *record = spile_rt_record_begin(c->runtime, kind, 0, (length + 4 + 7) & ~7u);
  if (record) spile_rt_record_end(c->runtime, record, spile_rt_record_put_string(record, text, length));
}
static void spile_c_print(struct context *c, uint32_t kind, const char *format, ...) {
  char text[MAXSTRINGLEN];
  va_list arguments;
  va_start(arguments, format);
  spile_c_format(text, sizeof text, format, arguments);
  va_end(arguments);
  spile_c_write(c, kind, text);
}
static inline int64_t _stp_div64(const char **error, int64_t x, int64_t y) {
  if (y == 0) { *error = "division by 0"; return 0; }
  return y == -1 ? -(uint64_t)x : x / y;
}
static inline int64_t _stp_mod64(const char **error, int64_t x, int64_t y) {
  if (y == 0) { *error = "division by 0"; return 0; }
  return y == -1 ? 0 : x % y;
}

#define CONTEXT c
#define STAP_PRINTF(...) spile_c_print(CONTEXT, 3, __VA_ARGS__)
#define _stp_printf(...) spile_c_print(CONTEXT, 3, __VA_ARGS__)
#define _stp_print(text) spile_c_write(CONTEXT, 3, (text))
#define _stp_warn(...) spile_c_print(CONTEXT, 4, __VA_ARGS__)
#define STAP_ERROR(...) do { snprintf(CONTEXT->error_buffer, MAXSTRINGLEN, __VA_ARGS__); CONTEXT->last_error = CONTEXT->error_buffer; return; } while (0)
#define _stp_error(...) do { snprintf(CONTEXT->error_buffer, MAXSTRINGLEN, __VA_ARGS__); CONTEXT->last_error = CONTEXT->error_buffer; } while (0)
#define STAP_NEXT do { CONTEXT->next = 1; return; } while (0)
#define STAP_RETVALUE THIS->__retvalue
)~";

}  // namespace spile::codegen
