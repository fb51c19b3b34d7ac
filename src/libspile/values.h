#pragma once
// Values of a run as spile.h shows them.

#include <cstdint>
#include <string>

#include "libspile/spile.h"

namespace spile::client {

inline spile_value value_of(int64_t number) { return {SPILE_NUMBER, 0, number, "", 0}; }
// Of a text that stays.
inline spile_value value_of(const std::string& text) { return {SPILE_TEXT, 0, 0, text.c_str(), text.size()}; }

}  // namespace spile::client
