#pragma once
// Makes debug information of types that no traced module describes, from a header: @cast(p, "struct timeval", "<sys/time.h>").

#include <string>

#include "base/result.h"

namespace spile::probes {

// Returns the path of a shared library with debug information of the type, made with clang (else cc) from "<a.h><b.h>" or
// "\"./c.h\"", and kept in the cache by the texts of `headers` and `type`: a header that has changed since is not read again.
// Without a cache it is in a new folder of /tmp, which stays. Blocks until the compiler ends. Errors: no compiler, the header
// does not compile, the type is not in it.
Result<std::string> header_types(const std::string& headers, const std::string& type);

}  // namespace spile::probes
