#include "kernelinfo/code_map.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>

#include "base/files/file.h"

namespace spile::kernelinfo {

namespace {

// "loop 40960 1 - Live 0xffffffffc0a2d000 (E)": where the module ends.
std::map<std::string, uint64_t, std::less<>> ends_of(std::string_view text) {
  std::map<std::string, uint64_t, std::less<>> ends;
  while (!text.empty()) {
    const size_t line_end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, line_end);
    text.remove_prefix(std::min(line_end + 1, text.size()));
    const std::string_view name = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(name.size() + 1, line.size()));
    uint64_t size = 0, address = 0;
    std::from_chars(line.data(), line.data() + line.size(), size);
    const size_t at = line.find("0x");
    if (at == std::string_view::npos) continue;
    std::from_chars(line.data() + at + 2, line.data() + line.size(), address, 16);
    if (address != 0) ends.emplace(name, address + size);
  }
  return ends;
}

bool is_at(const Symbol& symbol, std::string_view name) { return symbol.module.empty() && symbol.name == name; }

}  // namespace

CodeMap CodeMap::make(Symbols symbols, std::string_view modules_text) {
  CodeMap map;
  map.symbols_ = std::move(symbols);
  std::vector<const Symbol*> sorted;
  uint64_t text_begin = 0, text_end = 0;
  for (const Symbol& symbol : map.symbols_.all()) {
    if (symbol.address == 0) continue;
    sorted.push_back(&symbol);
    if (is_at(symbol, "_stext")) text_begin = symbol.address;
    if (is_at(symbol, "_etext")) text_end = symbol.address;
  }
  std::ranges::stable_sort(sorted, {}, &Symbol::address);
  const auto ends = ends_of(modules_text);
  std::map<std::string_view, size_t> numbers;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Symbol& symbol = *sorted[i];
    if (!symbol.is_code() || is_at(symbol, "_etext")) continue;
    if (!map.functions_.empty() && map.functions_.back().begin == symbol.address) continue;
    // What lies behind the kernel's text ran while it started.
    if (symbol.module.empty() && text_end != 0 && (symbol.address < text_begin || symbol.address >= text_end)) continue;
    auto [number, added] = numbers.try_emplace(symbol.module, map.modules_.size());
    if (added) {
      Module& module = map.modules_.emplace_back();
      module.name = symbol.module.empty() ? kVmlinux : symbol.module;
      module.begin = symbol.module.empty() && text_begin != 0 ? text_begin : symbol.address;
      module.first = map.functions_.size();
    }
    Module& module = map.modules_[number->second];
    uint64_t end = 0;
    for (size_t next = i + 1; next < sorted.size() && end == 0; ++next) {
      if (sorted[next]->module != symbol.module) break;
      if (sorted[next]->address != symbol.address) end = sorted[next]->address;
    }
    if (auto known = ends.find(symbol.module); known != ends.end() && (end == 0 || end > known->second)) end = known->second;
    if (end <= symbol.address) end = symbol.address + 1;
    module.end = std::max(module.end, end);
    ++module.count;
    map.functions_.push_back({symbol.address, end, symbol.name, number->second});
  }
  return map;
}

const CodeMap::Function* CodeMap::function_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  if (after == functions_.begin() || std::prev(after)->end <= address) return nullptr;
  return &*std::prev(after);
}

const CodeMap::Module* CodeMap::module_at(uint64_t address) const {
  auto found =
      std::ranges::find_if(modules_, [&](const Module& module) { return module.begin <= address && address < module.end; });
  return found == modules_.end() ? nullptr : &*found;
}

std::string loaded_modules(const Places& places) {
  Result<std::string> text = read_file(places.proc + "/modules");
  return text.ok() ? std::move(*text) : std::string();
}

std::string without_users(std::string_view modules) {
  std::string text;
  for (std::string_view rest = modules; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    // "loop 40960 1 dm_mod, Live 0xffffffffc0a2d000 (E)": the third and fourth words.
    const size_t size = line.find(' '), count = line.find(' ', size + 1), users = line.find(' ', count + 1),
                 state = line.find(' ', users + 1);
    if (size == line.npos || count == line.npos || users == line.npos || state == line.npos) text += line;
    else text.append(line.substr(0, count)).append(line.substr(state));
    text += '\n';
  }
  return text;
}

Result<CodeMap> read_code_map(const Places& places) {
  KernelInfo info(places);
  TRY(const Symbols* symbols, info.symbols());
  if (symbols->addresses_hidden()) {
    return Error{"the kernel hides where its functions are, so their names on stacks are not known",
                 info.kptr_restrict() > 1 ? "set kernel.kptr_restrict to 1: sysctl kernel.kptr_restrict=1"
                                          : "run as root, or with CAP_SYSLOG"};
  }
  return CodeMap::make(*symbols, loaded_modules(places));
}

}  // namespace spile::kernelinfo
