#include "codegen/target_access.h"

#include "abi/machine.h"
#include "codegen/site_texts.h"
#include "sema/written_place.h"

namespace spile::codegen {

using sema::LocationOp;

llvm::Value* TargetAccess::refused(ValueType type, SourceRange range, const std::string& what) {
  unit.refuse(range, what);
  return type == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0);
}

llvm::Value* TargetAccess::read(int binding, ValueType type, SourceRange range, const Operand& operand) {
  const std::vector<sema::Binding>* bindings = current_bindings();
  if (!bindings || binding < 0 || static_cast<size_t>(binding) >= bindings->size()) {
    return refused(type, range, "this has no location in the traced program here");
  }
  const sema::Binding& program = (*bindings)[static_cast<size_t>(binding)];
  std::vector<llvm::Value*> stack;
  // An operand may be a traced value too.
  const sema::Binding* outer = std::exchange(binding_, &program);
  const bool known = run_location(program.ops, range, operand, stack);
  binding_ = outer;
  if (!known) return refused(type, range, "the location of this value is not known here");
  if (program.type != ValueType::kString) return stack.back();
  if (!program.string_in_context) return load_string(stack.back(), program.string_limit, range);
  return load_record_string(stack.back(), range);
}

// A string at `offset` of a tracepoint's record.
llvm::Value* TargetAccess::load_record_string(llvm::Value* offset, SourceRange range) {
  llvm::Value* record = unit.place.context_address(body, 0);
  if (!record) return refused(ValueType::kString, range, "this string is not known here");
  llvm::Value* address = b.CreatePtrToInt(record, b.getInt64Ty());
  llvm::Value* out = frame_.temporary_string();
  call("spile_rt_load_string", b.getInt64Ty(), {context, b.CreateAdd(address, offset), out, b.getInt32(unit.layout.string_size)});
  return out;
}

const std::vector<sema::Binding>* TargetAccess::current_bindings() const {
  if (body.probe) return &body.probe->bindings;
  if (!body.script_function || body.script_function->index < 0) return nullptr;
  auto index = static_cast<size_t>(body.script_function->index);
  return index < unit.program.function_bindings.size() ? &unit.program.function_bindings[index] : nullptr;
}

// Runs operations on the stack, which has a value afterwards. False: the place can't give what one of them asks for.
bool TargetAccess::run_location(llvm::ArrayRef<LocationOp> ops, SourceRange range, const Operand& operand,
                                std::vector<llvm::Value*>& stack) {
  for (const LocationOp& op : ops) {
    if (op.kind != LocationOp::Kind::kIndex) {
      if (!apply(op, stack, range)) return false;
      continue;
    }
    llvm::Value* value = operand(op);
    if (!value) return false;
    stack.push_back(value);
  }
  return !stack.empty();
}

namespace {

llvm::Value* compare(llvm::IRBuilder<>& b, LocationOp::Kind kind, llvm::Value* x, llvm::Value* y) {
  using Kind = LocationOp::Kind;
  llvm::CmpInst::Predicate predicate = kind == Kind::kEqual       ? llvm::CmpInst::ICMP_EQ
                                       : kind == Kind::kNotEqual  ? llvm::CmpInst::ICMP_NE
                                       : kind == Kind::kLess      ? llvm::CmpInst::ICMP_SLT
                                       : kind == Kind::kLessEqual ? llvm::CmpInst::ICMP_SLE
                                       : kind == Kind::kGreater   ? llvm::CmpInst::ICMP_SGT
                                                                  : llvm::CmpInst::ICMP_SGE;
  return b.CreateZExt(b.CreateICmp(predicate, x, y), b.getInt64Ty());
}

// Operations that only move entries of the stack about. False: another kind.
bool shuffle(const LocationOp& op, std::vector<llvm::Value*>& stack) {
  using Kind = LocationOp::Kind;
  size_t depth = stack.size();
  switch (op.kind) {
    case Kind::kDuplicate: CHECK(depth >= 1); stack.push_back(stack.back()); return true;
    case Kind::kDrop: CHECK(depth >= 1); stack.pop_back(); return true;
    case Kind::kSwap: CHECK(depth >= 2); std::swap(stack[depth - 1], stack[depth - 2]); return true;
    case Kind::kRotate: CHECK(depth >= 3); std::rotate(stack.end() - 3, stack.end() - 1, stack.end()); return true;
    case Kind::kPick: {
      CHECK(op.value >= 0 && static_cast<size_t>(op.value) < depth);
      stack.push_back(stack[depth - 1 - static_cast<size_t>(op.value)]);
      return true;
    }
    default: return false;
  }
}

}  // namespace

// Operations on the top two entries. Null: another kind.
llvm::Value* TargetAccess::apply_binary(const LocationOp& op, llvm::Value* x, llvm::Value* y, SourceRange range) {
  using Kind = LocationOp::Kind;
  auto count = [&] { return b.CreateAnd(y, number(63)); };
  switch (op.kind) {
    case Kind::kAdd: return b.CreateAdd(x, y);
    case Kind::kSubtract: return b.CreateSub(x, y);
    case Kind::kMultiply: return b.CreateMul(x, y);
    case Kind::kDivide: return arithmetic_.divide(false, x, y, range);
    case Kind::kModulo:
      errors_.raise_if(b.CreateICmpEQ(y, number(0)), range, "division by 0 in the location of '" + std::string(range.text()) + "'");
      return b.CreateURem(x, y);
    case Kind::kAnd: return b.CreateAnd(x, y);
    case Kind::kOr: return b.CreateOr(x, y);
    case Kind::kXor: return b.CreateXor(x, y);
    case Kind::kShiftLeft: return b.CreateShl(x, count());
    case Kind::kShiftRight: return b.CreateLShr(x, count());
    case Kind::kShiftRightArithmetic: return b.CreateAShr(x, count());
    case Kind::kEqual: case Kind::kNotEqual: case Kind::kLess: case Kind::kLessEqual: case Kind::kGreater:
    case Kind::kGreaterEqual: return compare(b, op.kind, x, y);
    default: return nullptr;
  }
}

// Operations on the top entry. Null: another kind.
llvm::Value* TargetAccess::apply_unary(const LocationOp& op, llvm::Value* x, SourceRange range) {
  using Kind = LocationOp::Kind;
  switch (op.kind) {
    case Kind::kNegate: return b.CreateNeg(x);
    case Kind::kNot: return b.CreateNot(x);
    case Kind::kAbsolute: return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getInt1(false));
    case Kind::kLoad: return load(x, op.size, op.is_signed, range);
    case Kind::kThreadBlock: return thread_block(x, range);
    case Kind::kCalledFrom: return called_from(x);
    case Kind::kEntryValue: case Kind::kEntryKnown: return kept_register(op, x, range);
    case Kind::kWiden: return arithmetic_.widen_float(x);
    case Kind::kExtend: return extend(x, 8u * op.size, op.is_signed);
    case Kind::kBitField: return extend(b.CreateLShr(x, number(op.value)), op.size, op.is_signed);
    default: return nullptr;
  }
}

// Operations that push something new. Null: the place can't give it.
llvm::Value* TargetAccess::apply_push(const LocationOp& op, SourceRange range) {
  using Kind = LocationOp::Kind;
  switch (op.kind) {
    case Kind::kRegister: return unit.place.machine_register(body, op.value);
    case Kind::kCfa: return unit.place.cfa(body);
    case Kind::kConstant: return number(op.value);
    case Kind::kModuleBias: return module_bias(range);
    case Kind::kThreadPointer: return unit.place.thread_pointer(body);
    case Kind::kLoadBias: return unit.place.load_bias(body);
    case Kind::kContextField: {
      llvm::Value* address = unit.place.context_address(body, op.value);
      if (!address) return nullptr;
      llvm::Value* value = b.CreateLoad(b.getIntNTy(8u * op.size), address);
      return op.is_signed ? b.CreateSExt(value, b.getInt64Ty()) : b.CreateZExt(value, b.getInt64Ty());
    }
    case Kind::kContextAddress: {
      llvm::Value* address = unit.place.context_address(body, op.value);
      return address ? b.CreatePtrToInt(address, b.getInt64Ty()) : nullptr;
    }
    default: return nullptr;
  }
}

// Runs one operation on the stack. False: the place can't give what it asks for.
bool TargetAccess::apply(const LocationOp& op, std::vector<llvm::Value*>& stack, SourceRange range) {
  using Kind = LocationOp::Kind;
  if (shuffle(op, stack)) return true;
  bool is_of_thread = op.kind == Kind::kThreadBlock || op.kind == Kind::kCalledFrom || op.kind == Kind::kEntryValue || op.kind == Kind::kEntryKnown;
  if (is_of_thread && !unit.place.runs_on_thread()) return false;
  bool pushes = op.kind == Kind::kRegister || op.kind == Kind::kCfa || op.kind == Kind::kConstant ||
                op.kind == Kind::kLoadBias || op.kind == Kind::kModuleBias || op.kind == Kind::kThreadPointer || op.kind == Kind::kContextField || op.kind == Kind::kContextAddress;
  if (pushes) {
    stack.push_back(apply_push(op, range));
    return stack.back() != nullptr;
  }
  CHECK(!stack.empty());
  llvm::Value* top = stack.back();
  stack.pop_back();
  if (llvm::Value* value = apply_unary(op, top, range)) {
    stack.push_back(value);
    return true;
  }
  CHECK(!stack.empty());
  stack.back() = apply_binary(op, stack.back(), top, range);
  return stack.back() != nullptr;
}

llvm::Value* TargetAccess::load(llvm::Value* address, uint32_t size, bool is_signed, SourceRange range) {
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "loaded");
  llvm::Value* ok = call("spile_rt_load", b.getInt1Ty(),
                         {context, address, b.getInt32(size), b.getInt1(is_signed), value});
  errors_.raise_if(b.CreateNot(ok), range, "read fault at %p near '" + std::string(range.text()) + "'", {address});
  return b.CreateLoad(b.getInt64Ty(), value);
}

llvm::Value* TargetAccess::module_bias(SourceRange range) {
  if (!binding_ || !unit.place.finds_modules()) return nullptr;
  const std::string& path = binding_->other_module;
  llvm::Value* bias = entry_alloca(b.getInt64Ty(), "bias");
  llvm::Value* name = at_offset(unit.module.text(path), static_cast<int64_t>(path.rfind('/') + 1));
  llvm::Value* ok = call("spile_rt_module_bias", b.getInt1Ty(), {context, unit.module.text(path), name, bias});
  errors_.raise_if(b.CreateNot(ok), range, path + " is not loaded in this process, so there is no '" + std::string(range.text()) + "'");
  return b.CreateLoad(b.getInt64Ty(), bias);
}

llvm::Value* TargetAccess::called_from(llvm::Value* bias) {
  CHECK(body.probe);
  const Unit::SiteTables& tables = unit.site_callers();
  llvm::Value* offset = site_offset(tables, b.getInt32(static_cast<uint32_t>(body.probe->index)));
  llvm::Value* callers = b.CreateGEP(b.getInt64Ty(), tables.blob, offset);
  return b.CreateZExt(call("spile_rt_called_from", b.getInt1Ty(), {context, callers, bias}), b.getInt64Ty());
}

llvm::Value* TargetAccess::kept_register(const LocationOp& op, llvm::Value* cfa, SourceRange range) {
  CHECK(body.probe);
  const uint32_t site_id = unit.kept_site_id(body.probe->points.front().site.module, FileAddress(static_cast<uint64_t>(op.value)));
  const std::vector<uint8_t>& registers = unit.program.sites.kept_registers();
  const auto index = static_cast<uint32_t>(std::find(registers.begin(), registers.end(), op.size) - registers.begin());
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "entered");
  llvm::Value* known = call("spile_rt_entry_value", b.getInt1Ty(), {context, cfa, b.getInt64(site_id), b.getInt32(index), value});
  if (op.kind == LocationOp::Kind::kEntryKnown) return b.CreateZExt(known, b.getInt64Ty());
  errors_.raise_if(b.CreateNot(known), range,
           "the value at the function's entry, needed for '" + std::string(range.text()) + "' here, was not recorded near '" + std::string(range.text()) + "'");
  return b.CreateLoad(b.getInt64Ty(), value);
}

llvm::Value* TargetAccess::thread_block(llvm::Value* slot, SourceRange range) {
  llvm::Value* block = call("spile_rt_thread_block", b.getInt64Ty(), {context, slot});
  errors_.raise_if(b.CreateICmpEQ(block, number(0)), range,
           "this thread has no memory yet for the thread-local variables of the module of '" + std::string(range.text()) + "'");
  return block;
}

llvm::Value* TargetAccess::load_string(llvm::Value* address, uint32_t limit, SourceRange range) {
  llvm::Value* out = frame_.temporary_string();
  uint32_t most = limit == 0 ? unit.layout.string_limit : std::min(limit, unit.layout.string_limit);
  llvm::Value* length = call("spile_rt_load_string", b.getInt64Ty(), {context, address, out, b.getInt32(most)});
  errors_.raise_if(b.CreateICmpSLT(length, number(0)), range, "read fault at %p near '" + std::string(range.text()) + "'",
           {address});
  return out;
}

// The target is bound as for reading, and sema/written_place.h says where it lies: in memory, or in one of the saved registers that
// the trampoline restores from.
void TargetAccess::write(int index, llvm::Value* value, SourceRange range, const Operand& operand) {
  const std::vector<sema::Binding>* bindings = current_bindings();
  if (!unit.place.may_write()) {
    return unit.refuse(range, "only probes that run in the process can write to its variables");
  }
  if (!bindings || index < 0 || static_cast<size_t>(index) >= bindings->size()) {
    return unit.refuse(range, "this has no location in the traced program here");
  }
  const sema::Binding& binding = (*bindings)[static_cast<size_t>(index)];
  auto place = sema::written_place(binding.ops);
  if (!place || binding.type != ValueType::kLong) return unit.refuse(range, "the variable can't be written to: its value is computed, not stored");
  if (place->is_float) value = call("spile_rt_narrow_float", b.getInt64Ty(), {value});
  auto merged = [&](llvm::Value* old, uint32_t bits) {
    uint64_t mask = (place->bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << place->bits) - 1) << place->shift;
    if (place->shift == 0 && place->bits >= bits) return value;
    llvm::Value* kept = b.CreateAnd(old, b.getInt64(~mask));
    return b.CreateOr(kept, b.CreateAnd(b.CreateShl(value, b.getInt64(place->shift)), b.getInt64(mask)));
  };
  if (place->in_register) {
    if (!body.site.registers || !abi::may_be_written(place->number)) return unit.refuse(range, "this register can't be written to here");
    llvm::Value* slot = at_offset(body.site.registers, 8 * place->number);
    // As an instruction does that writes to the lower half: the upper one is 0.
    if (place->shift == 0 && place->bits == 32) b.CreateStore(extend(value, 32, false), slot);
    else b.CreateStore(merged(b.CreateLoad(b.getInt64Ty(), slot), 64), slot);
    return;
  }
  std::vector<llvm::Value*> stack;
  const sema::Binding* outer = std::exchange(binding_, &binding);
  const bool known = run_location(llvm::ArrayRef(place->address.data(), place->address.size()), range, operand, stack);
  binding_ = outer;
  if (!known) return unit.refuse(range, "the location of this value is not known here");
  llvm::Value* address = stack.back();
  bool whole = place->shift == 0 && place->bits >= 8 * place->bytes;
  llvm::Value* word = whole ? value : merged(load(address, place->bytes, false, range), 8 * place->bytes);
  llvm::Value* ok = call("spile_rt_store", b.getInt1Ty(), {context, address, b.getInt32(place->bytes), word});
  errors_.raise_if(b.CreateNot(ok), range, "write fault at %p near '" + std::string(range.text()) + "'", {address});
}

llvm::Value* TargetAccess::entry_value(const syntax::EntryValue& value) {
  if (!body.probe || !body.site.saves) {
    unit.refuse(value.range, "values from a function's entry are only known at its return");
    return number(0);
  }
  uint32_t offset = unit.layout.saves[static_cast<size_t>(body.probe->index)][static_cast<size_t>(value.index)];
  llvm::Value* place = at_offset(body.site.saves, offset);
  return value.type == ValueType::kString ? place : b.CreateLoad(b.getInt64Ty(), place);
}

llvm::Value* TargetAccess::site_text(const std::string& name) {
  if (name == "user_mode") return number(unit.place.is_user_mode() ? 1 : 0);
  llvm::Value* probe_index = nullptr;
  if (body.probe) probe_index = b.getInt32(static_cast<uint32_t>(body.probe->index));
  else probe_index = b.CreateLoad(b.getInt32Ty(), context_field(offsetof(abi::Context, probe)));
  if (name == "is_return") {
    llvm::Value* table = unit.return_flags();
    llvm::Value* flag = b.CreateLoad(b.getInt32Ty(), b.CreateGEP(b.getInt32Ty(), table, probe_index));
    return b.CreateZExt(flag, b.getInt64Ty());
  }
  if (llvm::Value* text = unit.place.site_text(body, name)) return text;
  const Unit::SiteTables& tables = unit.site_tables(name);
  return b.CreateGEP(b.getInt8Ty(), tables.blob, site_offset(tables, probe_index));
}

// What the tables have for the point that was hit (site_texts.h).
llvm::Value* TargetAccess::site_offset(const Unit::SiteTables& tables, llvm::Value* probe_index) {
  auto word = [&](llvm::Value* table, llvm::Value* index) {
    return b.CreateLoad(b.getInt32Ty(), b.CreateInBoundsGEP(b.getInt32Ty(), table, index));
  };
  llvm::Value* index = word(tables.base, probe_index);
  bool single = body.probe && body.probe->points.size() <= 1;
  if (!single) {
    llvm::Value* id = body.site.site_id ? body.site.site_id : b.CreateLoad(b.getInt64Ty(), context_field(offsetof(abi::Context, site_id)));
    llvm::Value* masked = b.CreateAnd(b.CreateTrunc(id, b.getInt32Ty()), word(tables.mask, probe_index));
    index = b.CreateAdd(index, masked);
  }
  return b.CreateZExt(word(tables.offsets, index), b.getInt64Ty());
}

}  // namespace spile::codegen
