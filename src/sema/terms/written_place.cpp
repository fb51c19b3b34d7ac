#include "sema/terms/written_place.h"

#include <algorithm>

namespace spile::sema {

namespace {

// The last operation as a T, which is taken off the list; null: it is another one.
template <typename T>
const T* take_last(std::span<const location::Operation>& ops) {
  const T* last = ops.empty() ? nullptr : std::get_if<T>(&ops.back());
  if (last) ops = ops.first(ops.size() - 1);
  return last;
}

}  // namespace

std::optional<WrittenPlace> written_place(std::span<const location::Operation> ops) {
  WrittenPlace place;
  if (!ops.empty() && ops.back() == location::Operation(location::Unary::kFloatToDouble)) {
    place.is_float = true;
    ops = ops.first(ops.size() - 1);
  }
  if (auto* field = take_last<location::BitField>(ops)) {
    place.shift = field->first_bit;
    place.bits = field->bits;
  } else if (auto* converted = take_last<location::Convert>(ops)) {
    place.bits = 8u * converted->bytes;
  }
  if (auto* loaded = take_last<location::Deref>(ops)) {
    place.bytes = loaded->bytes;
    place.bits = std::min(place.bits, 8 * place.bytes - place.shift);
    place.address = ops;
    return place;
  }
  // A part of a register: "register, constant, shift right".
  if (ops.size() == 3 && ops[2] == location::Operation(location::Binary::kShr)) {
    const auto* shift = std::get_if<location::Constant>(&ops[1]);
    if (!shift || shift->value < 0 || shift->value > 63) return std::nullopt;
    place.shift += static_cast<uint32_t>(shift->value);
    ops = ops.first(1);
  }
  if (ops.size() != 1 || place.shift + place.bits > 64) return std::nullopt;
  const auto* in_register = std::get_if<location::Register>(&ops[0]);
  if (!in_register && !location::is<location::CallNumber>(ops[0])) return std::nullopt;
  place.in_register = true;
  if (in_register) place.number = in_register->number;
  return place;
}

}  // namespace spile::sema
