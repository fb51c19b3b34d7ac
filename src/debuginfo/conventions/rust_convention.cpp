#include "debuginfo/conventions/rust_convention.h"

#include <algorithm>
#include <optional>

#include "abi/machine.h"

namespace spile::debuginfo {
namespace {

using abi::kConvention;

constexpr int kDeepestNesting = 24;
constexpr uint64_t kWord = 8;
constexpr const char* kOwnWay = "is passed in a compiler-specific way";

struct Scalar {
  uint64_t offset = 0, size = 0;
  bool is_float = false, is_pointer = false, is_signed = false;
};

struct Layout {
  enum class Form : uint8_t { kEmpty, kScalar, kPair, kAggregate, kUnknown };
  Form form = Form::kUnknown;
  Scalar first, second;
};
using Form = Layout::Form;

uint64_t align_up(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

Layout layout_of(const Type& type, uint32_t version, int depth);

// A pair is one only if nothing but padding is around its two numbers, each where it is aligned.
Layout pair_of(Scalar a, Scalar b, uint64_t size) {
  if (b.offset < a.offset) std::swap(a, b);
  const bool fits =
      a.offset == 0 && b.offset == align_up(a.size, b.size) && size == align_up(b.offset + b.size, std::max(a.size, b.size));
  if (a.size > kWord || b.size > kWord) return {Form::kUnknown, {}, {}};  // of 16 bytes: aligned as the version of rustc wants
  return {fits ? Form::kPair : Form::kAggregate, a, b};
}

// Of the members of a structure, tuple or variant that has `size` bytes.
Layout layout_of_members(const std::vector<Member>& members, uint64_t size, uint32_t version, int depth) {
  std::vector<Layout> parts;
  std::vector<const Member*> owners;
  for (const Member& member : members) {
    if (member.type.size() == 0) continue;
    owners.push_back(&member);
    if (owners.size() > 2) return {Form::kAggregate, {}, {}};
    parts.push_back(layout_of(member.type, version, depth + 1));
    parts.back().first.offset += member.offset;
    parts.back().second.offset += member.offset;
  }
  if (owners.empty()) return {size == 0 ? Form::kEmpty : Form::kAggregate, {}, {}};
  if (owners.size() == 1) {
    const bool fills = owners[0]->offset == 0 && owners[0]->type.size() == size;
    return fills || parts[0].form == Form::kUnknown ? parts[0] : Layout{Form::kAggregate, {}, {}};
  }
  for (const Layout& part : parts) {
    if (part.form != Form::kScalar) return {part.form == Form::kUnknown ? Form::kUnknown : Form::kAggregate, {}, {}};
  }
  return pair_of(parts[0].first, parts[1].first, size);
}

bool has_data(const Variant& variant) {
  return std::ranges::any_of(variant.data.type.members(), [](const Member& member) { return member.type.size() != 0; });
}

// The number that all variants with data have, at one place. Numbers of one size but different kinds were none before some
// version between 1.64 and 1.79.
std::optional<Layout> common_number(const std::vector<Variant>& variants, uint32_t version, int depth, Scalar* common) {
  const Layout aggregate{Form::kAggregate, {}, {}}, unknown{};
  bool is_first = true;
  for (const Variant& variant : variants) {
    std::vector<Member> members = variant.data.type.members();
    std::erase_if(members, [](const Member& member) { return member.type.size() == 0; });
    if (members.empty()) continue;
    if (members.size() > 1) return aggregate;
    const Layout part = layout_of(members[0].type, version, depth + 1);
    if (part.form == Form::kUnknown) return unknown;
    if (part.form != Form::kScalar) return aggregate;
    Scalar number = part.first;
    number.offset += variant.data.offset + members[0].offset;
    if (is_first) {
      *common = number;
      is_first = false;
      continue;
    }
    if (number.offset != common->offset || number.size != common->size || number.is_float != common->is_float) return aggregate;
    if (number.is_pointer == common->is_pointer && number.is_signed == common->is_signed) continue;
    constexpr uint32_t kDifferent = 63, kMerged = 80;
    if (version <= kDifferent) return aggregate;
    if (version < kMerged) return unknown;
  }
  return std::nullopt;
}

Layout layout_of_enum(const Type& type, uint32_t version, int depth) {
  const std::vector<Variant> variants = type.variants();
  const auto discriminant = type.discriminant();
  if (variants.size() == 1 && !discriminant)
    return layout_of_members(variants[0].data.type.members(), type.size(), version, depth);
  if (!discriminant || discriminant->type.size() == 0) return {};
  const auto largest = std::ranges::find_if(variants, &Variant::is_default);
  if (largest != variants.end()) {  // the others are values that a number of its data never has
    for (const Variant& variant : variants) {
      if (&variant != &*largest && has_data(variant)) return {Form::kAggregate, {}, {}};
    }
    std::vector<Member> members = largest->data.type.members();
    for (Member& member : members) member.offset += largest->data.offset;
    return layout_of_members(members, type.size(), version, depth);
  }
  const Scalar tag{discriminant->offset, discriminant->type.size(), false, false, false};
  if (std::ranges::none_of(variants, has_data)) {
    if (tag.offset == 0 && tag.size == type.size()) return {Form::kScalar, tag, {}};
    return {Form::kAggregate, {}, {}};
  }
  Scalar common;
  if (auto other = common_number(variants, version, depth, &common)) return *other;
  return pair_of(tag, common, type.size());
}

Layout layout_of(const Type& type, uint32_t version, int depth) {
  if (depth > kDeepestNesting) return {};
  const uint64_t size = type.size();
  const TypeKind kind = type.kind();
  switch (kind) {
    case TypeKind::kInteger:
    case TypeKind::kEnum:
    case TypeKind::kPointer:
      if (size == 0) return {Form::kEmpty, {}, {}};
      return {
          size <= 2 * kWord ? Form::kScalar : Form::kUnknown, {0, size, false, kind == TypeKind::kPointer, type.is_signed()}, {}};
    case TypeKind::kFloat: return {size == 4 || size == 8 ? Form::kScalar : Form::kUnknown, {0, size, true, false, false}, {}};
    case TypeKind::kArray: return {size == 0 ? Form::kEmpty : Form::kAggregate, {}, {}};
    case TypeKind::kStruct:
      if (type.is_only_declared()) return {};
      if (!type.variants().empty()) return layout_of_enum(type, version, depth);
      return layout_of_members(type.members(), size, version, depth);
    default:
      // Of a union, whether it is a number depends on the version. Larger ones than two words never are.
      return {kind == TypeKind::kUnion && size > 2 * kWord ? Form::kAggregate : Form::kUnknown, {}, {}};
  }
}

Place missing(const char* reason) {
  Place place;
  place.reason = reason;
  return place;
}

// The pieces of a pair: next(scalar) gives the piece of each number. Padding belongs to the number in front of it, so that all of
// the object is known.
template <typename Next>
Place in_pieces(const Layout& layout, uint64_t size, Next next) {
  Place place;
  place.kind = Place::Kind::kPieces;
  place.pieces = {next(layout.first), next(layout.second)};
  place.pieces[0].size = static_cast<uint32_t>(layout.second.offset);
  place.pieces[1].size = static_cast<uint32_t>(size - layout.second.offset);
  return place;
}

Place of_piece(Piece piece) {
  Place place;
  place.kind = piece.kind == Piece::Kind::kMemory ? Place::Kind::kMemory : Place::Kind::kValue;
  place.operations = std::move(piece.operations);
  return place;
}

Piece in_register(int64_t number, uint64_t size) {
  Piece piece;
  piece.kind = Piece::Kind::kValue;
  piece.size = static_cast<uint32_t>(size);
  piece.operations = {location::Register{number}};
  return piece;
}

Layout two_words() { return {Form::kPair, {0, kWord, false, false, false}, {kWord, kWord, false, false, false}}; }

bool is_in_memory(const Type& returned, const Layout& layout) {
  return layout.form == Form::kAggregate && returned.size() > kWord;
}

class Assignment {
 public:
  explicit Assignment(bool has_result_address) : integers_(has_result_address ? 1 : 0) {}

  Place place(const RustParameter& parameter, const Layout& layout) {
    using Slot = RustParameter::Slot;
    if (lost_) return missing(kOwnWay);
    if (parameter.type.valid() && layout.form == Form::kEmpty) return missing("is empty");
    if (parameter.slot == Slot::kAddress) return behind_address();
    const uint64_t size = parameter.type.size();
    switch (layout.form) {
      case Form::kScalar:
        if (size <= kWord) return of_piece(next(layout.first));
        // A number of 16 bytes that does not fit into registers as a whole is where the version of LLVM wants it.
        if (integers_ + 2 > kConvention.argument_registers.size()) break;
        return in_pieces(two_words(), size, [&](const Scalar& word) { return next(word); });
      case Form::kPair: return in_pieces(layout, size, [&](const Scalar& scalar) { return next(scalar); });
      case Form::kAggregate:
        if (size <= kWord) return of_piece(next({0, size, false, false, false}));
        if (parameter.slot == Slot::kObject) break;
        return behind_address();
      default: break;
    }
    lost_ = true;
    return missing(kOwnWay);
  }

 private:
  Piece next(const Scalar& scalar) {
    if (scalar.is_float && vectors_ < kConvention.vector_arguments)
      return in_register(kConvention.first_vector + static_cast<int64_t>(vectors_++), scalar.size);
    if (!scalar.is_float && integers_ < kConvention.argument_registers.size())
      return in_register(kConvention.argument_registers[integers_++], scalar.size);
    Piece piece;
    piece.kind = Piece::Kind::kMemory;
    piece.size = static_cast<uint32_t>(scalar.size);
    piece.operations = {location::Register{kConvention.stack_pointer},
                        location::PlusConstant{kConvention.entry_cfa + static_cast<int64_t>(stack_)}};
    stack_ += kWord;
    return piece;
  }

  Place behind_address() {
    Piece address = next({0, kWord, false, true, false});
    Place place;
    place.kind = Place::Kind::kMemory;
    place.operations = std::move(address.operations);
    if (address.kind == Piece::Kind::kMemory) place.operations.emplace_back(location::Deref{kWord});
    return place;
  }

  size_t integers_, vectors_ = 0;
  uint64_t stack_ = 0;
  bool lost_ = false;
};

}  // namespace

std::vector<Place> rust_parameter_places(const Type& returned, std::span<const RustParameter> parameters, uint32_t version) {
  const Layout result = layout_of(returned, version, 0);
  const bool returns_nothing = returned.kind() == TypeKind::kVoid;
  const bool is_known = returns_nothing || result.form != Form::kUnknown;
  Assignment assignment(!returns_nothing && is_in_memory(returned, result));
  std::vector<Place> places;
  for (const RustParameter& parameter : parameters) {
    places.push_back(is_known ? assignment.place(parameter, layout_of(parameter.type, version, 0)) : missing(kOwnWay));
    places.back().type = parameter.type;
  }
  return places;
}

Place rust_return_place(const Type& returned, FileAddress function, uint32_t version) {
  const Layout layout = layout_of(returned, version, 0);
  size_t integers = 0;
  int64_t vector = kConvention.first_vector;
  auto next = [&](const Scalar& scalar) {
    return in_register(scalar.is_float ? vector++ : kConvention.result_registers[integers++], scalar.size);
  };
  Place place;
  switch (layout.form) {
    case Form::kEmpty: place = missing("is empty"); break;
    case Form::kScalar:
      place = returned.size() <= kWord ? of_piece(next(layout.first)) : in_pieces(two_words(), returned.size(), next);
      break;
    case Form::kPair: place = in_pieces(layout, returned.size(), next); break;
    case Form::kAggregate:
      if (is_in_memory(returned, layout)) {
        place.kind = Place::Kind::kMemory;
        place.operations = {location::Register{kConvention.stack_pointer},
                            location::EntryValue{kConvention.argument_registers[0], function}};
      } else {
        place = of_piece(next({0, returned.size(), false, false, false}));
      }
      break;
    default: place = missing("is returned in a compiler-specific way"); break;
  }
  place.type = returned;
  return place;
}

}  // namespace spile::debuginfo
