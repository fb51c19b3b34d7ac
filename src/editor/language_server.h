#pragma once
// spile --language-server: the Language Server Protocol 3.17 (microsoft.github.io/language-server-protocol) over two
// streams. Messages are JSON-RPC, each after a `Content-Length` header. Offered: diagnostics of passes 1 and 2 while a
// script is edited, completion, hovering, and going to a definition. Documents are sent whole at each change.

#include <istream>
#include <ostream>

#include "session/terms/options.h"

namespace spile::editor {

// Serves requests until `exit` or the end of the input. Returns the exit status: 0 after a `shutdown`, else 1, as the protocol
// asks. options: which library, and by -c or -x which program, scripts are checked against; must outlive the call only.
int run_language_server(const session::Options& options, std::istream& in, std::ostream& out);

}  // namespace spile::editor
