#pragma once
// Which functions look at return addresses, by their names: those of the C library that need to know who has called them.

#include <string>

#include "engine/terms/module.h"

namespace spile::session {

// How the code of a file comes to them.
engine::ReturnReaders return_readers_in(const std::string& path);

}  // namespace spile::session
