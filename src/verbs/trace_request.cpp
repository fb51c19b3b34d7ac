#include "verbs/trace_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace spile::verbs {

namespace {

Result<int> parse_depth(const std::string& text) {
  int depth = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
  if (error != std::errc() || end != text.data() + text.size() || depth < 1 || depth > kMostDepth)
    return Error{fmt::format("--depth {}: not a number from 1 to {}", text, kMostDepth), "the function itself is at depth 1"};
  return depth;
}

Result<int64_t> parse_duration(const std::string& text) {
  constexpr struct { const char* name; double ns; } kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto known = std::ranges::find_if(kUnits, [&](const auto& each) { return unit == each.name; });
  if (error != std::errc() || known == std::end(kUnits) || !std::isfinite(number) || number < 0 || number * known->ns > 1e18)
    return Error{fmt::format("--over {}: not a time", text), "a number and its unit: 500ns, 20us, 1.5ms, 2s"};
  return static_cast<int64_t>(number * known->ns);
}

// A name of the script's language: it stands in a string of the script.
Result<std::string> checked_pattern(const std::string& word) {
  for (const char c : word) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || c == 0x7f) return Error{fmt::format("'{}' is not the name or pattern of a function", word), {}};
  }
  if (word.empty()) return Error{"the name of a function is empty", {}};
  return word;
}

Result<void> add_patterns(const std::string& list, std::vector<std::string>& patterns) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    TRY(std::string pattern, checked_pattern(list.substr(begin, end - begin)));
    patterns.push_back(std::move(pattern));
    begin = end + 1;
  }
  return {};
}

}  // namespace

Result<TraceRequest> parse_trace(const VerbLine& line) {
  TraceRequest request;
  for (const auto& [name, value] : line.options) {
    request.text += fmt::format(" --{}{}{}", name, value.empty() ? "" : " ", value);
    if (name == "kernel") request.in_kernel = true;
    if (name == "interrupts") request.interrupts = true;
    if (name == "depth") {
      TRY(request.depth, parse_depth(value));
      request.depth_given = true;
    }
    if (name == "over") {
      TRY(request.over_ns, parse_duration(value));
    }
    if (name == "also") TRY_DO(add_patterns(value, request.also));
  }
  for (const std::string& word : line.words) {
    request.text += fmt::format(" '{}'", word);
    TRY(std::string pattern, checked_pattern(word.starts_with("!") ? word.substr(1) : word));
    (word.starts_with("!") ? request.excluded : request.functions).push_back(std::move(pattern));
  }
  if (request.functions.empty())
    return Error{"trace needs the name of a function", "spile trace --kernel vfs_read, or spile trace 'parse_*' -c COMMAND"};
  if (!request.in_kernel && !request.also.empty())
    return Error{"--also is for the kernel", "in processes, all functions that match are traced: give the pattern beside the others"};
  if (!request.in_kernel && request.interrupts) return Error{"--interrupts is for the kernel", {}};
  if (request.depth == 0) request.depth = request.in_kernel ? kDefaultKernelDepth : kMostDepth;
  std::erase(request.text, '\n');
  return request;
}

}  // namespace spile::verbs
