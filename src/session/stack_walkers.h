#pragma once
// Programs that make code while they run, and find its frames by the addresses to which the functions that it calls return.

#include <string>

namespace spile::session {

// Why the returns of such a function can't be probed; empty where they can. function: its qualified name.
std::string walked_by(const std::string& module_path, const std::string& function);

}  // namespace spile::session
