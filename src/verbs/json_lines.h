#pragma once
// JSON Lines of the verbs that ask, as docs/json.md describes them. Bytes that are not UTF-8 become U+FFFD.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/address.h"
#include "base/print.h"

namespace spile::verbs {

using Json = nlohmann::ordered_json;

inline void print_json(const Json& object) {
  print_to(stdout, "{}\n", object.dump(-1, ' ', false, Json::error_handler_t::replace));
}
// Addresses are texts, "0x4011d6": numbers of JSON hold 53 bits.
inline std::string json_address(FileAddress address) { return fmt::format("{:#x}", address.value); }

}  // namespace spile::verbs
