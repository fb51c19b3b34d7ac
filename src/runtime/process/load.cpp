// Reads of traced memory at addresses that may be bad. A fault is the traced thread's own SIGSEGV or SIGBUS; the engine
// sees it first and, if the instruction is in the image's fix-up table, moves the program counter to its resume
// address. The table is section .spile.fixups: pairs of 32-bit distances, each from its own place, to the two
// instructions.
//
// Where nobody would catch the fault no load is done: when the controller has died, and in the controller itself, which reads
// memory of others by system calls.

#include <linux/bpf.h>

#include "abi/kernel_read.h"
#include "runtime/core/core.h"
#include "runtime/core/load_text.h"

namespace spile::rt {

namespace {

// Memory of the process that the controller's handler is about, which stands still. The bytes read.
SPILE_COLD uint64_t read_subject(const abi::Subject* subject, uint64_t address, void* out, uint64_t size) {
  struct {
    void* base;
    uint64_t size;
  } local = {out, size}, remote = {reinterpret_cast<void*>(address), size};
  if (!may_access(out, size, true)) return 0;
  long result =
      system_call(__NR_process_vm_readv, subject->tid, reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
  return result < 0 ? 0 : static_cast<uint64_t>(result);
}

// Lets the program read the kernel's memory for a handler of the controller. False: it can't be read.
SPILE_COLD bool ask_kernel(Context* context, abi::KernelRead* read) {
  const uint64_t reader = controller_state(context)->kernel_reader;
  if (reader == 0 || !may_access(read, sizeof *read, true)) return false;
  bpf_attr attributes = {};
  attributes.test.prog_fd = static_cast<uint32_t>(reader - 1);
  attributes.test.ctx_in = reinterpret_cast<uint64_t>(read);
  attributes.test.ctx_size_in = sizeof *read;
  read->result = -1;
  return system_call(__NR_bpf, BPF_PROG_RUN, reinterpret_cast<long>(&attributes), sizeof attributes) >= 0 && read->result == 0;
}

SPILE_COLD uint64_t read_kernel(Context* context, uint64_t address, char* out, uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    const uint64_t chunk = size - done < abi::kKernelReadSize ? size - done : abi::kKernelReadSize;
    abi::KernelRead read = {address + done, static_cast<uint32_t>(chunk), 0, {}};
    if (!ask_kernel(context, &read)) return done;
    copy_bytes(out + done, reinterpret_cast<const char*>(read.words), chunk);
    done += chunk;
  }
  return size;
}

// What a handler of the controller reads is the kernel's or of the process that it is about; its own addresses mean nothing. The
// bytes read.
SPILE_COLD uint64_t read_elsewhere(Context* context, uint64_t address, char* out, uint64_t size) {
  if (is_kernel_address(address)) return read_kernel(context, address, out, size);
  const abi::Subject* subject = subject_of(context);
  return subject ? read_subject(subject, address, out, size) : 0;
}

// Up to a page's end at a time: what lies behind it need not be there.
SPILE_COLD int64_t read_text_elsewhere(Context* context, uint64_t address, char* out, uint32_t limit) {
  const uint64_t piece = is_kernel_address(address) ? abi::kKernelReadSize : abi::kPageSize;
  uint32_t length = 0;
  while (length < limit) {
    uint64_t chunk = piece - ((address + length) & (piece - 1));
    if (chunk > limit - length) chunk = limit - length;
    if (read_elsewhere(context, address + length, out + length, chunk) != chunk) return -1;
    for (uint64_t i = 0; i < chunk; ++i) {
      if (!out[length + i]) return length + static_cast<int64_t>(i);
    }
    length += static_cast<uint32_t>(chunk);
  }
  return limit ? length : -1;
}

SPILE_COLD bool load_elsewhere(Context* context, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  uint64_t word = 0;
  if (size > 8 || read_elsewhere(context, address, reinterpret_cast<char*>(&word), size) != size) return false;
  uint32_t shift = 64 - 8 * size;
  *value = is_signed ? static_cast<int64_t>(word << shift) >> shift : static_cast<int64_t>(word);
  return true;
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_load(Context* context, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  *value = 0;
  if (spile_rt_in_controller) return load_elsewhere(context, address, size, is_signed, value);
  if (controller_gone(context->arena)) return false;
  uint64_t word = 0;
  switch (size) {
    case 1:
      if (!load_word<1>(address, &word)) return false;
      *value = is_signed ? static_cast<int8_t>(word) : static_cast<int64_t>(word);
      return true;
    case 2:
      if (!load_word<2>(address, &word)) return false;
      *value = is_signed ? static_cast<int16_t>(word) : static_cast<int64_t>(word);
      return true;
    case 4:
      if (!load_word<4>(address, &word)) return false;
      *value = is_signed ? static_cast<int32_t>(word) : static_cast<int64_t>(word);
      return true;
    case 8:
      if (!load_word<8>(address, &word)) return false;
      *value = static_cast<int64_t>(word);
      return true;
    default: return false;
  }
}

SPILE_INLINE bool spile_rt_store(Context* context, uint64_t address, uint32_t size, int64_t value) {
  if (spile_rt_in_controller || controller_gone(context->arena)) return false;
  auto word = static_cast<uint64_t>(value);
  switch (size) {
    case 1: return store_word<1>(address, word);
    case 2: return store_word<2>(address, word);
    case 4: return store_word<4>(address, word);
    case 8: return store_word<8>(address, word);
    default: return false;
  }
}

[[gnu::noinline]] bool spile_rt_load_bytes(Context* context, uint64_t address, char* out, uint32_t count) {
  if (spile_rt_in_controller) return read_elsewhere(context, address, out, count) == count;
  if (controller_gone(context->arena)) return count == 0;
  return load_range(address, out, count);
}

SPILE_INLINE int64_t spile_rt_load_string(Context* context, uint64_t address, char* out, uint32_t limit) {
  out[0] = 0;
  // The last byte of `out` stays the NUL's, where the text is as long as the buffer.
  uint32_t most = limit < spile_rt_string_size ? limit : spile_rt_string_size - 1;
  if (!spile_rt_in_controller && controller_gone(context->arena)) return -1;
  int64_t length = spile_rt_in_controller ? read_text_elsewhere(context, address, out, most) : load_text(address, out, most);
  out[length < 0 ? 0 : length] = 0;
  return length;
}

// 0: the handler is about another process, or the kernel's memory can't be read.
SPILE_INLINE int64_t spile_fn___running_task(Context* context) {
  if (!spile_rt_in_controller || subject_of(context)) return 0;
  abi::KernelRead read = {0, 0, 0, {}};
  return ask_kernel(context, &read) ? static_cast<int64_t>(read.words[0]) : 0;
}

}  // extern "C"

}  // namespace spile::rt
