#pragma once
// Where else a variable can be read that has no value where a script asks for it.

#include <cstdint>
#include <string>

#include "base/address.h"

namespace spile::debuginfo {

class Module;

// Returns where in its function a parameter or local has a value that it lacks at pc, or that is not visible there: "it has a
// value at price_of+[29-44]; the nearest line where it can be read is 8: statement(\"price_of@shop.c:8\")", with offsets in bytes
// from the function's entry. The statement is one where the variable can be read. scope: CodePlace::scope. "": it has a value at
// pc; or nowhere; or that is not known.
std::string where_readable(Module& module, FileAddress function, FileAddress pc, const std::string& name, uint64_t scope);

}  // namespace spile::debuginfo
