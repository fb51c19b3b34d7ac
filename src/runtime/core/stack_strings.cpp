// Script functions about the user-space stack and the names of addresses. The print forms only write addresses into a
// record, which the controller turns into text.

#include "abi/machine.h"
#include "abi/record.h"
#include "abi/script_codes.h"
#include "runtime/core/script_functions.h"
#include "runtime/core/symbols.h"
#include "runtime/core/unwind.h"

namespace spile::rt {

uint32_t write_hex(char* out, uint64_t value) {
  uint32_t digits = value ? (67 - static_cast<uint32_t>(__builtin_clzll(value))) / 4 : 1;
  out[0] = '0';
  out[1] = 'x';
  for (uint32_t i = 0; i < digits; ++i) {
    out[2 + i] = "0123456789abcdef"[value >> (4 * (digits - 1 - i)) & 15];
    compiler_barrier();
  }
  return 2 + digits;
}

bool take_address(const char** at, uint64_t* address) {
  const char* p = *at;
  while (*p == ' ' || *p == '\n') ++p;
  if (!*p) return false;
  if (p[0] == '0' && (p[1] | 32) == 'x') p += 2;
  uint64_t value = 0;
  bool any = false;
  for (;; ++p, any = true) {
    char c = static_cast<char>(*p | (*p >= 'A' ? 32 : 0));
    uint64_t digit;
    if (c >= '0' && c <= '9') digit = static_cast<uint64_t>(c - '0');
    else if (c >= 'a' && c <= 'f') digit = static_cast<uint64_t>(c - 'a' + 10);
    else break;
    value = value << 4 | digit;
  }
  while (*p && *p != ' ' && *p != '\n') ++p, any = false;  // no number: it ends the list
  *at = p;
  *address = value;
  return any;
}

uint32_t frames_wanted(int64_t levels) {
  uint32_t most = spile_rt_max_backtrace < abi::kMostFrames ? spile_rt_max_backtrace : abi::kMostFrames;
  return levels >= 0 && levels < most ? static_cast<uint32_t>(levels) : most;
}

namespace {

// In the argument of usymname() and its kin, which is 0 in addresses of programs: it is a return address.
constexpr uint64_t kReturnAddress = uint64_t{1} << 62;

// What usymname() and its kin are asked.
struct Asked {
  explicit Asked(int64_t argument) : address(static_cast<uint64_t>(argument)), lookup(address) {
    if (argument < 0 || !(address & kReturnAddress)) return;
    address &= ~kReturnAddress;
    lookup = address - 1;
  }
  uint64_t address, lookup;
};

// The addresses of a walk, in scratch memory until the destructor.
struct Frames {
  explicit Frames(Context* context, uint32_t most) : context(context), mark(spile_rt_frame_mark(context)) {
    addresses = static_cast<uint64_t*>(spile_rt_frame(context, most * 8));
    count = addresses ? walk_stack(context, addresses, most, &cut) : 0;
  }
  Frames(Context* context, uint32_t most, uint64_t pc, uint64_t sp, uint64_t fp)
      : context(context), mark(spile_rt_frame_mark(context)) {
    addresses = static_cast<uint64_t*>(spile_rt_frame(context, most * 8));
    count = addresses ? walk_stack_from(context, pc, sp, fp, addresses, most, &cut) : 0;
  }
  ~Frames() { spile_rt_frame_release(context, mark); }
  uint64_t at(uint32_t index) const { return addresses[index] & ~abi::kExactAddress; }
  // What to look up: of a return address the call before it, which may be its function's last instruction.
  uint64_t lookup(uint32_t index) const { return at(index) - (addresses[index] & abi::kExactAddress ? 0 : 1); }
  // As __ustack_reference() has it, for usymname() and its kin.
  int64_t reference(uint32_t index) const {
    return static_cast<int64_t>(at(index) | (addresses[index] & abi::kExactAddress ? 0 : kReturnAddress));
  }
  Context* context;
  uint64_t mark;
  uint64_t* addresses;
  uint32_t count;
  bool cut = false;  // there are more, in code that is not known yet
};

void put_hex(TextBuffer& text, uint64_t value) {
  char digits[18];
  text.put(digits, write_hex(digits, value));
}

void put_text(TextBuffer& text, const char* string) { text.put(string, spile_rt_string_length(string)); }

template <typename Row>
const Row* last_before(const Row* rows, uint32_t count, uint64_t offset) {
  uint32_t low = 0, high = count;
  while (low < high) {  // the first that begins after the offset
    uint32_t middle = low + (high - low) / 2;
    if (rows[middle].begin <= offset) low = middle + 1;
    else high = middle;
  }
  return low ? &rows[low - 1] : nullptr;
}

const abi::TableLine* find_line(Context* context, uint64_t address, Found* found) {
  *found = {find_module(context, module_map_offset(context), address), nullptr, nullptr};
  if (!found->module) return nullptr;
  found->table = table_of(context, found->module);
  uint64_t offset = address - found->module->bias - found->table->text_begin;
  if (offset >= found->table->text_size) return nullptr;
  const abi::TableLine* lines = part_of<abi::TableLine>(found->table, found->table->lines);
  const abi::TableLine* line = last_before(lines, found->table->line_count, offset);
  return line && line->line ? line : nullptr;
}

}  // namespace

SPILE_APART Found find_symbol(Context* context, uint64_t map, uint64_t address) {
  Found found = {find_module(context, map, address), nullptr, nullptr};
  if (!found.module) return found;
  found.table = table_of(context, found.module);
  uint64_t offset = address - found.module->bias - found.table->text_begin;
  if (offset >= found.table->text_size) return found;
  const abi::TableSymbol* symbols = part_of<abi::TableSymbol>(found.table, found.table->symbols);
  const abi::TableSymbol* symbol = last_before(symbols, found.table->symbol_count, offset);
  if (symbol && offset - symbol->begin < symbol->size) found.symbol = symbol;
  return found;
}

SPILE_APART uint32_t put_simple(Context* context, char* out, uint32_t at, uint64_t map, uint64_t address, uint64_t lookup) {
  TextBuffer text = {out, at};
  Found found = find_symbol(context, map, lookup);
  if (found.symbol) {
    put_text(text, found.string(found.symbol->name));
    text.put("+", 1);
    put_hex(text, address - found.symbol_begin());
  } else {
    put_hex(text, address);
  }
  if (!found.module) return text.at;
  text.put(" [", 2);
  put_text(text, found.string(found.table->name));
  if (!found.symbol) {
    text.put("+", 1);
    put_hex(text, address - found.module->base);
  }
  text.put("]", 1);
  return text.at;
}

SPILE_APART uint32_t put_simple_lines(Context* context, char* out, uint32_t at, uint64_t map, const char* addresses) {
  TextBuffer text = {out, at};
  uint64_t address;
  for (bool first = true; text.room() && take_address(&addresses, &address); first = false) {
    text.at = put_simple(context, out, text.at, map, address, first ? address : address - 1);
    text.put("\n", 1);
  }
  return text.at;
}

SPILE_APART uint32_t put_data(Context* context, char* out, uint32_t at, uint64_t map, uint64_t address, uint64_t lookup) {
  TextBuffer text = {out, at};
  Found found = find_symbol(context, map, lookup);
  if (found.symbol) {
    put_text(text, found.string(found.symbol->name));
    text.put("+", 1);
    put_hex(text, address - found.symbol_begin());
    text.put("/", 1);
    put_hex(text, found.symbol->size);
  } else {
    put_hex(text, address);
  }
  if (!found.module) return text.at;
  text.put(" [", 2);
  put_text(text, found.string(found.table->path));
  if (!found.symbol) {
    text.put("+", 1);
    put_hex(text, address - found.module->base);
    text.put("/", 1);
    put_hex(text, found.module->size);
  }
  text.put("]", 1);
  return text.at;
}

SPILE_APART uint32_t put_name(Context* context, char* out, uint32_t at, uint64_t map, uint64_t address, uint64_t lookup) {
  TextBuffer text = {out, at};
  Found found = find_symbol(context, map, lookup);
  if (found.symbol) put_text(text, found.string(found.symbol->name));
  else put_hex(text, address);
  return text.at;
}

void write_addresses(char* out, const uint64_t* addresses, uint32_t count, uint64_t clear) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    char digits[19];
    digits[0] = ' ';
    uint32_t length = 1 + write_hex(digits + 1, addresses[i] & ~clear);
    const char* from = i ? digits : digits + 1;
    if (!i) --length;
    if (at + length >= spile_rt_string_size) break;
    copy_bytes(out + at, from, length);
    at += length;
  }
  out[at] = 0;
}

namespace {

void write_stack(Context* context, uint32_t most, char* out) {
  Frames frames(context, most);
  if (frames.cut) note_cut_stack(context);
  write_addresses(out, frames.addresses, frames.count, abi::kExactAddress);
}

void print_frames(Context* context, const Frames& frames, uint32_t style) {
  char* record = spile_rt_record_begin(context, abi::kBacktrace, style, 8 + 8 * frames.count);
  if (!record) return;
  char* at = spile_rt_record_put_long(record, static_cast<int64_t>(module_map_offset(context)));
  at = spile_rt_record_put_bytes(at, frames.addresses, 8 * frames.count);
  spile_rt_record_end(context, record, at);
}

void print_stack(Context* context, uint32_t style) {
  Frames frames(context, frames_wanted(-1));
  if (frames.cut && send_user_stack(context, style)) return;
  print_frames(context, frames, style);
}

void print_symbols(Context* context, const char* addresses, uint32_t style) {
  uint32_t length = spile_rt_string_length(addresses);
  char* record = spile_rt_record_begin(context, abi::kSymbols, style, 8 + 4 + length + 7);
  if (!record) return;
  char* at = spile_rt_record_put_long(record, static_cast<int64_t>(module_map_offset(context)));
  at = spile_rt_record_put_string(at, addresses, length);
  spile_rt_record_end(context, record, at);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void spile_fn_ubacktrace(Context* context, char* out) { write_stack(context, frames_wanted(-1), out); }
// n levels beside the top one; all for -1.
[[gnu::noinline]] void spile_fn_ucallers(Context* context, int64_t n, char* out) {
  write_stack(context, frames_wanted(n < 0 ? -1 : n + 1), out);
}
[[gnu::noinline]] int64_t spile_fn_ustack(Context* context, int64_t n) {
  uint32_t most = frames_wanted(-1);
  if (n < 0 || n >= most) return 0;
  Frames frames(context, static_cast<uint32_t>(n) + 1);
  if (frames.cut) note_cut_stack(context);
  return frames.count > n ? static_cast<int64_t>(frames.at(static_cast<uint32_t>(n))) : 0;
}
[[gnu::noinline]] int64_t spile_fn___ustack_reference(Context* context, int64_t n) {
  const uint32_t most = frames_wanted(-1);
  if (n < 0 || n >= most) return 0;
  Frames frames(context, static_cast<uint32_t>(n) + 1);
  if (frames.cut) note_cut_stack(context);
  return frames.count > n ? frames.reference(static_cast<uint32_t>(n)) : 0;
}
SPILE_INLINE int64_t spile_fn_uaddr(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) {
    return subject->frame_kind == abi::kNoFrame ? 0 : static_cast<int64_t>(subject->registers[abi::kConvention.program_counter]);
  }
  find_user_registers(context);
  return spile_rt_in_controller || context->frame_kind == abi::kNoFrame ? 0 : static_cast<int64_t>(context->user_pc);
}

[[gnu::noinline]] void spile_fn_print_ubacktrace(Context* context) { print_stack(context, abi::kSymbolFull); }
[[gnu::noinline]] void spile_fn_print_ubacktrace_brief(Context* context) { print_stack(context, abi::kSymbolBrief); }
[[gnu::noinline]] void spile_fn_print_ubacktrace3(Context* context, int64_t pc, int64_t sp, int64_t fp) {
  Frames frames(context, frames_wanted(-1), static_cast<uint64_t>(pc), static_cast<uint64_t>(sp), static_cast<uint64_t>(fp));
  if (frames.cut) note_cut_stack(context);
  print_frames(context, frames, abi::kSymbolFull);
}
[[gnu::noinline]] int64_t spile_fn___ustack_from(Context* context, int64_t n, int64_t pc, int64_t sp, int64_t fp) {
  const uint32_t most = frames_wanted(-1);
  if (n < 0 || n >= most) return 0;
  Frames frames(context, static_cast<uint32_t>(n) + 1, static_cast<uint64_t>(pc), static_cast<uint64_t>(sp),
                static_cast<uint64_t>(fp));
  if (frames.cut) note_cut_stack(context);
  return frames.count > n ? frames.reference(static_cast<uint32_t>(n)) : 0;
}
[[gnu::noinline]] void spile_fn_print_usyms(Context* context, const char* addresses) {
  print_symbols(context, addresses, abi::kSymbolFull);
}
SPILE_INLINE void spile_fn_print_ustack(Context* context, const char* addresses) { spile_fn_print_usyms(context, addresses); }

[[gnu::noinline]] void spile_fn_sprint_ubacktrace(Context* context, char* out) {
  Frames frames(context, frames_wanted(-1));
  if (frames.cut) note_cut_stack(context);
  TextBuffer text = {out, 0};
  for (uint32_t i = 0; i < frames.count && text.room(); ++i) {
    text.at = put_simple(context, out, text.at, module_map_offset(context), frames.at(i), frames.lookup(i));
    text.put("\n", 1);
  }
  text.end();
}
[[gnu::noinline]] void spile_fn_sprint_usyms(Context* context, const char* addresses, char* out) {
  out[put_simple_lines(context, out, 0, module_map_offset(context), addresses)] = 0;
}
SPILE_INLINE void spile_fn_sprint_ustack(Context* context, const char* addresses, char* out) {
  spile_fn_sprint_usyms(context, addresses, out);
}

[[gnu::noinline]] void spile_fn_usymname(Context* context, int64_t address, char* out) {
  const Asked asked(address);
  out[put_name(context, out, 0, module_map_offset(context), asked.address, asked.lookup)] = 0;
}

[[gnu::noinline]] void spile_fn_usymdata(Context* context, int64_t address, char* out) {
  const Asked asked(address);
  out[put_data(context, out, 0, module_map_offset(context), asked.address, asked.lookup)] = 0;
}

[[gnu::noinline]] void spile_fn_umodname(Context* context, int64_t address, char* out, bool* fault) {
  Found found = find_symbol(context, module_map_offset(context), static_cast<uint64_t>(address));
  *fault = !found.module;
  spile_rt_string_copy(out, found.module ? found.string(found.table->name) : "");
}

[[gnu::noinline]] void spile_fn_umodbuildid(Context* context, int64_t address, char* out, bool* fault) {
  Found found = find_symbol(context, module_map_offset(context), static_cast<uint64_t>(address));
  *fault = !found.module;
  spile_rt_string_copy(out, found.module ? found.string(found.table->build_id) : "");
}

[[gnu::noinline]] int64_t spile_fn_umodaddr(Context* context, int64_t address, bool* fault) {
  const abi::StackModule* module = find_module(context, module_map_offset(context), static_cast<uint64_t>(address));
  *fault = !module;
  return module ? static_cast<int64_t>(static_cast<uint64_t>(address) - module->bias) : 0;
}

[[gnu::noinline]] void spile_fn_usymfile(Context* context, int64_t address, char* out) {
  TextBuffer text = {out, 0};
  Found found;
  const Asked asked(address);
  const abi::TableLine* line = find_line(context, asked.lookup, &found);
  if (line) put_text(text, found.string(line->file));
  else put_hex(text, asked.address);
  text.end();
}
[[gnu::noinline]] void spile_fn_usymline(Context* context, int64_t address, char* out) {
  Found found;
  const Asked asked(address);
  const abi::TableLine* line = find_line(context, asked.lookup, &found);
  TextBuffer text = {out, 0};
  if (!line) put_hex(text, asked.address);
  else text.at = spile_rt_format_long(out, 0, line->line, abi::kFormatSigned, 0, -1, -1);
  spile_rt_format_end(out, text.at);
}
[[gnu::noinline]] void spile_fn_usymfileline(Context* context, int64_t address, char* out) {
  TextBuffer text = {out, 0};
  Found found;
  const Asked asked(address);
  const abi::TableLine* line = find_line(context, asked.lookup, &found);
  if (!line) {
    put_hex(text, asked.address);
    return text.end();
  }
  put_text(text, found.string(line->file));
  text.put(":", 1);
  uint32_t at = spile_rt_format_long(out, text.at, line->line, abi::kFormatSigned, 0, -1, -1);
  spile_rt_format_end(out, at);
}

}  // extern "C"

}  // namespace spile::rt
