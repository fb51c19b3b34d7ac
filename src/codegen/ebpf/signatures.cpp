// Functions become i64(i64 or pointer, ...) with five arguments at most: what the verifier checks apart from callers, and what
// eBPF's calling convention has registers for. Further arguments go by memory:
//
//   f(a, b, c, d, e, f)      f(a, b, c, d, rest)      rest: {e, f} in the caller's frame, eight bytes each

#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

constexpr unsigned kMostArguments = 5;

class Signature {
 public:
  explicit Signature(llvm::Function& function)
      : function_(function), context_(function.getContext()), i64_(llvm::Type::getInt64Ty(context_)) {
    packs_ = function.arg_size() > kMostArguments;
    direct_ = packs_ ? kMostArguments - 1 : static_cast<unsigned>(function.arg_size());
  }

  bool is_simple() const {
    return !packs_ && function_.getReturnType() == i64_ &&
           std::ranges::all_of(function_.args(), [&](auto& a) { return a.getType() == i64_ || a.getType()->isPointerTy(); });
  }

  void rewrite() {
    make_function();
    move_body();
    for (llvm::User* user : llvm::make_early_inc_range(function_.users())) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) rewrite_call(*call);
    }
    std::string name = function_.getName().str();
    CHECK(function_.use_empty());
    function_.eraseFromParent();
    made_->setName(name);
  }

 private:
  llvm::Type* wide(llvm::Type* type) const { return type->isPointerTy() ? type : i64_; }

  void make_function() {
    std::vector<llvm::Type*> types;
    for (unsigned i = 0; i < direct_; ++i) types.push_back(wide(function_.getArg(i)->getType()));
    if (packs_) types.push_back(llvm::PointerType::getUnqual(context_));
    made_ = take_body(function_, llvm::FunctionType::get(i64_, types, false));
  }

  void move_body() {
    llvm::IRBuilder<> b(&*made_->getEntryBlock().getFirstInsertionPt());
    for (unsigned i = 0; i < function_.arg_size(); ++i) {
      llvm::Argument* old = function_.getArg(i);
      llvm::Value* value;
      if (i < direct_) {
        value = made_->getArg(i);
        value->setName(old->getName());
      } else {
        llvm::Value* place = b.CreateConstGEP1_64(b.getInt8Ty(), made_->getArg(direct_), 8ull * (i - direct_));
        value = b.CreateLoad(wide(old->getType()), place);
      }
      if (value->getType() != old->getType()) value = b.CreateTrunc(value, old->getType());
      old->replaceAllUsesWith(value);
    }
    for (llvm::BasicBlock& block : *made_) {
      auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
      if (!end) continue;
      llvm::IRBuilder<> at(end);
      llvm::Value* value = end->getReturnValue();
      if (!value) value = at.getInt64(0);
      else if (value->getType()->isPointerTy()) value = at.CreatePtrToInt(value, i64_);
      else if (value->getType() != i64_) value = at.CreateZExt(value, i64_);
      at.CreateRet(value);
      end->eraseFromParent();
    }
  }

  void rewrite_call(llvm::CallInst& call) {
    llvm::IRBuilder<> b(&call);
    std::vector<llvm::Value*> arguments;
    auto widened = [&](llvm::Value* value) {
      return value->getType() == wide(value->getType()) ? value : b.CreateZExt(value, i64_);
    };
    for (unsigned i = 0; i < direct_; ++i) arguments.push_back(widened(call.getArgOperand(i)));
    if (packs_) {
      llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
      auto* type = llvm::ArrayType::get(i64_, call.arg_size() - direct_);
      auto* rest = new llvm::AllocaInst(type, 0, "rest", &*entry.getFirstInsertionPt());
      for (unsigned i = direct_; i < call.arg_size(); ++i) {
        b.CreateStore(widened(call.getArgOperand(i)), b.CreateConstGEP1_64(b.getInt8Ty(), rest, 8ull * (i - direct_)));
      }
      arguments.push_back(rest);
    }
    llvm::CallInst* made = b.CreateCall(made_, arguments);
    llvm::Value* value = made;
    if (call.getType()->isPointerTy()) value = b.CreateIntToPtr(made, call.getType());
    else if (call.getType()->isVoidTy()) value = nullptr;
    else if (call.getType() != i64_) value = b.CreateTrunc(made, call.getType());
    if (value) call.replaceAllUsesWith(value);
    call.eraseFromParent();
  }

  llvm::Function& function_;
  llvm::LLVMContext& context_;
  llvm::Type* i64_;
  bool packs_;
  unsigned direct_;
  llvm::Function* made_ = nullptr;
};

}  // namespace

llvm::Function* take_body(llvm::Function& from, llvm::FunctionType* type) {
  llvm::Function* made = llvm::Function::Create(type, from.getLinkage(), "", from.getParent());
  for (llvm::Attribute attribute : from.getAttributes().getFnAttrs()) {
    bool is_of_memory = attribute.isEnumAttribute() ? attribute.getKindAsEnum() == llvm::Attribute::Memory
                                                    : attribute.hasAttribute(llvm::Attribute::Memory);
    if (!is_of_memory) made->addFnAttr(attribute);
  }
  made->setDSOLocal(true);
  made->splice(made->begin(), &from);
  return made;
}

void simplify_signatures(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && !function.hasFnAttribute(kProgramAttribute)) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    Signature signature(*function);
    if (!signature.is_simple()) signature.rewrite();
  }
}

}  // namespace spile::codegen
