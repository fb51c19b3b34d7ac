#include "session/sample_files.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "session/sample_page.h"

namespace spile::session {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& object) { return object.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string folded_name(std::string text) {
  for (char& c : text) {
    if (c == ';' || static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '_';
  }
  return text;
}

// Returns the frames of a stack, outermost first.
std::vector<uint32_t> frames_of(const Samples& samples, uint32_t stack) {
  std::vector<uint32_t> frames;
  for (; stack != 0; stack = samples.stacks()[stack].caller) frames.push_back(samples.stacks()[stack].frame);
  return {frames.rbegin(), frames.rend()};
}

// Within a script element, "</script>" in a name must not end it.
std::string in_script_element(std::string json) {
  std::string text;
  for (const char c : json) text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return text;
}

}  // namespace

std::string folded_stacks(const Samples& samples) {
  std::map<std::pair<std::string, uint32_t>, uint64_t> counts;
  for (const Samples::Sample& sample : samples.samples()) ++counts[{samples.threads()[sample.thread].name, sample.stack}];
  std::map<std::string, uint64_t> lines;  // names that differ only in what is escaped are one
  for (const auto& [key, count] : counts) {
    std::string line = folded_name(key.first);
    for (const uint32_t frame : frames_of(samples, key.second)) line += ";" + folded_name(text_of(samples.frames()[frame]));
    lines[line] += count;
  }
  std::string text;
  for (const auto& [line, count] : lines) text += fmt::format("{} {}\n", line, count);
  return text;
}

std::string speedscope_file(const Samples& samples, const SampleFacts& facts) {
  Json frames = Json::array(), profiles = Json::array();
  for (const Samples::Frame& frame : samples.frames()) {
    Json object{{"name", text_of(frame)}};
    if (!frame.module.empty()) object["file"] = frame.module;
    frames.push_back(std::move(object));
  }
  std::vector<Json> stacks(samples.threads().size(), Json::array());
  for (const Samples::Sample& sample : samples.samples()) stacks[sample.thread].push_back(frames_of(samples, sample.stack));
  for (size_t i = 0; i < stacks.size(); ++i) {
    const Samples::Thread& thread = samples.threads()[i];
    const size_t count = stacks[i].size();
    profiles.push_back({{"type", "sampled"}, {"name", fmt::format("{} {}", thread.name, thread.thread)}, {"unit", "none"}, {"startValue", 0}, {"endValue", count},
                        {"samples", std::move(stacks[i])}, {"weights", std::vector<int>(count, 1)}});
  }
  return dump({{"$schema", "https://www.speedscope.app/file-format-schema.json"}, {"name", facts.title}, {"exporter", "spile"},
               {"shared", {{"frames", std::move(frames)}}}, {"profiles", std::move(profiles)}}) + "\n";
}

std::string html_page(const Samples& samples, const SampleFacts& facts) {
  Json frames = Json::array(), stacks = Json::array(), threads = Json::array();
  for (const Samples::Frame& frame : samples.frames()) frames.push_back(Json::array({text_of(frame), frame.module}));
  for (const Samples::Stack& stack : samples.stacks()) stacks.push_back(Json::array({stack.caller, stack.frame, stack.samples}));
  std::vector<uint64_t> counts(samples.threads().size());
  for (const Samples::Sample& sample : samples.samples()) ++counts[sample.thread];
  for (size_t i = 0; i < counts.size(); ++i) {
    const Samples::Thread& thread = samples.threads()[i];
    threads.push_back(Json::array({thread.name, thread.process, thread.thread, counts[i]}));
  }
  const int64_t first = samples.samples().empty() ? 0 : samples.samples().front().time_ns;
  const int64_t last = samples.samples().empty() ? 0 : samples.samples().back().time_ns;
  const Json data{{"title", facts.title}, {"host", facts.host}, {"script", facts.script}, {"begin_ms", first / 1'000'000}, {"end_ms", last / 1'000'000},
                  {"lost", samples.lost()}, {"cut", samples.cut()}, {"frames", std::move(frames)}, {"stacks", std::move(stacks)}, {"threads", std::move(threads)}};
  return std::string(kSamplePageBegin) + in_script_element(dump(data)) + kSamplePageEnd;
}

}  // namespace spile::session
