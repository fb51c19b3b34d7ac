#include "session/terms/utf8_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spile::session {

std::string valid_utf8(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) return std::string(text);
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace spile::session
