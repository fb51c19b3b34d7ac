// Target variables: a binding is a program for a stack machine (sema/target_info.h), which is run here, at compile time,
// on IR values, so that what reaches the machine is straight code.

#include "codegen/lowering.h"
#include "codegen/site_texts.h"
#include "syntax/visitor.h"

namespace spile::codegen {

using sema::LocationOp;

llvm::Value* Lowering::lower_binding(int binding, const syntax::Expression& node,
                                     const std::vector<syntax::PathStep>& path, const syntax::Expression* base) {
  auto fail = [&](const std::string& what) -> llvm::Value* {
    unit.refuse(node.range, what);
    return node.type == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0);
  };
  const std::vector<sema::Binding>* bindings = current_bindings();
  if (!bindings || binding < 0 || static_cast<size_t>(binding) >= bindings->size()) {
    return fail("this has no location in the traced program here");
  }
  const sema::Binding& program = (*bindings)[static_cast<size_t>(binding)];
  std::vector<llvm::Value*> stack;
  // An index may be a traced value too.
  const sema::Binding* outer = std::exchange(binding_, &program);
  const bool known = run_location(program.ops, node, path, base, stack);
  binding_ = outer;
  if (!known) return fail("the location of this value is not known here");
  if (program.type != ValueType::kString) return stack.back();
  if (!program.string_in_context) return load_traced_string(stack.back(), program.string_limit, node.range);
  llvm::Value* record = unit.place.context_address(body, 0);
  if (!record) return fail("this string is not known here");
  llvm::Value* address = b.CreatePtrToInt(record, b.getInt64Ty());
  llvm::Value* out = frame_.temporary_string();
  call("spile_rt_load_string", b.getInt64Ty(), {context, b.CreateAdd(address, stack.back()), out, b.getInt32(unit.layout.string_size)});
  return out;
}

const std::vector<sema::Binding>* Lowering::current_bindings() const {
  if (body.probe) return &body.probe->bindings;
  if (!body.script_function || body.script_function->index < 0) return nullptr;
  auto index = static_cast<size_t>(body.script_function->index);
  return index < unit.program.function_bindings.size() ? &unit.program.function_bindings[index] : nullptr;
}

// Runs operations on the stack, which has a value afterwards. False: the place can't give what one of them asks for.
bool Lowering::run_location(llvm::ArrayRef<LocationOp> ops, const syntax::Expression& node,
                            const std::vector<syntax::PathStep>& path, const syntax::Expression* base,
                            std::vector<llvm::Value*>& stack) {
  for (const LocationOp& op : ops) {
    if (op.kind != LocationOp::Kind::kIndex) {
      if (!apply(op, stack, node.range)) return false;
      continue;
    }
    // -1: the pointer that a cast or a dereference starts from; -2: an operation's second argument.
    const syntax::Expression* index = nullptr;
    const auto* operation = syntax::as<syntax::AtOperation>(node);
    if (op.value == -1) index = base;
    else if (op.value == -2 && operation && operation->arguments.size() > 1) index = operation->arguments[1].get();
    else if (op.value >= 0 && static_cast<size_t>(op.value) < path.size()) index = path[static_cast<size_t>(op.value)].expression.get();
    if (!index) return false;
    stack.push_back(lower(*index));
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
llvm::Value* Lowering::apply_binary(const LocationOp& op, llvm::Value* x, llvm::Value* y, SourceRange range) {
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
llvm::Value* Lowering::apply_unary(const LocationOp& op, llvm::Value* x, SourceRange range) {
  using Kind = LocationOp::Kind;
  switch (op.kind) {
    case Kind::kNegate: return b.CreateNeg(x);
    case Kind::kNot: return b.CreateNot(x);
    case Kind::kAbsolute: return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getInt1(false));
    case Kind::kLoad: return load_traced(x, op.size, op.is_signed, range);
    case Kind::kThreadBlock: return thread_block(x, range);
    case Kind::kCalledFrom: return called_from(x);
    case Kind::kEntryValue: case Kind::kEntryKnown: return entry_value(op, x, range);
    case Kind::kWiden: return arithmetic_.widen_float(x);
    case Kind::kExtend: return extend(x, 8u * op.size, op.is_signed);
    case Kind::kBitField: return extend(b.CreateLShr(x, number(op.value)), op.size, op.is_signed);
    default: return nullptr;
  }
}

// Operations that push something new. Null: the place can't give it.
llvm::Value* Lowering::apply_push(const LocationOp& op, SourceRange range) {
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
bool Lowering::apply(const LocationOp& op, std::vector<llvm::Value*>& stack, SourceRange range) {
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

llvm::Value* Lowering::load_traced(llvm::Value* address, uint32_t size, bool is_signed, SourceRange range) {
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "loaded");
  llvm::Value* ok = call("spile_rt_load", b.getInt1Ty(),
                         {context, address, b.getInt32(size), b.getInt1(is_signed), value});
  errors_.raise_if(b.CreateNot(ok), range, "read fault at %p near '" + std::string(range.text()) + "'", {address});
  return b.CreateLoad(b.getInt64Ty(), value);
}

llvm::Value* Lowering::module_bias(SourceRange range) {
  if (!binding_ || !unit.place.finds_modules()) return nullptr;
  const std::string& path = binding_->other_module;
  llvm::Value* bias = entry_alloca(b.getInt64Ty(), "bias");
  llvm::Value* name = at_offset(unit.module.text(path), static_cast<int64_t>(path.rfind('/') + 1));
  llvm::Value* ok = call("spile_rt_module_bias", b.getInt1Ty(), {context, unit.module.text(path), name, bias});
  errors_.raise_if(b.CreateNot(ok), range, path + " is not loaded in this process, so there is no '" + std::string(range.text()) + "'");
  return b.CreateLoad(b.getInt64Ty(), bias);
}

llvm::Value* Lowering::called_from(llvm::Value* bias) {
  CHECK(body.probe);
  const Unit::SiteTables& tables = unit.site_callers();
  llvm::Value* offset = site_offset(tables, b.getInt32(static_cast<uint32_t>(body.probe->index)));
  llvm::Value* callers = b.CreateGEP(b.getInt64Ty(), tables.blob, offset);
  return b.CreateZExt(call("spile_rt_called_from", b.getInt1Ty(), {context, callers, bias}), b.getInt64Ty());
}

llvm::Value* Lowering::entry_value(const LocationOp& op, llvm::Value* cfa, SourceRange range) {
  CHECK(body.probe);
  const uint32_t site_id = unit.kept_site_id(body.probe->points.front().site.module, FileAddress(static_cast<uint64_t>(op.value)));
  const std::vector<uint8_t>& registers = unit.program.kept_registers;
  const auto index = static_cast<uint32_t>(std::find(registers.begin(), registers.end(), op.size) - registers.begin());
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "entered");
  llvm::Value* known = call("spile_rt_entry_value", b.getInt1Ty(), {context, cfa, b.getInt64(site_id), b.getInt32(index), value});
  if (op.kind == LocationOp::Kind::kEntryKnown) return b.CreateZExt(known, b.getInt64Ty());
  errors_.raise_if(b.CreateNot(known), range,
           "the value at the function's entry, needed for '" + std::string(range.text()) + "' here, was not recorded near '" + std::string(range.text()) + "'");
  return b.CreateLoad(b.getInt64Ty(), value);
}

llvm::Value* Lowering::thread_block(llvm::Value* slot, SourceRange range) {
  llvm::Value* block = call("spile_rt_thread_block", b.getInt64Ty(), {context, slot});
  errors_.raise_if(b.CreateICmpEQ(block, number(0)), range,
           "this thread has no memory yet for the thread-local variables of the module of '" + std::string(range.text()) + "'");
  return block;
}

llvm::Value* Lowering::load_traced_string(llvm::Value* address, uint32_t limit, SourceRange range) {
  llvm::Value* out = frame_.temporary_string();
  uint32_t most = limit == 0 ? unit.layout.string_limit : std::min(limit, unit.layout.string_limit);
  llvm::Value* length = call("spile_rt_load_string", b.getInt64Ty(), {context, address, out, b.getInt32(most)});
  errors_.raise_if(b.CreateICmpSLT(length, number(0)), range, "read fault at %p near '" + std::string(range.text()) + "'",
           {address});
  return out;
}

llvm::Value* Lowering::lower_entry_value(const syntax::EntryValue& value) {
  if (!body.probe || !body.site.saves) {
    unit.refuse(value.range, "values from a function's entry are only known at its return");
    return number(0);
  }
  uint32_t offset = unit.layout.saves[static_cast<size_t>(body.probe->index)][static_cast<size_t>(value.index)];
  llvm::Value* place = at_offset(body.site.saves, offset);
  return value.type == ValueType::kString ? place : b.CreateLoad(b.getInt64Ty(), place);
}

// pp(), pn(), probefunc(), ppfunc(), is_return(), user_mode().
llvm::Value* Lowering::lower_site_text(const std::string& name) {
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
llvm::Value* Lowering::site_offset(const Unit::SiteTables& tables, llvm::Value* probe_index) {
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
