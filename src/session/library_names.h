#pragma once
// Which names of the library a script's declarations refer to.

#include <set>
#include <string>

#include "syntax/tree.h"

namespace spile::session {

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
  size_t size() const { return functions.size() + variables.size() + alias_heads.size(); }
};

// Whether a point's first component, as written, may mean an alias that begins with `head`.
bool may_match(const std::string& written, std::string_view head);

}  // namespace spile::session
