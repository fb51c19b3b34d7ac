// Calls of embedded C: its arguments and result go through a struct on the stack; an error that it sets is a script error.

#include "codegen/bodies/lowering.h"
#include "sema/terms/embedded_code.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

constexpr int64_t kWord = 8;
// of struct context (embedded_prelude.cpp)
constexpr int64_t kLastError = 1 * kWord, kErrorBuffer = 2 * kWord, kNext = 4 * kWord;

// A function by which C reads or writes a global: i64 or ptr (Context*, keys...), i32 (Context*, keys..., value): 0
// where an array has no room.
void define_accessor(Unit& unit, const syntax::Global& global, bool writes) {
  ScriptModule& module = unit.module;
  auto type_of = [&](ValueType type) {
    return type == ValueType::kString ? static_cast<llvm::Type*>(module.ptr()) : module.i64();
  };
  std::vector<llvm::Type*> types{module.ptr()};
  for (ValueType key : global.key_types) types.push_back(type_of(key));
  if (writes) types.push_back(type_of(global.type));
  auto* type = llvm::FunctionType::get(writes ? module.i32() : type_of(global.type), types, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                          (writes ? "spile_set_" : "spile_get_") + global.name, module.module());
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.context(), "entry", function));
  Body body(unit, builder, function->getArg(0), nullptr);
  Lowering(body).access_global(global, *function, writes);
}

}  // namespace

// The body of an accessor.
void Lowering::access_global(const syntax::Global& global, llvm::Function& function, bool writes) {
  llvm::Value* place = unit.place.global(body, global);
  bool is_string = global.type == ValueType::kString;
  llvm::Value* value = function.getArg(static_cast<unsigned>(function.arg_size() - 1));
  if (!global.is_array) {
    if (!writes) {
      b.CreateRet(is_string ? call("spile_rt_string_get", unit.module.ptr(), {context, place})
                            : call("spile_rt_long_get", unit.module.i64(), {context, place}));
      return;
    }
    call(is_string ? "spile_rt_string_set" : "spile_rt_long_set", unit.module.none(), {context, place, value});
    b.CreateRet(b.getInt32(1));
    return;
  }
  llvm::Value* key = entry_alloca(llvm::ArrayType::get(b.getInt64Ty(), unit.layout_of(global).map.key_size / 8), "key");
  llvm::Value* length = b.getInt32(0);
  for (size_t i = 0; i < global.key_types.size(); ++i) {
    length = call(global.key_types[i] == ValueType::kString ? "spile_rt_key_put_string" : "spile_rt_key_put_long", b.getInt32Ty(),
                  {key, length, function.getArg(static_cast<unsigned>(i + 1))});
  }
  llvm::Value* element = call(writes ? "spile_rt_map_insert" : "spile_rt_map_find", unit.module.ptr(),
                              {context, place, unit.map_shape(global), key, length});
  if (!writes) {
    b.CreateRet(maps_.load_or_default(element, global.type));
    return;
  }
  llvm::BasicBlock *found = block("found"), *full = block("full");
  b.CreateCondBr(b.CreateIsNull(element), full, found);
  b.SetInsertPoint(found);
  if (is_string) call("spile_rt_string_copy", unit.module.none(), {element, value});
  else b.CreateStore(value, element);
  b.CreateRet(b.getInt32(1));
  b.SetInsertPoint(full);
  b.CreateRet(b.getInt32(0));
}

void Lowering::define_accessors(const std::string& code) {
  for (const syntax::Global* global : unit.program.globals) {
    if (global->type == ValueType::kStats) continue;
    for (bool writes : {false, true}) {
      std::string macro = (writes ? "STAP_GLOBAL_SET_" : "STAP_GLOBAL_GET_") + global->name + "(";
      if (code.find(macro) == code.npos || !unit.embedded.add_accessor({global, !writes, writes})) continue;
      define_accessor(unit, *global, writes);
    }
  }
}

// Runs a piece; `result`: for strings the buffer. Returns a long, or the buffer.
llvm::Value* Lowering::run_embedded(EmbeddedC::Piece piece, llvm::ArrayRef<llvm::Value*> arguments, llvm::Value* result) {
  SourceRange range = piece.range;
  if (!unit.place.runs_embedded_c()) {
    unit.refuse(range, "embedded C is not available in handlers that run in the kernel",
                "the kernel runs eBPF only, and no C of others: @cast(pointer, \"struct NAME\", \"kernel\")->MEMBER reads its "
                "structures; C can run in a timer or end probe");
    return result ? result : number(0);
  }
  define_accessors(piece.code);
  llvm::Function* function = unit.embedded.add(unit.module, std::move(piece));
  llvm::Value* c = entry_alloca(llvm::ArrayType::get(b.getInt64Ty(), 5), "c");
  b.CreateStore(context, c);
  b.CreateStore(llvm::ConstantPointerNull::get(unit.module.ptr()), at_offset(c, kLastError));
  b.CreateStore(frame_.temporary_string(), at_offset(c, kErrorBuffer));
  b.CreateStore(number(0), at_offset(c, kNext));
  llvm::Value* fields = entry_alloca(llvm::ArrayType::get(b.getInt64Ty(), arguments.size() + 1), "arguments");
  for (size_t i = 0; i < arguments.size(); ++i) b.CreateStore(arguments[i], at_offset(fields, kWord * static_cast<int64_t>(i)));
  llvm::Value* place = at_offset(fields, kWord * static_cast<int64_t>(arguments.size()));
  b.CreateStore(result ? result : number(0), place);
  if (result) b.CreateStore(b.getInt8(0), result);
  b.CreateCall(function, {c, fields});
  llvm::Value* error = b.CreateLoad(unit.module.ptr(), at_offset(c, kLastError));
  llvm::BasicBlock *failed = block("c.error"), *good = block("c.good");
  b.CreateCondBr(b.CreateIsNull(error), good, failed);
  b.SetInsertPoint(failed);
  errors_.raise_text(error);
  b.CreateUnreachable();  // the dead block after it
  b.SetInsertPoint(good);
  if (fall_through_) {
    llvm::BasicBlock* stays = block("c.stays");
    b.CreateCondBr(b.CreateICmpNE(b.CreateLoad(b.getInt64Ty(), at_offset(c, kNext)), number(0)), fall_through_, stays);
    b.SetInsertPoint(stays);
  }
  return result ? result : b.CreateLoad(b.getInt64Ty(), place);
}

llvm::Value* Lowering::lower_embedded(const syntax::Embedded& expression) {
  bool is_string = expression.type == ValueType::kString;
  EmbeddedC::Piece piece{expression.range, expression.code, {}, is_string ? ValueType::kString : ValueType::kLong, true};
  return run_embedded(std::move(piece), {}, is_string ? frame_.temporary_string() : nullptr);
}

// A function's whole body knows its parameters; a statement elsewhere only the context.
void Lowering::lower_embedded(const syntax::EmbeddedStatement& statement) {
  Frame::Temporaries temporaries(frame_);
  EmbeddedC::Piece piece{statement.range, statement.code, {}, ValueType::kUnknown, false};
  if (!body.script_function || body.script_function->body.get() != &statement) {
    run_embedded(std::move(piece), {}, nullptr);
    return;
  }
  std::vector<llvm::Value*> arguments;
  for (const auto& parameter : body.script_function->parameters) {
    piece.arguments.push_back({parameter->name, parameter->type});
    bool is_string = parameter->type == ValueType::kString;
    arguments.push_back(is_string ? frame_.string_of(*parameter) : b.CreateLoad(b.getInt64Ty(), frame_.long_of(*parameter)));
  }
  piece.result = body.script_function->type;
  bool is_string = piece.result == ValueType::kString;
  llvm::Value* value = run_embedded(std::move(piece), arguments, is_string ? result_ : nullptr);
  if (!is_string) b.CreateStore(value, result_);
}

}  // namespace spile::codegen
