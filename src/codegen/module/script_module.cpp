#include "codegen/module/script_module.h"

#include "abi/arena.h"
#include "codegen/terms/llvm_option.h"

namespace spile::codegen {

namespace {

Error internal(const std::string& what) {
  return Error{"compile: internal error: " + what, "this is a mistake in spile; please report it with the script"};
}

// Functions that the code generator may call on its own for loads and stores of many bytes.
constexpr const char* kLibraryCalls[] = {"memcpy", "memset", "memmove", "memcmp", "bcmp"};

}  // namespace

Result<std::unique_ptr<ScriptModule>> ScriptModule::create(std::string_view name, std::span<const unsigned char> bitcode) {
  std::unique_ptr<ScriptModule> script(new ScriptModule);
  script->context_ = std::make_unique<llvm::LLVMContext>();
  llvm::StringRef bytes(reinterpret_cast<const char*>(bitcode.data()), bitcode.size());
  // Reading would verify all of it for the sake of old debug information: a fifth of pass 3.
  static const bool trusts_own_bitcode = (set_llvm_option("disable-auto-upgrade-debug-info", "true"), true);
  static_cast<void>(trusts_own_bitcode);
  auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bytes, "runtime"), *script->context_);
  if (!module) return internal("the runtime's bitcode can't be read: " + llvm::toString(module.takeError()));
  script->module_ = std::move(*module);
  script->module_->setModuleIdentifier({name.data(), name.size()});
  return script;
}

std::string ScriptModule::bitcode() const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::WriteBitcodeToFile(*module_, stream);
  return std::string(bytes.data(), bytes.size());
}

Result<void> ScriptModule::replace(std::string_view bitcode) {
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef({bitcode.data(), bitcode.size()}, module_->getName()), *context_);
  if (!module) return internal("a module can't be read: " + llvm::toString(module.takeError()));
  const std::string name = module_->getModuleIdentifier();
  texts_.clear();
  module_ = std::move(*module);
  module_->setModuleIdentifier(name);
  return {};
}

bool ScriptModule::has_runtime(const std::string& name) const { return module_->getFunction(name) != nullptr; }

llvm::CallInst* ScriptModule::call_runtime(llvm::IRBuilder<>& builder, const std::string& name, llvm::Type* result,
                                           llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::Function* function = module_->getFunction(name);
  if (!function) {
    function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, *module_);
    mismatches_.insert(name + " is missing from the runtime");
  } else if (function->getFunctionType() != type) {
    mismatches_.insert(name + " has another type in the runtime");
  }
  llvm::CallInst* call = builder.CreateCall(type, function, arguments);
  call->setCallingConv(function->getCallingConv());
  llvm::AttributeList attributes = function->getAttributes();
  std::vector<llvm::AttributeSet> parameters;
  for (unsigned i = 0; i < arguments.size(); ++i) parameters.push_back(attributes.getParamAttrs(i));
  call->setAttributes(llvm::AttributeList::get(*context_, {}, attributes.getRetAttrs(), parameters));
  return call;
}

void ScriptModule::define_constant(const std::string& name, uint32_t value) {
  llvm::GlobalVariable* variable = module_->getNamedGlobal(name);
  if (!variable) return;
  variable->setInitializer(llvm::ConstantInt::get(i32(), value));
  variable->setConstant(true);
  variable->setLinkage(llvm::GlobalValue::InternalLinkage);
  variable->setDSOLocal(true);
}

llvm::Constant* ScriptModule::text(std::string_view value) {
  auto found = texts_.find(value);
  if (found != texts_.end()) return found->second;
  auto* data = llvm::ConstantDataArray::getString(*context_, {value.data(), value.size()}, true);
  auto* variable = new llvm::GlobalVariable(*module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data);
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  variable->setAlignment(llvm::Align(8));
  texts_.emplace(std::string(value), variable);
  return variable;
}

llvm::GlobalVariable* ScriptModule::words(const std::string& name, llvm::ArrayRef<uint32_t> values) {
  auto* data = llvm::ConstantDataArray::get(*context_, values);
  auto* variable = new llvm::GlobalVariable(*module_, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, name);
  variable->setAlignment(llvm::Align(8));
  return variable;
}

llvm::GlobalVariable* ScriptModule::words(const std::string& name, llvm::ArrayRef<uint64_t> values) {
  auto* data = llvm::ConstantDataArray::get(*context_, values);
  auto* variable = new llvm::GlobalVariable(*module_, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, name);
  variable->setAlignment(llvm::Align(8));
  return variable;
}

llvm::GlobalVariable* ScriptModule::cells() {
  auto* type = llvm::ArrayType::get(i64(), sizeof(abi::ImageCells) / 8);
  llvm::GlobalVariable* variable = module_->getNamedGlobal("spile_cells");
  if (!variable) {
    variable = new llvm::GlobalVariable(*module_, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, "spile_cells");
  }
  if (!variable->hasInitializer()) {
    variable->setInitializer(llvm::Constant::getNullValue(variable->getValueType()));
  }
  // The engine fills it, so nothing may be concluded from its initial value.
  variable->setExternallyInitialized(true);
  variable->setConstant(false);
  variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
  variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
  variable->setDSOLocal(true);
  variable->setSection(".spile.cells");
  return variable;
}

llvm::Function* ScriptModule::add_function(const std::string& name, llvm::FunctionType* type) {
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, *module_);
  function->setDSOLocal(true);
  return function;
}

void ScriptModule::export_function(llvm::Function* function) {
  function->setLinkage(llvm::GlobalValue::ExternalLinkage);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  exports_.push_back(function->getName().str());
}

Result<void> ScriptModule::read_used() {
  std::vector<llvm::Function*> queue;
  std::set<llvm::Function*> seen;
  auto visit = [&](llvm::Value* value) {
    if (auto* callee = llvm::dyn_cast<llvm::Function>(value); callee && seen.insert(callee).second) queue.push_back(callee);
  };
  auto visit_library_calls = [&] {
    for (const char* name : kLibraryCalls) {
      if (llvm::Function* library = module_->getFunction(name)) visit(library);
    }
  };
  for (const std::string& name : exports_) visit(module_->getFunction(name));
  while (!queue.empty()) {
    llvm::Function* function = queue.back();
    queue.pop_back();
    if (llvm::Error error = function->materialize()) return internal(llvm::toString(std::move(error)));
    for (llvm::BasicBlock& block : *function) {
      for (llvm::Instruction& instruction : block) {
        if (llvm::isa<llvm::MemIntrinsic>(instruction)) visit_library_calls();
        for (llvm::Value* operand : instruction.operand_values()) visit(operand->stripPointerCasts());
      }
    }
  }
  for (llvm::Function& function : *module_) {
    if (seen.contains(&function) || !function.isMaterializable()) continue;
    function.deleteBody();
    function.setComdat(nullptr);  // a declaration has none: LLVM checks modules that have lines, as the kernel's do
  }
  if (llvm::Error error = module_->materializeAll()) return internal(llvm::toString(std::move(error)));
  return {};
}

void ScriptModule::drop_unused() {
  llvm::removeFromUsedLists(*module_, [](llvm::Constant* used) {
    auto* function = llvm::dyn_cast<llvm::Function>(used->stripPointerCasts());
    return function && function->isDeclaration();
  });
  for (llvm::Function& function : llvm::make_early_inc_range(*module_)) {
    function.removeDeadConstantUsers();
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  }
}

// The machine is the code generator's (backend.cpp); C code of a script names the one that it was compiled for.
void ScriptModule::unify_machine() {
  llvm::Function* model = module_->getFunction("spile_rt_enter");
  const bool no_implicit_float = model && model->hasFnAttribute(llvm::Attribute::NoImplicitFloat);
  for (llvm::Function& function : *module_) {
    for (const char* name : {"target-cpu", "target-features", "tune-cpu"}) function.removeFnAttr(name);
    if (no_implicit_float) function.addFnAttr(llvm::Attribute::NoImplicitFloat);
  }
}

// Nothing but general registers, no unwind tables, no jump tables (a checker follows every control transfer).
void ScriptModule::unify_attributes() {
  std::set<std::string_view> kept(std::begin(kLibraryCalls), std::end(kLibraryCalls));
  kept.insert(exports_.begin(), exports_.end());
  for (llvm::Function& function : *module_) {
    if (function.isDeclaration()) continue;
    function.setDoesNotThrow();
    function.removeFnAttr(llvm::Attribute::UWTable);
    function.removeFnAttr("probe-stack");
    function.removeFnAttr("min-legal-vector-width");
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr("no-jump-tables", "true");
    if (!kept.contains(std::string_view(function.getName()))) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.setDSOLocal(true);
    } else {
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    }
  }
  // Of what lies in sections of its own, the loader looks for what is read-only: in the object only where something reads it.
  for (llvm::GlobalVariable& variable : module_->globals()) {
    if (variable.hasInitializer() && variable.getName() != "spile_cells" && !variable.hasLocalLinkage() &&
        !variable.getName().starts_with("llvm.") && (!variable.hasSection() || variable.getSection().starts_with(".rodata"))) {
      variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  }
}

Result<void> ScriptModule::finish() {
  unify_machine();
  TRY_DO(read_used());
  drop_unused();
  unify_attributes();
  if (!mismatches_.empty()) return internal(*mismatches_.begin());
  for (llvm::Function& function : *module_) {
    if (function.isDeclaration() && !function.isIntrinsic()) {
      return internal("the runtime lacks " + function.getName().str());
    }
  }
#ifndef NDEBUG
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyModule(*module_, &stream)) return internal(complaint);
#endif
  return {};
}

std::string ScriptModule::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module_->print(stream, nullptr);
  return text;
}

}  // namespace spile::codegen
