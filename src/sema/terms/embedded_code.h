#pragma once
// Reads the comments by which embedded C describes itself, as SystemTap's manual lists them ("EMBEDDED C"): the
// compiler for it can be asked later, elaboration goes by these.

#include <string>
#include <string_view>
#include <vector>

namespace spile::sema {

struct EmbeddedTraits {
  bool pure = false;                // /* pure */: no effect but its value; may be left out when that isn't used
  bool stable = false;              // /* stable */: its value does not change during one handler run
  bool string = false;              // /* string */: an expression of type string (else it is a long)
  bool unmangled = false;           // /* unmangled */: arguments and result under their plain names too
  bool guru = false;                // /* guru */: callers need guru mode
  bool unprivileged = false;        // /* unprivileged */ or /* myproc-unprivileged */
  std::vector<std::string> reads;   // /* pragma:read:NAME */: globals that STAP_GLOBAL_GET_NAME reads
  std::vector<std::string> writes;  // /* pragma:write:NAME */: globals that STAP_GLOBAL_SET_NAME sets
};

// Reads all comments of the code that consist of one of these words. code: the text between %{ and %}.
EmbeddedTraits embedded_traits(std::string_view code);

// Returns the name that an expression of C consists of, as AF_INET; empty: it is something else.
std::string name_in_c(std::string_view code);

}  // namespace spile::sema
