#include "runs/stacks/page_text.h"

#include <algorithm>

#include "base/check.h"
#include "base/embedded_text.h"

SPILE_EMBEDDED_TEXT(spile_page_css)
SPILE_EMBEDDED_TEXT(spile_flame_html)
SPILE_EMBEDDED_TEXT(spile_flame_js)

namespace spile::runs {

std::string fill_page(std::string_view page, std::vector<PagePart> parts) {
  parts.insert(parts.end(), {{"page.css", spile_page_css()}, {"flame.html", spile_flame_html()}, {"flame.js", spile_flame_js()}});
  std::string text;
  while (true) {
    const size_t begin = page.find("{{");
    text += page.substr(0, begin);
    if (begin == std::string_view::npos) return text;
    page.remove_prefix(begin + 2);
    const size_t end = page.find("}}");
    CHECK(end != std::string_view::npos);
    const auto part = std::ranges::find(parts, page.substr(0, end), &PagePart::first);
    CHECK(part != parts.end());
    std::string_view filled = part->second;
    if (filled.ends_with('\n')) filled.remove_suffix(1);
    text += filled;
    page.remove_prefix(end + 2);
  }
}

}  // namespace spile::runs
