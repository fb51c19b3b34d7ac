#include "kernelinfo/symbols.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace spile::kernelinfo {

namespace {

// Takes what is before the first `separator` off the front of `text`; all of it if `text` has no separator.
std::string_view take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

std::optional<uint64_t> hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "[loop]" has "loop".
std::string_view module_of(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return {};
  return text.substr(1, text.size() - 2);
}

bool is_made_at_run_time(std::string_view module) { return module == "bpf" || module.starts_with("__builtin__"); }

// Linux 7.3 lists the variables between _sdata and _edata as code. What the kernel itself has that is outside of its two texts
// (include/asm-generic/sections.h) is data, whatever the list says.
void mend_types(std::vector<Symbol>& symbols) {
  struct Text {
    std::string_view first, last;
    uint64_t begin = 0, end = 0;
  };
  Text texts[] = {{"_stext", "_etext"}, {"_sinittext", "_einittext"}};
  for (const Symbol& symbol : symbols) {
    if (!symbol.module.empty() || !symbol.name.starts_with("_")) continue;
    for (Text& text : texts) {
      if (symbol.name == text.first) text.begin = symbol.address;
      if (symbol.name == text.last) text.end = symbol.address;
    }
  }
  if (texts[0].begin == 0 || texts[0].end <= texts[0].begin) return;
  for (Symbol& symbol : symbols) {
    if (!symbol.module.empty() || !symbol.is_code()) continue;
    const auto is_in = [&](const Text& text) { return text.begin <= symbol.address && symbol.address <= text.end; };
    if (symbol.address > texts[0].end && !std::ranges::any_of(texts, is_in))
      symbol.type = symbol.type == 'T' || symbol.type == 'W' ? 'D' : 'd';
  }
}

}  // namespace

Symbols Symbols::parse(std::string text) {
  Symbols symbols;
  auto kept = std::make_shared<const std::string>(std::move(text));
  symbols.text_ = kept;
  std::string_view rest = *kept;
  symbols.all_.reserve(rest.size() / 44);  // bytes of a line, about
  while (!rest.empty()) {
    std::string_view line = take(rest, '\n');
    const std::optional<uint64_t> address = hex(take(line, ' '));
    const std::string_view type = take(line, ' ');
    const std::string_view name = take(line, '\t');
    const std::string_view module = module_of(line);
    if (!address || type.size() != 1 || name.empty() || is_made_at_run_time(module)) continue;
    symbols.hidden_ &= *address == 0;
    symbols.all_.push_back({name, module, *address, type[0]});
  }
  mend_types(symbols.all_);
  return symbols;
}

std::vector<Symbol> Symbols::named(std::string_view name, std::string_view module) const {
  std::vector<Symbol> found;
  for (const Symbol& symbol : all_) {
    if (symbol.name == name && symbol.module == module) found.push_back(symbol);
  }
  return found;
}

const Symbol* Symbols::at(uint64_t address) const {
  const Symbol* nearest = nullptr;
  for (const Symbol& symbol : all_) {
    if (symbol.is_code() && symbol.address != 0 && symbol.address <= address && (!nearest || symbol.address > nearest->address))
      nearest = &symbol;
  }
  return nearest;
}

std::vector<TraceableFunction> parse_traceable(std::string_view text, bool with_addresses) {
  std::vector<TraceableFunction> functions;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const std::optional<uint64_t> address = with_addresses ? hex(take(line, ' ')) : 0;
    const std::string_view name = take(line, ' ');
    // A weak function that another one has replaced has a placeholder for a name.
    if (!address || name.empty() || name.starts_with("__ftrace_invalid_address__")) continue;
    functions.push_back({std::string(name), std::string(module_of(line)), *address});
  }
  return functions;
}

std::vector<BlacklistedRange> parse_blacklist(std::string_view text) {
  std::vector<BlacklistedRange> ranges;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    std::string_view range = take(line, '\t');
    const std::optional<uint64_t> begin = hex(take(range, '-')), end = hex(range);
    if (begin && end && !line.empty()) ranges.push_back({*begin, *end, std::string(line)});
  }
  return ranges;
}

bool is_blacklisted(const std::vector<BlacklistedRange>& blacklist, std::string_view name, uint64_t address) {
  return std::ranges::any_of(blacklist, [&](const BlacklistedRange& range) {
    if (address != 0 && range.end != 0) return range.begin <= address && address < range.end;
    return range.name == name;
  });
}

}  // namespace spile::kernelinfo
