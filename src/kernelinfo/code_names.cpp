#include "kernelinfo/code_names.h"

#include <algorithm>

#include "debuginfo/names.h"

namespace spile::kernelinfo {

CodeNames::CodeNames(Symbols symbols) : symbols_(std::move(symbols)) {
  const std::vector<Symbol>& all = symbols_.all();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_code()) by_base_.emplace(debuginfo::clone_name(all[i].name).base, i);
  }
}

std::vector<Symbol> CodeNames::named(std::string_view name) const {
  std::vector<size_t> numbers;
  for (auto [at, end] = by_base_.equal_range(debuginfo::clone_name(name).base); at != end; ++at) {
    const Symbol& symbol = symbols_.all()[at->second];
    if (symbol.name == name || debuginfo::clone_name(symbol.name).base == name) numbers.push_back(at->second);
  }
  std::ranges::sort(numbers);
  std::vector<Symbol> found;
  for (const size_t number : numbers) found.push_back(symbols_.all()[number]);
  return found;
}

// Copies of symbols have one text, which lives as long as any of them.
bool CodeNames::is_of(const Symbols& symbols) const {
  if (symbols.all().size() != symbols_.all().size()) return false;
  return symbols.all().empty() || symbols.all().front().name.data() == symbols_.all().front().name.data();
}

}  // namespace spile::kernelinfo
