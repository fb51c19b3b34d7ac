#include "verbs/tracing/trace_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "verbs/terms/name_patterns.h"
#include "verbs/terms/option_values.h"

namespace spile::verbs {

namespace {

Result<void> add_patterns(const std::string& list, std::vector<std::string>& patterns) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    TRY(std::string pattern, parse_function(list.substr(begin, end - begin)));
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
      TRY(request.depth, parse_number("--depth", value, 1, kMostDepth, "the function itself is at depth 1"));
      request.depth_given = true;
    }
    if (name == "over") {
      TRY(request.over_ns, parse_time("--over", value));
    }
    if (name == "also") TRY_DO(add_patterns(value, request.also));
  }
  for (const std::string& word : line.words) {
    request.text += fmt::format(" '{}'", word);
    const bool excludes = word.starts_with("!");
    for (const std::string& each : alternatives_of(excludes ? word.substr(1) : word)) {
      TRY(std::string pattern, parse_function(each));
      (excludes ? request.excluded : request.functions).push_back(std::move(pattern));
    }
  }
  if (request.functions.empty())
    return Error{"trace needs the name of a function", "spile trace --kernel vfs_read, or spile trace 'parse_*' -c COMMAND"};
  if (!request.in_kernel && !request.also.empty())
    return Error{"--also is for the kernel",
                 "in processes, all functions that match are traced: give the pattern beside the others"};
  if (!request.in_kernel && request.interrupts) return Error{"--interrupts is for the kernel", {}};
  if (request.depth == 0) request.depth = request.in_kernel ? kDefaultKernelDepth : kMostDepth;
  std::erase(request.text, '\n');
  return request;
}

}  // namespace spile::verbs
