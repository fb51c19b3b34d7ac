#pragma once
// What the planners of C++'s types share.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "probes/values/value_planner.h"

namespace spile::probes {

// A value of a known type that is being planned.
struct CppValue {
  ValuePlanner& planner;
  Routine& out;
  const debuginfo::Type& type;
  uint64_t offset;
  Detail detail;

  std::optional<debuginfo::Member> find(std::initializer_list<std::string_view> names) const {
    for (std::string_view name : names) {
      if (auto member = find_within(type, name)) return member;
    }
    return std::nullopt;
  }
  // The place of a member in the value at hand.
  Source at(const debuginfo::Member& member) const { return Source().base(offset + member.offset); }
  Source word(const debuginfo::Member& member) const { return at(member).load(); }
  debuginfo::Type argument(size_t index) const {
    const std::vector<debuginfo::Type> arguments = type.arguments();
    return index < arguments.size() ? arguments[index] : debuginfo::Type();
  }
  // Containers are shown as brackets where only one level is wanted.
  bool is_brief(std::string_view brackets) const {
    if (detail != Detail::kNested) return false;
    out.text({brackets.data(), 1});
    out.text("...");
    out.text({brackets.data() + 1, 1});
    return true;
  }
  size_t element(const debuginfo::Type& of) const { return planner.routine_of(of, ValuePlanner::inner(detail)); }
};

// A class of the library by its name without arguments, and the function that plans its values. The function returns false where
// the class has other members than the library's.
struct KnownCppType {
  std::string_view name;
  bool (*plan)(const CppValue& value);
};
// Plans a value by the table's row of this name. Returns false where no row has it, or the row's function returns false.
inline bool plan_known(std::span<const KnownCppType> types, const CppValue& value, std::string_view base) {
  const auto known = std::ranges::find(types, base, &KnownCppType::name);
  return known != types.end() && known->plan(value);
}

// Elements between two pointers, or behind one; texts where they are characters.
bool plan_range(const CppValue& v, const debuginfo::Type& element, const Source& first, const Source& count);

// Returns the last number among the template arguments of a class: of "span<int, 3ul>" 3.
std::optional<uint64_t> number_of(const debuginfo::Type& type);

// Types of the library that hold no elements, or few: bitset, any, path, mutex (cpp_small_types.cpp). base: the name without
// arguments.
bool plan_small_cpp_type(const CppValue& value, std::string_view base);
// Types of the library that lead to a value elsewhere: iterators, futures, error codes (cpp_handle_types.cpp).
bool plan_cpp_handle_type(const CppValue& value, std::string_view base);

}  // namespace spile::probes
