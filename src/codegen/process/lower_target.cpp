// Handlers of traced processes: one `enter` per site group, and for groups with return probes an `exit`. Their
// registers, stack and return values are the contract of abi/trampoline.h.
//
//   entry, light bodies only:   no guard (and none for returns, where no entry values are saved either)
//   entry:                      guard -> bodies -> leave
//   return, enter:              guard -> bodies -> entry values -> frame -> leave; 1 where a frame was made
//   Go, enter:                  guard -> bodies -> entry values -> leave
//   Go, exit:                   guard -> find the entry values -> bodies -> leave
//   return, exit:               guard -> find the frame -> bodies -> the real address back, guard or not -> leave

#include "abi/stack_tables.h"
#include "codegen/bodies/call_points.h"
#include "codegen/bodies/lowering.h"
#include "codegen/machine/native_target.h"
#include "codegen/process/lower_native.h"

namespace spile::codegen {

namespace {

using abi::kConvention;

constexpr size_t kArguments = kConvention.argument_registers.size(), kResults = kConvention.result_registers.size();

// The CFA, for a handler that gets an abi::Registers at the entry of the probed function.
llvm::Value* cfa_at_entry(llvm::IRBuilder<>& b, llvm::Value* registers) {
  llvm::Value* stack_pointer = load_register(b, registers, abi::register_offset(kConvention.stack_pointer));
  return b.CreateAdd(stack_pointer, b.getInt64(kConvention.entry_cfa));
}

// One handler that is made.
class Handler {
 public:
  Handler(Unit& unit, const sema::SiteGroup& group, uint32_t flags, const std::string& name, llvm::Type* result,
          size_t arguments);

  void lower_light_probes(const std::vector<int>& probes);
  void lower_entry();
  void lower_system_call();
  llvm::BasicBlock* choose_call(Body& body);
  void lower_return_enter();
  void lower_return_exit();
  void lower_enter_in_place();
  void lower_exit_in_place();

 private:
  llvm::Value* enter();
  void leave_handler();
  // The bodies of entry probes, and the entry values of return probes. ok: none of those was an error.
  struct EntrySide {
    std::vector<Lowering::EntrySaves> saves;
    llvm::Value* ok;
    llvm::Value* mark;    // of the script's frames before the entry values
    bool framed = false;  // they have one
  };
  EntrySide lower_entry_side();
  void release_frame(const EntrySide& entry);
  llvm::Value* word_above_return_address(int64_t offset);
  void set_site(llvm::Value* cfa, llvm::Value* site_id);
  void set_frame(uint32_t kind);
  bool wants_stack(const std::vector<int>& probes) const {
    return std::any_of(probes.begin(), probes.end(), [&](int index) { return probe(index).needs_stack; });
  }
  void lower_bodies(const std::vector<int>& probes);
  void store_saves(const std::vector<Lowering::EntrySaves>& saves, llvm::Value* place);
  const sema::Probe& probe(int index) const { return unit_.program.probes[static_cast<size_t>(index)]; }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  bool all_light(const std::vector<int>& probes) const {
    return !unit_.targets_exit() &&
           std::all_of(probes.begin(), probes.end(), [&](int index) { return probe(index).only_accumulates; });
  }

  Unit& unit_;
  const sema::SiteGroup& group_;
  uint32_t flags_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::Value* context_;
  llvm::Value* state_;
  llvm::Value* registers_ = nullptr;
  bool light_ = false;  // of a group with return probes: all of them only accumulate
  std::vector<llvm::Value*> arguments_;
  SiteValues site_;
};

llvm::Function* make_function(Unit& unit, const std::string& name, llvm::Type* result, bool registers, size_t arguments) {
  std::vector<llvm::Type*> types(registers ? 1 : arguments, unit.module.i64());
  if (registers) types[0] = unit.module.ptr();
  llvm::Function* function = unit.module.add_function(name, llvm::FunctionType::get(result, types, false));
  // The trampoline saves nothing, so the handler keeps every register: preserve_most does that, but for what
  // keep_all_registers() sees to. ("no_caller_saved_registers" would not keep those of arguments.)
  function->setCallingConv(llvm::CallingConv::PreserveMost);
  function->addFnAttr(llvm::Attribute::NoRedZone);
  unit.module.export_function(function);
  return function;
}

Handler::Handler(Unit& unit, const sema::SiteGroup& group, uint32_t flags, const std::string& name, llvm::Type* result,
                 size_t arguments)
    : unit_(unit),
      group_(group),
      flags_(flags),
      function_(make_function(unit, name, result, flags & abi::kWantsRegisters, arguments)),
      b_(llvm::BasicBlock::Create(unit.module.context(), "entry", function_)) {
  auto* context = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(abi::Context) / 8), nullptr, "context");
  auto* state = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(State) / 8), nullptr, "state");
  context_ = context;
  state_ = state;
  light_ = !group.return_probes.empty() && all_light(group.entry_probes) && all_light(group.return_probes) &&
           std::all_of(group.return_probes.begin(), group.return_probes.end(),
                       [&](int index) { return probe(index).entry_saves.empty(); });
  if (flags & abi::kWantsRegisters) registers_ = function_->getArg(0);
  else
    for (llvm::Argument& argument : function_->args()) arguments_.push_back(&argument);
}

// The word at `offset` from where the return address of the handler lies.
llvm::Value* Handler::word_above_return_address(int64_t offset) {
  llvm::Value* base = b_.CreateIntrinsic(unit_.module.ptr(), llvm::Intrinsic::addressofreturnaddress, {});
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(offset));
}

void Handler::set_site(llvm::Value* cfa, llvm::Value* site_id) {
  site_.registers = registers_;
  site_.cfa = cfa;
  site_.site_id = site_id;
  auto put = [&](llvm::Value* value, size_t offset) {
    b_.CreateStore(value, b_.CreateConstGEP1_64(b_.getInt8Ty(), context_, offset));
  };
  put(cfa, offsetof(abi::Context, cfa));
  if (site_id) put(site_id, offsetof(abi::Context, site_id));
}

// Stores where a walk of the stack begins. At a return it begins in the caller, behind the call.
void Handler::set_frame(uint32_t kind) {
  if (!registers_) return;
  auto put = [&](llvm::Value* value, size_t offset) {
    b_.CreateStore(value, b_.CreateConstGEP1_64(b_.getInt8Ty(), context_, offset));
  };
  bool wanted = wants_stack(group_.entry_probes) || wants_stack(group_.return_probes);
  put(b_.getInt32(wanted ? kind : static_cast<uint32_t>(abi::kNoFrame)), offsetof(abi::Context, frame_kind));
  if (!wanted) return;
  llvm::Value* pc = load_register(b_, registers_, abi::register_offset(kConvention.program_counter));
  if (site_.returns && group_.go) {
    llvm::Value* slot = b_.CreateIntToPtr(b_.CreateAdd(site_.cfa, b_.getInt64(kConvention.return_slot)), unit_.module.ptr());
    pc = b_.CreateLoad(b_.getInt64Ty(), slot);
  } else if (site_.saves) {
    int64_t back =
        static_cast<int64_t>(offsetof(abi::ShadowFrame, return_address)) - static_cast<int64_t>(sizeof(abi::ShadowFrame));
    pc = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt8Ty(), site_.saves, static_cast<uint64_t>(back)));
  }
  put(pc, offsetof(abi::Context, user_pc));
  put(load_register(b_, registers_, abi::register_offset(kConvention.stack_pointer)), offsetof(abi::Context, user_sp));
  put(load_register(b_, registers_, abi::register_offset(kConvention.frame_pointer)), offsetof(abi::Context, user_fp));
}

// The body goes on for calls of the probe's points, with the point as the number of the site; returns the block for others.
llvm::BasicBlock* Handler::choose_call(Body& body) {
  llvm::BasicBlock *wanted = block("wanted"), *other = block("other");
  llvm::Value* point = point_of_call(unit_, b_, *body.probe, unit_.place.call_number(body));
  b_.CreateCondBr(b_.CreateICmpNE(point, b_.getInt64(0)), wanted, other);
  b_.SetInsertPoint(wanted);
  body.site.site_id = b_.CreateSub(point, b_.getInt64(1));
  b_.CreateStore(body.site.site_id, body.context_field(offsetof(abi::Context, site_id)));
  return other;
}

void Handler::lower_bodies(const std::vector<int>& probes) {
  for (int index : probes) {
    Body body(unit_, b_, context_, state_);
    body.site = site_;
    body.probe = &probe(index);
    llvm::BasicBlock* next = nullptr;
    if (sema::is_for_some_calls(probe(index))) next = choose_call(body);
    Lowering lowering(body);
    lowering.store_site();
    if (light_) lowering.lower_light_probe(probe(index), true);
    else lowering.lower_probe(probe(index));
    if (next) {
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
    }
    uint32_t bytes = save_bytes(unit_.layout, probe(index));
    if (site_.saves && bytes > 0) site_.saves = b_.CreateConstGEP1_64(b_.getInt8Ty(), site_.saves, bytes);
  }
}

// Pending returns are safe against signals without a guard, so handlers that only count do without it at returns too.
llvm::Value* Handler::enter() {
  return unit_.module.call_runtime(b_, light_ ? "spile_rt_enter_light" : "spile_rt_enter", b_.getInt1Ty(), {context_});
}
void Handler::leave_handler() {
  unit_.module.call_runtime(b_, light_ ? "spile_rt_leave_light" : "spile_rt_leave", unit_.module.none(), {context_});
}

void Handler::lower_light_probes(const std::vector<int>& probes) {
  site_.registers = registers_;
  for (int index : probes) {
    Body body(unit_, b_, context_, state_);
    body.site = site_;
    Lowering lowering(body);
    lowering.lower_light_probe(probe(index), false);
  }
  b_.CreateRetVoid();
}

void Handler::lower_entry() {
  if (group_.system_call != sema::SiteGroup::kNoCall) return lower_system_call();
  site_.arguments = arguments_;
  bool wants_id = flags_ & abi::kWantsSiteId;
  if (all_light(group_.entry_probes)) {
    return lower_light_probes(group_.entry_probes);
  }
  llvm::BasicBlock *run = block("run"), *end = block("end");
  llvm::Value* entered = unit_.module.call_runtime(b_, "spile_rt_enter", b_.getInt1Ty(), {context_});
  b_.CreateCondBr(entered, run, end, llvm::MDBuilder(b_.getContext()).createBranchWeights(100000, 1));
  b_.SetInsertPoint(run);
  llvm::Value *cfa, *id = nullptr;
  bool any_entry = std::any_of(group_.entry_probes.begin(), group_.entry_probes.end(),
                               [&](int index) { return probe(index).kind == sema::ProbeKind::kFunctionEntry; });
  if (group_.inside_function && !any_entry) {  // only unwind information says where the CFA is
    cfa = b_.getInt64(0);
    if (wants_id) {
      id = registers_ ? load_register(b_, registers_, offsetof(abi::Registers, site_id))
                      : b_.CreateLoad(b_.getInt64Ty(), word_above_return_address(abi::kSiteIdOffset));
    }
  } else if (registers_) {
    cfa = cfa_at_entry(b_, registers_);
    if (wants_id) id = load_register(b_, registers_, offsetof(abi::Registers, site_id));
  } else {
    cfa = b_.CreatePtrToInt(word_above_return_address(wants_id ? abi::kEntrySiteIdCfaOffset : abi::kEntryCfaOffset),
                            b_.getInt64Ty());
    if (wants_id) id = b_.CreateLoad(b_.getInt64Ty(), word_above_return_address(abi::kSiteIdOffset));
  }
  set_site(cfa, id);
  set_frame(group_.inside_function && !any_entry ? abi::kFrameInside : abi::kFrameEntry);
  lower_bodies(group_.entry_probes);
  unit_.module.call_runtime(b_, "spile_rt_leave", unit_.module.none(), {context_});
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

void Handler::lower_system_call() {
  llvm::BasicBlock *run = block("run"), *end = block("end");
  bool at_return = group_.system_call == sema::SiteGroup::kReturnOfCall;
  llvm::Value* entered = unit_.module.call_runtime(b_, at_return ? "spile_rt_call_exit" : "spile_rt_call_enter", b_.getInt1Ty(),
                                                   {context_, registers_});
  b_.CreateCondBr(entered, run, end);
  b_.SetInsertPoint(run);
  set_site(b_.getInt64(0), nullptr);
  set_frame(abi::kFrameInside);
  lower_bodies(group_.entry_probes);
  unit_.module.call_runtime(b_, "spile_rt_leave", unit_.module.none(), {context_});
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

void Handler::store_saves(const std::vector<Lowering::EntrySaves>& saves, llvm::Value* place) {
  size_t n = 0;
  uint64_t base = 0;
  for (int index : group_.return_probes) {
    if (probe(index).entry_saves.empty()) continue;
    const std::vector<uint32_t>& offsets = unit_.layout.saves[static_cast<size_t>(index)];
    for (size_t i = 0; i < offsets.size(); ++i) {
      llvm::Value* value = saves[n].values[i];
      llvm::Value* to = b_.CreateConstGEP1_64(b_.getInt8Ty(), place, base + offsets[i]);
      if (value->getType()->isPointerTy()) {
        unit_.module.call_runtime(b_, "spile_rt_string_copy", unit_.module.none(), {to, value});
      } else {
        b_.CreateStore(value, to);
      }
    }
    base += save_bytes(unit_.layout, probe(index));
    ++n;
  }
}

Handler::EntrySide Handler::lower_entry_side() {
  set_frame(abi::kFrameEntry);
  lower_bodies(group_.entry_probes);
  llvm::Value* mark = unit_.module.call_runtime(b_, "spile_rt_frame_mark", b_.getInt64Ty(), {context_});
  EntrySide entry{{}, b_.getInt1(true), mark};
  for (int index : group_.return_probes) {
    if (probe(index).entry_saves.empty()) continue;
    Body body(unit_, b_, context_, state_);
    body.site = site_;
    Lowering lowering(body);
    entry.saves.push_back(lowering.lower_entry_saves(probe(index)));
    entry.framed |= lowering.uses_frame();
    entry.ok = b_.CreateAnd(entry.ok, entry.saves.back().ok);
  }
  return entry;
}

void Handler::release_frame(const EntrySide& entry) {
  if (entry.framed) unit_.module.call_runtime(b_, "spile_rt_frame_release", unit_.module.none(), {context_, entry.mark});
}

void Handler::lower_return_enter() {
  site_.arguments = arguments_;
  llvm::BasicBlock *run = block("run"), *push = block("push"), *pushed = block("pushed"), *leave = block("leave"),
                   *refused = block("refused");
  llvm::Value* entered = enter();
  b_.CreateCondBr(entered, run, refused, llvm::MDBuilder(b_.getContext()).createBranchWeights(100000, 1));
  b_.SetInsertPoint(refused);
  b_.CreateRet(b_.getInt64(0));

  b_.SetInsertPoint(run);
  if (registers_) {
    set_site(cfa_at_entry(b_, registers_), load_register(b_, registers_, offsetof(abi::Registers, site_id)));
  } else {
    set_site(b_.CreatePtrToInt(word_above_return_address(abi::kReturnEnterCfaOffset), b_.getInt64Ty()),
             b_.CreateLoad(b_.getInt64Ty(), word_above_return_address(abi::kSiteIdOffset)));
  }
  EntrySide entry = lower_entry_side();
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.CreateCondBr(entry.ok, push, leave);
  b_.SetInsertPoint(push);
  bool saves = !entry.saves.empty();
  llvm::Value* place =
      unit_.module.call_runtime(b_, saves ? "spile_rt_return_enter" : "spile_rt_return_push",
                                saves ? unit_.module.ptr() : unit_.module.i1(), {context_, site_.cfa, site_.site_id});
  llvm::BasicBlock* from_push = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateIsNull(place), leave, pushed, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 100000));
  b_.SetInsertPoint(pushed);
  store_saves(entry.saves, place);
  if (saves) unit_.module.call_runtime(b_, "spile_rt_return_entered", unit_.module.none(), {context_, site_.cfa, place});
  llvm::BasicBlock* from_pushed = b_.GetInsertBlock();
  b_.CreateBr(leave);
  b_.SetInsertPoint(leave);
  llvm::PHINode* verdict = b_.CreatePHI(b_.getInt64Ty(), 3);
  verdict->addIncoming(b_.getInt64(0), from);
  verdict->addIncoming(b_.getInt64(0), from_push);
  verdict->addIncoming(b_.getInt64(1), from_pushed);
  release_frame(entry);
  leave_handler();
  b_.CreateRet(verdict);
}

void Handler::lower_return_exit() {
  site_.returned = arguments_;
  site_.returns = true;
  llvm::Value* cfa = registers_ ? load_register(b_, registers_, abi::register_offset(kConvention.stack_pointer))
                                : b_.CreatePtrToInt(word_above_return_address(abi::kReturnExitCfaOffset), b_.getInt64Ty());
  llvm::Value* entered = enter();
  llvm::Value* saves = unit_.module.call_runtime(b_, "spile_rt_return_find", unit_.module.ptr(), {context_, cfa});
  llvm::BasicBlock *run = block("run"), *give_back = block("give_back"), *leave = block("leave"), *end = block("end");
  b_.CreateCondBr(entered, run, give_back, llvm::MDBuilder(b_.getContext()).createBranchWeights(100000, 1));
  b_.SetInsertPoint(run);
  set_site(cfa, nullptr);
  site_.saves = saves;
  set_frame(abi::kFrameInside);
  lower_bodies(group_.return_probes);
  b_.CreateBr(give_back);
  b_.SetInsertPoint(give_back);
  unit_.module.call_runtime(b_, "spile_rt_return_exit", unit_.module.none(), {context_, cfa, saves});
  if (light_) b_.CreateBr(leave);
  else b_.CreateCondBr(entered, leave, end);
  b_.SetInsertPoint(leave);
  leave_handler();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

// A call that is not taken down must not find what another one left.
void Handler::lower_enter_in_place() {
  llvm::BasicBlock *run = block("run"), *refused = block("refused"), *push = block("push"), *pushed = block("pushed"),
                   *leave = block("leave");
  llvm::Value* cfa = cfa_at_entry(b_, registers_);
  llvm::Value* id = load_register(b_, registers_, offsetof(abi::Registers, site_id));
  auto forget = [&] {
    llvm::BasicBlock *found = block("found"), *done = block("done");
    llvm::Value* place = unit_.module.call_runtime(b_, "spile_rt_goroutine_find", unit_.module.ptr(), {context_, cfa, id});
    b_.CreateCondBr(b_.CreateIsNull(place), done, found);
    b_.SetInsertPoint(found);
    unit_.module.call_runtime(b_, "spile_rt_goroutine_exit", unit_.module.none(), {context_, place});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  };
  llvm::Value* entered = enter();
  b_.CreateCondBr(entered, run, refused, llvm::MDBuilder(b_.getContext()).createBranchWeights(100000, 1));
  b_.SetInsertPoint(refused);
  forget();
  b_.CreateRetVoid();

  b_.SetInsertPoint(run);
  set_site(cfa, id);
  EntrySide entry = lower_entry_side();
  llvm::BasicBlock* failed = block("failed");
  b_.CreateCondBr(entry.ok, push, failed);
  b_.SetInsertPoint(failed);
  forget();
  b_.CreateBr(leave);
  b_.SetInsertPoint(push);
  llvm::Value* place = unit_.module.call_runtime(b_, "spile_rt_goroutine_enter", unit_.module.ptr(), {context_, cfa, id});
  b_.CreateCondBr(b_.CreateIsNull(place), leave, pushed, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 100000));
  b_.SetInsertPoint(pushed);
  store_saves(entry.saves, place);
  b_.CreateBr(leave);
  b_.SetInsertPoint(leave);
  release_frame(entry);
  leave_handler();
  b_.CreateRetVoid();
}

// Probes that want entry values are left out where these are unknown.
void Handler::lower_exit_in_place() {
  site_.returns = true;
  if (light_) {
    return lower_light_probes(group_.return_probes);
  }
  llvm::BasicBlock *run = block("run"), *end = block("end");
  llvm::Value* cfa = load_register(b_, registers_, abi::register_offset(kConvention.stack_pointer));
  llvm::Value* id = load_register(b_, registers_, offsetof(abi::Registers, site_id));
  b_.CreateCondBr(enter(), run, end, llvm::MDBuilder(b_.getContext()).createBranchWeights(100000, 1));
  b_.SetInsertPoint(run);
  set_site(cfa, id);
  set_frame(abi::kFrameInside);
  auto keeps = [&](int index) { return !probe(index).entry_saves.empty(); };
  llvm::Value* place = nullptr;
  if (std::any_of(group_.return_probes.begin(), group_.return_probes.end(), keeps)) {
    place = unit_.module.call_runtime(b_, "spile_rt_goroutine_find", unit_.module.ptr(), {context_, cfa, id});
  }
  uint64_t before = 0;
  for (int index : group_.return_probes) {
    if (!keeps(index)) {
      site_.saves = nullptr;
      lower_bodies({index});
      continue;
    }
    llvm::BasicBlock *known = block("known"), *next = block("next");
    b_.CreateCondBr(b_.CreateIsNull(place), next, known);
    b_.SetInsertPoint(known);
    site_.saves = b_.CreateConstGEP1_64(b_.getInt8Ty(), place, before);
    lower_bodies({index});
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
    before += save_bytes(unit_.layout, probe(index));
  }
  if (place) {
    llvm::BasicBlock *known = block("known"), *leave = block("leave");
    b_.CreateCondBr(b_.CreateIsNull(place), leave, known);
    b_.SetInsertPoint(known);
    unit_.module.call_runtime(b_, "spile_rt_goroutine_exit", unit_.module.none(), {context_, place});
    b_.CreateBr(leave);
    b_.SetInsertPoint(leave);
  }
  leave_handler();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

// The handler of the entries of functions whose registers handlers within them ask for. It has no guard, and takes no part in
// what handlers share: each entry has to be seen, also those that a handler's own thread makes.
void lower_keep_entry(Unit& unit) {
  const uint32_t flags = keep_entry_flags(unit.program);
  llvm::Function* function = make_function(unit, "keep_entry", unit.module.none(), flags & abi::kWantsRegisters, kArguments);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(unit.module.context(), "entry", function));
  const std::vector<uint8_t>& kept = unit.program.sites.kept_registers();
  llvm::Value* values = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), kept.size()), nullptr, "values");
  llvm::Value *cfa, *site_id;
  auto above = [&](int64_t offset) {
    llvm::Value* base = b.CreateIntrinsic(unit.module.ptr(), llvm::Intrinsic::addressofreturnaddress, {});
    return b.CreateConstGEP1_64(b.getInt8Ty(), base, static_cast<uint64_t>(offset));
  };
  if (flags & abi::kWantsRegisters) {
    llvm::Value* registers = function->getArg(0);
    cfa = cfa_at_entry(b, registers);
    site_id = load_register(b, registers, offsetof(abi::Registers, site_id));
  } else {
    cfa = b.CreatePtrToInt(above(abi::kEntrySiteIdCfaOffset), b.getInt64Ty());
    site_id = b.CreateLoad(b.getInt64Ty(), above(abi::kSiteIdOffset));
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    llvm::Value* value;
    if (flags & abi::kWantsRegisters) {
      value = load_register(b, function->getArg(0), abi::register_offset(kept[i]));
    } else {
      value = function->getArg(static_cast<unsigned>(kConvention.argument_registers.find(kept[i])));
    }
    b.CreateStore(value, b.CreateConstGEP1_64(b.getInt64Ty(), values, i));
  }
  unit.module.call_runtime(b, "spile_rt_entry_keep", unit.module.none(), {cfa, site_id, values});
  b.CreateRetVoid();
}

// The address `offset` above where the handler's return address lies.
llvm::Value* word_above(llvm::IRBuilder<>& b, const Unit& unit, int64_t offset) {
  llvm::Value* base = b.CreateIntrinsic(unit.module.ptr(), llvm::Intrinsic::addressofreturnaddress, {});
  return b.CreatePtrToInt(b.CreateConstGEP1_64(b.getInt8Ty(), base, static_cast<uint64_t>(offset)), b.getInt64Ty());
}

// A handler that unwinders need (runtime/interface.h): it calls one function of the runtime, with the context, where the
// program's stack begins and, if there is one, a stack pointer made from the handler's arguments.
using LandingOf = std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::Function*)>;
void lower_unwind(Unit& unit, const std::string& name, const char* runtime, const LandingOf& landing) {
  llvm::Function* function = make_function(unit, name, unit.module.none(), false, kArguments);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(unit.module.context(), "entry", function));
  if (unit.layout.arena.shadow_capacity == 0) {  // no return probes
    b.CreateRetVoid();
    return;
  }
  llvm::Value* context = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), sizeof(abi::Context) / 8), nullptr, "context");
  // Refused or not, the thread's slot is known then.
  unit.module.call_runtime(b, "spile_rt_enter_light", unit.module.i1(), {context});
  std::vector<llvm::Value*> arguments = {context, word_above(b, unit, 8)};
  if (landing) arguments.push_back(landing(b, function));
  unit.module.call_runtime(b, runtime, unit.module.none(), arguments);
  unit.module.call_runtime(b, "spile_rt_leave_light", unit.module.none(), {context});
  b.CreateRetVoid();
}

// The handlers of functions that take one step of a walk. At the entry all return addresses of the thread are put back, and the
// function returns by a frame of its own, as a return probe's does, when they become pending again. Its exits can't be sites, as
// it may end in a jump to another function that does the work.
class StepHandlers {
 public:
  explicit StepHandlers(Unit& unit) : unit_(unit) {}

  void lower_enter() {
    begin("step.enter", unit_.module.i64(), kArguments);
    if (unit_.layout.arena.shadow_capacity == 0) return finish(b().getInt64(0));
    llvm::Value* cfa = word(abi::kReturnEnterCfaOffset);
    llvm::Value* site_id = b().CreateLoad(unit_.module.i64(), b().CreateIntToPtr(word(abi::kSiteIdOffset), unit_.module.ptr()));
    llvm::Value* entered = call("spile_rt_enter_light", unit_.module.i1(), {});
    call("spile_rt_unwind_step", unit_.module.none(), {word(8)});
    auto *push = block("push"), *refused = block("refused");
    b().CreateCondBr(entered, push, refused);
    b().SetInsertPoint(refused);
    b().CreateRet(b().getInt64(0));
    b().SetInsertPoint(push);
    llvm::Value* pushed = call("spile_rt_return_push", unit_.module.i1(), {cfa, site_id});
    call("spile_rt_leave_light", unit_.module.none(), {});
    finish(b().CreateZExt(pushed, unit_.module.i64()));
  }

  void lower_exit() {
    begin("step.exit", unit_.module.none(), kResults);
    if (unit_.layout.arena.shadow_capacity == 0) return finish(nullptr);
    llvm::Value* cfa = word(abi::kReturnExitCfaOffset);
    call("spile_rt_enter_light", unit_.module.i1(), {});
    llvm::Value* saves = call("spile_rt_return_find", unit_.module.ptr(), {cfa});
    call("spile_rt_rewind_step", unit_.module.none(), {word(8)});
    call("spile_rt_return_exit", unit_.module.none(), {cfa, saves});
    call("spile_rt_leave_light", unit_.module.none(), {});
    finish(nullptr);
  }

 private:
  void begin(const char* name, llvm::Type* result, size_t arguments) {
    function_ = make_function(unit_, name, result, false, arguments);
    b_.emplace(llvm::BasicBlock::Create(unit_.module.context(), "entry", function_));
    context_ = b().CreateAlloca(llvm::ArrayType::get(b().getInt64Ty(), sizeof(abi::Context) / 8), nullptr, "context");
  }
  void finish(llvm::Value* result) {
    if (result) b().CreateRet(result);
    else b().CreateRetVoid();
  }
  llvm::Value* word(int64_t offset) { return word_above(b(), unit_, offset); }
  llvm::Value* call(const char* name, llvm::Type* result, std::vector<llvm::Value*> arguments) {
    arguments.insert(arguments.begin(), context_);
    return unit_.module.call_runtime(b(), name, result, arguments);
  }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b().getContext(), name, function_); }
  llvm::IRBuilder<>& b() { return *b_; }

  Unit& unit_;
  llvm::Function* function_ = nullptr;
  std::optional<llvm::IRBuilder<>> b_;
  llvm::Value* context_ = nullptr;
};

uint32_t group_flags(const sema::Program& program, const sema::SiteGroup& group, bool targets_exit) {
  uint32_t flags = 0;
  auto add = [&](int index) {
    const sema::Probe& probe = program.probes[static_cast<size_t>(index)];
    if (probe.needs_site_id) flags |= abi::kWantsSiteId;
    if (probe.needs_registers) flags |= abi::kWantsRegisters;
  };
  for (int index : group.entry_probes) add(index);
  for (int index : group.return_probes) add(index);
  if (!group.return_probes.empty()) flags |= abi::kWantsSiteId;
  auto is_switched = [&](int index) { return program.probes[static_cast<size_t>(index)].switched; };
  if (std::all_of(group.entry_probes.begin(), group.entry_probes.end(), is_switched) &&
      std::all_of(group.return_probes.begin(), group.return_probes.end(), is_switched)) {
    flags |= abi::kSwitchable;
  }
  // A function's entry where somebody probes its first instruction as such: both find what they need in the registers only.
  bool any_entry = std::any_of(group.entry_probes.begin(), group.entry_probes.end(), [&](int index) {
    return program.probes[static_cast<size_t>(index)].kind == sema::ProbeKind::kFunctionEntry;
  });
  if (group.inside_function && any_entry) flags |= abi::kWantsRegisters;
  if (group.go) {
    // Whatever is not light needs more stack than a goroutine may have.
    auto is_light = [&](int index) {
      const sema::Probe& probe = program.probes[static_cast<size_t>(index)];
      return probe.only_accumulates && probe.entry_saves.empty() && !targets_exit;
    };
    if (!group.return_probes.empty()) flags |= abi::kReturnsInPlace;
    if (!std::all_of(group.entry_probes.begin(), group.entry_probes.end(), is_light) ||
        !std::all_of(group.return_probes.begin(), group.return_probes.end(), is_light)) {
      flags |= abi::kWantsRegisters;
    }
  }
  if (group.system_call != sema::SiteGroup::kNoCall) flags = abi::kWantsRegisters;
  return flags;
}

}  // namespace

uint32_t keep_entry_flags(const sema::Program& program) {
  const std::vector<uint8_t>& kept = program.sites.kept_registers();
  bool only_arguments =
      std::all_of(kept.begin(), kept.end(), [](uint8_t number) { return kConvention.argument_registers.has(number); });
  return only_arguments ? abi::kWantsSiteId : abi::kWantsSiteId | abi::kWantsRegisters;
}

std::vector<TargetHandler> lower_target_handlers(Unit& unit) {
  std::vector<TargetHandler> handlers;
  auto any_of_kind = [&](sema::SiteGroup::Call kind) {
    return std::any_of(unit.program.site_groups.begin(), unit.program.site_groups.end(),
                       [&](const sema::SiteGroup& group) { return group.system_call == kind; });
  };
  for (size_t i = 0; i < unit.program.site_groups.size(); ++i) {
    const sema::SiteGroup& group = unit.program.site_groups[i];
    TargetHandler made;
    made.flags = group_flags(unit.program, group, unit.targets_exit());
    made.enter = "group." + std::to_string(i) + ".enter";
    if (!group.return_probes.empty() && !group.entry_probes.empty()) {
      made.entry = "group." + std::to_string(i) + ".entry";
      Handler(unit, group, made.flags, made.entry, unit.module.none(), kArguments).lower_entry();
    }
    if (group.return_probes.empty()) {
      Handler(unit, group, made.flags, made.enter, unit.module.none(), kArguments).lower_entry();
    } else if (group.go) {
      made.exit = "group." + std::to_string(i) + ".exit";
      auto keeps = [&](int index) { return !unit.program.probes[static_cast<size_t>(index)].entry_saves.empty(); };
      if (std::any_of(group.return_probes.begin(), group.return_probes.end(), keeps)) {
        Handler(unit, group, made.flags, made.enter, unit.module.none(), kArguments).lower_enter_in_place();
      } else if (!group.entry_probes.empty()) {
        Handler(unit, group, made.flags, made.enter, unit.module.none(), kArguments).lower_entry();
      } else {
        made.enter.clear();
      }
      Handler(unit, group, made.flags, made.exit, unit.module.none(), kArguments).lower_exit_in_place();
    } else {
      made.exit = "group." + std::to_string(i) + ".exit";
      Handler(unit, group, made.flags, made.enter, unit.module.i64(), kArguments).lower_return_enter();
      Handler(unit, group, made.flags, made.exit, unit.module.none(), kResults).lower_return_exit();
    }
    handlers.push_back(std::move(made));
  }
  // A handler of returns only has to know which call returns.
  static const sema::SiteGroup nobody{.entry_probes = {}, .return_probes = {}, .system_call = sema::SiteGroup::kCall};
  if (any_of_kind(sema::SiteGroup::kReturnOfCall) && !any_of_kind(sema::SiteGroup::kCall)) {
    Handler(unit, nobody, abi::kWantsRegisters, "call_enter", unit.module.none(), kArguments).lower_entry();
  }
  if (!unit.program.sites.kept_functions().empty()) lower_keep_entry(unit);
  lower_unwind(unit, "unwind", "spile_rt_unwind", {});
  lower_unwind(unit, "caught", "spile_rt_rewind_caught", {});
  lower_unwind(unit, "walked", "spile_rt_rewind", [](llvm::IRBuilder<>& b, llvm::Function*) { return b.getInt64(0); });
  lower_unwind(unit, "landing", "spile_rt_rewind",
               [](llvm::IRBuilder<>&, llvm::Function* function) { return function->getArg(3); });
  StepHandlers(unit).lower_enter();
  StepHandlers(unit).lower_exit();
  for (const std::string& name : unit.module.exports()) keep_all_registers(*unit.module.module().getFunction(name));
  return handlers;
}

}  // namespace spile::codegen
