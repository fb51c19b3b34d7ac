// init, begin, oneshot, end, error, never: the life of the session. A number orders them: begin(-5) runs before begin, and init
// before both.

#include <limits>

#include "probes/terms/family.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;

std::vector<std::string> none(const syntax::ProbePoint&, size_t) { return {}; }

template <const char* const& Name>
bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == Name;
}

constexpr const char* kInit = "init";
constexpr const char* kBegin = "begin";
constexpr const char* kOneshot = "oneshot";
constexpr const char* kEnd = "end";
constexpr const char* kError = "error";
constexpr const char* kNever = "never";

template <ProbeKind Kind>
Result<Points> resolve(TracedWorld&, const syntax::ProbePoint& point) {
  const syntax::PointComponent& first = point.components[0];
  if (point.components.size() > 1) return unexpected_component(point, 1, {});
  if (first.text || (first.number && (Kind == ProbeKind::kNever || first.name == kInit)))
    return unexpected_component(point, 0, {first.name});
  sema::ResolvedPoint made;
  made.kind = Kind;
  made.text = text_of(point);
  made.sequence = first.name == kInit ? std::numeric_limits<int64_t>::min() : first.number.value_or(0);
  made.once = first.name == kOneshot;
  return Points{made};
}

}  // namespace

extern const Family init_family = {kInit, takes<kInit>, resolve<ProbeKind::kBegin>, none, {"init"}};
extern const Family begin_family = {kBegin, takes<kBegin>, resolve<ProbeKind::kBegin>, none, {"begin", "begin(number)"}};
extern const Family oneshot_family = {kOneshot, takes<kOneshot>, resolve<ProbeKind::kBegin>, none, {"oneshot"}};
extern const Family end_family = {kEnd, takes<kEnd>, resolve<ProbeKind::kEnd>, none, {"end", "end(number)"}};
extern const Family error_family = {kError, takes<kError>, resolve<ProbeKind::kError>, none, {"error", "error(number)"}};
extern const Family never_family = {kNever, takes<kNever>, resolve<ProbeKind::kNever>, none, {"never"}};

}  // namespace spile::probes
