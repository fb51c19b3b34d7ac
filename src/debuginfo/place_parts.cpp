#include "debuginfo/place_parts.h"

#include <algorithm>

namespace spile::debuginfo {
namespace {

void append_shift_right(location::Operations& code, uint64_t bytes) {
  if (bytes == 0) return;
  code.emplace_back(location::Constant{static_cast<int64_t>(bytes * 8)});
  code.emplace_back(location::Binary::kShr);
}

Place out_of_reach(std::string reason, Type type) {
  Place place;
  place.reason = std::move(reason);
  place.type = std::move(type);
  return place;
}

// The `size` bytes at `offset` of an object in pieces, which lie in more than one of them.
Place pieces_of(const Place& whole, uint64_t offset, uint64_t size, Type type) {
  Place part;
  part.kind = Place::Kind::kPieces;
  part.type = std::move(type);
  uint64_t start = 0;
  for (const Piece& piece : whole.pieces) {
    const uint64_t begin = std::max(offset, start), end = std::min(offset + size, start + piece.size);
    if (begin < end) {
      Piece& taken = part.pieces.emplace_back(piece);
      taken.size = static_cast<uint32_t>(end - begin);
      if (piece.kind == Piece::Kind::kMemory) append_offset(taken.operations, static_cast<int64_t>(begin - start));
      else if (piece.kind == Piece::Kind::kValue) append_shift_right(taken.operations, begin - start);
    }
    start += piece.size;
  }
  return part;
}

}  // namespace

Place memory_at(location::Operations address, Type type) {
  Place place;
  place.kind = Place::Kind::kMemory;
  place.operations = std::move(address);
  place.type = std::move(type);
  return place;
}

Place part_of(const Place& whole, uint64_t offset, uint64_t size, Type type) {
  Place part;
  part.type = std::move(type);
  if (whole.kind == Place::Kind::kMemory) {
    part = memory_at(whole.operations, part.type);
    append_offset(part.operations, static_cast<int64_t>(offset));
    return part;
  }
  if (whole.kind == Place::Kind::kValue) {
    if (offset >= 8) return out_of_reach("is not in the register that holds the object", part.type);
    part.kind = Place::Kind::kValue;
    part.operations = whole.operations;
    append_shift_right(part.operations, offset);
    return part;
  }
  uint64_t start = 0;
  for (const Piece& piece : whole.pieces) {
    if (offset >= start && offset + size <= start + piece.size) {
      if (piece.kind == Piece::Kind::kMissing) return out_of_reach("is optimized out", part.type);
      Place inner;
      inner.kind = piece.kind == Piece::Kind::kMemory ? Place::Kind::kMemory : Place::Kind::kValue;
      inner.operations = piece.operations;
      return part_of(inner, offset - start, size, part.type);
    }
    start += piece.size;
  }
  const TypeKind kind = part.type.kind();
  const bool has_members = kind == TypeKind::kStruct || kind == TypeKind::kUnion || kind == TypeKind::kArray;
  if (has_members && offset + size <= start) return pieces_of(whole, offset, size, part.type);
  return out_of_reach("is scattered over several places", part.type);
}

}  // namespace spile::debuginfo
