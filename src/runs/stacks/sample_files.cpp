#include "runs/stacks/sample_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "base/embedded_text.h"
#include "base/text/json.h"
#include "base/text/number_text.h"
#include "runs/stacks/page_text.h"
#include "runs/text/utf8_text.h"

SPILE_EMBEDDED_TEXT(spile_sample_page_html)
SPILE_EMBEDDED_TEXT(spile_sample_page_js)

namespace spile::runs {

namespace {

std::string dump(const Json& object) { return object.dump(); }

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

// Returns the text for XML 1.0: escaped, and without what may not be in it.
std::string xml_text(const std::string& text) {
  const std::string valid = valid_utf8(text);
  std::string escaped;
  for (size_t i = 0; i < valid.size(); ++i) {
    const char c = valid[i];
    if (c == '<') escaped += "&lt;";
    else if (c == '>') escaped += "&gt;";
    else if (c == '&') escaped += "&amp;";
    else if (static_cast<unsigned char>(c) < ' ') escaped += '_';
    else if (valid.compare(i, 3, "\xef\xbf\xbe") == 0 || valid.compare(i, 3, "\xef\xbf\xbf") == 0) escaped += '_', i += 2;
    else escaped += c;
  }
  return escaped;
}

// Returns the first `most` characters of valid UTF-8.
std::string first_characters(const std::string& text, size_t most) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && most-- == 0) break;
  }
  return text.substr(0, end);
}

// The tree of stacks with the sums of its branches.
struct StackTree {
  std::vector<uint64_t> totals;
  std::vector<std::vector<uint32_t>> callees;
};
StackTree tree_of(const Samples& samples) {
  const auto& stacks = samples.stacks();
  StackTree tree{std::vector<uint64_t>(stacks.size()), std::vector<std::vector<uint32_t>>(stacks.size())};
  for (size_t i = stacks.size() - 1; i > 0; --i) {
    tree.totals[i] = added(tree.totals[i], stacks[i].weight);
    tree.totals[stacks[i].caller] = added(tree.totals[stacks[i].caller], tree.totals[i]);
  }
  for (uint32_t i = 1; i < stacks.size(); ++i) tree.callees[stacks[i].caller].push_back(i);
  for (auto& callees : tree.callees) {
    std::ranges::sort(callees, {}, [&](uint32_t stack) { return text_of(samples.frames()[stacks[stack].frame]); });
  }
  return tree;
}

}  // namespace

std::string folded_stacks(const Samples& samples) {
  std::map<std::pair<std::string, uint32_t>, uint64_t> counts;
  for (size_t i = 0; i < samples.samples().size(); ++i) {
    const Samples::Sample& sample = samples.samples()[i];
    uint64_t& count = counts[{samples.threads()[sample.thread].name, sample.stack}];
    count = added(count, samples.weight_of(i));
  }
  std::map<std::string, uint64_t> lines;  // names that differ only in what is escaped are one
  for (const auto& [key, count] : counts) {
    std::string line = folded_name(key.first);
    for (const uint32_t frame : frames_of(samples, key.second)) line += ";" + folded_name(text_of(samples.frames()[frame]));
    lines[line] = added(lines[line], count);
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
  std::vector<Json> stacks(samples.threads().size(), Json::array()), weights = stacks;
  std::vector<uint64_t> sums(samples.threads().size());
  for (size_t i = 0; i < samples.samples().size(); ++i) {
    const Samples::Sample& sample = samples.samples()[i];
    stacks[sample.thread].push_back(frames_of(samples, sample.stack));
    weights[sample.thread].push_back(samples.weight_of(i));
    sums[sample.thread] = added(sums[sample.thread], samples.weight_of(i));
  }
  const char* const unit = samples.unit() == Samples::Unit::kNs      ? "nanoseconds"
                           : samples.unit() == Samples::Unit::kBytes ? "bytes"
                                                                     : "none";
  for (size_t i = 0; i < stacks.size(); ++i) {
    const Samples::Thread& thread = samples.threads()[i];
    profiles.push_back({{"type", "sampled"},
                        {"name", fmt::format("{} {}", thread.name, thread.thread)},
                        {"unit", unit},
                        {"startValue", 0},
                        {"endValue", sums[i]},
                        {"samples", std::move(stacks[i])},
                        {"weights", std::move(weights[i])}});
  }
  return dump({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
               {"name", facts.title},
               {"exporter", "spile"},
               {"shared", {{"frames", std::move(frames)}}},
               {"profiles", std::move(profiles)}}) +
         "\n";
}

// "12 samples"; times as people read them.
std::string amount_text(Samples::Unit unit, uint64_t amount) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (unit == Samples::Unit::kNs) return time_text(static_cast<int64_t>(std::min(amount, kMost)));
  return fmt::format("{} {}", amount, unit_text(unit));
}

std::string svg_picture(const Samples& samples, const SampleFacts& facts) {
  constexpr double kWidth = 1200, kLeastWidth = 0.3, kCharacter = 6.7;
  constexpr int kRow = 18, kHead = 30;
  const StackTree tree = tree_of(samples);
  const double scale = kWidth / static_cast<double>(std::max<uint64_t>(tree.totals[0], 1));
  struct Box {
    uint32_t stack;
    int depth;
    double left;
  };
  std::vector<Box> work{{0, 0, 0}};
  std::string boxes;
  int deepest = 0;
  while (!work.empty()) {
    const Box box = work.back();
    work.pop_back();
    const double width = static_cast<double>(tree.totals[box.stack]) * scale;
    if (width < kLeastWidth) continue;
    deepest = std::max(deepest, box.depth);
    const Samples::Stack& stack = samples.stacks()[box.stack];
    const std::string name = box.stack == 0 ? "all" : text_of(samples.frames()[stack.frame]);
    const size_t hash = std::hash<std::string>()(name);
    boxes += fmt::format(
        "<g><title>{}\n{}, {:.2f} %; {} in itself</title><rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" "
        "fill=\"hsl({},85%,{}%)\"/>",
        xml_text(name), amount_text(samples.unit(), tree.totals[box.stack]), 100 * width / kWidth,
        amount_text(samples.unit(), stack.weight), box.left,
        kHead + box.depth * kRow, width, kRow - 1, 10 + hash % 45, 62 + hash / 45 % 13);
    const auto fitting = static_cast<size_t>(std::max(width - 6, 0.0) / kCharacter);
    if (fitting >= 3)
      boxes += fmt::format("<text x=\"{:.2f}\" y=\"{}\">{}</text>", box.left + 3, kHead + box.depth * kRow + 12,
                           xml_text(first_characters(valid_utf8(name), fitting)));
    boxes += "</g>\n";
    double left = box.left + static_cast<double>(stack.weight) * scale;
    for (const uint32_t callee : tree.callees[box.stack]) {
      work.push_back({callee, box.depth + 1, left});
      left += static_cast<double>(tree.totals[callee]) * scale;
    }
  }
  const int height = kHead + (deepest + 1) * kRow;
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" "
      "font-family=\"monospace\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"3\" y=\"18\" "
      "font-size=\"14\">{2}: {3} on {4}</text>\n{5}</svg>\n",
      kWidth, height, xml_text(facts.title), amount_text(samples.unit(), tree.totals[0]), xml_text(facts.host), boxes);
}

Json stacks_json(const Samples& samples) {
  Json frames = Json::array(), stacks = Json::array();
  for (const Samples::Frame& frame : samples.frames()) frames.push_back(Json::array({text_of(frame), frame.module}));
  for (const Samples::Stack& stack : samples.stacks()) stacks.push_back(Json::array({stack.caller, stack.frame, stack.weight}));
  return {{"unit", unit_text(samples.unit())}, {"frames", std::move(frames)}, {"stacks", std::move(stacks)}};
}

// Within a script element, "</script>" in a name must not end it.
std::string page_json(const Json& data) {
  const std::string json = dump(data);
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') text += "\\u003c";
    else text += c;
  }
  return text;
}

std::string html_page(const Samples& samples, const SampleFacts& facts) {
  Json threads = Json::array();
  std::vector<uint64_t> counts(samples.threads().size());
  for (size_t i = 0; i < samples.samples().size(); ++i) {
    uint64_t& count = counts[samples.samples()[i].thread];
    count = added(count, samples.weight_of(i));
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const Samples::Thread& thread = samples.threads()[i];
    threads.push_back(Json::array({thread.name, thread.process, thread.thread, counts[i]}));
  }
  const int64_t first = samples.samples().empty() ? 0 : samples.samples().front().time_ns;
  const int64_t last = samples.samples().empty() ? 0 : samples.samples().back().time_ns;
  Json data{{"title", facts.title},       {"host", facts.host},     {"script", facts.script}, {"begin_ms", first / 1'000'000},
            {"end_ms", last / 1'000'000}, {"lost", samples.lost()}, {"cut", samples.cut()},   {"threads", std::move(threads)}};
  data.update(stacks_json(samples));
  return fill_page(spile_sample_page_html(), {{"data", page_json(data)}, {"sample_page.js", spile_sample_page_js()}});
}

}  // namespace spile::runs
