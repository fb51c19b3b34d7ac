#include "debuginfo/conventions/go_convention.h"

#include "abi/machine.h"

namespace spile::debuginfo {
namespace {

using abi::kConvention;

constexpr int kDeepestNesting = 16;

// One result being given registers.
struct Assignment {
  size_t integers, floats;
  std::vector<Piece> pieces;
  uint64_t end = 0;  // of the last piece, in bytes
  bool fits = true;

  void add(uint64_t offset, uint64_t size, bool is_float) {
    if (offset > end) pieces.push_back({Piece::Kind::kMissing, static_cast<uint32_t>(offset - end), {}});
    Piece piece;
    piece.size = static_cast<uint32_t>(size);
    if (is_float) {
      fits &= floats++ < kConvention.go_vector_results;
    } else if (integers >= kConvention.go_results.size()) {
      fits = false;
    } else {
      piece.kind = Piece::Kind::kValue;
      piece.operations = {location::Register{kConvention.go_results[integers++]}};
    }
    pieces.push_back(std::move(piece));
    end = offset + size;
  }

  void assign(const Type& type, uint64_t offset, int depth) {
    if (depth > kDeepestNesting) fits = false;
    if (!fits) return;
    switch (type.kind()) {
      case TypeKind::kInteger:
      case TypeKind::kEnum:
      case TypeKind::kPointer: return add(offset, type.size(), false);
      case TypeKind::kFloat:
        if (type.size() <= 8) return add(offset, type.size(), true);
        add(offset, type.size() / 2, true);  // complex128
        return add(offset + type.size() / 2, type.size() / 2, true);
      case TypeKind::kStruct:
        for (const Member& member : type.members()) assign(member.type, offset + member.offset, depth + 1);
        return;
      case TypeKind::kArray:
        if (type.count() == 1) assign(type.target(), offset, depth + 1);
        else if (type.count() != 0) fits = false;
        return;
      default: fits = false;
    }
  }
};

Place place_of(const Assignment& assignment) {
  Place place;
  bool any_integer = false;
  for (const Piece& piece : assignment.pieces) any_integer |= piece.kind == Piece::Kind::kValue;
  if (!assignment.fits) {
    place.reason = "is returned on the stack";
  } else if (!any_integer) {
    place.reason = assignment.pieces.empty() ? "is empty" : "is in a floating-point register";
  } else if (assignment.pieces.size() == 1) {
    place.kind = Place::Kind::kValue;
    place.operations = assignment.pieces[0].operations;
  } else {
    place.kind = Place::Kind::kPieces;
    place.pieces = assignment.pieces;
  }
  return place;
}

}  // namespace

std::vector<Place> go_result_places(std::span<const Type> results) {
  std::vector<Place> places;
  size_t integers = 0, floats = 0;
  for (const Type& type : results) {
    Assignment assignment{integers, floats, {}};
    assignment.assign(type, 0, 0);
    if (assignment.fits) {
      integers = assignment.integers;
      floats = assignment.floats;
    }
    places.push_back(place_of(assignment));
    places.back().type = type;
  }
  return places;
}

}  // namespace spile::debuginfo
