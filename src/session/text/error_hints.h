#pragma once

#include <string_view>

namespace spile::session {

// Returns what to do about an error that the language raises in a handler: `text` is its message. "": the message says it all. Any thread.
std::string_view hint_of_error(std::string_view text);

}  // namespace spile::session
