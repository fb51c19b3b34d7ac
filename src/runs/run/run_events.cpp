#include "runs/run/run_events.h"

#include <algorithm>
#include <cstring>

#include "runs/text/printf_text.h"

namespace spile::runs {

std::string payload_of(const RunDocument& document, const RunEvent& event) {
  std::string payload;
  const auto put = [&](const auto& number) { payload.append(reinterpret_cast<const char*>(&number), sizeof number); };
  const std::vector<ValueType>& types = document.formats[event.format].arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    const int64_t value = document.values[event.first_value + i];
    if (types[i] != ValueType::kString) {
      put(value);
      continue;
    }
    const std::string& text = document.texts[static_cast<size_t>(value)];
    put(static_cast<uint32_t>(text.size()));
    payload += text;
    payload.resize((payload.size() + 7) / 8 * 8);
  }
  return payload;
}

void append_event_text(std::string& out, const RunDocument& document, const RunEvent& event) {
  if (event.format == RunEvent::kText) {
    out += document.texts[static_cast<size_t>(document.values[event.first_value])];
    return;
  }
  const std::string payload = payload_of(document, event);
  PayloadReader arguments(payload.data(), payload.size());
  append_printf(out, document.formats[event.format], arguments);
}

bool is_sample_format(const syntax::OutputFormat& format) {
  using enum ValueType;
  static const std::vector<ValueType> kTypes{kLong, kLong, kLong, kString, kString};
  return format.kind == syntax::OutputFormat::Kind::kPrintf && format.arguments == kTypes && !format.parts.empty() &&
         format.parts.front().literal == "sample ";
}

Samples samples_of(const std::vector<RunDocument>& documents) {
  Samples samples;
  for (const RunDocument& document : documents) {
    std::vector<bool> is_sample;
    std::ranges::transform(document.formats, std::back_inserter(is_sample), is_sample_format);
    std::vector<std::optional<uint32_t>> stacks(document.texts.size());  // equal texts are parsed once
    for (const RunEvent& event : document.events) {
      if (event.format == RunEvent::kText || !is_sample[event.format]) continue;
      const int64_t* values = document.values.data() + event.first_value;
      const auto text_at = [&](int64_t index) -> const std::string& { return document.texts[static_cast<size_t>(index)]; };
      std::optional<uint32_t>& known = stacks[static_cast<size_t>(values[4])];
      if (known) {
        samples.add_known(values[0], values[1], values[2], text_at(values[3]), *known);
        continue;
      }
      const std::string& stack = text_at(values[4]);
      known = samples.add(values[0], values[1], values[2], text_at(values[3]), stack, stack.empty() || stack.ends_with('\n'));
    }
  }
  return samples;
}

}  // namespace spile::runs
