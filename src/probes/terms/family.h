#pragma once
// Families of probe points: begin, timer, process.function, kernel.trace ... Each has a file of its own.
//
// To add a family: a file that defines a Family, its declaration and its line in registry.cpp, a test; and a new sema::ProbeKind
// if no present one fits (sema/terms/probe_kind.h).
//
// One thread. Points given to these functions have at least one component.

#include <string>
#include <vector>

#include "base/result.h"
#include "sema/terms/target_info.h"
#include "syntax/tree.h"

namespace spile::probes {

class TracedWorld;

using Points = std::vector<sema::ResolvedPoint>;

struct Family {
  const char* name;  // first component of its points: "process"; "" for the last family, which takes what no other family does
  // Reports whether the point belongs to the family, judged by its shape. The first family that accepts a point resolves it.
  bool (*takes)(const syntax::ProbePoint& point);
  // Resolves the point to at least one place. To find none is an error, with a similar name in its hint where there is one.
  // REQUIRES: takes(point).
  Result<Points> (*resolve)(TracedWorld& world, const syntax::ProbePoint& point);
  // Returns the names that may stand at components[index], for did-you-mean; empty: no name may. The point may end there.
  // REQUIRES: its first component has the family's name, and 1 <= index <= components.size().
  std::vector<std::string> (*components)(const syntax::ProbePoint& point, size_t index);
  // For --dump-probe-types: every shape that resolve() accepts, parameters by their type: "timer.ms(number)". A shape that begins
  // with a dot stands for six, behind "process", "process(string)" and "process(number)", each without and with
  // ".library(string)". Literals.
  std::vector<const char*> types = {};
};

// Returns all families in the order in which takes() is asked. They live as long as the program.
const std::vector<const Family*>& families();

// Returns the point as the script has it, without `?`, `!` and condition. Families that look nothing up make it
// ResolvedPoint::text, which pp() returns.
std::string text_of(const syntax::ProbePoint& point);
// Returns the error for components[index], which a family does not know ("begin.foo"), or whose parameter is missing or does not
// belong there. known: the names that may stand there; the error for a component with such a name and a parameter is about the
// parameter. REQUIRES: index < components.size().
Error unexpected_component(const syntax::ProbePoint& point, size_t index, const std::vector<std::string>& known);

}  // namespace spile::probes
