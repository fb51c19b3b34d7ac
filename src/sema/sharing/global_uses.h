#pragma once
// Finds which globals the code of a probe or function reads and writes, and how, for classify-globals and analyze-uses.

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "sema/terms/program.h"
#include "syntax/visitor.h"

namespace spile::sema {

// Returns the global that the expression is, or is an element of; null: none. REQUIRES, as below: resolve-symbols has run.
inline syntax::Global* global_of(const syntax::Expression& x) {
  if (const auto* variable = syntax::as<syntax::Variable>(x)) return variable->global;
  if (const auto* index = syntax::as<syntax::Index>(x)) return index->array->global;
  return nullptr;
}

// Returns what identifies the variable, global or local; null: the expression is none.
inline const void* variable_of(const syntax::Expression& x) {
  if (const syntax::Global* global = global_of(x)) return global;
  const auto* variable = syntax::as<syntax::Variable>(x);
  return variable ? variable->local : nullptr;
}

struct Touch {
  bool read = false;
  bool accumulated = false;  // x++, x += e, x <<< e, a[k]++ ... as a statement: the value isn't used
  bool summed = false;       // accumulated other than by x++ and a[k]++: how often doesn't follow from the sum
  bool written = false;      // any other change
};
using Touches = std::map<syntax::Global*, Touch>;

// Remembers what it found in functions. REQUIRES: resolve-symbols has run, and trees do not change while it lives.
class GlobalUses {
 public:
  // Returns every global that a run of the probe may touch, in its condition, saves at the entry and body, and in functions it
  // calls.
  Touches of(const Probe& probe);
  // Returns the library functions (indexes into intrinsics()) that the probe may call, directly or through others.
  std::set<int> intrinsics_of(const Probe& probe);
  // Returns the script functions that the probe may call, directly or through others.
  std::set<const syntax::Function*> functions_of(const Probe& probe);
  // Returns the globals that the value of an expression depends on, each once, in no order.
  std::vector<syntax::Global*> read_by(const syntax::Expression& x);

 private:
  struct Code {
    Touches touches;
    std::set<const syntax::Function*> callees;
    std::set<int> intrinsics;
  };
  static Code scan(const Probe& probe);
  static Code scan(const syntax::Function& function);
  // Adds the uses of the callees, transitively.
  Code close(Code code);

  std::unordered_map<const syntax::Function*, Code> functions_;
};

}  // namespace spile::sema
