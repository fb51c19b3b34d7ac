#include "debuginfo/dwarf/concrete_variables.h"

#include <dwarf.h>

namespace spile::debuginfo {
namespace {

constexpr int kDeepest = 200;  // nesting of namespaces
constexpr int kLongestChain = 16;

}  // namespace

void ConcreteVariables::add_variables(Dwarf_Die& scope, int depth) {
  for (ChildDies children(scope); children.valid(); children.next()) {
    const int tag = children.tag();
    if (tag == DW_TAG_variable) {
      if (const auto origin = die_reference(children.die(), DW_AT_abstract_origin)) known_.emplace(origin->addr, children.die());
    } else if ((tag == DW_TAG_namespace || tag == DW_TAG_module) && depth < kDeepest) {
      add_variables(children.die(), depth + 1);
    }
  }
}

std::optional<Dwarf_Die> ConcreteVariables::of(const Dwarf_Die& variable) {
  if (!is_read_) {
    is_read_ = true;
    for (DwarfFile::Unit unit : file_.units())
      if (die_name(unit.die) == "<artificial>") add_variables(unit.die, 0);
  }
  const auto found = known_.find(variable.addr);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<DwarfFile::Unit> unit_of_source(Dwarf_Die function) {
  void* const described_in = function.cu;
  for (int i = 0; i < kLongestChain; ++i) {
    const auto origin = die_reference(function, DW_AT_abstract_origin);
    if (!origin) break;
    function = *origin;
  }
  Dwarf_Die unit;
  if (function.cu == described_in || !dwarf_diecu(&function, &unit, nullptr, nullptr)) return std::nullopt;
  // dwz puts what several units share into partial ones, which no source belongs to.
  if (dwarf_tag(&unit) != DW_TAG_compile_unit) return std::nullopt;
  return DwarfFile::Unit{unit, unit};
}

}  // namespace spile::debuginfo
