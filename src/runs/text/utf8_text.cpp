#include "runs/text/utf8_text.h"

#include <algorithm>

#include "base/text/json.h"

namespace spile::runs {

std::string valid_utf8(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return std::string(text);
  return Json::parse(Json(text).dump())->text();
}

}  // namespace spile::runs
