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
  std::set<std::string> alias_heads;  // first components of probe points; may hold globs and braces

  void add(const syntax::Expression& expression);
  void add(const syntax::Statement& statement);
  void add(const std::vector<syntax::ProbePoint>& points);
  void add(const syntax::Function& function);
  void add(const syntax::Alias& alias);
  void add(const syntax::Probe& probe);
  // Returns the number of different names.
  size_t size() const { return functions.size() + variables.size() + alias_heads.size(); }
};

// Returns whether a point's first component, as written with its globs and braces, may stand for an alias that begins with `head`.
bool may_match(const std::string& written, std::string_view head);

}  // namespace spile::session
