// The library's string functions (sema/terms/intrinsics.cpp). `out` is never one of the arguments.

#include "runtime/core/script_functions.h"
#include "runtime/escape.h"

namespace spile::rt {

namespace {

// Where `needle` first occurs in `text` from `from` on; `length` if nowhere.
uint32_t find_text(const char* text, uint32_t length, uint32_t from, const char* needle, uint32_t needle_length) {
  for (uint32_t at = from; at + needle_length <= length; ++at) {
    uint32_t same = 0;
    while (same < needle_length && text[at + same] == needle[same]) ++same;
    if (same == needle_length) return at;
  }
  return length;
}

uint32_t digit_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0');
  if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'Z') return static_cast<uint32_t>(c - 'A' + 10);
  return 36;
}

}  // namespace

// One byte as C source would have it: itself, \n and the like, or \ooo. The number of characters.
uint32_t escape_byte(char* out, uint8_t byte) { return write_escaped(out, byte); }

namespace {

// Returns the number of bytes of the character of UTF-8 beyond ASCII that a text of `left` bytes begins with; 0: it is not valid
// (RFC 3629).
uint32_t utf8_length(const char* text, uint32_t left, uint32_t* code) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0xc2 || first > 0xf4) return 0;
  const uint32_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (left < length) return 0;
  uint32_t value = first & (0x7fu >> length);
  for (uint32_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte & 0x3f);
  }
  if (length == 3 && (value < 0x800 || (value >= 0xd800 && value < 0xe000))) return 0;
  if (length == 4 && (value < 0x10000 || value > 0x10ffff)) return 0;
  *code = value;
  return length;
}

}  // namespace

SPILE_APART uint32_t escape_character(char* out, const char* text, uint32_t left, uint32_t* taken) {
  uint32_t code = 0;
  const uint32_t length = utf8_length(text, left, &code);
  *taken = length ? length : 1;
  if (!length) return escape_byte(out, static_cast<uint8_t>(text[0]));
  const uint32_t digits = code < 0x10000 ? 4 : 8;
  out[0] = '\\';
  out[1] = digits == 4 ? 'u' : 'U';
  for (uint32_t i = 0; i < digits; ++i) {
    out[2 + i] = "0123456789abcdef"[code >> (4 * (digits - 1 - i)) & 15];
    compiler_barrier();
  }
  return 2 + digits;
}

extern "C" {

SPILE_INLINE int64_t spile_fn_strlen(Context*, const char* text) { return spile_rt_string_length(text); }

[[gnu::noinline]] void spile_fn_substr(Context*, const char* text, int64_t start, int64_t count, char* out) {
  int64_t length = spile_rt_string_length(text);
  out[0] = 0;
  if (start < 0 || start >= length || count <= 0) return;
  if (count > length - start) count = length - start;
  copy_bytes(out, text + start, static_cast<uint64_t>(count));
  out[count] = 0;
}

SPILE_INLINE int64_t spile_fn_stringat(Context*, const char* text, int64_t position, bool* fault) {
  *fault = position < 0 || position >= static_cast<int64_t>(spile_rt_string_length(text));
  return *fault ? 0 : static_cast<uint8_t>(text[position]);
}

[[gnu::noinline]] int64_t spile_fn_isinstr(Context*, const char* text, const char* needle) {
  uint32_t length = spile_rt_string_length(text), needle_length = spile_rt_string_length(needle);
  return needle_length == 0 || find_text(text, length, 0, needle, needle_length) != length;
}

// As the kernel's simple_strtol, so without white space or a plus sign at the start: a minus sign, 0x or 0 where the base
// allows or is 0; clamped.
[[gnu::noinline]] int64_t spile_fn_strtol(Context*, const char* text, int64_t base) {
  if (base < 0 || base == 1 || base > 36) return 0;
  const char* end = text + spile_rt_string_length(text);
  bool negative = text < end && *text == '-';
  if (negative) ++text;
  bool hex_prefix = end - text > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && digit_value(text[2]) < 16;
  if ((base == 0 || base == 16) && hex_prefix) {
    text += 2;
    base = 16;
  } else if (base == 0) {
    base = text < end && *text == '0' ? 8 : 10;
  }
  uint64_t most = negative ? uint64_t{1} << 63 : ~uint64_t{0} >> 1;
  uint64_t value = 0, radix = static_cast<uint64_t>(base);
  for (; text < end && digit_value(*text) < radix; ++text) {
    uint64_t digit = digit_value(*text);
    value = value > (most - digit) / radix ? most : value * radix + digit;
  }
  return static_cast<int64_t>(negative ? -value : value);
}

[[gnu::noinline]] void spile_fn_str_replace(Context*, const char* text, const char* search, const char* by, char* out) {
  uint32_t length = spile_rt_string_length(text), search_length = spile_rt_string_length(search);
  uint32_t by_length = spile_rt_string_length(by), from = 0;
  TextBuffer buffer = {out, 0};
  while (search_length) {
    uint32_t at = find_text(text, length, from, search, search_length);
    if (at == length) break;
    buffer.put(text + from, at - from);
    buffer.put(by, by_length);
    from = at + search_length;
  }
  buffer.put(text + from, length - from);
  buffer.end();
}

[[gnu::noinline]] void spile_fn_text_str(Context*, const char* text, char* out) {
  TextBuffer buffer = {out, 0};
  buffer.put_escaped(text, spile_rt_string_length(text));
  buffer.end();
}

// Escaped, at most `limit` characters of it (0: as many as there is room for); in quotes where wanted.
[[gnu::noinline]] void spile_fn_text_strn(Context*, const char* text, int64_t limit, int64_t quoted, char* out) {
  uint32_t most = limit <= 0 || limit >= spile_rt_string_size ? spile_rt_string_size : static_cast<uint32_t>(limit) + 1;
  uint32_t length = spile_rt_string_length(text);
  if (quoted) return put_quoted(out, most, text, length, false);
  TextBuffer buffer = {out, 0};
  uint32_t taken = 1;
  for (uint32_t i = 0; i < length; i += taken) {
    char escaped[10];
    uint32_t count = escape_character(escaped, text + i, length - i, &taken);
    if (buffer.at + count + 1 > most) break;
    buffer.put(escaped, count);
  }
  buffer.end();
}

[[gnu::noinline]] void spile_fn_string_quoted(Context*, const char* text, char* out) {
  put_quoted(out, spile_rt_string_size, text, spile_rt_string_length(text), false);
}

// Where `needle` is in `text`, or -1.
[[gnu::noinline]] int64_t spile_fn_strpos(Context*, const char* text, const char* needle) {
  uint32_t length = spile_rt_string_length(text), needle_length = spile_rt_string_length(needle);
  if (needle_length == 0) return 0;
  uint32_t at = find_text(text, length, 0, needle, needle_length);
  return at == length ? -1 : static_cast<int64_t>(at);
}

// How many characters from `from` on are in `set` (wanted 1), or are not (0).
[[gnu::noinline]] int64_t spile_fn___string_span(Context*, const char* text, int64_t from, const char* set, int64_t wanted) {
  int64_t length = spile_rt_string_length(text), set_length = spile_rt_string_length(set);
  if (from < 0 || from > length) return 0;
  int64_t at = from;
  for (; at < length; ++at) {
    bool found = false;
    for (int64_t i = 0; i < set_length && !found; ++i) found = set[i] == text[at];
    if (found != (wanted != 0)) break;
  }
  return at - from;
}

}  // extern "C"

}  // namespace spile::rt
