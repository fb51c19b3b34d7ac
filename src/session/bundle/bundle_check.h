#pragma once

#include "base/result.h"
#include "session/bundle/bundle.h"

namespace spile::session {

// Checks that all numbers in the bundle that others rely on are within their bounds. Errors: the first that is not.
Result<void> check_bundle(const Bundle& bundle);

}  // namespace spile::session
