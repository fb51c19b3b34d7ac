#pragma once
// Finds the kernel's code symbols by name, many of them fast. Thread rule: any thread, as it doesn't change.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernelinfo/symbols.h"

namespace spile::kernelinfo {

class CodeNames {
 public:
  explicit CodeNames(Symbols symbols);
  // Returns the code symbols of vmlinux and of modules that have a name, or have it without what compilers add to the names of copies and parts
  // ("foo.isra.0"), as the kernel lists them.
  std::vector<Symbol> named(std::string_view name) const;
  // Returns whether these are names of the same text of /proc/kallsyms.
  bool is_of(const Symbols& symbols) const;

 private:
  Symbols symbols_;
  std::unordered_multimap<std::string_view, size_t> by_base_;  // indexes into symbols_
};

}  // namespace spile::kernelinfo
