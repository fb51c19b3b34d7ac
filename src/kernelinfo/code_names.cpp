#include "kernelinfo/code_names.h"

#include <functional>

#include "debuginfo/terms/names.h"

namespace spile::kernelinfo {

namespace {

constexpr uint32_t kEnd = UINT32_MAX;

}  // namespace

size_t CodeNames::chain_of(std::string_view name) const {
  return std::hash<std::string_view>()(debuginfo::clone_name(name).base) % first_.size();
}

CodeNames::CodeNames(Symbols symbols) : symbols_(std::move(symbols)) {
  const std::vector<Symbol>& all = symbols_.all();
  first_.assign(all.size() / 2 + 1, kEnd);
  next_.resize(all.size());
  // From the end, so that chains ascend.
  for (size_t i = all.size(); i-- > 0;) {
    if (!all[i].is_code()) continue;
    uint32_t& first = first_[chain_of(all[i].name)];
    next_[i] = first;
    first = static_cast<uint32_t>(i);
  }
}

std::vector<Symbol> CodeNames::named(std::string_view name) const {
  std::vector<Symbol> found;
  for (uint32_t i = first_[chain_of(name)]; i != kEnd; i = next_[i]) {
    const Symbol& symbol = symbols_.all()[i];
    if (symbol.name == name || debuginfo::clone_name(symbol.name).base == name) found.push_back(symbol);
  }
  return found;
}

// Copies of symbols have one text, which lives as long as any of them.
bool CodeNames::is_of(const Symbols& symbols) const {
  if (symbols.all().size() != symbols_.all().size()) return false;
  return symbols.all().empty() || symbols.all().front().name.data() == symbols_.all().front().name.data();
}

}  // namespace spile::kernelinfo
