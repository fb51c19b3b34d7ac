#pragma once

#include <string>
#include <string_view>

#include "session/terms/options.h"

namespace spile::session {

// Returns what to do about an error that the language raises in a handler: `text` is its message. "": the message says it all.
// Any thread.
std::string_view hint_of_error(std::string_view text);

// Returns such a message for somebody whose verb has made the script: without the place there. place: "a.stp:3:5".
std::string error_of_verb(std::string_view text, std::string_view place, const ScriptOfVerb& verb);

}  // namespace spile::session
