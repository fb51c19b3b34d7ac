#pragma once
// A handler's call in a Go program. A goroutine's stack begins with 2 KiB, and functions that Go's compiler has found small
// enough (nosplit) run in its last few hundred bytes: a handler there would write over memory of others. So it runs where
// Go's own runtime.asmcgocall runs C functions: on the stack of the thread, which belongs to its goroutine g0, below the
// stack pointer that is kept in g0.sched. From the goroutine's stack it takes 24 bytes.
//
// What the layout of runtime.g and runtime.m must be, as it is from Go 1.5 on: g.stack.lo 0, g.stack.hi 8, g.m 48,
// g.sched.sp 56, g.sched.g 72; m.g0 0. The stack is left only if all of it fits together: rsp lies between g.stack.lo and
// g.stack.hi; g is g.sched.g, as for all goroutines but gsignal, on whose stack signal handlers run, perhaps while the
// thread's is in use; and it is not g0 itself.

#include <cstdint>

#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {

struct GoroutineCall {
  int32_t goroutine;    // where it is kept, relative to the thread pointer
  int32_t red_zone;     // bytes below rsp that are not to be touched
  int32_t popped;       // abi::Registers::rsp is so much above rsp
  bool restores_flags;  // the program goes on with abi::Registers::flags; else with the flags that it had
};

// Emits code before the call of a handler: switches to the thread's stack, and leaves an abi::Registers there with its address in
// rdi. If the stack can't be left, the handler runs on the goroutine's, with the same effects. At the call rsp is a multiple of
// 16, and rax, rcx and the flags are lost. REQUIRES: only the call is emitted behind it, and then return_to_goroutine_stack()
// with the same `call`. site: the run-time address of the probed instruction.
void leave_goroutine_stack(Assembler& out, const GoroutineCall& call, Address site, uint32_t site_id);
// Emits code behind that call: switches back, with the registers that the handler has left in the abi::Registers.
void return_to_goroutine_stack(Assembler& out, const GoroutineCall& call);

}  // namespace spile::engine::x86_64
