// Script functions about the kernel's stack and symbols, where no kernel is probed: a process sees no stack but its own,
// and no names of the kernel's addresses. They give what is documented for a stack that is empty and an address that is
// not known.

#include "abi/record.h"
#include "runtime/native/script_functions.h"

namespace spile::rt {

namespace {

void print_line(Context* context, const char* text, uint32_t length) {
  char* record = spile_rt_record_begin(context, abi::kText, 0, 4 + length + 7);
  if (!record) return;
  spile_rt_record_end(context, record, spile_rt_record_put_string(record, text, length));
}

SPILE_INLINE inline void write_hexadecimal(int64_t address, char* out) {
  out[write_hex(out, static_cast<uint64_t>(address))] = 0;
}

}  // namespace

extern "C" {

SPILE_INLINE void spile_fn_backtrace(Context*, char* out) {
  *out = 0;
}
SPILE_INLINE void spile_fn_callers(Context*, int64_t, char* out) {
  *out = 0;
}
SPILE_INLINE int64_t spile_fn_stack(Context*, int64_t) {
  return 0;
}
SPILE_INLINE int64_t spile_fn_addr(Context* context) {
  return spile_fn_uaddr(context);
}
SPILE_INLINE void spile_fn_sprint_backtrace(Context*, char* out) {
  *out = 0;
}
[[gnu::noinline]] void spile_fn_print_backtrace(Context* context) {
  static constexpr char kNone[] = "<no kernel backtrace>\n";
  print_line(context, kNone, sizeof kNone - 1);
}

[[gnu::noinline]] void spile_fn_print_syms(Context* context, const char* addresses) {
  uint64_t address;
  while (take_address(&addresses, &address)) {
    char line[20];
    line[0] = ' ';
    uint32_t length = 1 + write_hex(line + 1, address);
    line[length] = '\n';
    print_line(context, line, length + 1);
  }
}
SPILE_INLINE void spile_fn_print_stack(Context* context, const char* addresses) {
  spile_fn_print_syms(context, addresses);
}
[[gnu::noinline]] void spile_fn_sprint_syms(Context*, const char* addresses, char* out) {
  TextBuffer text = {out, 0};
  uint64_t address;
  while (text.room() && take_address(&addresses, &address)) {
    char line[20];
    uint32_t length = write_hex(line, address);
    line[length] = '\n';
    text.put(line, length + 1);
  }
  text.end();
}
SPILE_INLINE void spile_fn_sprint_stack(Context* context, const char* addresses, char* out) {
  spile_fn_sprint_syms(context, addresses, out);
}

[[gnu::noinline]] void spile_fn_symname(Context*, int64_t address, char* out) {
  write_hexadecimal(address, out);
}
SPILE_INLINE void spile_fn_symdata(Context* context, int64_t address, char* out) {
  spile_fn_symname(context, address, out);
}
SPILE_INLINE void spile_fn_symfile(Context* context, int64_t address, char* out) {
  spile_fn_symname(context, address, out);
}
SPILE_INLINE void spile_fn_symline(Context* context, int64_t address, char* out) {
  spile_fn_symname(context, address, out);
}
SPILE_INLINE void spile_fn_symfileline(Context* context, int64_t address, char* out) {
  spile_fn_symname(context, address, out);
}
SPILE_INLINE void spile_fn_modname(Context*, int64_t, char* out, bool* fault) {
  *out = 0;
  *fault = true;
}

}  // extern "C"

}  // namespace spile::rt
