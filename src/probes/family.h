#pragma once
// Families of probe points: begin, timer, process.function, kernel.trace ... Each has a file of its own.
//
// To add a family: one file that defines a Family, its declaration and its line in registry.cpp, a test; and a sema::ProbeKind where
// none of those that there are fits (sema/probe_kind.h).

#include <string>
#include <vector>

#include "base/result.h"
#include "sema/target_info.h"
#include "syntax/tree.h"

namespace spile::probes {

class TracedWorld;

using Points = std::vector<sema::ResolvedPoint>;

struct Family {
  const char* name;  // first component of its points: "process"
  // Reports whether the point belongs to the family, judged by its shape. The first family that accepts a point resolves it.
  bool (*takes)(const syntax::ProbePoint& point);
  // Resolves the point. An empty result is possible only for patterns that match nothing in a place that has others.
  Result<Points> (*resolve)(TracedWorld& world, const syntax::ProbePoint& point);
  // Names that may follow the first component, for did-you-mean; by component index from 1.
  std::vector<std::string> (*components)(const syntax::ProbePoint& point, size_t index);
  // --dump-probe-types: every shape that resolve() accepts, parameters by their type: "timer.ms(number)". One that begins
  // with a dot stands behind process and process.library(string), however the process is named.
  std::vector<const char*> types = {};
};

// Returns all families in the order in which they are asked.
const std::vector<const Family*>& families();

// Returns the point's own text without `?`, `!` and condition, which pp() returns where nothing was looked up.
std::string text_of(const syntax::ProbePoint& point);
// Returns the error for a component that a family does not know ("begin.foo"), or for a parameter where none belongs.
Error unexpected_component(const syntax::ProbePoint& point, size_t index, const std::vector<std::string>& known);

}  // namespace spile::probes
