// Script functions about the kernel's stack and symbols. The stack is known to handlers in the kernel alone, and empty elsewhere;
// names of the kernel's addresses are in the arena if the script has handlers in the kernel.

#include "abi/record.h"
#include "runtime/core/symbols.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline uint64_t kernel_map(Context* context) {
  if (!spile_rt_kernel_code_page) return 0;
  auto* table = reinterpret_cast<const abi::KernelCodeTable*>(bytes_of(context->arena) +
                                                              uint64_t{spile_rt_kernel_code_page} * abi::kPageSize);
  return load_relaxed(&table->module_map);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void spile_fn_backtrace(Context* context, char* out) {
  KernelFrames frames = kernel_frames(context);
  write_addresses(out, frames.addresses, frames.count, 0);
}
// n levels beside the top one; all for -1.
[[gnu::noinline]] void spile_fn_callers(Context* context, int64_t n, char* out) {
  KernelFrames frames = kernel_frames(context);
  uint32_t most = frames_wanted(n < 0 ? -1 : n + 1);
  write_addresses(out, frames.addresses, frames.count < most ? frames.count : most, 0);
}
SPILE_INLINE int64_t spile_fn_stack(Context* context, int64_t n) {
  KernelFrames frames = kernel_frames(context);
  return n >= 0 && n < frames.count ? static_cast<int64_t>(frames.addresses[n]) : 0;
}
SPILE_INLINE int64_t spile_fn_addr(Context* context) {
  int64_t place = spile_fn_stack(context, 0);
  return place ? place : spile_fn_uaddr(context);
}

// The first address is the probed place, the others are return addresses.
[[gnu::noinline]] void spile_fn_sprint_backtrace(Context* context, char* out) {
  KernelFrames frames = kernel_frames(context);
  TextBuffer text = {out, 0};
  uint64_t map = kernel_map(context);
  for (uint32_t i = 0; i < frames.count && text.room(); ++i) {
    text.at = put_simple(context, out, text.at, map, frames.addresses[i], frames.addresses[i] - (i ? 1 : 0));
    text.put("\n", 1);
  }
  text.end();
}
[[gnu::noinline]] void spile_fn_print_backtrace(Context* context) {
  KernelFrames frames = kernel_frames(context);
  char* record = spile_rt_record_begin(context, abi::kKernelBacktrace, abi::kSymbolFull, 8 * frames.count);
  if (!record) return;
  spile_rt_record_end(context, record, spile_rt_record_put_bytes(record, frames.addresses, 8 * frames.count));
}

[[gnu::noinline]] void spile_fn_print_syms(Context* context, const char* addresses) {
  uint32_t length = spile_rt_string_length(addresses);
  char* record = spile_rt_record_begin(context, abi::kKernelSymbols, abi::kSymbolFull, 4 + length + 7);
  if (!record) return;
  spile_rt_record_end(context, record, spile_rt_record_put_string(record, addresses, length));
}
SPILE_INLINE void spile_fn_print_stack(Context* context, const char* addresses) { spile_fn_print_syms(context, addresses); }
[[gnu::noinline]] void spile_fn_sprint_syms(Context* context, const char* addresses, char* out) {
  out[put_simple_lines(context, out, 0, kernel_map(context), addresses)] = 0;
}
SPILE_INLINE void spile_fn_sprint_stack(Context* context, const char* addresses, char* out) {
  spile_fn_sprint_syms(context, addresses, out);
}

[[gnu::noinline]] void spile_fn_symname(Context* context, int64_t address, char* out) {
  out[put_name(context, out, 0, kernel_map(context), static_cast<uint64_t>(address), static_cast<uint64_t>(address))] = 0;
}
[[gnu::noinline]] void spile_fn_symdata(Context* context, int64_t address, char* out) {
  out[put_data(context, out, 0, kernel_map(context), static_cast<uint64_t>(address), static_cast<uint64_t>(address))] = 0;
}
[[gnu::noinline]] void spile_fn_modname(Context* context, int64_t address, char* out, bool* fault) {
  Found found = find_symbol(context, kernel_map(context), static_cast<uint64_t>(address));
  *fault = !found.module;
  spile_rt_string_copy(out, found.module ? found.string(found.table->name) : "");
}

// Source lines of the kernel are not known: the address stands for them. Handlers in the kernel don't have these functions.
#if !defined(__bpf__)
SPILE_INLINE void spile_fn_symfile(Context*, int64_t address, char* out) {
  out[write_hex(out, static_cast<uint64_t>(address))] = 0;
}
SPILE_INLINE void spile_fn_symline(Context* context, int64_t address, char* out) { spile_fn_symfile(context, address, out); }
SPILE_INLINE void spile_fn_symfileline(Context* context, int64_t address, char* out) { spile_fn_symfile(context, address, out); }
#endif

}  // extern "C"

}  // namespace spile::rt
