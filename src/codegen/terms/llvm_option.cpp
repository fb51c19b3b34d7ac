#include "codegen/terms/llvm_option.h"

#include <llvm/Support/CommandLine.h>

#include "base/check.h"

namespace spile::codegen {

void set_llvm_option(const char* name, const char* value) {
  auto& options = llvm::cl::getRegisteredOptions();
  auto option = options.find(name);
  CHECK(option != options.end() && !option->second->addOccurrence(0, name, value));
}

}  // namespace spile::codegen
