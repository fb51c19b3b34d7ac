#include "session/kernel_side.h"

#include <fmt/format.h>
#include <time.h>

#include <cstring>
#include <map>

#include "abi/kernel.h"
#include "session/skips.h"

namespace spile::session {

namespace {

bpf::MapSpec map_spec(const codegen::KernelMap& map) {
  bpf::MapSpec spec;
  spec.symbol = map.symbol;
  // ORDER KERNEL_MAP_KIND: both enumerations are declared alike.
  spec.kind = static_cast<bpf::MapSpec::Kind>(map.kind);
  spec.merge = static_cast<bpf::MapSpec::Merge>(map.merge);
  spec.key_size = map.key_size;
  spec.value_size = map.value_size;
  spec.entries = map.entries;
  spec.sharded = map.sharded;
  spec.key_count = map.key_count;
  spec.string_keys = map.string_keys;
  spec.string_size = map.string_size;
  return spec;
}

bpf::AttachPoint attach_point(const sema::ResolvedPoint& point, uint64_t cookie, pid_t process) {
  bpf::AttachPoint attach;
  attach.text = point.text;
  attach.cookie = cookie;
  switch (point.kind) {
    case sema::ProbeKind::kTracepoint:
      attach.kind = bpf::AttachPoint::Kind::kTracepoint;
      attach.tracepoint = point.site.tracepoint;
      break;
    case sema::ProbeKind::kProfile:
      attach.kind = bpf::AttachPoint::Kind::kProfile;
      attach.interval_ns = point.interval_ns;
      break;
    default:
      attach.kind = point.kind == sema::ProbeKind::kFunctionReturn ? bpf::AttachPoint::Kind::kUretprobe
                                                                   : bpf::AttachPoint::Kind::kUprobe;
      attach.path = point.site.module;
      attach.file_offset = point.site.file_offset;
      if (process != 0) attach.process = process;
      break;
  }
  return attach;
}

std::vector<uint8_t> constants(pid_t process) {
  timespec real, monotonic;
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  abi::KernelConstants values{};
  values.clock_offset_ns = (real.tv_sec - monotonic.tv_sec) * 1'000'000'000LL + real.tv_nsec - monotonic.tv_nsec;
  values.target_pid = process;
  std::vector<uint8_t> bytes(sizeof values);
  std::memcpy(bytes.data(), &values, sizeof values);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<KernelSide>> KernelSide::load(const sema::Program& program, const codegen::CompiledScript& script,
                                                     const Options& options, pid_t process) {
  TRY_DO(bpf::check_privilege());
  std::unique_ptr<KernelSide> side(new KernelSide(script, options));
  bpf::ObjectSpec spec;
  spec.object = script.kernel.object;
  for (const codegen::KernelMap& map : script.kernel.maps) spec.maps.push_back(map_spec(map));
  for (const codegen::KernelProgram& entry : script.kernel.programs) {
    bpf::ProgramSpec attach{entry.section, {}};
    const sema::Probe& probe = program.probes[static_cast<size_t>(entry.probe)];
    for (size_t i = 0; i < probe.points.size(); ++i) {
      bpf::AttachPoint point = attach_point(probe.points[i], i, process);
      // A return probe with values saved at the entry has a program for each side.
      if (probe.kind == sema::ProbeKind::kFunctionReturn && !entry.exit_side && !probe.entry_saves.empty()) {
        point.kind = bpf::AttachPoint::Kind::kUprobe;
      }
      attach.points.push_back(std::move(point));
    }
    spec.programs.push_back(std::move(attach));
  }
  spec.data.push_back({abi::kKernelConstantsSymbol, constants(process)});
  spec.verbosity = options.verbosity;
  TRY(side->kernel_, bpf::load(spec));
  side->imported_.resize(script.kernel.maps.size());
  return side;
}

Result<void> KernelSide::attach() {
  TRY_DO(kernel_->attach());
  std::span<uint8_t> control = kernel_->data(abi::kKernelControlSymbol);
  CHECK(control.size() >= sizeof(abi::KernelControl));
  reinterpret_cast<abi::KernelControl*>(control.data())->enabled = 1;
  if (options_.verbosity > 0) {
    for (const auto& [text, mechanism] : kernel_->attached()) fmt::print(stderr, "{}: {}\n", text, mechanism);
  }
  return {};
}

void KernelSide::detach() { kernel_->detach(); }

Result<void> KernelSide::consume(Output& output) {
  auto consumed = kernel_->consume([&](const abi::RecordHeader& header, std::span<const uint8_t> payload) {
    output.add(header, reinterpret_cast<const char*>(payload.data()));
  });
  if (!consumed.ok()) return consumed.error();
  return {};
}

bool KernelSide::exit_requested() const {
  std::span<uint8_t> control = kernel_->data(abi::kKernelControlSymbol);
  return reinterpret_cast<const abi::KernelControl*>(control.data())->exit_requested != 0;
}

Result<void> KernelSide::import_globals(Controller& controller) {
  for (size_t i = 0; i < script_.kernel.maps.size(); ++i) {
    const codegen::KernelMap& map = script_.kernel.maps[i];
    if (map.global < 0) continue;
    imported_[i].clear();
    controller.clear_global(map.global);
    TRY_DO(kernel_->elements(map.symbol, [&](std::span<const uint8_t> key, std::span<const uint8_t> value) {
      // A scalar has an empty key for the controller; its array has an index.
      bool scalar = map.key_count == 0;
      std::span<const char> packed(reinterpret_cast<const char*>(key.data()), scalar ? 0 : key.size());
      controller.put_element(map.global, packed, value.data());
      imported_[i].push_back({{key.begin(), key.end()}, {value.begin(), value.end()}});
    }));
  }
  return {};
}

// Only differences go back, so that what handlers add meanwhile to untouched elements stays.
Result<void> KernelSide::export_globals(Controller& controller) {
  for (size_t i = 0; i < script_.kernel.maps.size(); ++i) {
    const codegen::KernelMap& map = script_.kernel.maps[i];
    if (map.global < 0) continue;
    std::map<std::vector<uint8_t>, std::vector<uint8_t>> before;
    for (Element& element : imported_[i]) before.emplace(std::move(element.key), std::move(element.value));
    imported_[i].clear();
    Result<void> outcome;
    controller.for_each_element(map.global, [&](std::span<const char> packed, const void* memory) {
      auto* bytes = static_cast<const uint8_t*>(memory);
      std::vector<uint8_t> value(bytes, bytes + map.value_size);
      std::vector<uint8_t> key(packed.begin(), packed.end());
      if (map.key_count == 0) key.assign(4, 0);
      auto known = before.find(key);
      bool same = known != before.end() && known->second == value;
      if (known != before.end()) before.erase(known);
      if (!same && outcome.ok()) outcome = kernel_->put(map.symbol, key, value);
    });
    TRY_DO(std::move(outcome));
    for (const auto& [key, value] : before) TRY_DO(kernel_->erase(map.symbol, key));
  }
  return {};
}

std::string KernelSide::skips_text() const {
  auto counts = kernel_->skipped();
  if (!counts.ok()) return fmt::format("WARNING: {}\n", counts.error().message);
  Skips skips;
  for (size_t i = 0; i < skips.by_reason.size() && i < counts->size(); ++i) skips.by_reason[i] = (*counts)[i];
  return skips.text();
}

}  // namespace spile::session
