#pragma once
// The nodes behind Type handles, for this folder and for other sources of types (kernelinfo/btf.h): one node per type of the
// traced program, naming others by id. A TypeSource makes nodes when asked, from DWARF, from the cache or from BTF, and keeps
// them; tests make them by hand.

#include <cstdint>
#include <string>
#include <vector>

#include "debuginfo/terms/array_shape.h"
#include "debuginfo/terms/type_kind.h"

namespace spile::debuginfo {

inline constexpr uint64_t kUnknownType = 0;
inline constexpr uint64_t kVoidType = 1;  // no DIE is at offset 1
// An id's bits from here on: which dimension of an array of several, the outermost in memory first.
inline constexpr int kDimensionShift = 54;
inline constexpr uint64_t kMostDimensions = 31;

struct MemberNode {
  std::string name;
  uint64_t type = kUnknownType;
  uint64_t offset = 0;  // bytes
  uint32_t bit_offset = 0;
  uint32_t bit_size = 0;
  bool is_base = false;
};

// One of the forms that a value of a Rust enum has (DW_TAG_variant): its data, and the number that says that the value has this
// form.
struct VariantNode {
  MemberNode data;          // name: of the variant, "Some"
  bool is_default = false;  // it has the form where the number is none of the other variants'
  int64_t value = 0;
};

// A base class whose place in an object is in the object's table of virtual functions (virtual_bases.h).
struct VirtualBaseNode {
  uint64_t type = kUnknownType;
  int64_t slot = 0;
};

struct TypeNode {
  // Nodes that stand for another type, `target`, under a name or with a qualifier.
  enum class Alias : uint8_t { kNone, kTypedef, kConst, kVolatile, kOther };

  TypeKind kind = TypeKind::kUnknown;
  Alias alias = Alias::kNone;
  std::string name{};              // of base types and typedefs; with "struct ", "union ", "class " or "enum " in front of tags
  uint64_t size = 0;               // bytes; 0: not stated
  uint64_t target = kUnknownType;  // id: of an alias, pointer, array (its elements) or function (its result)
  bool is_signed = false;
  bool is_boolean = false;
  bool is_character = false;
  bool is_reference = false;
  bool is_declaration = false;  // without members: see TypeSource::type_definition()
  bool passed_by_reference = false;
  bool has_count = false;    // an array with a bound: `count` elements
  bool is_complex = false;   // a float of two parts
  bool is_extended = false;  // long double: a float of the x87
  uint64_t count = 0;
  ArrayShape shape{};
  uint64_t alignment = 0;  // bytes, where stated (alignas), else 0
  std::vector<MemberNode> members{};
  std::vector<VirtualBaseNode> virtual_bases{};
  std::vector<Enumerator> enumerators{};
  // of a class made from a template: ids of its arguments, kUnknownType for those that are not types
  std::vector<uint64_t> arguments{};
  std::vector<VariantNode> variants{};
  MemberNode discriminant{};  // the number that chooses one of `variants`; type kUnknownType: there is one variant, always
};

class TypeSource {
 public:
  virtual ~TypeSource() = default;
  // Returns the node of a type, valid as long as the source; for an unknown id, one of kUnknown.
  virtual const TypeNode& type_node(uint64_t id) = 0;
  // Returns the id of the definition of a type that is only declared; kUnknownType: the module has none.
  virtual uint64_t type_definition(uint64_t id) = 0;
};

}  // namespace spile::debuginfo
