#include "debuginfo/dwarf/value_ranges.h"

#include <dwarf.h>

#include <algorithm>

#include "debuginfo/dwarf/dwarf_types.h"

namespace spile::debuginfo {
namespace {

constexpr int kDeepestBlock = 200;
constexpr size_t kMostRanges = 4096;

void add_code_of(Dwarf_Die& scope, std::vector<CodeRange>& ranges) {
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0; ranges.size() < kMostRanges && (at = dwarf_ranges(&scope, at, &base, &begin, &end)) > 0;)
    if (begin < end) ranges.push_back({FileAddress(begin), FileAddress(end)});
}

void add_values_of(Dwarf_Die& variable, Dwarf_Die& scope, std::vector<CodeRange>& ranges) {
  Dwarf_Attribute attribute;
  if (dwarf_attr_integrate(&variable, DW_AT_const_value, &attribute)) return add_code_of(scope, ranges);
  if (!dwarf_attr_integrate(&variable, DW_AT_location, &attribute)) return;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_getlocation(&attribute, &operations, &count) == 0) {
    if (count > 0) add_code_of(scope, ranges);
    return;
  }
  Dwarf_Addr base = 0, begin = 0, end = 0;
  for (ptrdiff_t at = 0;
       ranges.size() < kMostRanges && (at = dwarf_getlocations(&attribute, at, &base, &begin, &end, &operations, &count)) > 0;)
    if (count > 0 && begin < end) ranges.push_back({FileAddress(begin), FileAddress(end)});
}

void visit(Dwarf_Die& scope, const std::string& name, std::vector<CodeRange>& ranges, int depth) {
  if (depth > kDeepestBlock) return;
  for (ChildDies children(scope); children.valid() && ranges.size() < kMostRanges; children.next()) {
    switch (children.tag()) {
      case DW_TAG_formal_parameter:
      case DW_TAG_variable:
        if (die_name(children.die()) == name) add_values_of(children.die(), scope, ranges);
        break;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block: visit(children.die(), name, ranges, depth + 1); break;
      default: break;
    }
  }
}

}  // namespace

std::vector<CodeRange> value_ranges(Dwarf_Die& function, const std::string& name) {
  std::vector<CodeRange> all, apart;
  visit(function, name, all, 0);
  std::ranges::sort(all, {}, [](const CodeRange& range) { return std::pair(range.begin.value, range.end.value); });
  for (const CodeRange& range : all) {
    if (!apart.empty() && range.begin <= apart.back().end) apart.back().end = std::max(apart.back().end, range.end);
    else apart.push_back(range);
  }
  return apart;
}

}  // namespace spile::debuginfo
