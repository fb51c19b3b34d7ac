#pragma once

#include <string>
#include <string_view>

namespace spile::runs {

// Returns what to do about an error that the language raises in a handler: `text` is its message. "": the message says it all.
// Any thread.
std::string_view hint_of_error(std::string_view text);

// Returns such a message for somebody whose verb has made the script: without the place there. place: "a.stp:3:5". verb: "top".
// when_full: what to do where a table of the script is full, as in "size=N makes it larger".
std::string error_of_verb(std::string_view text, std::string_view place, std::string_view verb, std::string_view when_full);

}  // namespace spile::runs
