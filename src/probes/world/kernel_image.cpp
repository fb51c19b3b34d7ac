#include "probes/world/kernel_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "probes/world/kernel_types.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

bool is_only_at_entry(const debuginfo::Place& place) {
  auto any = [](const location::Operations& operations) {
    return std::ranges::any_of(operations, location::is<location::EntryValue>);
  };
  return any(place.operations) ||
         std::ranges::any_of(place.pieces, [&](const debuginfo::Piece& piece) { return any(piece.operations); });
}

// False: an address that is not in memory, of a variable that each CPU has.
bool relocate(const KernelImage& image, location::Operations& operations) {
  for (location::Operation& operation : operations) {
    const auto* address = std::get_if<location::Address>(&operation);
    if (!address) continue;
    const std::optional<uint64_t> running = image.running(address->address);
    if (!running) return false;
    operation = location::Constant{static_cast<int64_t>(*running)};
  }
  return true;
}

bool relocate(const KernelImage& image, debuginfo::Place& place) {
  bool whole = relocate(image, place.operations);
  for (debuginfo::Piece& piece : place.pieces) whole &= relocate(image, piece.operations);
  return whole;
}

// The error of the kernel's own type information, with what keeps debug information from being used instead.
Error without_image(TracedWorld& world, const ResolvedPoint& point, Error error) {
  Result<const KernelImage*> image = world.kernel_image(loaded_module(point.site.module));
  if (image.ok() || error.hint.find("did you mean") != std::string::npos) return error;
  error.hint +=
      fmt::format("{}other variables need debug information: {}", error.hint.empty() ? "" : "; ", image.error().message);
  return error;
}

}  // namespace

ResolvedPoint kernel_point_at(TracedWorld& world, const KernelImage& image, FileAddress address, ProbeKind kind) {
  sema::KernelFunction function;
  const auto around = image.module->function_at(address);
  const uint64_t running = image.running(address).value_or(0);
  function.address = running == 0 ? 0 : running - (around ? address.value - around->address.value : 0);
  function.offset = running - function.address;
  function.symbol = around ? around->linkage_name : "";
  function.is_unique = false;  // the address decides
  // A module may be loaded anew, elsewhere: the name says where, if only one function has it.
  if (!image.name.empty() && around) {
    Result<const kernelinfo::Symbols*> symbols = world.kernel().symbols();
    function.is_unique = symbols.ok() && (*symbols)->named(function.symbol, image.name).size() == 1;
  }
  ResolvedPoint point;
  point.kind = kind;
  point.domain = sema::Domain::kKernel;
  point.site.module = image.name.empty() ? "kernel" : "kernel:" + image.name;
  point.site.address = FileAddress(running);
  point.site.kernel = std::make_shared<const sema::KernelFunction>(std::move(function));
  return point;
}

Result<Points> keep_allowed(TracedWorld& world, const KernelImage& image, Points points) {
  std::map<std::string, size_t> reasons;
  Points kept;
  std::string text;
  for (ResolvedPoint& point : points) {
    const uint64_t address = point.site.address.value;
    std::string reason;
    if (!image.is_text(address))
      reason = fmt::format("in code that is gone since the {} (__init), or that it puts elsewhere",
                           image.name.empty() ? "kernel has started" : "module was loaded");
    else if (kernelinfo::is_blacklisted(world.kernel().blacklist(), point.site.kernel->symbol, address))
      reason = "on the kernel's blacklist of kprobes";
    if (reason.empty()) {
      kept.push_back(std::move(point));
      continue;
    }
    ++reasons[reason];
    if (text.empty()) text = point.text;
  }
  for (const auto& [reason, count] : reasons) {
    const std::string message = fmt::format("{}: {} of {} places can't be probed: {}", text, count, points.size(),
                                            count == 1 ? "it is " + reason : "they are " + reason);
    if (kept.empty()) return Error{message, ""};
    world.leave_out(message);
  }
  return kept;
}

std::optional<ImageFrame> frame_in_image(TracedWorld& world, const ResolvedPoint& point) {
  Result<const KernelImage*> image = world.kernel_image(loaded_module(point.site.module));
  const sema::Site& site = point.site;
  if (!image.ok() || site.kernel->address == 0) return std::nullopt;
  if (site.callee.value != 0) return ImageFrame{*image, site.callee, site.callee};
  const std::optional<FileAddress> pc = (*image)->in_file(site.kernel->address + site.kernel->offset);
  if (!pc) return std::nullopt;
  if (site.around.value != 0) return ImageFrame{*image, site.around, *pc, site.scope};
  auto place = (*image)->module->place_at(*pc);
  if (!place) return std::nullopt;
  return ImageFrame{*image, place->function, *pc, *pc == place->function ? 0 : place->scope};
}

Result<KernelVariable> variable_in_kernel(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                                          const syntax::TargetVariable& variable) {
  Result<debuginfo::Place> described = place_in_kernel(world, point, at_entry, variable);
  if (described.ok()) return KernelVariable{point.site.module, std::move(*described)};
  const auto where = frame_in_image(world, point);
  if (!where) return without_image(world, point, described.error());
  debuginfo::Module& module = *where->image->module;
  KernelVariable found{where->image->type_source(), {}};
  if (variable.name == "$return") {
    if (point.kind != ProbeKind::kFunctionReturn || at_entry)
      return Error{"$return is only known in .return probes, outside of @entry", ""};
    TRY(found.place, module.return_value(where->function, 0));
    return found;
  }
  TRY(debuginfo::Variable known, module.variable(where->function, where->pc, variable.name.substr(1), where->scope));
  found.place = std::move(known.place);
  // A plain kernel.function stands for inlined calls only where debug information is installed: say what to do without them.
  if (!found.place.available() && where->scope != 0)
    found.place.reason += fmt::format(" in an inlined call of '{}' (kernel.function(\"{}\").call leaves these out)",
                                      point.site.function, point.site.function);
  if (is_only_at_entry(found.place))
    return Error{fmt::format("'{}' is optimized out here: it is only known from a value at the function's entry, which handlers "
                             "in the kernel don't record",
                             variable.name),
                 "keep it in a probe of the function's entry, in an array by tid()"};
  if (relocate(*where->image, found.place)) return found;
  return Error{fmt::format("'{}' is a variable of which each CPU has its own: these can't be read by name", variable.name), ""};
}

std::optional<KernelVariable> global_in_image(TracedWorld& world, const std::string& module, const std::string& name) {
  Result<const KernelImage*> image = world.kernel_image(loaded_module(module));
  if (!image.ok()) return std::nullopt;
  const size_t at = std::min(name.find('@'), name.size());
  const std::string file = at < name.size() && name.substr(at) != "@kernel" ? name.substr(at + 1) : "";
  Result<debuginfo::Variable> found = (*image)->module->global_variable(name.substr(0, at), file);
  if (!found.ok() || !found->place.available() || !relocate(**image, found->place)) return std::nullopt;
  return KernelVariable{(*image)->type_source(), std::move(found->place)};
}

}  // namespace spile::probes
