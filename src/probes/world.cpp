// TargetInfo over the real world: asks the families, and hands on to where each kind of point has its variables.

#include <fmt/format.h>

#include "probes/bind_function.h"
#include "probes/family.h"
#include "probes/kernel_trace.h"
#include "probes/probes.h"
#include "probes/traced_world.h"

namespace spile::probes {

namespace {

using sema::Binding;
using sema::ProbeKind;
using sema::ResolvedPoint;

class RealWorld : public World {
 public:
  explicit RealWorld(const WorldOptions& options) : world_(options) {}

  Result<void> find_program() {
    TRY_DO(world_.find_program());
    choose_runtime({});
    return {};
  }

  void choose_runtime(const std::vector<const syntax::ProbePoint*>& points) override { world_.choose_runtime(points); }

  Result<Points> resolve(const syntax::ProbePoint& point) override {
    for (const Family* family : families()) {
      if (family->takes(point)) return family->resolve(world_, point);
    }
    return Error{fmt::format("unknown probe point '{}'", text_of(point)), ""};
  }

  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::TargetVariable& variable) override {
    if (point.kind == ProbeKind::kTracepoint) return bind_in_tracepoint(world_, point, variable);
    return bind_in_function(world_, point, at_entry, variable);
  }

  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::AtOperation& operation) override {
    if (point.kind == ProbeKind::kTracepoint)
      return Error{fmt::format("'{}' is not available in tracepoints", operation.name), ""};
    return bind_in_function(world_, point, at_entry, operation);
  }

  std::vector<std::string> variables(const ResolvedPoint& point, const std::string& which) override {
    if (point.kind == ProbeKind::kTracepoint) {
      return which == "$$vars" || which == "$$parms" ? tracepoint_variables(world_, point, false)
                                                     : std::vector<std::string>{};
    }
    return function_variables(world_, point, which);
  }

  void describe(ResolvedPoint& point) override {
    bool in_function = point.kind == ProbeKind::kFunctionEntry || point.kind == ProbeKind::kFunctionReturn;
    if (in_function) describe_function(world_, point);
  }

  std::vector<std::string> known_components(const syntax::ProbePoint& point, size_t index) override {
    std::vector<std::string> names;
    for (const Family* family : families()) {
      if (index == 0 && *family->name) names.emplace_back(family->name);
      if (index == 0 || family->name != point.components[0].name) continue;
      for (std::string& name : family->components(point, index)) names.push_back(std::move(name));
    }
    return names;
  }

  Result<std::vector<ListedPoint>> list(const syntax::ProbePoint& pattern, bool with_variables) override {
    TRY(Points points, resolve(pattern));
    std::vector<ListedPoint> listed;
    for (ResolvedPoint& point : points) {
      describe(point);
      ListedPoint& one = listed.emplace_back();
      one.text = point.text;
      if (!with_variables) continue;
      if (point.kind == ProbeKind::kTracepoint) one.variables = tracepoint_variables(world_, point, true);
      if (point.kind == ProbeKind::kFunctionEntry || point.kind == ProbeKind::kFunctionReturn) {
        one.variables = typed_function_variables(world_, point);
      }
    }
    return listed;
  }

 private:
  TracedWorld world_;
};

}  // namespace

Result<std::unique_ptr<World>> World::open(const WorldOptions& options) {
  auto world = std::make_unique<RealWorld>(options);
  TRY_DO(world->find_program());
  return std::unique_ptr<World>(std::move(world));
}

}  // namespace spile::probes
