#include "codegen/machine/confine.h"

#include <unordered_map>

#include "base/check.h"

namespace spile::codegen {

namespace {

// Bytes that are certain to belong to one variable, from a pointer on; 0 where nothing is certain.
class KnownSizes {
 public:
  explicit KnownSizes(llvm::Module& module) : layout_(module.getDataLayout()) { measure_arguments(module); }

  uint64_t from(llvm::Value* pointer) const {
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(pointer->getType()), 0);
    llvm::Value* base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
    uint64_t size = size_of(base), skipped = offset.getZExtValue();
    return skipped <= size ? size - skipped : 0;
  }

 private:
  uint64_t size_of(llvm::Value* base) const {
    if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(base)) {
      auto size = local->getAllocationSize(layout_);
      return size && !size->isScalable() ? size->getFixedValue() : 0;
    }
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(base)) return layout_.getTypeAllocSize(variable->getValueType());
    auto argument = llvm::isa<llvm::Argument>(base) ? arguments_.find(base) : arguments_.end();
    return argument == arguments_.end() ? 0 : argument->second;
  }

  // An argument points to what the least of all calls gives it. Begins with everything, and takes away until nothing changes.
  void measure_arguments(llvm::Module& module) {
    std::vector<llvm::CallBase*> calls;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || !function.hasLocalLinkage() || function.hasAddressTaken()) continue;
      for (llvm::Argument& argument : function.args()) {
        if (argument.getType()->isPointerTy()) arguments_.emplace(&argument, UINT64_MAX);
      }
      for (llvm::User* user : function.users()) {
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) calls.push_back(call);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::CallBase* call : calls) changed |= take_away(*call);
    }
  }

  bool take_away(llvm::CallBase& call) {
    bool changed = false;
    llvm::Function* callee = call.getCalledFunction();
    if (!callee) return false;
    for (llvm::Argument& argument : callee->args()) {
      auto known = arguments_.find(&argument);
      if (known == arguments_.end() || known->second == 0) continue;
      uint64_t given = from(call.getArgOperand(argument.getArgNo()));
      if (given >= known->second) continue;
      known->second = given;
      changed = true;
    }
    return changed;
  }

  const llvm::DataLayout& layout_;
  std::unordered_map<const llvm::Value*, uint64_t> arguments_;
};

class Confiner {
 public:
  explicit Confiner(llvm::Module& module)
      : module_(module), layout_(module.getDataLayout()), confine_(module.getFunction("spile_rt_confine")), sizes_(module) {
    CHECK(confine_ != nullptr);
  }

  void run() {
    for (llvm::Function& function : module_) {
      // Its own accesses are to what nobody else can write.
      if (function.isDeclaration() || &function == confine_ || function.getName().contains("is_confined")) continue;
      std::vector<llvm::Instruction*> instructions;
      for (llvm::BasicBlock& block : function) {
        for (llvm::Instruction& instruction : block) instructions.push_back(&instruction);
      }
      for (llvm::Instruction* instruction : instructions) confine(*instruction);
    }
  }

 private:
  void confine(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      confine_operand(instruction, load->getPointerOperandIndex(), load->getType(), false);
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      confine_operand(instruction, store->getPointerOperandIndex(), store->getValueOperand()->getType(), true);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      confine_operand(instruction, update->getPointerOperandIndex(), update->getType(), true);
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      confine_operand(instruction, exchange->getPointerOperandIndex(), exchange->getCompareOperand()->getType(), true);
    } else if (auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      confine_copy(*memory);
    } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm()) {
      // Memory operands. What assembly does with a pointer in a register it has confined itself (memory.cpp).
      for (unsigned i = 0; i < call->arg_size(); ++i) {
        if (llvm::Type* type = call->getParamElementType(i)) confine_operand(instruction, i, type, true);
      }
    }
  }

  llvm::Value* confined(llvm::IRBuilder<>& b, llvm::Value* place, llvm::Value* size, bool writes) {
    llvm::CallInst* call = b.CreateCall(confine_, {place, size, b.getInt1(writes)});
    call->setCallingConv(confine_->getCallingConv());
    call->addParamAttr(2, llvm::Attribute::ZExt);
    return call;
  }

  void confine_operand(llvm::Instruction& instruction, unsigned operand, llvm::Type* type, bool writes) {
    llvm::Value* place = instruction.getOperand(operand);
    uint64_t size = layout_.getTypeStoreSize(type);
    if (sizes_.from(place) >= size) return;
    llvm::IRBuilder<> b(&instruction);
    instruction.setOperand(operand, confined(b, place, b.getInt64(size), writes));
  }

  // All of a copy, or nothing of it.
  void confine_copy(llvm::MemIntrinsic& copy) {
    auto* length = llvm::dyn_cast<llvm::ConstantInt>(copy.getLength());
    auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&copy);
    uint64_t known = length ? length->getZExtValue() : UINT64_MAX;
    if (sizes_.from(copy.getRawDest()) >= known && (!transfer || sizes_.from(transfer->getRawSource()) >= known)) return;
    llvm::IRBuilder<> b(&copy);
    llvm::Value* size = b.CreateZExtOrTrunc(copy.getLength(), b.getInt64Ty());
    llvm::Value* allowed = b.CreateICmpEQ(confined(b, copy.getRawDest(), size, true), copy.getRawDest());
    if (transfer) {
      llvm::Value* source = transfer->getRawSource();
      allowed = b.CreateAnd(allowed, b.CreateICmpEQ(confined(b, source, size, false), source));
    }
    copy.setLength(b.CreateSelect(allowed, copy.getLength(), llvm::ConstantInt::get(copy.getLength()->getType(), 0)));
  }

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::Function* confine_;
  KnownSizes sizes_;
};

}  // namespace

void confine_accesses(ScriptModule& script) {
  Confiner(script.module()).run();
#ifndef NDEBUG
  CHECK(!llvm::verifyModule(script.module(), &llvm::errs()));
#endif
}

}  // namespace spile::codegen
