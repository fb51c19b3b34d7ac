// Types of libstdc++ and libc++ that hold no elements, or few. As in cpp_types.cpp, members are found by their names in the debug
// information; a class of that name without them is somebody else's.

#include "probes/values/cpp_value.h"

namespace spile::probes {

namespace {

using abi::ValueForm;
using debuginfo::Member;
using debuginfo::Type;
using debuginfo::TypeKind;
using Value = CppValue;

// The bits from bit 0 on, as those of a vector<bool>.
bool plan_bitset(const Value& v) {
  auto words = v.find({"_M_w", "__first_"});
  const auto count = number_of(v.type);
  if (!count || (!words && *count)) return false;
  if (!v.is_brief("[]"))
    v.out.bit_vector("[]", Source().base(v.offset + (words ? words->offset : 0)), Source::constant(0),
                     Source::constant(static_cast<int64_t>(*count)));
  return true;
}

// The type of the value within, by the function that the library made to handle it.
bool plan_any(const Value& v) {
  auto handler = v.find({"_M_manager", "__h_"});
  if (!handler || handler->type.kind() != TypeKind::kPointer || handler->type.target().kind() != TypeKind::kFunction)
    return false;
  Routine there;
  there.text("any(");
  there.code(abi::ValueCode::kArgument, v.word(*handler), Source::constant(0));
  there.text(")");
  const size_t named = v.planner.add(std::move(there));
  v.out.choose(v.word(*handler), {{0, v.planner.text_routine("any()")}}, named);
  return true;
}

bool plan_the_member(const Value& v, std::initializer_list<std::string_view> names) {
  auto member = v.find(names);
  if (!member) return false;
  v.planner.value(v.out, member->type, v.offset + member->offset, v.detail);
  return true;
}
bool plan_path(const Value& v) { return plan_the_member(v, {"_M_pathname", "__pn_"}); }
bool plan_thread(const Value& v) { return plan_the_member(v, {"_M_thread", "__id_", "__t_"}); }
bool plan_flag(const Value& v) { return plan_the_member(v, {"_M_i", "__a_value"}); }

// glibc's pthread_mutex_t: the thread that holds it.
bool plan_mutex(const Value& v) {
  auto inner = v.find({"_M_mutex", "__m_"});
  auto lock = inner ? find_within(inner->type, "__lock") : std::nullopt,
       owner = inner ? find_within(inner->type, "__owner") : std::nullopt;
  if (!lock || !owner || lock->type.size() != 4 || owner->type.size() != 4) return false;
  Routine locked;
  locked.text("locked by ");
  locked.number(v.offset + inner->offset + owner->offset, 4, ValueForm::kSigned);
  const size_t held = v.planner.add(std::move(locked));
  v.out.choose(Source().base(v.offset + inner->offset + lock->offset).load(4), {{0, v.planner.text_routine("unlocked")}}, held);
  return true;
}

bool plan_valarray(const Value& v) {
  auto data = v.find({"_M_data", "__begin_"}), size = v.find({"_M_size"}), end = v.find({"__end_"});
  if (!data || data->type.kind() != TypeKind::kPointer || data->type.target().size() == 0 || (!size && !end)) return false;
  const Type element = data->type.target();
  return plan_range(v, element, v.word(*data), size ? v.word(*size) : v.word(*end).minus(v.word(*data)).divide(element.size()));
}

// A pointer in the form of a class: iterators of vectors and strings, reference_wrapper.
bool plan_pointer_class(const Value& v) {
  auto pointer = v.find({"_M_current", "_M_data", "__i_", "__i", "__f_"});
  if (!pointer || pointer->type.kind() != TypeKind::kPointer) return false;
  const Type pointee = pointer->type.target();
  if (pointee.is_character()) v.planner.value(v.out, pointer->type, v.offset + pointer->offset, v.detail);
  else v.planner.owner(v.out, pointee, v.offset + pointer->offset, v.detail);
  return true;
}

// Of regular expressions: the text between two iterators.
bool plan_match(const Value& v) {
  auto first = v.find({"first"}), second = v.find({"second"}), matched = v.find({"matched"});
  if (!first || !second || !matched) return false;
  Type pointer = first->type;
  if (pointer.kind() == TypeKind::kStruct) {
    auto inner = find_within(pointer, "_M_current");
    if (!inner) inner = find_within(pointer, "__i_");
    if (!inner) return false;
    pointer = inner->type;
  }
  const uint64_t unit = pointer.kind() == TypeKind::kPointer ? pointer.target().size() : 0;
  if (unit != 1 && unit != 2 && unit != 4) return false;
  Routine text;
  text.span(v.word(*first), v.word(*second).minus(v.word(*first)).divide(unit), static_cast<uint8_t>(unit));
  const size_t there = v.planner.add(std::move(text));
  v.out.choose(v.at(*matched).load(1), {{0, v.planner.text_routine("unmatched")}}, there);
  return true;
}
// In libstdc++ three more submatches follow: what did not match, what is in front of the match, and what is behind it.
bool plan_matches(const Value& v) {
  if (auto matches = v.find({"__matches_"}))
    return v.planner.value(v.out, matches->type, v.offset + matches->offset, v.detail), true;
  auto begin = v.find({"_M_start"}), end = v.find({"_M_finish"});
  if (!begin || !end || begin->type.kind() != TypeKind::kPointer || begin->type.target().size() == 0) return false;
  const Type element = begin->type.target();
  const Source count = v.word(*end).minus(v.word(*begin)).divide(element.size());
  const size_t none = v.planner.text_routine("[]");
  Routine some;
  const Value shown{v.planner, some, v.type, v.offset, v.detail};
  plan_range(shown, element, v.word(*begin), Source(count).plus(-3));
  const size_t there = v.planner.add(std::move(some));
  v.out.choose(count, {{0, none}}, there);
  return true;
}

// <compare>
bool plan_ordering(const Value& v) {
  auto value = v.find({"_M_value", "__value_"});
  if (!value || value->type.size() != 1) return false;
  v.out.choose(
      v.at(*value).load(1, true),
      {{-1, v.planner.text_routine("less")}, {0, v.planner.text_routine("equal")}, {1, v.planner.text_routine("greater")}},
      v.planner.text_routine("unordered"));
  return true;
}

// ---- dates

// Prints a small number with at least two digits if it is part of a date.
void put_of_date(const Value& v, Routine& out, const Member& member, bool two_digits) {
  if (two_digits) {
    std::vector<std::pair<int64_t, size_t>> small;
    for (int64_t digit = 0; digit < 10; ++digit) small.emplace_back(digit, v.planner.text_routine("0"));
    out.choose(v.at(member).load(1), small, v.planner.text_routine(""));
  }
  out.number(v.offset + member.offset, 1, ValueForm::kUnsigned);
}
bool plan_year(const Value& v) {
  auto year = v.find({"_M_y", "__y_"});
  if (!year || year->type.size() != 2) return false;
  v.out.number(v.offset + year->offset, 2, ValueForm::kSigned);
  return true;
}
bool plan_part_of_date(const Value& v) {
  auto part = v.find({"_M_m", "_M_d", "_M_wd", "__m_", "__d_", "__wd_"});
  if (!part || part->type.size() != 1) return false;
  put_of_date(v, v.out, *part, false);
  return true;
}
bool plan_date(const Value& v) {
  auto part = [&](std::initializer_list<std::string_view> names, uint64_t size) -> std::optional<Member> {
    for (std::string_view name : names) {
      auto member = find_within(v.type, name, TypeKind::kInteger);
      if (member && member->type.size() == size) return member;
    }
    return std::nullopt;
  };
  auto year = part({"_M_y", "__y_"}, 2), month = part({"_M_m", "__m_"}, 1), day = part({"_M_d", "__d_"}, 1);
  if (!year || !month || !day) return false;
  v.out.number(v.offset + year->offset, 2, ValueForm::kSigned);
  v.out.text("-");
  put_of_date(v, v.out, *month, true);
  v.out.text("-");
  put_of_date(v, v.out, *day, true);
  return true;
}

constexpr KnownCppType kTypes[] = {
    {"bitset", plan_bitset},
    {"any", plan_any},
    {"path", plan_path},
    {"id", plan_thread},
    {"thread", plan_thread},
    {"__thread_id", plan_thread},
    {"atomic_flag", plan_flag},
    {"mutex", plan_mutex},
    {"recursive_mutex", plan_mutex},
    {"timed_mutex", plan_mutex},
    {"recursive_timed_mutex", plan_mutex},
    {"valarray", plan_valarray},
    {"reference_wrapper", plan_pointer_class},
    {"__normal_iterator", plan_pointer_class},
    {"__wrap_iter", plan_pointer_class},
    {"sub_match", plan_match},
    {"match_results", plan_matches},
    {"strong_ordering", plan_ordering},
    {"weak_ordering", plan_ordering},
    {"partial_ordering", plan_ordering},
    {"year", plan_year},
    {"month", plan_part_of_date},
    {"day", plan_part_of_date},
    {"weekday", plan_part_of_date},
    {"year_month_day", plan_date},
};

}  // namespace

bool plan_small_cpp_type(const CppValue& value, std::string_view base) { return plan_known(kTypes, value, base); }

}  // namespace spile::probes
