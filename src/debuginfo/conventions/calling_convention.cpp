#include "debuginfo/conventions/calling_convention.h"

#include <algorithm>
#include <array>
#include <optional>

#include "abi/machine.h"

namespace spile::debuginfo {
namespace {

using abi::kConvention;

constexpr int kDeepestNesting = 16;
constexpr uint64_t kMostElements = 16;  // of an array that fits two eightbytes

enum class Class : uint8_t { kNone, kSse, kInteger, kMemory };  // in order of what wins where two meet

// The classes of an object's two eightbytes. Memory: both are kMemory.
struct Classes {
  std::array<Class, 2> eightbytes = {Class::kNone, Class::kNone};
  bool known = true;
  FlexibleArrays flexible;

  bool memory() const { return eightbytes[0] == Class::kMemory; }
  size_t count(Class c) const { return static_cast<size_t>(std::count(eightbytes.begin(), eightbytes.end(), c)); }
  void merge(uint64_t eightbyte, Class c) {
    if (eightbyte > 1 || c == Class::kMemory) eightbytes = {Class::kMemory, Class::kMemory};
    else if (!memory()) eightbytes[eightbyte] = std::max(eightbytes[eightbyte], c);
  }
};

uint64_t alignment_of(const Type& type, int depth = 0) {
  if (depth > kDeepestNesting) return 1;
  switch (type.kind()) {
    case TypeKind::kInteger:
    case TypeKind::kEnum:
    case TypeKind::kPointer:
    case TypeKind::kFloat: return std::clamp<uint64_t>(type.size(), 1, 16);
    case TypeKind::kArray: return alignment_of(type.target(), depth + 1);
    case TypeKind::kStruct:
    case TypeKind::kUnion: {
      uint64_t most = std::max<uint64_t>(type.stated_alignment(), 1);
      for (const Member& member : type.members()) most = std::max(most, alignment_of(member.type, depth + 1));
      return most;
    }
    default: return 1;
  }
}

void classify(const Type& type, uint64_t offset, Classes& classes, int depth);

void classify_float(const Type& type, uint64_t offset, Classes& classes) {
  const uint64_t size = type.size();
  if (type.is_extended() || (type.is_complex() && size > 16) || size == 0) return classes.merge(0, Class::kMemory);
  classes.merge(offset / 8, Class::kSse);
  // _Complex double takes two registers; __float128 and vectors take one as a whole, of 16 bytes or, with AVX, up to 64.
  if (size == 16) classes.merge(offset / 8 + 1, type.is_complex() ? Class::kSse : Class::kNone);
}

void classify_members(const Type& type, uint64_t offset, Classes& classes, int depth) {
  if (type.size() > 16) return classes.merge(0, Class::kMemory);
  for (const Member& member : type.members()) {
    if (member.bit_size) {
      classes.merge((offset * 8 + member.offset * 8 + member.bit_offset) / 64, Class::kInteger);
      continue;
    }
    // Packed structures travel in memory.
    if ((offset + member.offset) % alignment_of(member.type) != 0) return classes.merge(0, Class::kMemory);
    classify(member.type, offset + member.offset, classes, depth + 1);
  }
}

void classify(const Type& type, uint64_t offset, Classes& classes, int depth) {
  if (depth > kDeepestNesting) {
    classes.known = false;
    return;
  }
  switch (type.kind()) {
    case TypeKind::kInteger:
    case TypeKind::kEnum:
    case TypeKind::kPointer:
      for (uint64_t at = 0; at < std::max<uint64_t>(type.size(), 1); at += 8) classes.merge((offset + at) / 8, Class::kInteger);
      return;
    case TypeKind::kVoid:  // decltype(nullptr)
      return classes.merge(offset / 8, Class::kInteger);
    case TypeKind::kFloat: return classify_float(type, offset, classes);
    case TypeKind::kStruct:
    case TypeKind::kUnion: return classify_members(type, offset, classes, depth);
    case TypeKind::kArray: {
      const uint64_t stride = type.target().size();
      if (!type.count()) {
        if (classes.flexible == FlexibleArrays::kInMemory) classes.merge(0, Class::kMemory);
        return;
      }
      if (type.size() > 16) return classes.merge(0, Class::kMemory);
      for (uint64_t i = 0; i < std::min(type.count().value_or(0), kMostElements); ++i)
        classify(type.target(), offset + i * stride, classes, depth + 1);
      return;
    }
    default: classes.known = false;
  }
}

Classes classify(const Type& type, FlexibleArrays flexible) {
  Classes classes{.flexible = flexible};
  classify(type, 0, classes, 0);
  return classes;
}

Place in_register(int64_t number) {
  Place place;
  place.kind = Place::Kind::kValue;
  place.operations = {location::Register{number}};
  return place;
}

Place missing(const char* reason) {
  Place place;
  place.reason = reason;
  return place;
}

// An object of one or two eightbytes in registers; these give the general ones and the vector ones in turn.
template <typename NextInteger, typename NextVector>
Place in_registers(const Type& type, const Classes& classes, NextInteger next_integer, NextVector next_vector) {
  if (classes.count(Class::kInteger) + classes.count(Class::kSse) == 0) return missing("is empty");
  auto next = [&](Class c) { return c == Class::kInteger ? next_integer() : next_vector(); };
  if (classes.eightbytes[1] == Class::kNone) return in_register(next(classes.eightbytes[0]));
  Place place;
  place.kind = Place::Kind::kPieces;
  for (size_t i = 0; i < 2; ++i) {
    Piece piece;
    piece.size = static_cast<uint32_t>(i == 0 ? 8 : std::max<uint64_t>(type.size(), 9) - 8);
    if (classes.eightbytes[i] != Class::kNone) {
      piece.kind = Piece::Kind::kValue;
      piece.operations = {location::Register{next(classes.eightbytes[i])}};
    }
    place.pieces.push_back(std::move(piece));
  }
  return place;
}

// Hands out registers and stack in the order of the parameters.
class Assignment {
 public:
  Assignment(bool hidden_return_pointer, FlexibleArrays flexible)
      : flexible_(flexible), integers_(hidden_return_pointer ? 1 : 0) {}

  Place place(const PassedParameter& parameter) {
    if (lost_) return missing("is at a location that depends on a parameter of unknown type before it");
    if (parameter.by_hidden_reference) return pointer_to_object();
    const Classes classes = classify(parameter.type, flexible_);
    if (!classes.known) {
      lost_ = true;
      return missing("has a type that is not supported");
    }
    const size_t integers = classes.count(Class::kInteger), sse = classes.count(Class::kSse);
    if (classes.memory() || integers_ + integers > kConvention.argument_registers.size() ||
        sse_ + sse > kConvention.vector_arguments)
      return on_stack(parameter.type);
    return in_registers(
        parameter.type, classes, [&] { return kConvention.argument_registers[integers_++]; },
        [&] { return kConvention.first_vector + static_cast<int64_t>(sse_++); });
  }

 private:
  Place pointer_to_object() {
    Place place;
    place.kind = Place::Kind::kMemory;
    if (integers_ < kConvention.argument_registers.size()) {
      place.operations = {location::Register{kConvention.argument_registers[integers_++]}};
      return place;
    }
    place.operations = stack_address(8, 8);
    place.operations.emplace_back(location::Deref{8});
    return place;
  }

  Place on_stack(const Type& type) {
    Place place;
    place.kind = Place::Kind::kMemory;
    place.operations = stack_address(type.size(), alignment_of(type));
    return place;
  }

  location::Operations stack_address(uint64_t size, uint64_t alignment) {
    alignment = std::max<uint64_t>(alignment, 8);
    stack_ = (stack_ + alignment - 1) / alignment * alignment;
    location::Operations address = {location::Register{kConvention.stack_pointer},
                                    location::PlusConstant{kConvention.entry_cfa + static_cast<int64_t>(stack_)}};
    stack_ += (size + 7) / 8 * 8;
    return address;
  }

  FlexibleArrays flexible_;
  size_t integers_;
  size_t sse_ = 0;
  uint64_t stack_ = 0;
  bool lost_ = false;
};

bool returned_in_memory(const Type& returned, FlexibleArrays flexible) {
  if (returned.kind() == TypeKind::kVoid || returned.kind() == TypeKind::kUnknown) return false;
  // long double comes back in st(0), though it travels in memory as a parameter.
  if (returned.kind() == TypeKind::kFloat) return false;
  return returned.passed_by_reference() || classify(returned, flexible).memory();
}

}  // namespace

std::vector<Place> parameter_places(const Type& returned, std::span<const PassedParameter> parameters, FlexibleArrays flexible) {
  Assignment assignment(returned_in_memory(returned, flexible), flexible);
  std::vector<Place> places;
  for (const PassedParameter& parameter : parameters) {
    places.push_back(assignment.place(parameter));
    places.back().type = parameter.type;
  }
  return places;
}

Place return_place(const Type& returned, FlexibleArrays flexible) {
  Place place;
  if (returned_in_memory(returned, flexible)) {
    place = in_register(kConvention.result_registers[0]);
    place.kind = Place::Kind::kMemory;
  } else if (const Classes classes = classify(returned, flexible); !classes.known) {
    place = missing("has a type that is not supported");
  } else if (classes.memory()) {
    place = missing("is in an x87 floating-point register");
  } else {
    size_t used = 0;
    int64_t vector = kConvention.first_vector;
    place = in_registers(returned, classes, [&] { return kConvention.result_registers[used++]; }, [&] { return vector++; });
  }
  place.type = returned;
  return place;
}

}  // namespace spile::debuginfo
