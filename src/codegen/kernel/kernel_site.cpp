#include "codegen/kernel/kernel_site.h"

#include <bit>

#include "abi/machine.h"
#include "codegen/bodies/body.h"
#include "codegen/module/site_texts.h"

namespace spile::codegen {

using abi::kConvention;
using abi::kKernelLayout;

llvm::Value* KernelSite::kernel_context(Body& body) {
  reads_context_ = true;
  return program_context(body);
}

llvm::Value* KernelSite::register_word(Body& body, int64_t number) {
  return body.b.CreateLoad(body.b.getInt64Ty(), body.at_offset(kernel_context(body), kKernelLayout.pt_regs[number]));
}

llvm::Value* KernelSite::machine_register(Body& body, int64_t number) {
  if (body.site.call_registers) {
    if (number < 0 || number >= kConvention.general_registers) return nullptr;
    const uint32_t at = kKernelLayout.pt_regs[number];
    if (at < kKernelLayout.pt_regs_call_begin || at + 8 > kKernelLayout.pt_regs_call_end) return nullptr;
    return body.b.CreateLoad(body.b.getInt64Ty(), call_register(body, at));
  }
  if (!has_registers(body) || number < 0 || number > kConvention.program_counter) return nullptr;
  if (context_.arguments >= 0 && body.probe) return argument_register(body, number);
  if (context_.at_return && !kConvention.result_registers.has(number) && number != kConvention.stack_pointer) return nullptr;
  return register_word(body, number);
}

// The address of the word that lies at `at` in struct pt_regs.
llvm::Value* KernelSite::call_register(Body& body, uint32_t at) {
  reads_call_registers_ = true;
  return body.at_offset(body.site.call_registers, at - kKernelLayout.pt_regs_call_begin);
}

llvm::Value* KernelSite::machine_flags(Body& body) {
  if (!has_registers(body) || body.site.call_registers) return nullptr;
  if (context_.arguments >= 0) return too_much(body);
  return body.b.CreateLoad(body.b.getInt64Ty(), body.at_offset(kernel_context(body), kKernelLayout.pt_regs_flags));
}

llvm::Value* KernelSite::too_much(Body& body) {
  asked_too_much_ = true;
  return body.number(0);
}

llvm::Value* KernelSite::argument_register(Body& body, int64_t number) {
  if (context_.at_return) {
    if (number != kConvention.result_registers[0]) return too_much(body);
    return body.call("spile_rt_kernel_result", body.b.getInt64Ty(), {runtime_argument(body)});
  }
  const size_t place = kConvention.argument_registers.find(number);
  if (place >= kConvention.argument_registers.size() || place >= static_cast<size_t>(context_.arguments)) return too_much(body);
  return body.call("spile_rt_kernel_argument", body.b.getInt64Ty(),
                   {runtime_argument(body), body.b.getInt32(static_cast<uint32_t>(place))});
}

// Both sides of a call are called from one frame on the kernel's stack, which has the arguments. The lower half of its address is
// enough beside the thread, and is a number to the verifier, which refuses to multiply an address.
llvm::Value* KernelSite::call_key(Body& body) {
  if (context_.arguments < 0) return cfa(body);
  llvm::Type* half = body.b.getInt32Ty();
  llvm::Value* address = body.b.CreateTrunc(body.b.CreatePtrToInt(kernel_context(body), body.b.getInt64Ty()), half);
  auto* move = llvm::InlineAsm::get(llvm::FunctionType::get(half, {half}, false), "$0 = $1", "=w,w", false);
  return body.b.CreateZExt(body.b.CreateCall(move, {address}), body.b.getInt64Ty());
}

// At the entry the return address is on top of the stack; at the return it is gone already.
llvm::Value* KernelSite::cfa(Body& body) {
  if (context_.arguments >= 0 && has_registers(body)) return too_much(body);
  llvm::Value* stack_pointer = machine_register(body, kConvention.stack_pointer);
  if (!stack_pointer || context_.at_return) return stack_pointer;
  return body.b.CreateAdd(stack_pointer, body.number(kConvention.entry_cfa));
}

llvm::Value* KernelSite::cookie_of(Body& body) {
  if (body.site.point) return body.b.CreateShl(body.site.point, body.number(kCookieIndexShift));
  reads_context_ = true;
  return body.call("spile_rt_kernel_cookie", body.b.getInt64Ty(), {runtime_argument(body)});
}

llvm::Value* KernelSite::point_index(Body& body) { return body.b.CreateLShr(cookie_of(body), body.number(kCookieIndexShift)); }

llvm::Value* KernelSite::call_number(Body& body) {
  if (!body.site.call_registers) return nullptr;
  return body.b.CreateLoad(body.b.getInt64Ty(), call_register(body, kKernelLayout.pt_regs_call));
}

llvm::Value* KernelSite::load_bias(Body& body) {
  if (!body.probe || context_.at_return) return nullptr;
  llvm::Value* pc = machine_register(body, kConvention.program_counter);
  if (!pc) return nullptr;
  llvm::Value* address =
      body.probe->points.size() == 1 ? body.number(static_cast<int64_t>(kernel_cookie(*body.probe, 0))) : cookie_of(body);
  return body.b.CreateSub(pc, body.b.CreateAnd(address, body.number(static_cast<int64_t>(kCookieAddressMask))));
}

// The record of a system call's tracepoint has the call's number at 8, and from 16 on the arguments, or the result, in 8 bytes
// each (kernel/trace/trace_syscalls.c). Null: it has no such field.
llvm::Value* KernelSite::call_field(Body& body, int64_t offset) {
  uint32_t at = kKernelLayout.pt_regs_call;
  const int64_t word = offset / 8 - 2;
  if (offset < 8 || offset % 8 != 0 || word >= (context_.at_exit ? 1 : 6)) return nullptr;
  if (word >= 0) {
    at = kKernelLayout
             .pt_regs[context_.at_exit ? static_cast<size_t>(kConvention.system_call_result)
                                       : static_cast<size_t>(kConvention.system_call_arguments[static_cast<size_t>(word)])];
  }
  return call_register(body, at);
}

llvm::Value* KernelSite::context_address(Body& body, int64_t offset) {
  if (!body.probe || sema::info(body.probe->kind).variables != sema::Variables::kRecord) return nullptr;
  if (body.site.call_registers) return call_field(body, offset);
  return body.at_offset(kernel_context(body), offset);
}

// A probe with many points has a table of texts, all of one length, by the number of the point, from the attachment's cookie.
// Both are powers of two, so that the verifier sees that the text is inside.
llvm::Value* KernelSite::site_text(Body& body, const std::string& what) {
  const sema::Probe* probe = body.probe;
  if (!probe || probe->points.size() < 2) return nullptr;
  size_t longest = 0;
  std::vector<std::string> texts;
  for (const sema::ResolvedPoint& point : probe->points) {
    texts.push_back(text_of(point, what).substr(0, body.unit.layout.string_size - 1));
    longest = std::max(longest, texts.back().size());
  }
  uint64_t stride = std::bit_ceil(longest + 1), count = std::bit_ceil(texts.size());
  std::string table(stride * count, '\0');
  for (size_t i = 0; i < texts.size(); ++i) table.replace(i * stride, texts[i].size(), texts[i]);
  llvm::Constant* blob = body.unit.module.text(table);
  llvm::Value* index = body.b.CreateAnd(point_index(body), body.number(static_cast<int64_t>(count - 1)));
  return body.b.CreateGEP(body.b.getInt8Ty(), blob, body.b.CreateMul(index, body.number(static_cast<int64_t>(stride))));
}

}  // namespace spile::codegen
