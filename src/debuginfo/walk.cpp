// Paths ($p->next->value[3]) on places, and the loads at their ends.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "abi/machine.h"
#include "base/diagnostics.h"
#include "debuginfo/array_elements.h"
#include "debuginfo/debuginfo.h"
#include "debuginfo/place_parts.h"
#include "debuginfo/terms/macro_members.h"
#include "debuginfo/terms/virtual_bases.h"

namespace spile::debuginfo {
namespace {

constexpr size_t kMostNamesInHint = 12;

Error unreadable(const std::string& reason) { return {fmt::format("the value {}", reason), {}}; }

// The memory that a pointer points to.
Result<Place> dereferenced(const Place& pointer) {
  Place plain = pointer;
  // As a plain number: load() would follow a C++ reference one step further.
  if (plain.kind == Place::Kind::kMemory) {
    plain.operations.emplace_back(location::Deref{8});
  } else {
    plain = part_of(pointer, 0, 8, pointer.type);
    if (!plain.available()) return unreadable(plain.reason);
    if (plain.kind == Place::Kind::kMemory) plain.operations.emplace_back(location::Deref{8});
  }
  return memory_at(std::move(plain.operations), pointer.type.target());
}

Result<Place> without_reference(const Place& place) {
  if (!place.type.is_reference()) return place;
  return dereferenced(place);
}

Result<Place> walk_member(const Place& from, const std::string& name);

// The member of a virtual base class of the object, or that class by its name. nullopt: none has it, or the object is not in
// memory.
std::optional<Result<Place>> member_of_virtual_base(const Place& object, const std::string& name) {
  if (object.kind != Place::Kind::kMemory) return std::nullopt;
  for (const VirtualBase& base : virtual_bases(object.type)) {
    const bool is_itself = base.type.plain_name() == name;
    if (!is_itself && !base.type.member(name)) continue;
    location::Operations address = object.operations;
    if (base.offset) address.emplace_back(location::PlusConstant{static_cast<int64_t>(base.offset)});
    address.insert(address.end(), {location::Stack::kDup, location::Deref{8}, location::PlusConstant{base.slot},
                                   location::Deref{8}, location::Binary::kPlus});
    Place there = memory_at(std::move(address), base.type);
    return is_itself ? Result<Place>(std::move(there)) : walk_member(there, name);
  }
  return std::nullopt;
}

Result<Place> walk_member(const Place& from, const std::string& name) {
  TRY(Place object, without_reference(from));
  if (object.type.kind() == TypeKind::kPointer) {
    TRY(object, dereferenced(object));
  }
  const Type& type = object.type;
  if (type.kind() != TypeKind::kStruct && type.kind() != TypeKind::kUnion)
    return Error{fmt::format("'{}' has no member '{}': it is not a struct or union", from.type.name(), name), {}};
  auto member = type.member(name);
  if (!member) {  // a base class by its name: its members may have namesakes in ours
    for (const Member& base : type.members()) {
      if (base.is_base && base.type.plain_name() == name) member = base;
    }
  }
  if (std::string_view path = member ? std::string_view() : macro_member(type.name(), name); !path.empty()) {
    // A structure that lacks the whole path, too, is the script's mistake, and reported by the name in the script.
    Result<Place> there = object;
    while (!path.empty() && there.ok()) {
      const size_t end = std::min(path.find('.'), path.size());
      there = walk_member(*there, std::string(path.substr(0, end)));
      path.remove_prefix(std::min(end + 1, path.size()));
    }
    if (there.ok()) return there;
  }
  if (!member) {
    if (auto inherited = member_of_virtual_base(object, name)) return std::move(*inherited);
    std::vector<std::string> names = type.member_names();
    if (names.empty())
      return Error{fmt::format("'{}' has no member '{}': it is only declared, not defined", type.name(), name), {}};
    // Members of the kernel that only its own accessors shall read have got underscores: task_struct's __state.
    const bool marked = std::ranges::find(names, "__" + name) != names.end();
    const std::string near = marked ? "__" + name : nearest_name(name, names);
    if (names.size() > kMostNamesInHint) {
      names.resize(kMostNamesInHint);
      names.push_back("...");
    }
    return Error{fmt::format("'{}' has no member '{}'", type.name(), name),
                 near.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near)};
  }
  const uint64_t bytes = member->bit_size ? (member->bit_offset + member->bit_size + 7) / 8 : member->type.size();
  Place part = part_of(object, member->offset, bytes, member->type);
  part.bit_offset = member->bit_offset;
  part.bit_size = member->bit_size;
  return part;
}

// The element that the first of the steps lead to. used: set to how many they are.
Result<Place> walk_index(const Place& from, std::span<const Step> steps, size_t& used) {
  const Step& step = steps.front();
  used = 1;
  TRY(Place object, without_reference(from));
  if (object.type.kind() == TypeKind::kStruct && object.type.plain_name().starts_with("[]")) {  // a slice of Go
    TRY(object, walk_member(object, "array"));
  }
  const TypeKind kind = object.type.kind();
  if (kind != TypeKind::kArray && kind != TypeKind::kPointer)
    return Error{fmt::format("'{}' can't be indexed: it is neither an array nor a pointer", from.type.name()), {}};
  if (object.type.shape()) {
    TRY(used, count_of_indices(object.type, steps));
    return element_of(object, steps.first(used));
  }
  const Type element = object.type.target();
  const uint64_t stride = element.size();
  if (stride == 0) return Error{fmt::format("'{}' can't be indexed: the size of its elements is unknown", from.type.name()), {}};
  if (kind == TypeKind::kPointer) {
    TRY(object, dereferenced(object));
  }
  if (step.kind == Step::Kind::kIndex) {
    const uint64_t offset = static_cast<uint64_t>(step.index) * stride;
    if (object.kind != Place::Kind::kMemory && step.index < 0) return unreadable("is outside the array");
    return part_of(object, offset, stride, element);
  }
  if (object.kind != Place::Kind::kMemory)
    return unreadable("is in an array that is kept in registers, which only constant indices can reach");
  object.operations.emplace_back(location::Index{static_cast<uint32_t>(step.index)});
  if (stride != 1) {
    object.operations.emplace_back(location::Constant{static_cast<int64_t>(stride)});
    object.operations.emplace_back(location::Binary::kMul);
  }
  object.operations.emplace_back(location::Binary::kPlus);
  return memory_at(std::move(object.operations), element);
}

Result<location::Operations> load_bit_field(const Place& place) {
  location::Operations code = place.operations;
  const uint64_t end = uint64_t{place.bit_offset} + place.bit_size;
  if (place.kind == Place::Kind::kMemory) {
    const uint64_t bytes = (end + 7) / 8;
    if (bytes > 8) return unreadable("is a packed bit-field across more than 8 bytes");
    const uint64_t unit = place.type.size();
    const uint64_t enough = bytes > 4 ? 8 : bytes > 2 ? 4 : bytes;
    const bool unit_fits = bytes <= unit && (unit == 1 || unit == 2 || unit == 4 || unit == 8);
    code.emplace_back(location::Deref{static_cast<uint8_t>(unit_fits ? unit : enough)});
  }
  if (end > 64) return unreadable("is a packed bit-field across more than 8 bytes");
  code.emplace_back(
      location::BitField{static_cast<uint8_t>(place.bit_offset), static_cast<uint8_t>(place.bit_size), place.type.is_signed()});
  return code;
}

}  // namespace

Result<Place> walk(const Place& start, std::span<const Step> steps) {
  Place place = start;
  for (size_t next = 0; next < steps.size();) {
    const Step& step = steps[next];
    size_t used = 1;
    place.array_numbers = start.array_numbers;
    if (!place.available()) return unreadable(place.reason);
    switch (step.kind) {
      case Step::Kind::kMember: {
        TRY(place, walk_member(place, step.member));
        break;
      }
      case Step::Kind::kIndex:
      case Step::Kind::kDynamicIndex: {
        TRY(place, walk_index(place, steps.subspan(next), used));
        break;
      }
      case Step::Kind::kDereference: {
        TRY(Place object, without_reference(place));
        if (object.type.kind() == TypeKind::kArray && !object.type.shape()) {
          place = part_of(object, 0, object.type.target().size(), object.type.target());
          break;
        }
        if (object.type.kind() != TypeKind::kPointer)
          return Error{fmt::format("'{}' can't be dereferenced: it is not a pointer", place.type.name()), {}};
        TRY(place, dereferenced(object));
        break;
      }
    }
    next += used;
  }
  place.array_numbers = start.array_numbers;
  return place;
}

Result<location::Operations> load(const Place& place) {
  if (!place.available()) return unreadable(place.reason);
  if (place.bit_size) return load_bit_field(place);
  const Type& type = place.type;
  if (type.is_reference()) {
    TRY(Place object, dereferenced(place));
    const TypeKind kind = object.type.kind();
    // A reference to an object that isn't a number is worth its address, like a pointer.
    if (kind == TypeKind::kStruct || kind == TypeKind::kUnion) return std::move(object.operations);
    return load(object);
  }
  switch (type.kind()) {
    case TypeKind::kArray:
      if (type.shape()) return data_of(place);
      [[fallthrough]];
    case TypeKind::kFunction: return address(place);
    case TypeKind::kStruct:
    case TypeKind::kUnion:
      return Error{fmt::format("the value is a whole '{}'", type.name()),
                   "choose a member with ->, take its address with &, or show it as text with a $ behind it: $name$"};
    case TypeKind::kFloat:  // the bits of a double
      if (type.size() == 4 || type.size() == 8) break;
      return Error{fmt::format("the value is a floating-point number of {} bytes ('{}')", type.size(), type.name()), {}};
    case TypeKind::kVoid:
    case TypeKind::kUnknown: return Error{fmt::format("the value has no size ('{}')", type.name()), {}};
    default: break;
  }
  if (!type.is_scalar() && type.kind() != TypeKind::kFloat)
    return Error{fmt::format("the value is a number of {} bytes ('{}')", type.size(), type.name()), {}};
  const auto size = static_cast<uint8_t>(type.size());
  Place whole = place.kind == Place::Kind::kPieces ? part_of(place, 0, size, type) : place;
  if (!whole.available()) return unreadable(whole.reason);
  if (whole.kind == Place::Kind::kMemory) whole.operations.emplace_back(location::Deref{size, type.is_signed()});
  else if (size < 8) whole.operations.emplace_back(location::Convert{size, type.is_signed()});
  if (type.kind() == TypeKind::kFloat && size == 4) whole.operations.emplace_back(location::Unary::kFloatToDouble);
  return std::move(whole.operations);
}

// Appends the bytes [begin, end) of a piece, at most 8, shifted left so that the first one is byte `at` of the word; or-s them to
// what is there.
static void append_bytes(location::Operations& code, const Piece& piece, uint64_t begin, uint64_t end, uint64_t at,
                         bool is_first) {
  const uint64_t bits = 8 * (end - begin);
  auto shift = [&](uint64_t by, location::Binary direction) {
    if (by == 0) return;
    code.emplace_back(location::Constant{static_cast<int64_t>(by)});
    code.emplace_back(direction);
  };
  bool more = !is_first;
  if (piece.kind == Piece::Kind::kMemory) {
    // By powers of two, as loads are.
    for (uint64_t done = begin; done < end;) {
      const uint64_t size = std::bit_floor(end - done);
      code.insert(code.end(), piece.operations.begin(), piece.operations.end());
      append_offset(code, static_cast<int64_t>(done));
      code.emplace_back(location::Deref{static_cast<uint8_t>(size)});
      shift(8 * (at + done - begin), location::Binary::kShl);
      if (more) code.emplace_back(location::Binary::kOr);
      more = true;
      done += size;
    }
    return;
  }
  code.insert(code.end(), piece.operations.begin(), piece.operations.end());
  shift(8 * begin, location::Binary::kShr);
  if (bits < 64) {
    code.emplace_back(location::Constant{static_cast<int64_t>((uint64_t{1} << bits) - 1)});
    code.emplace_back(location::Binary::kAnd);
  }
  shift(8 * at, location::Binary::kShl);
  if (more) code.emplace_back(location::Binary::kOr);
}

Result<location::Operations> load_word(const Place& place, uint64_t offset) {
  if (!place.available()) return unreadable(place.reason);
  if (place.kind == Place::Kind::kMemory) return unreadable("is in memory");
  std::vector<Piece> pieces = place.pieces;
  if (place.kind == Place::Kind::kValue) pieces = {{Piece::Kind::kValue, 8, place.operations}};
  const uint64_t size = place.type.size() ? place.type.size() : 8;
  location::Operations code;
  uint64_t start = 0;
  for (const Piece& piece : pieces) {
    const uint64_t begin = std::max(offset, start), end = std::min({offset + 8, start + piece.size, size});
    if (begin < end) {
      if (piece.kind == Piece::Kind::kMissing) return unreadable("is optimized out");
      if (piece.kind == Piece::Kind::kValue && end - start > 8) return unreadable("is not in the register that holds the object");
      append_bytes(code, piece, begin - start, end - start, begin - offset, code.empty());
    }
    start += piece.size;
  }
  if (std::min(offset + 8, size) > start) return unreadable("is optimized out");
  if (code.empty()) code.emplace_back(location::Constant{0});
  return code;
}

Result<location::Operations> address(const Place& place) {
  if (!place.available()) return unreadable(place.reason);
  if (place.bit_size) return unreadable("is a bit-field, which has no address");
  if (place.kind != Place::Kind::kMemory) return unreadable("is in a register, which has no address");
  return place.operations;
}

}  // namespace spile::debuginfo
