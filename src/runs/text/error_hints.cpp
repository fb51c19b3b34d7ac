#include "runs/text/error_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spile::runs {

namespace {

struct Hint {
  std::string_view begin;  // of the message
  std::string_view hint;
};

constexpr std::string_view kUnreadable =
    "nothing is there or, for a handler in the kernel, it is not loaded yet; to go on: try { ... } catch { ... }, or "
    "user_string(address, \"?\")";

constexpr Hint kHints[] = {
    {"read fault at ", kUnreadable},
    {"kernel read fault at ", kUnreadable},
    {"Array overflow, check MAXMAPENTRIES",
     "larger: -DMAXMAPENTRIES=N, or `global name[N]`; `global name%` replaces its oldest elements"},
    {"Array overflow, check size limit",
     "larger: another size in its declaration; `global name%[N]` replaces its oldest elements"},
    {"MAXACTION exceeded", "-DMAXACTION=N lets a run of a handler do more statements and turns of loops"},
    {"MAXNESTING exceeded", "-DMAXNESTING=N lets calls go deeper"},
    {"empty aggregate ", "ask for @count(...) first, which is 0 then"},
};

}  // namespace

std::string_view hint_of_error(std::string_view text) {
  auto known = std::ranges::find_if(kHints, [&](const Hint& each) { return text.starts_with(each.begin); });
  return known == std::end(kHints) ? std::string_view() : known->hint;
}

std::string error_of_verb(std::string_view text, std::string_view place, std::string_view verb, std::string_view when_full) {
  const std::string at = fmt::format(" at {}", place);
  if (text.ends_with(at)) text.remove_suffix(at.size());
  if (text.starts_with("Array overflow")) return fmt::format("a table of spile {} is full ({})", verb, when_full);
  std::string shown(text);
  // Each hit may have an address of its own.
  if (const size_t begin = shown.find("read fault at 0x"); begin < sizeof "kernel ") {
    const size_t from = begin + std::string_view("read fault").size();
    shown.erase(from, std::min(shown.find(' ', from + std::string_view(" at ").size()), shown.size()) - from);
  }
  return shown;
}

}  // namespace spile::runs
