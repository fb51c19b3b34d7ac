// Every address of the arena is a number to the verifier, wherever it comes from. Where memory is accessed, the number is cast to
// the arena's address space (addr_space_cast, Linux 6.9), one instruction, after which the kernel takes the low 32 bits as an
// offset into the arena.

#include <map>
#include <optional>

#include "abi/kernel.h"
#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

class PointerCasts {
 public:
  PointerCasts(llvm::Function& function, bool shares)
      : function_(function), layout_(function.getParent()->getDataLayout()), shares_(shares) {}

  Result<void> run() {
    for (llvm::BasicBlock& block : function_) {
      casts_.clear();
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        for (unsigned operand : {0u, 1u}) {
          if (!is_address(instruction, operand)) continue;
          TRY_DO(cast(instruction, operand));
          break;  // an instruction has one address, and may be gone now
        }
      }
    }
    return {};
  }

 private:
  static bool is_address(const llvm::Instruction& instruction, unsigned operand) {
    if (llvm::isa<llvm::LoadInst>(instruction)) return operand == 0;
    if (llvm::isa<llvm::StoreInst>(instruction)) return operand == 1;
    return operand == 0 && (llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction));
  }

  enum class Memory { kArena, kOther, kMixed };
  // Memory that is not the arena's is reached from what has been kept on the stack, from the program's argument, from the
  // loader's data, and from what a helper of the kernel has returned.
  static Memory memory_of(llvm::Value* base) {
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(base, objects, nullptr, 0);
    auto is_other = [](const llvm::Value* object) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(object);
      bool is_from_helper = call && !call->getCalledFunction() && !call->isInlineAsm();
      return is_from_helper || llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object) ||
             is_program_context(object);
    };
    auto others = std::ranges::count_if(objects, is_other);
    return others == 0 ? Memory::kArena : others == static_cast<ptrdiff_t>(objects.size()) ? Memory::kOther : Memory::kMixed;
  }

  Result<void> cast(llvm::Instruction& instruction, unsigned operand) {
    llvm::Value* address = instruction.getOperand(operand);
    llvm::APInt offset(64, 0);
    llvm::Value* base = address->stripAndAccumulateConstantOffsets(layout_, offset, true);
    constexpr int64_t kReach = 1 << 14;  // of an instruction's own offset, with room to spare
    if (offset.getSExtValue() > kReach || offset.getSExtValue() < -kReach) {
      base = address;
      offset = 0;
    }
    Memory memory = memory_of(base);
    if (memory == Memory::kMixed) {
      return Error{"compile: internal error: " + function_.getName().str() + " mixes memory of the arena with other memory",
                   "this is a mistake in spile; please report it with the script"};
    }
    if (memory == Memory::kOther) return {};
    if (shares_ && !is_frame(base)) {
      const auto known = constant_address(base);
      if (!known) return share(instruction, address);
      if (uint64_t place = *known + offset.getZExtValue(); place >= abi::kKernelSharedBase) {
        llvm::IRBuilder<> b(&instruction);
        instruction.setOperand(operand, b.CreateConstGEP1_64(b.getInt8Ty(), shared_array(), place - abi::kKernelSharedBase));
        set_alignment(instruction);
        return {};
      }
    }
    llvm::Value*& known = casts_[base];
    llvm::IRBuilder<> b(&instruction);
    if (!known) {
      llvm::Value* user = b.CreateIntToPtr(b.CreatePtrToInt(base, b.getInt64Ty()), b.getPtrTy(1));
      known = b.CreateAddrSpaceCast(user, b.getPtrTy());
    }
    instruction.setOperand(
        operand,
        offset.isZero() ? known : b.CreateConstGEP1_64(b.getInt8Ty(), known, static_cast<uint64_t>(offset.getSExtValue())));
    set_alignment(instruction);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) keep_apart(*load);
    return {};
  }

  // A handler's context lies in the slot's frame, of the arena; variables lie behind it.
  bool is_frame(const llvm::Value* base) const {
    const auto* argument = llvm::dyn_cast<llvm::Argument>(base);
    return argument && argument->getArgNo() == 0 && function_.hasFnAttribute(kBodyAttribute);
  }

  static std::optional<uint64_t> constant_address(const llvm::Value* base) {
    const auto* cast = llvm::dyn_cast<llvm::Operator>(base);
    if (!cast || cast->getOpcode() != llvm::Instruction::IntToPtr) return {};
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(cast->getOperand(0));
    return number ? std::optional(number->getZExtValue()) : std::nullopt;
  }

  llvm::GlobalVariable* shared_array() const {
    llvm::Module& module = *function_.getParent();
    if (llvm::GlobalVariable* known = module.getNamedGlobal(abi::kKernelSharedMap)) return known;
    return new llvm::GlobalVariable(module, llvm::Type::getInt8Ty(module.getContext()), false, llvm::GlobalValue::ExternalLinkage,
                                    nullptr, abi::kKernelSharedMap);
  }

  // Has a function of runtime/kernel/shared.cpp do the access.
  Result<void> share(llvm::Instruction& instruction, llvm::Value* address) {
    llvm::IRBuilder<> b(&instruction);
    llvm::Value* place = b.CreatePtrToInt(address, b.getInt64Ty());
    auto as_number = [&](llvm::Value* value) {
      return value->getType()->isPointerTy() ? b.CreatePtrToInt(value, b.getInt64Ty()) : b.CreateZExt(value, b.getInt64Ty());
    };
    auto call = [&](const char* what, llvm::Type* type, llvm::ArrayRef<llvm::Value*> arguments) -> llvm::Value* {
      std::string name =
          std::string("spile_rt_shared_") + what + "_" + std::to_string(layout_.getTypeStoreSizeInBits(type).getFixedValue());
      llvm::Function* function = function_.getParent()->getFunction(name);
      if (!function || function->isDeclaration()) return nullptr;
      llvm::Value* result = b.CreateCall(function, arguments);
      return type->isPointerTy() ? b.CreateIntToPtr(result, type) : b.CreateTrunc(result, type);
    };
    llvm::Value* result = nullptr;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      result = call("load", load->getType(), {place});
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      llvm::Value* value = store->getValueOperand();
      result = call("store", value->getType(), {place, as_number(value)});
    } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      llvm::Value* expected = swap->getCompareOperand();
      llvm::Value* old = call("swap", expected->getType(), {place, as_number(expected), as_number(swap->getNewValOperand())});
      if (old)
        result = b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(swap->getType()), old, 0),
                                     b.CreateICmpEQ(old, expected), 1);
    } else if (auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      llvm::Value* value = change->getValOperand();
      using Change = llvm::AtomicRMWInst;
      if (change->getOperation() == Change::Add) result = call("add", value->getType(), {place, as_number(value)});
      if (change->getOperation() == Change::Sub) result = call("add", value->getType(), {place, as_number(b.CreateNeg(value))});
      if (change->getOperation() == Change::Xchg) result = call("exchange", value->getType(), {place, as_number(value)});
    }
    if (!result) {
      return Error{"compile: internal error: " + function_.getName().str() +
                       " changes memory that processes share in a way that the runtime does not have",
                   "this is a mistake in spile; please report it with the script"};
    }
    if (!instruction.getType()->isVoidTy()) instruction.replaceAllUsesWith(result);
    instruction.eraseFromParent();
    return {};
  }

  // The kernel has no loads from an arena that extend the sign, so an extension has to stay another instruction: LLVM does not
  // look through an empty piece of assembly. Signed comparisons of bytes extend, too.
  static void keep_apart(llvm::LoadInst& load) {
    auto may_extend = [](llvm::User* user) { return !llvm::isa<llvm::ZExtInst>(user) && !llvm::isa<llvm::StoreInst>(user); };
    if (!load.getType()->isIntegerTy() || load.getType()->getIntegerBitWidth() == 64 ||
        std::ranges::none_of(load.users(), may_extend))
      return;
    llvm::IRBuilder<> b(load.getNextNode());
    llvm::Value* wide = b.CreateZExt(&load, b.getInt64Ty());
    auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
    llvm::Value* opaque = b.CreateCall(type, llvm::InlineAsm::get(type, "", "=r,0", false), {wide});
    llvm::Value* narrow = b.CreateTrunc(opaque, load.getType());
    load.replaceUsesWithIf(narrow, [&](llvm::Use& use) { return may_extend(use.getUser()); });
  }

  // x86-64 accesses words at any address; the back end would take them apart.
  void set_alignment(llvm::Instruction& instruction) const {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) load->setAlignment(layout_.getABITypeAlign(load->getType()));
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      store->setAlignment(layout_.getABITypeAlign(store->getValueOperand()->getType()));
  }

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  const bool shares_;                           // an address that is not known may be that of a shared global
  std::map<llvm::Value*, llvm::Value*> casts_;  // of the block that is being done
};

}  // namespace

namespace {
bool is_shared_access(const llvm::Function& function) { return function.getName().starts_with("spile_rt_shared_"); }
// SPILE_ARENA_ONLY of runtime/core/attributes.h.
bool uses_arena_alone(const llvm::Function& function) {
  return function.getFnAttribute("llvm.assume").getValueAsString() == "spile_arena_only";
}
}  // namespace

// The number goes by the frame in the arena, where the verifier does not follow it. Only bodies do this, whose first argument is
// the frame.
void hide_program_context(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(kBodyAttribute)) continue;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* number = llvm::dyn_cast<llvm::PtrToIntInst>(&instruction);
      if (!number || !is_program_context(number->getPointerOperand()->stripInBoundsOffsets())) continue;
      llvm::IRBuilder<> b(number);
      llvm::Value* place = b.CreateConstGEP1_64(b.getInt8Ty(), function.getArg(0), abi::kKernelPassOffset);
      b.CreateStore(number->getPointerOperand(), place, /*isVolatile=*/true);
      number->replaceAllUsesWith(b.CreateLoad(number->getType(), place, /*isVolatile=*/true));
      number->eraseFromParent();
    }
  }
}

void keep_shared_accesses(ScriptModule& script) {
  for (llvm::Function& function : script.module()) {
    if (is_shared_access(function)) script.export_function(&function);
  }
}

Result<void> cast_pointers(llvm::Module& module, bool shares) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration())
      TRY_DO(PointerCasts(function, shares && !is_shared_access(function) && !uses_arena_alone(function)).run());
  }
  return {};
}

}  // namespace spile::codegen
