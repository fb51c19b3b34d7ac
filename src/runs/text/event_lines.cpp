#include "runs/text/event_lines.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "base/text/json.h"

namespace spile::runs {

std::string utc_text(int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const time_t seconds = ns / kSecond;
  tm parts{};
  return ns >= 0 && gmtime_r(&seconds, &parts) ? fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", parts, ns % kSecond) : std::string();
}

void EventLines::append(std::string& out, const abi::OwnedHeader& header, int64_t time_ns, std::string_view text,
                        const syntax::OutputFormat* format, PayloadReader arguments, std::string_view host) const {
  Json object;
  object["time"] = utc_text(time_ns);
  if (!host.empty()) object["host"] = host;
  if (header.owner.process > 0) object["pid"] = header.owner.process;
  if (header.owner.thread > 0) object["tid"] = header.owner.thread;
  object["cpu"] = header.cpu;
  if (header.probe < points_.size()) object["probe"] = points_[header.probe];
  object["text"] = text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  if (format) {
    Json values = Json::array();
    for (const ValueType type : format->arguments) {
      if (type == ValueType::kString) values.push_back(arguments.next_string());
      else values.push_back(arguments.next_long());
    }
    object["values"] = std::move(values);
  }
  out += object.dump();
}

}  // namespace spile::runs
