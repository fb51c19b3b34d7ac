#pragma once
// Makes the plan by which a value of a type is printed (abi/value_plan.h): structures member by member, arrays, enumerations by
// names, floating-point numbers, and the types that known_types.h knows as people think of them.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "debuginfo/debuginfo.h"
#include "probes/values/plan_writer.h"

namespace spile::probes {

// How much of a value is shown. kNested: numbers and texts, of all else "{...}"; kTop: one level, whose members are kNested
// ($x$); kAll: all ($x$$).
enum class Detail : uint8_t { kNested, kTop, kAll };

struct ValuePlan {
  std::string bytes;        // without its header
  bool names_code = false;  // needs names of the module's functions
  // Why parts are printed as "?": "'.x' of 'struct s' is a floating-point number of 16 bytes ('_Float128')".
  std::vector<std::string> notes;
};

// What types of a module need beyond its debug information.
struct ModuleFacts {
  uint64_t go_types = 0;  // address of the runtime's type data in a Go program at fixed addresses; 0: absent
};

class ValuePlanner;
// Plans a value of a type that is printed in a way of its own; false, with nothing planned: of any other type (known_types.h).
using PlanKnownType = bool (*)(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);

class ValuePlanner {
 public:
  ValuePlanner(const ModuleFacts& facts, PlanKnownType known) : facts_(facts), plan_known_type_(known) {}

  // Makes the plan of a value in memory, or in the words of kMostValueWords. bit_size: of a bit-field, else 0.
  static ValuePlan plan(const debuginfo::Type& type, Detail detail, const ModuleFacts& facts, PlanKnownType known,
                        uint32_t bit_offset = 0, uint32_t bit_size = 0);

  // Makes the plan of an array of one dimension of which two words are given: its address, and the count of its elements.
  static ValuePlan plan_summary(const debuginfo::Type& array, Detail detail, const ModuleFacts& facts, PlanKnownType known);

  // ---- for known types
  // Appends what prints the value of that type at the offset.
  void value(Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);
  // Returns the index of the routine that prints such a value at its address.
  size_t routine_of(const debuginfo::Type& type, Detail detail);
  size_t add(Routine routine);
  // A routine that prints a text, whatever the value.
  size_t text_routine(const std::string& text);
  // The table of an enumeration's constants that the program's debug information does not have.
  size_t table(abi::ValueTable kind, const std::vector<std::pair<std::string, int64_t>>& constants) {
    return writer_.add_table(kind, constants);
  }
  // Prints a pointer at the offset; with more detail than kNested, behind an arrow what it points to.
  void owner(Routine& out, const debuginfo::Type& pointee, uint64_t offset, Detail detail);
  const ModuleFacts& facts() const { return facts_; }

  static Detail inner(Detail detail) { return detail == Detail::kAll ? Detail::kAll : Detail::kNested; }

 private:
  void value_of_kind(Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);
  void integer(Routine& out, const debuginfo::Type& type, uint64_t offset);
  void member_function(Routine& out, uint64_t offset);
  void floating(Routine& out, const debuginfo::Type& type, uint64_t offset);
  void pointer(Routine& out, const debuginfo::Type& type, uint64_t offset);
  void elements_of(Routine& out, const debuginfo::Type& type, Detail detail, const Source& first, const Source& count,
                   const std::optional<Source>& stride);
  bool array_by_numbers(Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);
  void array(Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);
  void bit_field(Routine& out, const debuginfo::Type& type, uint64_t offset, uint32_t bit_offset, uint32_t bit_size);
  void members(Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);
  void list_members(Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail, bool& first,
                    const std::set<std::string>& masked = {});
  void plan_pending();
  bool enter();
  void unknown(Routine& out, const std::string& reason);
  size_t table_of(const debuginfo::Type& type);
  bool is_full() const { return writer_.size() > kMostBytes; }

  // A routine whose steps are not known yet.
  struct Pending {
    size_t index;
    debuginfo::Type type;
    Detail detail;
    std::vector<std::string> path;
  };

  static constexpr size_t kMostBytes = 24000;
  // Types come from other people's files: values within each other in one routine, and values, members' lists and bases in all.
  static constexpr size_t kDeepest = 48, kMostValues = 4000;
  ModuleFacts facts_;
  PlanKnownType plan_known_type_;
  PlanWriter writer_;
  std::map<std::pair<uint64_t, Detail>, size_t> routines_;  // by the type's id
  std::map<uint64_t, size_t> tables_;
  std::map<std::string, size_t> texts_;
  std::vector<std::string> notes_;
  std::vector<std::string> path_;  // of the member at hand, for notes
  std::vector<Pending> pending_;
  size_t depth_ = 0, values_ = 0;
};

// Finds a member by its name in a structure, in its bases, and within its members, the nearest to the surface first. Its offset
// is from the start of `type`. of_kind: kUnknown for any.
std::optional<debuginfo::Member> find_within(const debuginfo::Type& type, std::string_view name,
                                             debuginfo::TypeKind of_kind = debuginfo::TypeKind::kUnknown);

}  // namespace spile::probes
