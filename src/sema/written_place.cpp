#include "sema/written_place.h"

#include <algorithm>

namespace spile::sema {

std::optional<WrittenPlace> written_place(std::span<const LocationOp> ops) {
  using Kind = LocationOp::Kind;
  WrittenPlace place;
  if (ops.empty()) return std::nullopt;
  auto drop_last = [&] { ops = ops.first(ops.size() - 1); };
  if (ops.back().kind == Kind::kWiden) {
    place.is_float = true;
    drop_last();
  }
  if (ops.empty()) return std::nullopt;
  if (ops.back().kind == Kind::kBitField) {
    place.shift = static_cast<uint32_t>(ops.back().value);
    place.bits = ops.back().size;
    drop_last();
  } else if (ops.back().kind == Kind::kExtend) {
    place.bits = 8u * ops.back().size;
    drop_last();
  }
  if (ops.empty()) return std::nullopt;
  if (ops.back().kind == Kind::kLoad) {
    place.bytes = ops.back().size;
    place.bits = std::min(place.bits, 8 * place.bytes - place.shift);
    drop_last();
    place.address = ops;
    return place;
  }
  // A part of a register: "register, constant, shift right".
  if (ops.size() == 3 && ops[1].kind == Kind::kConstant && ops[2].kind == Kind::kShiftRight) {
    place.shift += static_cast<uint32_t>(ops[1].value);
    ops = ops.first(1);
  }
  if (ops.size() != 1 || ops[0].kind != Kind::kRegister || place.shift + place.bits > 64) return std::nullopt;
  place.in_register = true;
  place.number = ops[0].value;
  return place;
}

}  // namespace spile::sema
