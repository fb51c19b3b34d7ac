#include "session/text/error_hints.h"

#include <algorithm>
#include <iterator>

namespace spile::session {

namespace {

struct Hint {
  std::string_view begin;  // of the message
  std::string_view hint;
};

constexpr std::string_view kUnreadable =
    "nothing is there or, for a handler in the kernel, it is not loaded yet; to go on: try { ... } catch { ... }, or user_string(address, \"?\")";

constexpr Hint kHints[] = {
    {"read fault at ", kUnreadable},
    {"kernel read fault at ", kUnreadable},
    {"Array overflow, check MAXMAPENTRIES", "larger: -DMAXMAPENTRIES=N, or `global name[N]`; `global name%` replaces its oldest elements"},
    {"Array overflow, check size limit", "larger: another size in its declaration; `global name%[N]` replaces its oldest elements"},
    {"MAXACTION exceeded", "-DMAXACTION=N lets a run of a handler do more statements and turns of loops"},
    {"MAXNESTING exceeded", "-DMAXNESTING=N lets calls go deeper"},
    {"empty aggregate ", "ask for @count(...) first, which is 0 then"},
};

}  // namespace

std::string_view hint_of_error(std::string_view text) {
  auto known = std::ranges::find_if(kHints, [&](const Hint& each) { return text.starts_with(each.begin); });
  return known == std::end(kHints) ? std::string_view() : known->hint;
}

}  // namespace spile::session
