#include "codegen/module/script_lines.h"

namespace spile::codegen {

namespace {

constexpr auto kEmission = llvm::DICompileUnit::LineTablesOnly;

llvm::DICompileUnit* make_unit(llvm::DIBuilder& builder, llvm::DIFile* file) {
  return builder.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "spile", /*isOptimized=*/true, "", 0, "", kEmission);
}

llvm::DISubprogram* make_subprogram(llvm::DIBuilder& builder, llvm::Function& function, llvm::DIFile* file, unsigned line) {
  llvm::DISubroutineType* type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  llvm::DISubprogram* made = builder.createFunction(file, function.getName(), "", file, line, type, line, llvm::DINode::FlagZero,
                                                    llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(made);
  return made;
}

llvm::Instruction* first_with_place(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (instruction.getDebugLoc()) return &instruction;
  }
  return nullptr;
}

}  // namespace

ScriptLines::ScriptLines(llvm::Module& module) : module_(module), builder_(module) {}

llvm::DIFile* ScriptLines::file(const SourceFile& source) {
  llvm::DIFile*& known = files_[&source];
  if (known) return known;
  // Without the text, LLVM would look for a file of this name.
  known = builder_.createFile(source.name(), "", std::nullopt, llvm::StringRef(source.text().data(), source.text().size()));
  if (!unit_) {
    unit_ = make_unit(builder_, known);
    module_.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  }
  return known;
}

llvm::DebugLoc ScriptLines::at(llvm::Function& function, const SourceRange& range) {
  const SourceFile::Position position = range.file->position(range.begin);
  llvm::DIFile* own = file(*range.file);
  llvm::DISubprogram* subprogram = function.getSubprogram();
  if (!subprogram) {
    subprogram = make_subprogram(builder_, function, own, position.line);
    builder_.finalizeSubprogram(subprogram);
  }
  llvm::DILocalScope* scope = subprogram;
  if (subprogram->getFile() != own) scope = builder_.createLexicalBlockFile(scope, own);
  return llvm::DILocation::get(module_.getContext(), position.line, position.column, scope);
}

LineScope::LineScope(ScriptLines* lines, llvm::IRBuilder<>& builder, const SourceRange& range) {
  if (!lines || !range) return;
  builder_ = &builder;
  outer_ = builder.getCurrentDebugLocation();
  builder.SetCurrentDebugLocation(lines->at(*builder.GetInsertBlock()->getParent(), range));
}

LineScope::~LineScope() {
  if (builder_) builder_->SetCurrentDebugLocation(outer_);
}

void settle_lines(llvm::Module& module) {
  auto units = module.debug_compile_units();
  if (units.begin() == units.end()) return;
  llvm::DIBuilder builder(module, true, *units.begin());
  for (llvm::Function& function : module) {
    function.setSubprogram(nullptr);
    llvm::Instruction* first = function.isDeclaration() ? nullptr : first_with_place(function);
    if (!first) continue;
    llvm::DISubprogram* subprogram =
        make_subprogram(builder, function, first->getDebugLoc()->getFile(), first->getDebugLoc().getLine());
    std::map<llvm::DIFile*, llvm::DILocalScope*> scopes{{subprogram->getFile(), subprogram}};
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const llvm::DebugLoc& place = instruction.getDebugLoc();
      if (!place) continue;
      llvm::DILocalScope*& scope = scopes[place->getFile()];
      if (!scope) scope = builder.createLexicalBlockFile(subprogram, place->getFile());
      instruction.setDebugLoc(llvm::DILocation::get(module.getContext(), place.getLine(), place.getCol(), scope));
    }
    builder.finalizeSubprogram(subprogram);
  }
}

}  // namespace spile::codegen
