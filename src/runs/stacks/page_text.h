#pragma once
// The pages of samples and of runs are templates in files beside their .cpp, embedded into the program. Both share the style
// (page.css), the flame graph's parts (flame.html) and its script (flame.js). A page asks for nothing from elsewhere, and shows
// names as text only, never as markup. A part behind '#' sets the page's state: #search=TEXT, #zoom=INDEX of a stack, and in the
// page of a run #events=TEXT, which shows only events with the text.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spile::runs {

// A name, and the text that stands for {{NAME}}.
using PagePart = std::pair<std::string_view, std::string_view>;

// Returns `page` with the text of parts instead of each {{NAME}}, without the newline at a text's end. What stands in a part's
// text is not looked at. REQUIRES: parts has the name of each {{NAME}}, but for the shared ones: page.css, flame.html, flame.js.
std::string fill_page(std::string_view page, std::vector<PagePart> parts);

}  // namespace spile::runs
