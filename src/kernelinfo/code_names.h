#pragma once
// Finds the kernel's code symbols by name, many of them fast. Thread rule: any thread, as it doesn't change.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernelinfo/symbols.h"

namespace spile::kernelinfo {

class CodeNames {
 public:
  explicit CodeNames(Symbols symbols);
  // Returns the code symbols of vmlinux and of modules that have a name, or have it without what compilers add to the names of
  // copies and parts ("foo.isra.0"), as the kernel lists them.
  std::vector<Symbol> named(std::string_view name) const;
  // Returns whether these are names of the same text of /proc/kallsyms.
  bool is_of(const Symbols& symbols) const;

 private:
  Symbols symbols_;
  size_t chain_of(std::string_view name) const;
  std::vector<uint32_t> first_, next_;  // chains of indexes into symbols_, by a hash of the names without additions
};

}  // namespace spile::kernelinfo
