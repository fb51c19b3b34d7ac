#include "runs/stacks/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace spile::runs {

std::string text_of(const Samples::Frame& frame) {
  if (!frame.function.empty()) return frame.function;
  return frame.module.empty() ? "[unknown]" : fmt::format("[{}]", frame.module);
}

std::string_view unit_text(Samples::Unit unit) {
  switch (unit) {
    case Samples::Unit::kSamples: return "samples";
    case Samples::Unit::kNs: return "ns";
    case Samples::Unit::kBytes: return "bytes";
    case Samples::Unit::kCalls: return "calls";
  }
  return "";
}

uint64_t added(uint64_t a, uint64_t b) { return a + b < a ? ~uint64_t{0} : a + b; }

uint32_t Samples::frame_index(Frame frame) {
  const auto [place, added] =
      frames_by_text_.try_emplace(fmt::format("{}\n{}", frame.function, frame.module), static_cast<uint32_t>(frames_.size()));
  if (added) frames_.push_back(std::move(frame));
  return place->second;
}

// "f+0x12 [libc.so.6]", "0x7f12 [libc.so.6+0x12]", "0x7f12"
uint32_t Samples::frame_of(int64_t process, std::string_view line, bool is_exact) {
  Frame frame;
  line = line.substr(0, kLongestText);
  if (const size_t open = line.rfind(" ["); open != std::string_view::npos && line.ends_with(']')) {
    std::string_view module = line.substr(open + 2, line.size() - open - 3);
    line = line.substr(0, open);
    if (line.starts_with("0x")) module = module.substr(0, module.rfind("+0x"));
    frame.module = module;
  }
  if (!line.starts_with("0x")) frame.function = line.substr(0, line.rfind("+0x"));
  uint64_t address = 0;
  if (code_names_ && frame.module.empty() && line.starts_with("0x") &&
      std::from_chars(line.data() + 2, line.data() + line.size(), address, 16).ec == std::errc() && address > 0) {
    frame.function = code_names_(process, is_exact ? address : address - 1).substr(0, kLongestText);
    if (!frame.function.empty()) frame.module = "[JIT]";
  }
  return frame_index(std::move(frame));
}

uint32_t Samples::stack_of(uint32_t caller, uint32_t frame) {
  const auto [place, added] = stacks_by_place_.try_emplace(uint64_t{caller} << 32 | frame, static_cast<uint32_t>(stacks_.size()));
  if (added) stacks_.push_back({caller, frame, 0});
  return place->second;
}

uint32_t Samples::thread_of(int64_t process, int64_t thread, std::string_view name) {
  const auto [place, added] =
      threads_by_key_.try_emplace(fmt::format("{} {}", process, thread), static_cast<uint32_t>(threads_.size()));
  if (added) threads_.push_back({process, thread, std::string(name.substr(0, kLongestText))});
  return place->second;
}

std::optional<uint32_t> Samples::add(int64_t time_ns, int64_t process, int64_t thread, std::string_view name,
                                     std::string_view text, bool is_whole, uint64_t weight) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (end == std::string_view::npos && !is_whole) break;
    if (!line.empty()) lines.push_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (samples_.size() >= kMostSamples || stacks_.size() + lines.size() + 2 > kMostStacks ||
      frames_.size() + lines.size() + 2 > kMostFrames || threads_.size() >= kMostThreads) {
    ++lost_;
    return std::nullopt;
  }
  uint32_t stack = 0;
  if (!is_whole) stack = stack_of(stack, frame_index({"[cut]", {}}));
  if (lines.empty() && is_whole) stack = stack_of(stack, frame_index({}));
  std::ranges::reverse(lines);
  for (size_t i = 0; i < lines.size(); ++i) stack = stack_of(stack, frame_of(process, lines[i], i + 1 == lines.size()));
  if (!is_whole) cut_stacks_.insert(stack);
  add_known(time_ns, process, thread, name, stack, weight);
  return stack;
}

void Samples::add_known(int64_t time_ns, int64_t process, int64_t thread, std::string_view name, uint32_t stack,
                        uint64_t weight) {
  if (samples_.size() >= kMostSamples || threads_.size() >= kMostThreads) return void(++lost_);
  if (cut_stacks_.contains(stack)) ++cut_;
  if (unit_ == Unit::kSamples) weight = 1;
  else weights_.push_back(weight);
  stacks_[stack].weight = added(stacks_[stack].weight, weight);
  samples_.push_back({time_ns, thread_of(process, thread, name), stack});
}

}  // namespace spile::runs
