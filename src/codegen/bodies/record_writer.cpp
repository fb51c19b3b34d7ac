#include "codegen/bodies/record_writer.h"

namespace spile::codegen {

void write_record(Body& body, uint32_t kind, uint32_t id, llvm::ArrayRef<llvm::Value*> values,
                  std::vector<llvm::Value*> lengths) {
  ScriptModule& module = body.unit.module;
  llvm::IRBuilder<>& b = body.b;
  body.unit.note_record(kind);
  lengths.resize(values.size());
  llvm::Value* size = b.getInt32(0);
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::Value* bytes = b.getInt32(8);
    if (values[i]->getType()->isPointerTy()) {
      if (!lengths[i]) lengths[i] = body.call("spile_rt_string_length", b.getInt32Ty(), {values[i]});
      bytes = b.CreateAnd(b.CreateAdd(lengths[i], b.getInt32(4 + 7)), b.getInt32(~7u));
    }
    size = b.CreateAdd(size, bytes);
  }
  llvm::Value* record = body.call("spile_rt_record_begin", module.ptr(), {body.context, b.getInt32(kind), b.getInt32(id), size});
  llvm::BasicBlock *put = body.block("record.put"), *done = body.block("record.done");
  b.CreateCondBr(b.CreateIsNull(record), done, put, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 10000));
  b.SetInsertPoint(put);
  llvm::Value* at = record;
  for (size_t i = 0; i < values.size(); ++i) {
    if (lengths[i]) at = body.call("spile_rt_record_put_string", module.ptr(), {at, values[i], lengths[i]});
    else at = body.call("spile_rt_record_put_long", module.ptr(), {at, values[i]});
  }
  body.call("spile_rt_record_end", module.none(), {body.context, record, at});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace spile::codegen
