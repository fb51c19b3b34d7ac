#pragma once
// -k: what the passes made, kept in a folder for a look.

#include <string>

#include "base/result.h"
#include "codegen/codegen.h"
#include "sema/program.h"
#include "session/options.h"

namespace spile::session {

// Makes the folder (--tmpdir's, or a new one in $TMPDIR) and says its name on standard error. "" without -k.
Result<std::string> make_kept_folder(const Options& options);
// "1-tree.stp", "2-program.txt" ...
Result<void> keep_text(const std::string& folder, const std::string& name, std::string_view text);
// The code of pass 4: NAME-target.bin, NAME-controller.bin (flat images), NAME-kernel.o (an ELF object).
Result<void> keep_code(const std::string& folder, const Options& options, const codegen::CompiledScript& script);

}  // namespace spile::session
