#include "libspile/shown_globals.h"

#include <variant>

#include "libspile/values.h"

namespace spile::client {

namespace {

using runs::RunDocument;
using runs::RunStatistics;

int type_of(ValueType type) {
  return type == ValueType::kStats ? SPILE_STATISTICS : type == ValueType::kString ? SPILE_TEXT : SPILE_NUMBER;
}

}  // namespace

std::string ShownGlobals::take_tick(const runs::Frame& frame) {
  if (std::string wrong = decoder_.take(frame.kind, frame.payload); !wrong.empty()) return wrong;
  tick_ = std::move(decoder_.document().ticks.back());
  decoder_.forget_events();
  has_tick_ = true;
  return "";
}

void ShownGlobals::show_global(size_t index) {
  const runs::RunGlobal& global = decoder_.document().globals[index];
  const runs::RunGlobalState& state = *shown_.globals[index];
  std::vector<spile_element>& elements = elements_.emplace_back();
  std::vector<spile_value>& keys = keys_.emplace_back();
  keys.reserve(state.elements.size() * global.keys.size());
  for (const runs::RunElement& from : state.elements) {
    spile_element element{global.keys.empty() ? nullptr : keys.data() + keys.size(), from.keys.size(), value_of(0), {}, nullptr};
    for (const runs::RunKey& key : from.keys) keys.push_back(std::visit([](const auto& value) { return value_of(value); }, key));
    if (const auto* statistics = std::get_if<RunStatistics>(&from.value)) {
      const auto count = static_cast<double>(statistics->count);
      element.statistics = {statistics->count, statistics->sum, statistics->min, statistics->max,
                            statistics->count > 0 ? static_cast<double>(statistics->sum) / count : 0};
      element.sketch = statistics;
    } else if (const auto* text = std::get_if<std::string>(&from.value)) {
      element.value = value_of(*text);
    } else {
      element.value = value_of(std::get<int64_t>(from.value));
    }
    elements.push_back(element);
  }
  globals_.push_back({global.name.c_str(), type_of(global.type), static_cast<uint32_t>(global.keys.size()), elements.data(),
                      elements.size(), state.left_out, state.is_known, 0});
}

const spile_snapshot* ShownGlobals::show(uint64_t dropped_events, bool is_last) {
  shown_ = tick_;
  const RunDocument& document = decoder_.document();
  globals_.clear();
  elements_.clear();
  keys_.clear();
  for (size_t i = 0; i < document.globals.size() && i < shown_.globals.size(); ++i) show_global(i);
  probes_.clear();
  for (size_t i = 0; i < document.probes.size() && i < shown_.hits.size(); ++i) {
    const runs::RunProbe& probe = document.probes[i];
    probes_.push_back(
        {probe.point.c_str(), probe.source.c_str(), probe.places, shown_.hits[i].value_or(0), shown_.hits[i].has_value(), 0});
  }
  snapshot_ = {shown_.time_ns,
               globals_.data(),
               globals_.size(),
               probes_.data(),
               probes_.size(),
               shown_.skipped,
               shown_.lost_records,
               shown_.lost_elements,
               dropped_events,
               is_last,
               0};
  return &snapshot_;
}

}  // namespace spile::client
