#include "bpf/kernel_memory.h"

#include <errno.h>

#include <cstddef>
#include <vector>

#include "abi/kernel_read.h"
#include "bpf/instructions.h"
#include "bpf/library.h"
#include "bpf/privilege.h"

namespace spile::bpf {

namespace {

using abi::KernelRead;

// int program(KernelRead*). The helper writes to the stack: a context is nothing that it may be given.
std::vector<bpf_insn> reader() {
  constexpr int kContext = 6, kStack = 10;
  constexpr auto kSize = static_cast<int32_t>(abi::kKernelReadSize);
  constexpr int kWords = kSize / 8;
  constexpr int16_t kAddressAt = offsetof(KernelRead, address), kSizeAt = offsetof(KernelRead, size),
                    kResultAt = offsetof(KernelRead, result);
  auto word_at = [](int i) { return static_cast<int16_t>(offsetof(KernelRead, words) + 8 * static_cast<size_t>(i)); };
  auto stack_at = [](int i) { return static_cast<int16_t>(8 * i - kSize); };

  std::vector<bpf_insn> code = {move(kContext, 1), move_number(7, 0)};
  for (int i = 0; i < kWords; ++i) code.push_back(store(kStack, stack_at(i), 7, BPF_DW));
  code.push_back(load(2, kContext, kSizeAt, BPF_W));
  const size_t to_task = code.size();
  code.push_back(jump_if(BPF_JEQ, 2, 0));
  const size_t to_end = code.size();
  code.push_back(jump_if(BPF_JGT, 2, kSize));
  code.push_back(move(1, kStack));
  code.push_back(add(1, -kSize));
  code.push_back(load(3, kContext, kAddressAt, BPF_DW));
  code.push_back(call(BPF_FUNC_probe_read_kernel));
  code.push_back(store(kContext, kResultAt, 0, BPF_W));
  for (int i = 0; i < kWords; ++i) {
    code.push_back(load(1, kStack, stack_at(i), BPF_DW));
    code.push_back(store(kContext, word_at(i), 1, BPF_DW));
  }
  code[to_end].off = static_cast<int16_t>(code.size() - to_end - 1);
  code.push_back(move_number(0, 0));
  code.push_back(exit_program());
  code[to_task].off = static_cast<int16_t>(code.size() - to_task - 1);
  code.push_back(call(BPF_FUNC_get_current_task));
  code.push_back(store(kContext, word_at(0), 0, BPF_DW));
  code.push_back(store(kContext, kResultAt, 7, BPF_W));
  code.push_back(move_number(0, 0));
  code.push_back(exit_program());
  return code;
}

}  // namespace

Result<UniqueFd> load_kernel_reader() {
  const std::vector<bpf_insn> code = reader();
  bpf_prog_load_opts options{};
  options.sz = sizeof options;
  options.prog_flags = BPF_F_SLEEPABLE;  // the only kind of this type
  UniqueFd program(bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "spile_read", "Dual MIT/GPL", code.data(), code.size(), &options));
  if (program) return program;
  const int error = errno;
  return is_privilege_error(error) ? privilege_error("read the kernel's memory", error)
                                   : Error::from_errno("read the kernel's memory", error);
}

}  // namespace spile::bpf
