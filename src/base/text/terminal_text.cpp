#include "base/text/terminal_text.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/diagnostic_colors.h"

namespace spile {

namespace {

void put_octal(std::string& out, unsigned char byte) {
  out += '\\';
  out += static_cast<char>('0' + (byte >> 6));
  out += static_cast<char>('0' + (byte >> 3 & 7));
  out += static_cast<char>('0' + (byte & 7));
}

bool is_control(unsigned char byte) { return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f; }

// Bytes of a character that begins so (RFC 3629); 0: none does.
size_t length_of(unsigned char first) {
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

// Whether a character of UTF-8 is a C1 control, ends a line (U+2028, U+2029), or has a terminal show the text that follows in
// another direction, so that a line reads as what it is not (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069;
// https://unicode.org/reports/tr9).
bool controls(const char* bytes) {
  const auto at = [bytes](int i) { return static_cast<unsigned char>(bytes[i]); };
  if (at(0) == 0xc2) return at(1) < 0xa0;
  if (at(0) == 0xd8) return at(1) == 0x9c;
  if (at(0) != 0xe2) return false;
  return at(1) == 0x80 ? at(2) == 0x8e || at(2) == 0x8f || (at(2) >= 0xa8 && at(2) <= 0xae)
                       : at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9;
}

}  // namespace

// Not overlong, not a surrogate, not above U+10FFFF.
bool TerminalText::continues(unsigned char byte) const {
  if (byte < 0x80 || byte > 0xbf) return false;
  if (held_count_ > 1) return true;
  switch (static_cast<unsigned char>(held_[0])) {
    case 0xe0: return byte >= 0xa0;
    case 0xed: return byte <= 0x9f;
    case 0xf0: return byte >= 0x90;
    case 0xf4: return byte <= 0x8f;
    default: return true;
  }
}

void TerminalText::escape(std::string& out) {
  for (size_t i = 0; i < held_count_; ++i) put_octal(out, static_cast<unsigned char>(held_[i]));
  held_count_ = 0;
}

void TerminalText::finish(std::string& out) { escape(out); }

void TerminalText::append(std::string& out, std::string_view text) {
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (held_count_ > 0 && continues(byte)) {
      held_[held_count_++] = c;
      if (held_count_ < wanted_) continue;
      if (controls(held_)) escape(out);
      else out.append(held_, held_count_);
      held_count_ = 0;
      continue;
    }
    escape(out);
    wanted_ = length_of(byte);
    if (wanted_ > 0) held_[held_count_++] = c;
    else if (byte >= 0x80 || is_control(byte)) put_octal(out, byte);
    else out += c;
  }
}

std::string one_line(std::string_view text, size_t width) {
  TerminalText terminal;
  std::string out;
  terminal.append(out, text.substr(0, 4 * width));
  terminal.finish(out);
  for (char& c : out) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  if (out.size() <= width) return out;
  size_t end = width - 3;
  while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // not within a character of UTF-8
  return out.substr(0, end) + "...";
}

namespace {

// Whether a character takes two columns (Unicode's East_Asian_Width W and F, in ranges).
bool is_wide(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},  {0xfe30, 0xfe6f},
                             {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};
  for (const Range& range : kWide)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

struct Glyph {
  size_t bytes, columns;
};
// The character at `at` of a text in which all that is not ASCII is UTF-8.
Glyph glyph_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const size_t length = first < 0x80 ? 1 : std::clamp<size_t>(length_of(first), 1, text.size() - at);
  uint32_t code = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3f);
  return {length, is_wide(code) ? size_t{2} : 1};
}

}  // namespace

std::string first_columns(std::string_view text, size_t columns) {
  TerminalText terminal;
  std::string shown;
  terminal.append(shown, text.substr(0, 4 * columns + 4));
  terminal.finish(shown);
  size_t taken = 0;
  for (size_t at = 0; at < shown.size();) {
    const Glyph glyph = glyph_at(shown, at);
    taken += glyph.columns;
    if (taken > columns) return shown.substr(0, at);
    at += glyph.bytes;
  }
  return shown;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const Glyph glyph = glyph_at(text, at);
    columns += glyph.columns;
    at += glyph.bytes;
  }
  return columns;
}

namespace {

void append_message(std::string& out, std::string_view text) {
  TerminalText terminal;
  while (!text.empty()) {
    size_t color = 0;
    for (std::string_view each : kDiagnosticColors) {
      if (text.starts_with(each)) color = each.size();
    }
    if (color > 0) {
      terminal.finish(out);
      out += text.substr(0, color);
    } else {
      terminal.append(out, text.substr(0, 1));
    }
    text.remove_prefix(color > 0 ? color : 1);
  }
  terminal.finish(out);
}

ssize_t write_guarded(void* cookie, const char* bytes, size_t size) {
  const int fd = static_cast<int>(reinterpret_cast<intptr_t>(cookie));
  std::string text;
  append_message(text, {bytes, size});
  for (std::string_view left = text; !left.empty();) {
    ssize_t written = write(fd, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return 0;  // an error (fopencookie(3))
    left.remove_prefix(static_cast<size_t>(written));
  }
  return static_cast<ssize_t>(size);
}

// The stream itself if it is not a terminal.
FILE* guarded(FILE* stream, int fd, int buffering) {
  if (!isatty(fd)) return stream;
  fflush(stream);
  FILE* made = fopencookie(reinterpret_cast<void*>(static_cast<intptr_t>(fd)), "w", {nullptr, write_guarded, nullptr, nullptr});
  if (!made) return stream;
  setvbuf(made, nullptr, buffering, BUFSIZ);
  return made;
}

}  // namespace

TerminalGuard::TerminalGuard() : out_(stdout), err_(stderr) {
  stdout = guarded(out_, STDOUT_FILENO, _IOLBF);
  stderr = guarded(err_, STDERR_FILENO, _IONBF);
}

TerminalGuard::~TerminalGuard() {
  if (stdout != out_) fclose(std::exchange(stdout, out_));
  if (stderr != err_) fclose(std::exchange(stderr, err_));
}

}  // namespace spile
