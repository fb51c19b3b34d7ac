// Samples as pprof reads them: https://github.com/google/pprof/blob/main/proto/profile.proto, whose numbers of fields these are,
// compressed by gzip.

#include <zlib.h>

#include <map>
#include <protozero/pbf_builder.hpp>
#include <unordered_map>

#include "base/check.h"
#include "runs/stacks/sample_files.h"
#include "runs/text/utf8_text.h"

namespace spile::runs {

namespace {

enum class Profile : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kPeriodType = 11,
  kComment = 13
};
enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
enum class Sample : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };
enum class Label : protozero::pbf_tag_type { kKey = 1, kText = 2, kNumber = 3 };
enum class Mapping : protozero::pbf_tag_type { kId = 1, kFilename = 5, kHasFunctions = 7 };
enum class Location : protozero::pbf_tag_type { kId = 1, kMappingId = 2, kLine = 4 };
enum class Line : protozero::pbf_tag_type { kFunctionId = 1 };
enum class Function : protozero::pbf_tag_type { kId = 1, kName = 2, kSystemName = 3, kFilename = 4 };

template <typename Message>
using Builder = protozero::pbf_builder<Message>;

// Texts by their indexes; the first is "".
class Texts {
 public:
  int64_t index_of(std::string_view text) {
    const auto [known, added] = indexes_.try_emplace(valid_utf8(text), static_cast<int64_t>(texts_.size()));
    if (added) texts_.push_back(&known->first);
    return known->second;
  }
  const std::vector<const std::string*>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, int64_t> indexes_{{"", 0}};
  std::vector<const std::string*> texts_{&indexes_.begin()->first};
};

std::string compressed(std::string_view bytes) {
  constexpr int kGzip = 15 + 16;  // the largest window, and a header of gzip's
  constexpr size_t kPart = 1 << 20;
  z_stream stream{};
  CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out, buffer(kPart, '\0');
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    const std::string_view part = bytes.substr(0, kPart);
    bytes.remove_prefix(part.size());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream.avail_in = static_cast<uInt>(part.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_out = kPart;
      state = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(buffer.data(), kPart - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

// A function, and a location in it, for each frame; both have the frame's index plus 1.
void add_frames(Builder<Profile>& profile, Texts& texts, const Samples& samples) {
  std::map<std::string, uint64_t> modules;
  uint64_t id = 0;
  for (const Samples::Frame& frame : samples.frames()) {
    ++id;
    const auto [module, added] = modules.try_emplace(frame.module, modules.size() + 1);
    if (added) {
      Builder<Mapping> mapping(profile, Profile::kMapping);
      mapping.add_uint64(Mapping::kId, module->second);
      mapping.add_int64(Mapping::kFilename, texts.index_of(frame.module));
      mapping.add_bool(Mapping::kHasFunctions, true);
    }
    const int64_t name = texts.index_of(text_of(frame));
    {
      Builder<Function> function(profile, Profile::kFunction);
      function.add_uint64(Function::kId, id);
      function.add_int64(Function::kName, name);
      function.add_int64(Function::kSystemName, name);
      function.add_int64(Function::kFilename, texts.index_of(frame.module));
    }
    Builder<Location> location(profile, Profile::kLocation);
    location.add_uint64(Location::kId, id);
    location.add_uint64(Location::kMappingId, module->second);
    Builder<Line> line(location, Location::kLine);
    line.add_uint64(Line::kFunctionId, id);
  }
}

void add_type(Builder<Profile>& profile, Profile field, Texts& texts, std::string_view type, std::string_view unit) {
  Builder<ValueType> value(profile, field);
  value.add_int64(ValueType::kType, texts.index_of(type));
  value.add_int64(ValueType::kUnit, texts.index_of(unit));
}

}  // namespace

std::string pprof_file(const Samples& samples, const SampleFacts& facts) {
  std::string bytes;
  Texts texts;
  Builder<Profile> profile(bytes);
  switch (samples.unit()) {
    case Samples::Unit::kSamples: add_type(profile, Profile::kSampleType, texts, "samples", "count"); break;
    case Samples::Unit::kNs: add_type(profile, Profile::kSampleType, texts, "time", "nanoseconds"); break;
    case Samples::Unit::kBytes: add_type(profile, Profile::kSampleType, texts, "space", "bytes"); break;
    case Samples::Unit::kCalls: add_type(profile, Profile::kSampleType, texts, "calls", "count"); break;
  }
  add_frames(profile, texts, samples);

  std::map<std::pair<uint32_t, uint32_t>, uint64_t> weights;  // by stack and thread
  for (size_t i = 0; i < samples.samples().size(); ++i) {
    uint64_t& weight = weights[{samples.samples()[i].stack, samples.samples()[i].thread}];
    weight = added(weight, samples.weight_of(i));
  }
  for (const auto& [place, weight] : weights) {
    std::vector<uint64_t> locations;
    for (uint32_t at = place.first; at != 0; at = samples.stacks()[at].caller)
      locations.push_back(uint64_t{samples.stacks()[at].frame} + 1);
    const int64_t value = static_cast<int64_t>(std::min<uint64_t>(weight, INT64_MAX));
    Builder<Sample> sample(profile, Profile::kSample);
    sample.add_packed_uint64(Sample::kLocationId, locations.begin(), locations.end());
    sample.add_packed_int64(Sample::kValue, &value, &value + 1);
    const Samples::Thread& thread = samples.threads()[place.second];
    const int64_t name = texts.index_of(thread.name);
    {
      Builder<Label> label(sample, Sample::kLabel);
      label.add_int64(Label::kKey, texts.index_of("thread"));
      label.add_int64(Label::kText, name);
    }
    for (const auto& [key, number] : {std::pair{"pid", thread.process}, std::pair{"tid", thread.thread}}) {
      Builder<Label> label(sample, Sample::kLabel);
      label.add_int64(Label::kKey, texts.index_of(key));
      label.add_int64(Label::kNumber, number);
    }
  }
  if (!samples.samples().empty() && samples.samples().front().time_ns > 0)
    profile.add_int64(Profile::kTimeNanos, samples.samples().front().time_ns);
  profile.add_int64(Profile::kComment, texts.index_of(facts.title));
  for (const std::string* text : texts.texts()) profile.add_string(Profile::kStringTable, *text);
  return compressed(bytes);
}

}  // namespace spile::runs
