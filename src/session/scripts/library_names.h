#pragma once
// Collects the names that declarations of a script refer to, by which files of the library are found.

#include <set>
#include <string>

#include "syntax/tree.h"

namespace spile::session {

// The functions, variables and aliases that the added parts refer to, their own locals and parameters included.
struct ReferredNames {
  std::set<std::string> functions;
  std::set<std::string> variables;
  // of probe points the first component, or the first two: "syscall.open*"; may hold globs and braces
  std::set<std::string> alias_heads;

  void add(const syntax::Expression& expression);
  void add(const syntax::Statement& statement);
  void add(const std::vector<syntax::ProbePoint>& points);
  void add(const syntax::Function& function);
  void add(const syntax::Alias& alias);
  void add(const syntax::Probe& probe);
  // Returns the number of different names.
  size_t size() const { return functions.size() + variables.size() + alias_heads.size(); }
};

// Returns a point's first component, or the first two, as ReferredNames has them. REQUIRES: the point has components.
std::string head_of(const syntax::ProbePoint& point);

// Returns whether a point's first components, as ReferredNames has them, may stand for an alias that begins with `head`: one
// component or two.
bool may_match(const std::string& written, std::string_view head);

}  // namespace spile::session
