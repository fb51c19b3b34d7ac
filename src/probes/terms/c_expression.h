#pragma once
// The constant expressions of C that @const takes: integers, names, parentheses and C's operators on integers, with C's
// precedence. Values are signed and have 64 bits.

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace spile::probes {

// Returns the value of an expression whose names `find` knows. Errors: what is not such an expression, with the place in it where
// that shows; a division by zero; those of `find`.
Result<int64_t> evaluate_c(std::string_view expression, const std::function<Result<int64_t>(std::string_view name)>& find);

}  // namespace spile::probes
