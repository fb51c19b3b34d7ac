// The life of a body: locks, frame, condition, statements, and one way out. See frame.h and error_flow.h for those.
//
//   probe:     frame -> guards -> lock* -> condition -> statements -> unlock* -> done: release frame
//              (a condition that needs no lock is a guard: sema/sharing/guards.h)
//   function:  nesting -> frame -> statements -> release frame -> return a FunctionStatus: done, next, aborted or failed

#include <algorithm>

#include "codegen/bodies/lowering.h"
#include "codegen/module/kernel_loops.h"
#include "sema/sharing/guards.h"
#include "syntax/visitor.h"

namespace spile::codegen {

// The error of a body whose frame can't be taken, which then goes on at `failed`.
void Lowering::close_frame(llvm::BasicBlock* failed) {
  frame_.close([&] {
    SourceRange range = body.probe ? body.probe->range : body.script_function->range;
    errors_.with_end(failed, [&] { errors_.raise(range, "no scratch memory is left for strings", {}); });
  });
}

// ---------------------------------------------------------------- probes

// The body goes on where its thread's cells are its own. Returns the block to which it goes at its end, and which leads to `out`.
llvm::BasicBlock* Lowering::begin_own(llvm::BasicBlock* out) {
  body.own_thread = call("spile_rt_begin_own", b.getInt64Ty(), {context});
  llvm::BasicBlock *own = block("own"), *end = block("own.end");
  b.CreateCondBr(b.CreateIsNotNull(body.own_thread), own, out, llvm::MDBuilder(b.getContext()).createBranchWeights(100000, 1));
  b.SetInsertPoint(end);
  call("spile_rt_end_own", unit.module.none(), {context});
  b.CreateBr(out);
  b.SetInsertPoint(own);
  return end;
}

// Over the kernel's maps, what a statement keeps of the elements that it visits is there once: arrays that are only read need a
// lock for that.
static void add_visited(const Unit& unit, const sema::Probe& probe, std::vector<sema::GlobalUse>& uses) {
  for (const syntax::Global* global : repetitions_of(probe).visited) {
    if (!sema::has_lock(unit.sharing_of(*global))) uses.push_back({const_cast<syntax::Global*>(global), false});
  }
  std::ranges::sort(uses, {}, [](const sema::GlobalUse& use) { return use.global->index; });
}

// Takes the locks in order. Returns the block to which the body goes at its end, which gives them back and leads to `out`, as
// does a lock that can't be had.
llvm::BasicBlock* Lowering::lock_globals(const sema::Probe& probe, llvm::BasicBlock* out) {
  std::vector<sema::GlobalUse> uses = probe.uses;
  if (unit.repeats()) add_visited(unit, probe, uses);
  for (const sema::GlobalUse& use : uses) {
    uint64_t offset = unit.layout_of(*use.global).lock;
    const sema::Sharing sharing = unit.sharing_of(*use.global);
    if (offset == 0 || sharing == sema::Sharing::kAtomic) continue;
    if (sharing == sema::Sharing::kThreadCells) {
      if (!body.own_thread) out = begin_own(out);
      continue;
    }
    llvm::Value* lock = number(static_cast<int64_t>(offset));
    if (sharing == sema::Sharing::kStriped) {
      if (!body.thread) body.thread = call("spile_rt_tid", b.getInt64Ty(), {context});
      lock = b.CreateAdd(lock, body.stripe_offset(*use.global));
    }
    bool by_thread = sharing == sema::Sharing::kByThread && !unit.place.globals_are_memory();
    llvm::BasicBlock *held = block("locked"), *release = block("unlock");
    b.CreateCondBr(call(by_thread ? "spile_rt_lock_thread" : "spile_rt_lock", b.getInt1Ty(), {context, lock}), held, out,
                   llvm::MDBuilder(b.getContext()).createBranchWeights(100000, 1));
    b.SetInsertPoint(release);
    call(by_thread ? "spile_rt_unlock_thread" : "spile_rt_unlock", unit.module.none(), {context, lock});
    b.CreateBr(out);
    out = release;
    b.SetInsertPoint(held);
  }
  return out;
}

// Statements that one run of a probe may execute.
static uint32_t action_budget(const sema::Program& program, const sema::Probe& probe) {
  const sema::Limits& limits = program.limits;
  if (probe.is_report) return INT32_MAX;
  if (probe.domain != sema::Domain::kController) return static_cast<uint32_t>(limits.max_action);
  if (limits.max_action_interruptible >= 0) return static_cast<uint32_t>(limits.max_action_interruptible);
  return static_cast<uint32_t>(std::min<int64_t>(10 * limits.max_action, INT32_MAX));
}

// The handler goes on where a condition, which `emit` evaluates, has the wanted value.
void Lowering::go_on_if(bool wanted_value, const std::function<llvm::Value*()>& emit) {
  Frame::Temporaries temporaries(frame_);
  llvm::Value* value = emit();
  llvm::BasicBlock* wanted = block("wanted");
  b.CreateCondBr(value, wanted_value ? wanted : next_, wanted_value ? next_ : wanted);
  b.SetInsertPoint(wanted);
}

void Lowering::lower_probe(const sema::Probe& probe) {
  const sema::GuardedBody divided = sema::divide_body(unit.program, probe);
  auto condition = [&] {
    if (!probe.condition) return;
    LineScope line(unit.script_lines(), b, probe.condition->range);
    go_on_if(true, [&] { return is_wanted(probe); });
  };
  auto guards = [&] {
    if (divided.condition_first) condition();
    for (const sema::Guard& guard : divided.guards) {
      LineScope line(unit.script_lines(), b, guard.condition->range);
      go_on_if(guard.wanted, [&] { return lower_condition(*guard.condition); });
    }
  };
  lower_locked(probe, guards, [&] {
    if (!divided.condition_first) condition();
    for (const syntax::Statement* statement : divided.rest) lower(*statement);
  });
}

llvm::Value* Lowering::lower_switch(const sema::Probe& probe) {
  sema::Probe reader;
  reader.range = probe.range;
  reader.index = probe.index;
  for (syntax::Global* global : probe.condition_reads) {
    if (sema::has_lock(unit.sharing_of(*global))) reader.uses.push_back({global, false});
  }
  std::sort(reader.uses.begin(), reader.uses.end(),
            [](const auto& a, const auto& b) { return a.global->index < b.global->index; });
  llvm::Value* result = entry_alloca(b.getInt64Ty(), "switch");
  b.CreateStore(b.getInt64(1), result);
  lower_locked(reader, [] {}, [&] { b.CreateStore(b.CreateZExt(lower_condition(*probe.condition), b.getInt64Ty()), result); });
  llvm::Value* wanted = b.CreateLoad(b.getInt64Ty(), result);
  b.CreateStore(wanted, switch_word(probe), true);
  return wanted;
}

llvm::Value* Lowering::switch_word(const sema::Probe& probe) {
  uint64_t place = unit.layout.switches[static_cast<size_t>(probe.index)];
  CHECK(place != 0);
  return call("spile_rt_shared", unit.module.ptr(), {context, number(static_cast<int64_t>(place))});
}

llvm::Value* Lowering::is_wanted(const sema::Probe& probe) {
  if (!probe.switched) return lower_condition(*probe.condition);
  return b.CreateIsNotNull(b.CreateLoad(b.getInt64Ty(), switch_word(probe), true));
}

// Stores the limits that script functions count down when the body calls them, and lets their errors become records.
void Lowering::set_limits(const sema::Probe& probe) {
  b.CreateStore(b.getInt32(action_budget(unit.program, probe)), actions_left());
  b.CreateStore(b.getInt32(static_cast<uint32_t>(unit.program.limits.max_nesting)),
                context_field(offsetof(abi::Context, nesting_left)));
  errors_.set_message(llvm::ConstantPointerNull::get(unit.module.ptr()));
}

// The handler ends where the session has.
void Lowering::leave_if_exiting() {
  llvm::BasicBlock* going_on = block("going_on");
  b.CreateCondBr(call("spile_rt_exiting", b.getInt1Ty(), {context, number(unit.program.limits.max_errors)}), next_, going_on);
  b.SetInsertPoint(going_on);
}

// Emits the frame of a probe around what `guards` emits, and the locks around what `inside` emits after it, and one way out for
// errors of both.
void Lowering::lower_locked(const sema::Probe& probe, const std::function<void()>& guards, const std::function<void()>& inside) {
  body.probe = &probe;
  llvm::BasicBlock *done = block("done"), *out = block("out");
  b.CreateStore(b.getInt32(static_cast<uint32_t>(probe.index)), context_field(offsetof(abi::Context, probe)));
  set_limits(probe);
  frame_.reset();
  errors_.set_end(done);
  next_ = done;
  frame_.declare(probe.locals, probe.body && has_loop(*probe.body));
  frame_.open();
  prepare_match_memory();
  if (unit.place.stops_itself() && unit.targets_exit()) leave_if_exiting();
  guards();
  llvm::BasicBlock* unlock = lock_globals(probe, done);
  errors_.set_end(unlock);
  next_ = unlock;
  if (unit.place.stops_itself() && unlock != done) leave_if_exiting();  // the handler that had a lock may have ended the session
  inside();
  branch_if_open(unlock);
  close_frame(out);
  b.SetInsertPoint(done);
  frame_.release();
  b.CreateBr(out);
  b.SetInsertPoint(out);
}

void Lowering::lower_light_probe(const sema::Probe& probe, bool entered) {
  body.probe = &probe;
  llvm::BasicBlock *done = block("light.done"), *leave = block("light.leave"), *out = block("light.out");
  light_entered_ = entry_alloca(b.getInt1Ty(), "entered");
  light_refused_ = out;
  b.CreateStore(b.getInt1(entered), light_entered_);
  if (!entered) {  // for read-only globals
    llvm::Value* arena = b.CreateLoad(unit.module.ptr(), at_offset(unit.module.cells(), offsetof(abi::ImageCells, arena)));
    b.CreateStore(arena, context_field(offsetof(abi::Context, arena)));
  }
  frame_.reset();
  errors_.set_end(done);
  next_ = done;
  frame_.declare(probe.locals, false);
  if (probe.condition) {
    llvm::BasicBlock* wanted = block("wanted");
    b.CreateCondBr(is_wanted(probe), wanted, done);
    b.SetInsertPoint(wanted);
  }
  lower(*probe.body);
  branch_if_open(done);
  CHECK(!frame_.is_used());
  b.SetInsertPoint(done);
  if (entered) b.CreateBr(out);
  else b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), light_entered_), leave, out);
  b.SetInsertPoint(leave);
  call("spile_rt_leave_light", unit.module.none(), {context});
  b.CreateBr(out);
  b.SetInsertPoint(out);
  light_entered_ = nullptr;
}

static bool calls_function(const syntax::Expression& expression) {
  bool calls = false;
  syntax::for_each_expression(expression, [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    calls |= call && call->function;
  });
  return calls;
}

Lowering::EntrySaves Lowering::lower_entry_saves(const sema::Probe& probe) {
  EntrySaves saves{{}, nullptr};
  body.probe = &probe;
  llvm::Value* ok = entry_alloca(b.getInt1Ty(), "saved");
  b.CreateStore(b.getInt1(false), ok);
  llvm::BasicBlock* done = block("saves.done");
  frame_.reset();
  errors_.set_end(done);
  next_ = done;
  b.CreateStore(b.getInt32(static_cast<uint32_t>(probe.index)), context_field(offsetof(abi::Context, probe)));
  // Expressions without calls ask for none of this.
  if (std::any_of(probe.entry_saves.begin(), probe.entry_saves.end(), [](const auto& save) { return calls_function(*save); }))
    set_limits(probe);
  store_site();
  frame_.open();
  if (state) b.CreateStore(llvm::ConstantPointerNull::get(unit.module.ptr()), at_offset(state, offsetof(State, match)));
  std::vector<llvm::Value*> places;
  for (const auto& save : probe.entry_saves) {
    llvm::Value* value = lower(*save);
    if (save->type == ValueType::kString) value = frame_.copied(value);
    llvm::Value* place = entry_alloca(value->getType(), "save");
    b.CreateStore(value, place);
    places.push_back(place);
  }
  b.CreateStore(b.getInt1(true), ok);
  branch_if_open(done);
  close_frame(done);
  b.SetInsertPoint(done);
  saves.ok = b.CreateLoad(b.getInt1Ty(), ok);
  for (llvm::Value* place : places) {
    auto* alloca = llvm::cast<llvm::AllocaInst>(place);
    saves.values.push_back(b.CreateLoad(alloca->getAllocatedType(), place));
  }
  return saves;
}

// ---------------------------------------------------------------- script functions

void Lowering::lower_function(const syntax::Function& source) {
  body.script_function = &source;
  llvm::BasicBlock *done = block("done"), *failed = block("failed"), *given_up = block("given_up");
  bool recursive = unit.is_recursive(source);
  llvm::Value* nesting = context_field(offsetof(abi::Context, nesting_left));
  auto add_nesting = [&](int delta) {
    llvm::Value* left = b.CreateAdd(b.CreateLoad(b.getInt32Ty(), nesting), b.getInt32(static_cast<uint32_t>(delta)));
    b.CreateStore(left, nesting);
    return left;
  };
  errors_.set_end(given_up);
  if (recursive)
    errors_.raise_if(b.CreateICmpSLT(add_nesting(-1), b.getInt32(0)), source.range,
                     "MAXNESTING exceeded near identifier '" + source.name + "'");
  spend_actions(*source.body, source.range);
  errors_.set_end(failed);
  next_ = done;
  fall_through_ = source.falls_through ? block("next") : nullptr;
  result_ = body.function->getArg(static_cast<unsigned>(2 + source.parameters.size()));
  bool is_string = source.type == ValueType::kString;
  if (is_string) b.CreateStore(b.getInt8(0), result_);
  else b.CreateStore(number(0), result_);
  const bool repeats = has_loop(*source.body);
  frame_.declare(source.parameters, repeats);
  frame_.declare(source.locals, repeats);
  frame_.open();
  for (size_t i = 0; i < source.parameters.size(); ++i) {
    const syntax::Local& parameter = *source.parameters[i];
    llvm::Value* argument = body.function->getArg(static_cast<unsigned>(2 + i));
    if (parameter.type == ValueType::kString)
      call("spile_rt_string_copy", unit.module.none(), {frame_.string_of(parameter), argument});
    else b.CreateStore(argument, frame_.long_of(parameter));
  }
  lower(*source.body);
  branch_if_open(done);
  close_frame(given_up);

  auto finish = [&](llvm::BasicBlock* end, FunctionStatus status, bool framed) {
    b.SetInsertPoint(end);
    if (framed) frame_.release();
    if (recursive) add_nesting(1);
    b.CreateRet(b.getInt32(status));
  };
  finish(done, kFunctionDone, true);
  if (fall_through_) finish(fall_through_, kFunctionNext, true);
  if (llvm::BasicBlock* aborted = errors_.aborted_end()) finish(aborted, kFunctionAborted, true);
  finish(failed, kFunctionFailed, true);
  finish(given_up, kFunctionFailed, false);
}

namespace {

void lower_script_function(Unit& unit, const syntax::Function& function, llvm::Function* into) {
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(unit.module.context(), "entry", into));
  Body body(unit, builder, into->getArg(0), into->getArg(1));
  Lowering(body).lower_function(function);
}

}  // namespace

void lower_functions(Unit& unit) {
  while (const syntax::Function* next = unit.take_pending()) lower_script_function(unit, *next, unit.function(*next));
}

}  // namespace spile::codegen
