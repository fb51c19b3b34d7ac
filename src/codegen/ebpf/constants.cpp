// Literals and tables lie in the arena, where a pointer to them is as good as one to any other text.

#include "abi/kernel.h"
#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

void write_constant(const llvm::DataLayout& layout, const llvm::Constant& value, uint8_t* at) {
  if (value.isNullValue() || llvm::isa<llvm::UndefValue>(value)) return;
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
    uint64_t word = number->getZExtValue();
    for (uint64_t i = 0; i < layout.getTypeStoreSize(value.getType()); ++i) at[i] = static_cast<uint8_t>(word >> (8 * i));
  } else if (const auto* array = llvm::dyn_cast<llvm::ConstantDataSequential>(&value)) {
    for (unsigned i = 0; i < array->getNumElements(); ++i) {
      write_constant(layout, *array->getElementAsConstant(i), at + i * layout.getTypeAllocSize(array->getElementType()));
    }
  } else if (const auto* structure = llvm::dyn_cast<llvm::ConstantStruct>(&value)) {
    const llvm::StructLayout* offsets = layout.getStructLayout(structure->getType());
    for (unsigned i = 0; i < structure->getNumOperands(); ++i)
      write_constant(layout, *structure->getOperand(i), at + offsets->getElementOffset(i));
  } else {
    const auto& elements = llvm::cast<llvm::ConstantArray>(value);
    uint64_t stride = layout.getTypeAllocSize(elements.getType()->getElementType());
    for (unsigned i = 0; i < elements.getNumOperands(); ++i) write_constant(layout, *elements.getOperand(i), at + i * stride);
  }
}

}  // namespace

void move_constants(llvm::Module& module, uint64_t constants_offset) {
  std::vector<uint8_t> bytes;
  const llvm::DataLayout& layout = module.getDataLayout();
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
    if (!variable.isConstant() || !variable.hasInitializer() || variable.hasSection()) continue;
    size_t at = (bytes.size() + 15) / 16 * 16;
    bytes.resize(at + layout.getTypeAllocSize(variable.getValueType()));
    write_constant(layout, *variable.getInitializer(), bytes.data() + at);
    auto* address =
        llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), abi::kKernelArenaBase + constants_offset + at);
    variable.replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(address, variable.getType()));
    variable.eraseFromParent();
  }
  if (bytes.empty()) return;
  auto* content = llvm::ConstantDataArray::get(module.getContext(), bytes);
  auto* variable = new llvm::GlobalVariable(module, content->getType(), true, llvm::GlobalValue::ExternalLinkage, content,
                                            "spile_arena_constants");
  variable->setSection(abi::kKernelConstantsSection);
}

}  // namespace spile::codegen
