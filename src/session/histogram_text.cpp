#include "session/histogram_text.h"

#include "runtime/histogram.h"

namespace spile::session {

namespace {
struct StringWriter {
  std::string text;
  void put(char c) { text += c; }
};
}  // namespace

std::string histogram_text(const codegen::OutputFormat& format, std::span<const uint64_t> buckets) {
  StringWriter out;
  rt::HistogramShape shape{format.is_log, format.low, format.width, format.elision};
  rt::HistogramWriter<StringWriter>(shape, buckets.data(), static_cast<uint32_t>(buckets.size()), out).write();
  return std::move(out.text);
}

}  // namespace spile::session
