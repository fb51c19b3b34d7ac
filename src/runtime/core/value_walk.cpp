// Prints a value of the traced program by its plan (abi/value_plan.h). Frames on a small stack in scratch memory take the place
// of recursion: one for each routine that is under way, and one for each container whose elements are being printed.
//
// All that is read here may be garbage, or made by somebody who wishes us ill: a pointer leads nowhere, a list to itself, a
// length is absurd. Every load is guarded; a fault is shown in place of the value, and ends its container. Steps, levels and
// elements are bounded.

#include "abi/script_codes.h"
#include "abi/value_plan.h"
#include "runtime/core/core.h"
#include "runtime/core/script_functions.h"
#include "runtime/core/symbols.h"
#include "runtime/core/value_frame.h"
#include "runtime/core/value_names.h"
#include "runtime/core/value_tables.h"

namespace spile::rt {

namespace {

inline constexpr uint32_t kMostFrames = 72, kMostSteps = 4096, kMostDescents = 96;

using Step = abi::ValueStep;
using Source = abi::ValueSource;
using Form = abi::ValueForm;

class ValueWalk {
 public:
  ValueWalk(Context* context, const char* plan, char* out, ValueFrame* frames, const uint64_t* words)
      : context_(context),
        plan_(reinterpret_cast<const uint8_t*>(plan) + abi::kValuePlanHeader),
        frames_(frames),
        words_(words),
        text_{out, 0} {
    most_levels_ = word_at(plan, 0);
    most_elements_ = word_at(plan, 4);
    most_bytes_ = word_at(plan, 8);
  }

  void run(uint64_t address) {
    if (address < kFirstPage || !readable(address)) {
      put_unreadable(address);
    } else {
      push(address, 0, 0);
      for (uint32_t steps = 0; depth_ && steps < kMostSteps && text_.room() && !failed_ && !full_; ++steps) {
        ValueFrame& frame = frames_[depth_ - 1];
        if (frame.kind == Step::kEnd) step(frame);
        else advance(frame);
      }
    }
    if (depth_ || full_ || !text_.room()) {  // cut off
      if (text_.room() < 3) text_.at = spile_rt_string_size - 4;
      text_.put("...", 3);
    }
    text_.end();
  }

 private:
  static constexpr uint64_t kFirstPage = 4096;

  static uint32_t word_at(const char* plan, uint32_t at) {
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(plan) + at;
    return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  }

  // ---- the plan
  uint8_t byte(uint32_t& pc) const { return plan_[pc++]; }
  uint64_t number(uint32_t& pc) const {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70; shift += 7) {
      uint8_t next = plan_[pc++];
      if (shift < 64) value |= uint64_t{next & 0x7fu} << shift;
      if (!(next & 0x80)) break;
    }
    return value;
  }
  int64_t signed_number(uint32_t& pc) const {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70;) {
      uint8_t next = plan_[pc++];
      if (shift < 64) value |= uint64_t{next & 0x7fu} << shift;
      shift += 7;
      if (next & 0x80) continue;
      if (shift < 64 && (next & 0x40)) value |= ~uint64_t{0} << shift;
      break;
    }
    return static_cast<int64_t>(value);
  }
  uint32_t target(uint32_t& pc) const {
    uint32_t value = word_at(reinterpret_cast<const char*>(plan_), pc);
    pc += 4;
    return value;
  }

 public:
  // ---- memory, also for value_tables.h. False: the address can't be read, and is noted as the one at fault
  [[gnu::noinline]] bool load(uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
    uint64_t at = address - abi::kValueWordsAt;
    if (at >= 8 * abi::kMostValueWords) {
      if (spile_rt_load(context_, address, size, is_signed, value)) return true;
      fault_ = address;
      return false;
    }
    uint32_t word = static_cast<uint32_t>(at) / 8, bits = 8 * (static_cast<uint32_t>(at) & 7);
    uint64_t bytes = words_[word] >> bits;
    if (bits && word + 1 < abi::kMostValueWords) bytes |= words_[word + 1] << (64 - bits);
    uint32_t spare = 64 - 8 * size;
    *value = is_signed ? static_cast<int64_t>(bytes << spare) >> spare : static_cast<int64_t>(bytes << spare >> spare);
    return true;
  }
  bool load_word(uint64_t address, uint64_t* value) {
    int64_t word;
    if (!load(address, 8, false, &word)) return false;
    *value = static_cast<uint64_t>(word);
    return true;
  }
  void fail(uint64_t address) { fault_ = address; }

 private:
  bool readable(uint64_t address) {
    int64_t ignored;
    return load(address, 1, false, &ignored);
  }

  // Follows a computation to its end, also where a load fails. False: one has, at fault_.
  [[gnu::noinline]] bool compute(uint32_t& pc, uint64_t base, uint64_t* result) {
    uint64_t stack[abi::kMostSourceDepth] = {};
    uint32_t depth = 0;
    bool ok = true;
    for (Source op; (op = Source{byte(pc)}) != Source::kEnd;) {
      uint64_t& top = stack[(depth - 1) & (abi::kMostSourceDepth - 1)];
      switch (op) {
        case Source::kBase: stack[depth++ & (abi::kMostSourceDepth - 1)] = base; break;
        case Source::kConstant: stack[depth++ & (abi::kMostSourceDepth - 1)] = static_cast<uint64_t>(signed_number(pc)); break;
        case Source::kLoad: {
          uint32_t size = byte(pc);
          bool is_signed = byte(pc);
          int64_t value = 0;
          if (ok && !load(top, size, is_signed, &value)) ok = false;
          top = static_cast<uint64_t>(value);
          break;
        }
        case Source::kPlus: top += static_cast<uint64_t>(signed_number(pc)); break;
        case Source::kMinus:
        case Source::kMultiply:
        case Source::kAdd: {
          uint64_t right = top;
          --depth;
          uint64_t& left = stack[(depth - 1) & (abi::kMostSourceDepth - 1)];
          left = op == Source::kAdd ? left + right : op == Source::kMinus ? left - right : left * right;
          break;
        }
        case Source::kTimes: top *= static_cast<uint64_t>(signed_number(pc)); break;
        case Source::kDivide: {
          uint64_t by = number(pc);
          // Signed, without an instruction for it: eBPF has it since version 4 only.
          bool negative = static_cast<int64_t>(top) < 0;
          uint64_t quotient = by ? (negative ? -top : top) / by : 0;
          top = negative ? -quotient : quotient;
          break;
        }
        case Source::kAnd: top &= static_cast<uint64_t>(signed_number(pc)); break;
        case Source::kShiftRight: top >>= number(pc) & 63; break;
        default: return false;
      }
    }
    *result = stack[0];
    return ok;
  }

  // ---- texts
  template <uint32_t kSize>
  void put_literal(const char (&text)[kSize]) {
    text_.put(text, kSize - 1);
  }
  void put_unreadable(uint64_t address) {
    if (address == 0) return put_literal("NULL");
    put_literal("<");
    put_hex(address);
    put_literal(": unreadable>");
  }
  void put_hex(uint64_t value) {
    char digits[20];
    text_.put(digits, write_hex(digits, value));
  }
  void put_long(int64_t value, uint32_t conversion, uint32_t flags, int32_t width) {
    const uint32_t end = spile_rt_format_long(text_.out, text_.at, value, conversion, flags, width, -1);
    // A number that is cut off would be another one: behind it there is room for "...", unless it is all.
    if (end < spile_rt_string_size - (text_.at ? 3 : 1)) text_.at = end;
    else full_ = true;
  }
  void put_number(int64_t value, Form form) {
    switch (form) {
      case Form::kSigned: return put_long(value, abi::kFormatSigned, 0, -1);
      case Form::kPointer: return value ? put_long(value, abi::kFormatPointer, 0, -1) : put_literal("NULL");
      case Form::kByte:
      case Form::kCharacter: return put_letter(static_cast<uint32_t>(value), form == Form::kByte);
      case Form::kTruth:
        if (value == 0) return put_literal("false");
        if (value == 1) return put_literal("true");
        [[fallthrough]];
      default: return put_long(value, abi::kFormatUnsigned, 0, -1);
    }
  }
  // A number of 16 bytes. By long division, 32 bits at a time: neither place has a division of 128 bits.
  [[gnu::noinline]] void put_wide(uint64_t at, Form form) {
    uint64_t low, high;
    if (!load_word(at, &low) || !load_word(at + 8, &high)) return put_unreadable(fault_);
    const bool is_negative = form == Form::kSigned && high >> 63;
    if (is_negative) {
      low = -low;
      high = ~high + (low == 0);
    }
    constexpr uint32_t kGroup = 1'000'000'000, kDigits = 9, kMostGroups = 5;
    uint32_t limbs[4] = {static_cast<uint32_t>(high >> 32), static_cast<uint32_t>(high), static_cast<uint32_t>(low >> 32),
                         static_cast<uint32_t>(low)};
    uint32_t groups[kMostGroups] = {}, count = 0;
    for (uint32_t group = 0; group < kMostGroups; ++group) {
      uint64_t rest = 0, left = 0;
      for (uint32_t& limb : limbs) {
        const uint64_t whole = rest << 32 | limb;
        limb = static_cast<uint32_t>(whole / kGroup);
        rest = whole % kGroup;
        left |= limb;
      }
      groups[group] = static_cast<uint32_t>(rest);
      count = group + 1;
      if (!left) break;
    }
    if (text_.room() < 48) {
      full_ = true;
      return;
    }
    if (is_negative) put_literal("-");
    put_long(groups[(count - 1) % kMostGroups], abi::kFormatUnsigned, 0, -1);
    for (uint32_t group = count - 1; group > 0; --group) put_digits(groups[(group - 1) % kMostGroups], kDigits, "");
  }
  void put_letter(uint32_t code, bool is_byte) {
    put_literal("'");
    char bytes[4];
    text_.put(bytes, is_byte || code < 0x80 ? escape_byte(bytes, static_cast<uint8_t>(code)) : write_utf8(bytes, code));
    put_literal("'");
  }
  // Bytes that are no text are shown in octal, as are control characters beyond ASCII.
  static uint32_t write_utf8(char* out, uint32_t code) {
    if (code < 0xa0) return escape_byte(out, static_cast<uint8_t>(code));
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
    uint32_t count = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (uint32_t i = count - 1; i > 0; --i, code >>= 6) {
      out[i] = static_cast<char>(0x80 | (code & 0x3f));
      compiler_barrier();
    }
    out[0] = static_cast<char>((0xf00u >> count & 0xff) | code);
    return count;
  }

  // A text of `length` units, or up to a 0; in quotes.
  [[gnu::noinline]] void put_text(uint64_t address, uint64_t length, uint32_t unit, bool to_nul) {
    const uint32_t begun = text_.at;
    put_literal("\"");
    uint64_t most = most_bytes_ ? most_bytes_ / unit : spile_rt_string_size;
    bool cut = false;
    for (uint64_t i = 0; i < length;) {
      if (i >= most) {
        int64_t next = 1;
        cut = !to_nul || (load(address + unit * i, unit, false, &next) && next != 0);
        break;
      }
      int64_t code = 0;
      if (!load(address + unit * i, unit, false, &code)) {
        text_.at = begun;
        return put_unreadable(fault_);
      }
      if (to_nul && code == 0) break;
      ++i;
      if (unit == 1 && code >= 0xc2) i += take_utf8(address + i, length - i, &code);
      else if (unit == 2 && code >= 0xd800 && code < 0xdc00) i += take_surrogate(address + unit * i, length - i, &code);
      char bytes[4];
      const bool is_byte = code < 0x80 || (unit == 1 && !(code & kWhole));
      uint32_t count =
          is_byte ? escape_byte(bytes, static_cast<uint8_t>(code)) : write_utf8(bytes, static_cast<uint32_t>(code & ~kWhole));
      if (count + 4 > text_.room()) {
        cut = true;
        text_.put("\"", 1);
        text_.put("....", text_.room() < 4 ? text_.room() : 4);  // the walk ends here
        return;
      }
      text_.put(bytes, count);
    }
    put_literal("\"");
    if (cut) put_literal("...");
  }
  static constexpr int64_t kWhole = int64_t{1} << 40;  // marks a character that was read from several bytes

  // Reads what follows the first byte of a character in UTF-8. Returns the bytes taken; 0: it is not one.
  uint32_t take_utf8(uint64_t address, uint64_t left, int64_t* code) {
    const auto first = static_cast<uint32_t>(*code);
    uint32_t more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : first < 0xf5 ? 3 : 0;
    if (!more || more > left) return 0;
    uint32_t value = first & (0x3f >> more);
    for (uint32_t i = 0; i < more; ++i) {
      int64_t next = 0;
      if (!load(address + i, 1, false, &next) || (next & 0xc0) != 0x80) return 0;
      value = value << 6 | (static_cast<uint32_t>(next) & 0x3f);
    }
    bool is_long = more == 1 || (more == 2 ? value >= 0x800 : value >= 0x10000);
    if (!is_long || value < 0xa0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
    *code = kWhole | value;
    return more;
  }
  uint32_t take_surrogate(uint64_t address, uint64_t left, int64_t* code) {
    int64_t low = 0;
    if (!left || !load(address, 2, false, &low) || low < 0xdc00 || low > 0xdfff) return 0;
    *code = kWhole | (0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00));
    return 1;
  }

  // ---- frames
  bool push(uint64_t base, uint32_t routine, uint8_t level) {
    if (level > most_levels_ || depth_ == kMostFrames) {
      put_literal("{...}");
      return false;
    }
    ValueFrame& frame = frames_[depth_++];
    frame.base = base;
    frame.pc = routine;
    frame.kind = Step::kEnd;
    frame.level = level;
    return true;
  }

  // One step of a routine.
  void step(ValueFrame& frame) {
    uint32_t pc = frame.pc;
    const uint64_t base = frame.base;
    const Step op{byte(pc)};
    if (op == Step::kEnd) {
      --depth_;
      return;
    }
    if (op >= Step::kElements && op <= Step::kGoMap) return begin_container(frame, op, pc);
    if (op >= Step::kCall && op <= Step::kSwitch) return branch(frame, op, pc);
    switch (op) {
      case Step::kText: {
        uint32_t length = static_cast<uint32_t>(number(pc));
        text_.put(reinterpret_cast<const char*>(plan_ + pc), length);
        pc += length;
        break;
      }
      case Step::kNumber: {
        uint64_t at = base + number(pc);
        uint32_t size = byte(pc);
        const Form form{byte(pc)};
        int64_t value;
        if (size == 16) put_wide(at, form);
        else if (load(at, size, form == Form::kSigned, &value)) put_number(value, form);
        else put_unreadable(fault_);
        break;
      }
      case Step::kBits: put_bits(base, pc); break;
      case Step::kEnumerator: put_enumerator(base, pc); break;
      case Step::kFloat: {
        uint64_t at = base + number(pc);
        put_float(at, byte(pc));
        break;
      }
      case Step::kCharacters: {
        uint64_t at = base + number(pc), count = number(pc);
        put_text(at, count, byte(pc), true);
        break;
      }
      case Step::kCString: {
        uint64_t at;
        bool ok = compute(pc, base, &at);
        uint32_t unit = byte(pc);
        if (!ok || at == 0) put_unreadable(ok ? 0 : fault_);
        else put_text(at, ~uint64_t{0} >> 8, unit, true);
        break;
      }
      case Step::kSpan: {
        uint64_t at, length;
        bool ok = compute(pc, base, &at);
        ok = compute(pc, base, &length) && ok;
        uint32_t unit = byte(pc);
        if (!ok) put_unreadable(fault_);
        else put_text(at, length, unit, false);
        break;
      }
      case Step::kComputed: {
        uint64_t value;
        bool ok = compute(pc, base, &value);
        const Form form{byte(pc)};
        if (ok) put_number(static_cast<int64_t>(value), form);
        else put_unreadable(fault_);
        break;
      }
      case Step::kGoInterface: put_go_interface(base, pc); break;
      case Step::kInstant: {
        uint64_t at = base + number(pc), ticks = number(pc);
        int64_t value;
        if (load(at, 8, true, &value)) put_instant(value, ticks);
        else put_unreadable(fault_);
        break;
      }
      case Step::kCode: {
        const abi::ValueCode kind{byte(pc)};
        uint64_t first, second;
        bool ok = compute(pc, base, &first);
        uint64_t fault = fault_;
        bool other = compute(pc, base, &second);
        if (!ok) put_unreadable(fault);
        else put_code_name(kind, first, other ? second : 0);
        break;
      }
      default: failed_ = true; return;
    }
    frame.pc = pc;
  }

  void put_bits(uint64_t base, uint32_t& pc) {
    uint64_t at = base + number(pc);
    uint32_t size = byte(pc), first = byte(pc), bits = byte(pc);
    const Form form{byte(pc)};
    int64_t value;
    if (!load(at, size, false, &value)) return put_unreadable(fault_);
    put_number(extract(value, first, bits, form == Form::kSigned), form);
  }
  static int64_t extract(int64_t word, uint32_t first, uint32_t bits, bool is_signed) {
    uint64_t value = static_cast<uint64_t>(word) >> (first & 63);
    if (bits >= 64 || bits == 0) return static_cast<int64_t>(value);
    value <<= 64 - bits;
    return is_signed ? static_cast<int64_t>(value) >> (64 - bits) : static_cast<int64_t>(value >> (64 - bits));
  }

  void put_enumerator(uint64_t base, uint32_t& pc) {
    uint64_t at = base + number(pc);
    uint32_t size = byte(pc), first = byte(pc), bits = byte(pc);
    bool is_signed = byte(pc);
    uint32_t table = target(pc);
    int64_t word;
    if (!load(at, size, false, &word)) return put_unreadable(fault_);
    int64_t value = extract(word, first, bits, is_signed);
    if (put_constant(table, value)) return;
    uint32_t start = table;
    if (byte(start) != static_cast<uint8_t>(abi::ValueTable::kFlags) || value == 0)
      return put_long(value, is_signed ? abi::kFormatSigned : abi::kFormatUnsigned, 0, -1);
    put_flags(start, static_cast<uint64_t>(value));
  }
  bool put_constant(uint32_t at, int64_t value) {
    byte(at);
    for (uint64_t left = number(at); left > 0; --left) {
      int64_t own = signed_number(at);
      uint32_t length = static_cast<uint32_t>(number(at));
      if (own == value) {
        text_.put(reinterpret_cast<const char*>(plan_ + at), length);
        return true;
      }
      at += length;
    }
    return false;
  }
  void put_flags(uint32_t at, uint64_t value) {
    bool first = true;
    for (uint64_t left = number(at); left > 0; --left) {
      auto own = static_cast<uint64_t>(signed_number(at));
      uint32_t length = static_cast<uint32_t>(number(at));
      if (own && (value & own) == own) {
        if (!first) put_literal(" | ");
        text_.put(reinterpret_cast<const char*>(plan_ + at), length);
        first = false;
        value &= ~own;
      }
      at += length;
    }
    if (!value) return;
    if (!first) put_literal(" | ");
    put_hex(value);
  }

  void put_float(uint64_t at, uint8_t kind) {
    int64_t low, high = 0;
    if (!load(at, kind == 4 ? 4 : 8, false, &low)) return put_unreadable(fault_);
    if (kind == 10 && !load(at + 8, 2, false, &high)) return put_unreadable(fault_);
    if (text_.room() < 48) {
      full_ = true;
      return;
    }
    text_.at += put_shortest(context_, text_.out + text_.at, kind, static_cast<uint64_t>(low), static_cast<uint32_t>(high));
  }

  // "2026-11-25 10:58:15.123456789", the fraction as fine as the clock counts.
  void put_instant(int64_t value, uint64_t ticks) {
    if (!ticks) return;
    const int64_t per = static_cast<int64_t>(ticks);
    // Without signs: the product may lie below the least number, by less than what is subtracted.
    auto rest_of = [](int64_t whole, int64_t times, int64_t of) {
      return static_cast<int64_t>(static_cast<uint64_t>(whole) - static_cast<uint64_t>(times) * static_cast<uint64_t>(of));
    };
    int64_t seconds = quotient(value, per), fraction = rest_of(value, seconds, per);
    int64_t days = quotient(seconds, 86400), rest = rest_of(seconds, days, 86400);
    // From days since 1970 to the Gregorian calendar, in years that begin with March (Howard Hinnant, "chrono-Compatible
    // Low-Level Date Algorithms", civil_from_days).
    int64_t shifted = days + 719468, era = quotient(shifted, 146097);
    uint64_t day_of_era = static_cast<uint64_t>(shifted - era * 146097);
    uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month = (5 * day_of_year + 2) / 153;
    int64_t day = static_cast<int64_t>(day_of_year - (153 * month + 2) / 5 + 1);
    month = month < 10 ? month + 3 : month - 9;
    int64_t year = static_cast<int64_t>(year_of_era) + era * 400 + (month <= 2);
    if (text_.room() < 60) {
      full_ = true;
      return;
    }
    put_digits(year, 4, "-");
    put_digits(static_cast<int64_t>(month), 2, "-");
    put_digits(day, 2, " ");
    put_digits(static_cast<int64_t>(static_cast<uint64_t>(rest) / 3600), 2, ":");
    put_digits(static_cast<int64_t>(static_cast<uint64_t>(rest) / 60 % 60), 2, ":");
    put_digits(static_cast<int64_t>(static_cast<uint64_t>(rest) % 60), 2, "");
    uint32_t digits = 0;
    for (uint64_t scale = 1; scale < ticks; scale *= 10) ++digits;
    if (!digits) return;
    put_literal(".");
    put_digits(fraction, digits, "");
  }
  void put_digits(int64_t value, uint32_t width, const char* behind) {
    text_.at =
        spile_rt_format_long(text_.out, text_.at, value, abi::kFormatSigned, abi::kFormatZero, static_cast<int32_t>(width), -1);
    if (*behind) text_.put(behind, 1);
  }
  // Rounded down.
  static int64_t quotient(int64_t value, int64_t by) {
    uint64_t size = static_cast<uint64_t>(value < 0 ? -(value + 1) : value) / static_cast<uint64_t>(by);
    return value < 0 ? -static_cast<int64_t>(size) - 1 : static_cast<int64_t>(size);
  }

  void put_code_name(abi::ValueCode kind, uint64_t first, uint64_t second) {
    if (first == 0) return put_literal("NULL");
    const uint32_t begun = text_.at;
    text_.at = put_name(context_, text_.out, text_.at, module_map_offset(context_), first, first);
    if (kind == abi::ValueCode::kFunction) return;
    // std::_Function_handler<int (int), main::{lambda(int)#1}>::_M_invoke: the last argument is what it calls, a function
    // pointer's type or a class. Of libc++, std::__1::__function::__func<main::$_0, ...>::operator(), the first.
    const bool is_last = kind == abi::ValueCode::kStdFunction;
    uint32_t name = 0, end = 0;
    const NameInText whole = {text_.out, begun, text_.at};
    if (kind == abi::ValueCode::kArgument) {
      if (find_argument_of_class(whole, &name, &end)) keep(begun, name, end);
      return;
    }
    if (!(is_last ? find_last_argument(whole, &name, &end) : find_first_argument(whole, &name, &end))) return;
    while (name < end && text_.out[name] == ' ') ++name;
    bool is_pointer = false;
    for (uint32_t i = name; i + 2 < end; ++i)
      is_pointer |= text_.out[i] == '(' && text_.out[i + 1] == '*' && text_.out[i + 2] == ')';
    if (is_pointer && second) {
      text_.at = put_name(context_, text_.out, begun, module_map_offset(context_), second, second);
      return;
    }
    keep(begun, name, end);
  }
  // Leaves of what was written from `begun` on only what is between `name` and `end`.
  void keep(uint32_t begun, uint32_t name, uint32_t end) {
    for (uint32_t i = name; i < end; ++i) {
      text_.out[begun + i - name] = text_.out[i];
      compiler_barrier();
    }
    text_.at = begun + end - name;
  }
  // The dynamic type of an interface's value (runtime/type.go of Go 1.19: _type.str is the offset of its name, which begins with
  // flags and its length), and what it says if it is one of the error types of the standard library, which begin with their text.
  [[gnu::noinline]] void put_go_interface(uint64_t base, uint32_t& pc) {
    const uint64_t types = number(pc);
    uint64_t type, data;
    bool ok = compute(pc, base, &type);
    const uint64_t fault = fault_;
    bool has_data = compute(pc, base, &data);
    if (!ok) return put_unreadable(fault);
    if (!type) return put_literal("nil");
    int64_t offset, length;
    if (!load(type + 40, 4, true, &offset) || !load(types + static_cast<uint64_t>(offset) + 1, 1, false, &length))
      return put_unreadable(fault_);
    const uint64_t name = types + static_cast<uint64_t>(offset) + 2;
    const uint32_t begun = text_.at;
    // Where a type's name is also that of a pointer to it, it has a star too many (tflagExtraStar).
    int64_t flags = 0, kind = 0;
    load(type + 20, 1, false, &flags);
    load(type + 23, 1, false, &kind);
    if (length == 0) put_literal("?");  // not a type
    for (int64_t i = flags & 2 ? 1 : 0; i < length && i < 64; ++i) {
      int64_t letter;
      char bytes[4];
      if (!load(name + static_cast<uint64_t>(i), 1, false, &letter)) break;
      text_.put(bytes, escape_byte(bytes, static_cast<uint8_t>(letter)));
    }
    if (!has_data) return;
    constexpr int64_t kKinds = 31, kString = 24;  // the other bits are flags
    const bool is_error = is_text(begun, "*errors.errorString") || is_text(begun, "*fmt.wrapError");
    if (is_error || (kind & kKinds) == kString) put_go_string(data);
    else put_go_basic(data, static_cast<uint32_t>(kind & kKinds));
  }
  void put_go_string(uint64_t at) {
    uint64_t text, size;
    put_literal("(");
    if (!load_word(at, &text) || !load_word(at + 8, &size)) put_unreadable(fault_);
    else put_text(text, size, 1, false);
    put_literal(")");
  }
  // A number or truth value behind an interface, by its kind (runtime/typekind.go); values of other kinds are not printed.
  void put_go_basic(uint64_t at, uint32_t kind) {
    constexpr uint32_t kBool = 1, kInt = 2, kInt64 = 6, kUintptr = 12, kFloat32 = 13, kFloat64 = 14;
    if (kind < kBool || kind > kFloat64) return;
    put_literal("(");
    if (kind >= kFloat32) {
      put_float(at, kind == kFloat32 ? 4 : 8);
    } else {
      // int, int8 to int64, uint, uint8 to uint64, uintptr.
      const uint32_t position = kind <= kInt64 ? kind - kInt : kind - kInt64 - 1;
      const uint32_t size = kind == kBool ? 1 : kind == kUintptr || position == 0 ? 8 : 1u << (position - 1);
      const Form form = kind >= kInt && kind <= kInt64 ? Form::kSigned : Form::kUnsigned;
      int64_t value;
      if (load(at, size, form == Form::kSigned, &value)) put_number(value, form);
      else put_unreadable(fault_);
    }
    put_literal(")");
  }
  // Whether that is what was written from `begun` on.
  bool is_text(uint32_t begun, const char* wanted) const {
    uint32_t at = begun;
    for (; *wanted && at < text_.at; ++at, ++wanted) {
      if (text_.out[at] != *wanted) return false;
    }
    return !*wanted && at == text_.at;
  }

  // Steps that go on with another routine.
  void branch(ValueFrame& frame, Step op, uint32_t pc) {
    const uint64_t base = frame.base;
    const uint8_t level = frame.level;
    if (op == Step::kSwitch) {
      uint64_t value;
      bool ok = compute(pc, base, &value);
      uint32_t chosen = 0;
      bool found = false;
      for (uint64_t left = number(pc); left > 0; --left) {
        int64_t own = signed_number(pc);
        uint32_t routine = target(pc);
        if (found || own != static_cast<int64_t>(value)) continue;
        chosen = routine;
        found = true;
      }
      uint32_t otherwise = target(pc);
      frame.pc = pc;
      if (!ok) return put_unreadable(fault_);
      push(base, found ? chosen : otherwise, level);
      return;
    }
    uint64_t at;
    bool ok = true;
    if (op == Step::kFollow) {
      ok = compute(pc, base, &at);
    } else {
      at = base + number(pc);
    }
    uint32_t routine = target(pc);
    frame.pc = pc;
    if (!ok) return put_unreadable(fault_);
    if (op == Step::kFollow && !readable(at)) return put_unreadable(at);
    push(at, routine, op == Step::kInline ? level : static_cast<uint8_t>(level + 1));
  }

  // ---- containers
  [[gnu::noinline]] void begin_container(ValueFrame& frame, Step op, uint32_t pc) {
    const uint64_t base = frame.base;
    const char open = static_cast<char>(byte(pc)), close = static_cast<char>(byte(pc));
    ValueFrame made = {};
    made.base = base;
    made.kind = op;
    made.level = static_cast<uint8_t>(frame.level + 1);
    made.close = close;
    bool ok = true;
    uint64_t fault = 0;
    auto source = [&](uint64_t* into) {
      if (compute(pc, base, into)) return;
      if (ok) fault = fault_;
      ok = false;
    };
    switch (op) {
      case Step::kElements:
        source(&made.cursor);
        source(&made.count);
        source(&made.a);
        made.routine = target(pc);
        break;
      case Step::kList:
        source(&made.cursor);
        source(&made.a);
        source(&made.count);
        made.b = static_cast<uint64_t>(signed_number(pc));
        made.c = number(pc);
        made.routine = target(pc);
        break;
      case Step::kTree:
        source(&made.cursor);
        source(&made.count);
        made.a = number(pc);
        made.b = number(pc);
        made.c = number(pc);
        made.d = number(pc);
        made.routine = target(pc);
        break;
      case Step::kBlocks:
        source(&made.cursor);
        source(&made.a);
        source(&made.count);
        made.b = number(pc);
        made.c = number(pc);
        made.routine = target(pc);
        break;
      case Step::kBitVector:
        source(&made.cursor);
        source(&made.a);
        source(&made.count);
        break;
      case Step::kRing:
        source(&made.cursor);
        source(&made.a);
        source(&made.b);
        source(&made.count);
        made.c = number(pc);
        made.routine = target(pc);
        break;
      case Step::kHashTable:
        source(&made.cursor);
        source(&made.a);
        source(&made.count);
        made.c = number(pc);
        made.routine = target(pc);
        break;
      case Step::kBTree:
        source(&made.cursor);
        source(&made.a);
        source(&made.count);
        made.c = pc;  // of the operands
        for (int i = 0; i < 8; ++i) number(pc);
        made.routine = target(pc);
        made.second = target(pc);
        break;
      case Step::kGoMap: {
        uint64_t b = 0;
        source(&b);
        source(&made.a);                             // buckets
        source(&made.b);                             // oldbuckets
        made.c = pc;                                 // of the operands
        made.count = b < 48 ? uint64_t{1} << b : 0;  // buckets
        for (int i = 0; i < 5; ++i) number(pc);
        made.routine = target(pc);
        made.second = target(pc);
        break;
      }
      default: failed_ = true; return;
    }
    frame.pc = pc;
    if (!ok) return put_unreadable(fault);
    if (made.level > most_levels_ || depth_ == kMostFrames) {
      text_.put(&open, 1);
      put_literal("...");
      text_.put(&close, 1);
      return;
    }
    text_.put(&open, 1);
    frames_[depth_++] = made;
  }

  void end_container(const ValueFrame& frame) {
    text_.put(&frame.close, 1);
    --depth_;
  }

  // Goes on to the next element, or ends the container.
  [[gnu::noinline]] void advance(ValueFrame& frame) {
    if (frame.kind == Step::kGoMap) return advance_go_map(frame);
    const uint64_t index = frame.index;
    if (frame.kind == Step::kBTree && frame.state == kValueIsNext) {
      const BTreeNodes nodes = nodes_of(frame);
      frame.state = kKeyIsNext;
      put_literal(": ");
      const uint64_t value = value_of_entry(frame, nodes);
      step_to_next_entry(frame);
      push(value, frame.second, frame.level);
      return;
    }
    if (index == frame.count) return end_container(frame);
    const bool tree_or_list = frame.kind == Step::kList || frame.kind == Step::kTree;
    if (tree_or_list && (frame.cursor == 0 || (frame.kind == Step::kList && frame.cursor == frame.a)))
      return end_container(frame);
    if (index) put_literal(", ");
    if (index >= most_elements_) {
      put_literal("...");
      return end_container(frame);
    }
    frame.index = index + 1;
    if (frame.kind == Step::kBitVector) {
      uint64_t bit = frame.a + index;
      int64_t word;
      if (!load(frame.cursor + bit / 64 * 8, 8, false, &word)) return fail_container(frame, fault_);
      put_long(static_cast<uint64_t>(word) >> (bit & 63) & 1, abi::kFormatSigned, 0, -1);
      return;
    }
    uint64_t element = 0;
    if (!find_element(frame, index, &element)) return fail_container(frame, fault_);
    // Asked before the routine runs, so that one bad address ends the container, rather than every element of it.
    if (!readable(element)) return fail_container(frame, element);
    push(element, frame.routine, frame.level);
  }
  void fail_container(const ValueFrame& frame, uint64_t address) {
    put_unreadable(address);
    end_container(frame);
  }

  // Finds the address of the element at hand and moves the cursor on. False: what leads to it can't be read.
  bool find_element(ValueFrame& frame, uint64_t index, uint64_t* element) {
    switch (frame.kind) {
      case Step::kElements: *element = frame.cursor + index * frame.a; return true;
      case Step::kList:
        *element = frame.cursor + frame.c;
        if (load_word(frame.cursor + frame.b, &frame.cursor)) return true;
        return false;
      case Step::kBlocks: {
        uint64_t number = frame.a + index, block = 0;
        if (!frame.b || !load_word(frame.cursor + number / frame.b * 8, &block)) return false;
        *element = block + number % frame.b * frame.c;
        return true;
      }
      case Step::kRing: {
        if (frame.a >= frame.b || index >= frame.b) return fail(frame.cursor), false;  // not within the array
        const uint64_t number = index < frame.b - frame.a ? frame.a + index : index - (frame.b - frame.a);
        *element = frame.cursor + number * frame.c;
        return true;
      }
      case Step::kHashTable: return find_in_hash_table(*this, frame, element);
      case Step::kBTree: {
        const BTreeNodes nodes = nodes_of(frame);
        if (!find_entry(*this, frame, nodes)) return false;
        *element = key_of_entry(frame, nodes);
        frame.state = frame.second ? kValueIsNext : kKeyIsNext;
        if (!frame.second) step_to_next_entry(frame);
        return true;
      }
      default: *element = frame.cursor + frame.d; return next_in_tree(frame);
    }
  }

  BTreeNodes nodes_of(const ValueFrame& frame) const {
    uint32_t pc = static_cast<uint32_t>(frame.c);
    BTreeNodes nodes;
    uint64_t* const operands[] = {&nodes.keys,   &nodes.values,   &nodes.count,    &nodes.place,
                                  &nodes.parent, &nodes.children, &nodes.key_size, &nodes.value_size};
    for (uint64_t* operand : operands) *operand = number(pc);
    return nodes;
  }

  // The node of a binary tree that follows in order.
  bool next_in_tree(ValueFrame& frame) {
    uint64_t node = frame.cursor, next = 0;
    if (!load_word(node + frame.b, &next)) return false;
    if (next) {
      for (uint32_t i = 0; i < kMostDescents; ++i) {
        uint64_t left = 0;
        node = next;
        if (!load_word(node + frame.a, &left)) return false;
        if (!left) break;
        next = left;
      }
      frame.cursor = node;
      return true;
    }
    for (uint32_t i = 0; i < kMostDescents; ++i) {
      uint64_t parent = 0, left = 0;
      if (!load_word(node + frame.c, &parent)) return false;
      if (!parent) {
        node = 0;
        break;
      }
      if (!load_word(parent + frame.a, &left)) return false;
      const bool was_left = left == node;
      node = parent;
      if (was_left) break;
    }
    frame.cursor = node;
    return true;
  }

  // Go 1.19, runtime/map.go: 2^B buckets of 8 slots, each with a byte that says how it is used (0, 1: empty; 2 to 4: what was in
  // it has moved; from 5 on: in use), and further ones chained. While the map grows, some old buckets still have their elements.
  // index: elements shown. cursor: the bucket at hand. state: the slot; bit 7: its key was printed. d: the next bucket's number,
  // the new ones first.
  void advance_go_map(ValueFrame& frame) {
    uint32_t pc = static_cast<uint32_t>(frame.c);
    const uint64_t keys = number(pc), values = number(pc), overflow = number(pc), key_size = number(pc), value_size = number(pc);
    if (frame.state & 0x80) {  // the value of the key that was printed
      put_literal(": ");
      uint32_t slot = frame.state & 0x7f;
      frame.state = static_cast<uint8_t>(slot + 1);
      push(frame.cursor + values + slot * value_size, frame.second, frame.level);
      return;
    }
    for (uint32_t tries = 0; tries < 256; ++tries) {
      if (!frame.cursor || frame.state >= 8) {
        uint64_t next = 0;
        if (frame.cursor && !load_word(frame.cursor + overflow, &next)) return fail_container(frame, fault_);
        frame.state = 0;
        if (!next) {
          const uint64_t old = frame.b ? frame.count / 2 : 0;
          if (frame.d >= frame.count + (frame.b ? (old ? old : 1) : 0)) return end_container(frame);
          const bool is_new = frame.d < frame.count;
          const uint64_t bucket_size = overflow + 8;
          next = is_new ? frame.a + frame.d * bucket_size : frame.b + (frame.d - frame.count) * bucket_size;
          ++frame.d;
          if (is_new && !frame.a) return end_container(frame);
          int64_t first = 0;
          if (!load(next, 1, false, &first)) return fail_container(frame, fault_);
          if (first >= 2 && first <= 4) {  // moved on
            frame.cursor = 0;
            continue;
          }
        }
        frame.cursor = next;
      }
      int64_t use = 0;
      if (!load(frame.cursor + frame.state, 1, false, &use)) return fail_container(frame, fault_);
      if (use < 5) {
        ++frame.state;
        continue;
      }
      if (frame.index) put_literal(", ");
      if (frame.index >= most_elements_) {
        put_literal("...");
        return end_container(frame);
      }
      ++frame.index;
      const uint64_t key = frame.cursor + keys + frame.state * key_size;
      frame.state |= 0x80;
      push(key, frame.routine, frame.level);
      return;
    }
  }

  Context* context_;
  const uint8_t* plan_;
  ValueFrame* frames_;
  const uint64_t* words_;
  TextBuffer text_;
  uint32_t depth_ = 0;
  uint32_t most_levels_, most_elements_, most_bytes_;
  uint64_t fault_ = 0;
  bool failed_ = false;
  bool full_ = false;  // what comes next does not fit
};

void walk_value(Context* context, uint64_t address, const char* plan, const uint64_t* words, char* out) {
  const uint64_t mark = spile_rt_frame_mark(context);
  auto* frames = static_cast<ValueFrame*>(spile_rt_frame(context, kMostFrames * sizeof(ValueFrame)));
  if (frames) ValueWalk(context, plan, out, frames, words).run(address);
  else spile_rt_string_copy(out, "?");
  spile_rt_frame_release(context, mark);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void spile_fn___pretty_value(Context* context, int64_t address, const char* plan, char* out) {
  walk_value(context, static_cast<uint64_t>(address), plan, nullptr, out);
}
// The same for plans with kCode, which needs names of symbols.
[[gnu::noinline]] void spile_fn___pretty_named(Context* context, int64_t address, const char* plan, char* out) {
  walk_value(context, static_cast<uint64_t>(address), plan, nullptr, out);
}
[[gnu::noinline]] void spile_fn___pretty_words(Context* context, const char* plan, int64_t a, int64_t b, int64_t c, int64_t d,
                                               char* out) {
  const uint64_t words[abi::kMostValueWords] = {static_cast<uint64_t>(a), static_cast<uint64_t>(b), static_cast<uint64_t>(c),
                                                static_cast<uint64_t>(d)};
  walk_value(context, abi::kValueWordsAt, plan, words, out);
}
[[gnu::noinline]] void spile_fn___pretty_named_words(Context* context, const char* plan, int64_t a, int64_t b, int64_t c,
                                                     int64_t d, char* out) {
  spile_fn___pretty_words(context, plan, a, b, c, d, out);
}

}  // extern "C"

}  // namespace spile::rt
