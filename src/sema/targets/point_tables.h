#pragma once
// Handlers that many points share although their variables are in different places: these become rows of a table (Probe::tables).

#include "sema/terms/elaboration.h"

namespace spile::sema {

// Whether a place can be a row of a table: it asks for nothing but the registers, the CFA and the memory of its point, and known
// values of the function's entry.
bool fits_table(const Binding& binding);

// Whether the points of a draft may share handlers with tables: their handlers are on code of processes, run there or in the
// kernel over an arena, and write to no variable of theirs.
bool may_use_tables(const Draft& draft, const Program& program);

// The table of one point, while its variables are being bound.
class PointTable {
 public:
  // Returns the binding that stands in the handler for `exact`, of a slot that equal places share. REQUIRES: fits_table(exact).
  Binding add_value(Binding exact);
  // The same for a list of variables.
  Binding add_list(PointSlot list);
  std::vector<PointSlot> take_slots() { return std::move(slots_); }

 private:
  std::vector<PointSlot> slots_;
  std::vector<std::pair<Binding, uint32_t>> values_;  // of values added: what they are, and their slots
};

}  // namespace spile::sema
