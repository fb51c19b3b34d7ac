#pragma once
// -k: keeps what the passes made in a folder. Errors of all functions: the folder or a file in it can't be written.

#include <string>

#include "base/result.h"
#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/terms/options.h"

namespace spile::session {

// Makes the folder (--tmpdir's, which may exist, or a new one in $TMPDIR or /tmp), prints its path on standard error and returns
// it. Returns "" without -k.
Result<std::string> make_kept_folder(const PassOptions& options);
// The functions below write a file of the folder; they do nothing if `folder` is "".
// 1-tree.stp: the user's script as it was parsed.
Result<void> keep_tree(const std::string& folder, const syntax::Script& script);
// 2-program.txt: the elaborated program.
Result<void> keep_program(const std::string& folder, const sema::Program& program);
// A file `name`, with this text.
Result<void> keep_text(const std::string& folder, const std::string& name, std::string_view text);
// The code of pass 4, as far as there is any: NAME-target.bin, NAME-controller.bin (flat images), NAME-kernel.o (an ELF object).
// module_name: of -m; "": NAME is "spile".
Result<void> keep_code(const std::string& folder, const std::string& module_name, const codegen::CompiledScript& script);

}  // namespace spile::session
