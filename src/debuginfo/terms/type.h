#pragma once
// The types of a traced program as its debug information describes them. A Type is a small handle: copying is cheap, it
// keeps what it needs of its Module alive, and the description behind it is read when first asked for.
// Thread rule: that of the Module (one thread at a time). typedef, const, volatile, restrict and atomic are followed by
// every question but name(); a broken or cyclic description reads as kUnknown.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "debuginfo/terms/type_kind.h"

namespace spile::debuginfo {

class TypeSource;
struct ArrayShape;
struct TypeNode;
struct Member;
struct Variant;

class Type {
 public:
  Type() = default;  // kUnknown
  Type(std::shared_ptr<TypeSource> source, uint64_t id) : source_(std::move(source)), id_(id) {}

  TypeKind kind() const;
  // Returns the type as C writes it: "int", "struct node*", "char[16]", "uint32_t" for a typedef's name.
  std::string name() const;
  // Returns the name of the type behind typedefs and qualifiers, without "struct " and its kind: "vector<int, std::allocator<int>
  // >".
  std::string plain_name() const;
  // Bytes; 0 where unknown (void, functions, arrays without bound, declarations without definition).
  uint64_t size() const;

  bool is_signed() const;  // integers and enums
  bool is_boolean() const;
  bool is_character() const;  // char, signed char, unsigned char, char8_t: any one-byte character type
  bool is_reference() const;  // C++ & and &&
  bool is_scalar() const;     // integer, enum or pointer of 1, 2, 4 or 8 bytes: loads as one number
  // Whether it is a pointer to, or an array of, one-byte characters, so that it can be printed as a string.
  bool is_string() const;
  // Whether it is an array of characters with a length of its own, behind which is no NUL: Fortran's CHARACTER.
  bool is_text() const;

  Type target() const;                    // what a pointer points to, an array holds, a function returns; of others kUnknown
  std::optional<uint64_t> count() const;  // elements of an array; nothing where it has no bound
  const ArrayShape* shape() const;        // of an array that is not as C has them; else null
  std::vector<Member> members() const;    // of a struct or union, base classes first; a declaration's definition is sought
  std::vector<Enumerator> enumerators() const;  // of an enum, in the order of their declaration; else empty
  std::vector<Type> arguments() const;          // of a class made from a template; kUnknown for those that are not types
  std::vector<Variant> variants() const;        // of a Rust enum with data; else empty
  std::optional<Member> discriminant() const;   // the number in a Rust enum that says which of its variants a value is
  uint64_t alignment() const;                   // bytes, stated or natural; 1 where unknown
  uint64_t stated_alignment() const;            // bytes, by alignas or the like; 0 where it has its natural one
  bool is_only_declared() const;                // a struct, union or enum whose definition the module lacks
  bool is_complex() const;
  bool is_extended() const;          // long double, alone or complex
  bool passed_by_reference() const;  // a C++ class that the ABI passes by hidden reference

  // Finds a member by name, also one inside anonymous members and base classes; its offset is from the start of this type.
  // nullopt: none.
  std::optional<Member> member(std::string_view name) const;
  // Returns all names that member() finds, for did-you-mean.
  std::vector<std::string> member_names() const;

  // Whether it is the type of some module; a default Type is not.
  bool valid() const { return source_ != nullptr; }
  uint64_t node_id() const;            // behind typedefs and qualifiers
  uint64_t id() const { return id_; }  // the same for each run with the same build of the module
  const std::shared_ptr<TypeSource>& source() const { return source_; }

 private:
  const TypeNode& node() const;      // after typedefs and qualifiers
  const TypeNode& complete() const;  // for a declaration, its definition where there is one

  std::shared_ptr<TypeSource> source_;
  uint64_t id_ = 0;
};

struct Member {
  std::string name;  // "" for anonymous members
  Type type;
  uint64_t offset = 0;      // bytes from the start of the type it was asked of
  uint32_t bit_offset = 0;  // of a bit-field: bits from `offset`, counted from the least significant
  uint32_t bit_size = 0;    // 0: not a bit-field
  bool is_base = false;     // a base class; its name is the class's
};

// A form of values of a Rust enum.
struct Variant {
  Member data;              // name: "Some"
  bool is_default = false;  // where discriminant() is none of the other variants' values
  int64_t value = 0;
};

}  // namespace spile::debuginfo
