#pragma once

namespace spile::codegen {

// Sets an option of LLVM's command line, for all of the process: some settings are to be had in no other way. REQUIRES: LLVM has
// it.
void set_llvm_option(const char* name, const char* value);

}  // namespace spile::codegen
