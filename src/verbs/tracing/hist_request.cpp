#include "verbs/tracing/hist_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/diagnostics.h"
#include "base/text/split.h"

namespace spile::verbs {

namespace {

constexpr size_t kMostKeys = 3, kMostSortKeys = 2;  // as in ftrace
constexpr int64_t kMostEntries = 131072;
constexpr const char* kWordsHint =
    "the words are EVENT, keys=, vals=, sort=, size=, match=, onmax(FIELD), nohitcount and 'if FILTER'";

struct Modifier {
  const char* name;
  Shown shown;
  bool of_keys, of_values;
};
constexpr Modifier kModifiers[] = {
    {"hex", Shown::kHex, true, true},
    {"sym", Shown::kSymbol, true, false},
    {"sym-offset", Shown::kSymbolOffset, true, false},
    {"syscall", Shown::kSystemCall, true, false},
    {"execname", Shown::kProgram, true, false},
    {"log2", Shown::kLog2, true, false},
    {"buckets", Shown::kBuckets, true, false},
    {"usecs", Shown::kMicroseconds, true, false},
    {"percent", Shown::kPercent, false, true},
    {"graph", Shown::kGraph, false, true},
};

std::vector<std::string> parts_of(std::string_view text, char separator) {
  const std::vector<std::string_view> parts = split(text, separator);
  return {parts.begin(), parts.end()};
}

Result<int64_t> number(const std::string& text, int64_t least, int64_t most, const std::string& what) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return Error{fmt::format("{}: '{}' is not a number from {} to {}", what, text, least, most), {}};
  return value;
}

std::string modifier_names(bool of_values) {
  std::string names;
  for (const Modifier& modifier : kModifiers) {
    if (of_values ? modifier.of_values : modifier.of_keys)
      names += fmt::format("{}.{}{}", names.empty() ? "" : ", ", modifier.name, modifier.shown == Shown::kBuckets ? "=SIZE" : "");
  }
  return names;
}

// Where a field's modifier begins: "args[0].hex". A path such as $file->f_pos.hex has its dot behind the last arrow.
size_t modifier_at(const std::string& text) {
  const size_t arrow = text.rfind("->");
  return text.find('.', arrow == std::string::npos ? 0 : arrow);
}

Result<HistField> parse_field(const std::string& word, const std::string& text, bool of_values) {
  HistField field;
  field.text = text;
  const size_t dot = modifier_at(text);
  field.name = text.substr(0, dot);
  if (field.name.empty())
    return Error{fmt::format("'{}' lacks the name of a field", word),
                 fmt::format("as in {}=common_pid", of_values ? "vals" : "keys")};
  if (field.name == "common_stacktrace") field.name = "stacktrace";
  if (dot == std::string::npos) return field;
  std::string modifier = text.substr(dot + 1), value;
  if (size_t equals = modifier.find('='); equals != std::string::npos) {
    value = modifier.substr(equals + 1);
    modifier.resize(equals);
  }
  const auto known = std::ranges::find_if(kModifiers, [&](const Modifier& each) { return each.name == modifier; });
  if (known == std::end(kModifiers))
    return Error{fmt::format("'{}': unknown modifier '.{}'", text, modifier),
                 fmt::format("the modifiers of {} are {}", of_values ? "values" : "keys", modifier_names(of_values))};
  if (of_values && !known->of_values)
    return Error{fmt::format("'{}': '.{}' is for keys, as values are sums", text, modifier),
                 fmt::format("the modifiers of values are {}", modifier_names(true))};
  if (!of_values && !known->of_keys)
    return Error{fmt::format("'{}': '.{}' is for values", text, modifier),
                 fmt::format("the modifiers of keys are {}", modifier_names(false))};
  field.shown = known->shown;
  if (field.shown == Shown::kBuckets) {
    TRY(field.bucket, number(value, 1, int64_t{1} << 40, fmt::format("'{}'", text)));
  } else if (text.find('=', dot) != std::string::npos) {
    return Error{fmt::format("'{}': '.{}' takes no value", text, modifier), {}};
  }
  return field;
}

Result<void> parse_values(const std::string& word, const std::string& list, HistRequest& request) {
  for (const std::string& text : parts_of(list, ',')) {
    TRY(HistField field, parse_field(word, text, true));
    if (field.name == kHitcount && field.shown == Shown::kPlain) continue;
    request.values.push_back(std::move(field));
  }
  return {};
}

Result<void> parse_sort(const std::string& list, HistRequest& request) {
  for (const std::string& text : parts_of(list, ',')) {
    HistSort sort;
    const size_t dot = modifier_at(text);
    sort.name = text.substr(0, dot);
    const std::string order = dot == std::string::npos ? "ascending" : text.substr(dot + 1);
    if (sort.name.empty()) return Error{"'sort=' lacks the name of a key or value", "as in sort=hitcount.descending"};
    if (order != "ascending" && order != "descending")
      return Error{fmt::format("'{}': a sort key may have .ascending (the default) or .descending", text), {}};
    sort.descending = order == "descending";
    request.sort.push_back(std::move(sort));
  }
  if (request.sort.size() > kMostSortKeys)
    return Error{fmt::format("'sort={}' has {} keys; {} are possible", list, request.sort.size(), kMostSortKeys), {}};
  return {};
}

Result<void> parse_match(const std::string& list, HistRequest& request) {
  for (const std::string& text : parts_of(list, ',')) {
    const size_t slash = text.find('/');
    const std::string first = text.substr(0, slash), second = slash == std::string::npos ? first : text.substr(slash + 1);
    if (first.empty() || second.empty())
      return Error{fmt::format("'match={}' lacks a field", list),
                   "as in match=pid/next_pid: a field of the first event, and the one of the second that has the same value"};
    request.match.emplace_back(first, second);
  }
  return {};
}

// onmax(FIELD), onmax(FIELD).save(FIELD,...)
Result<void> parse_max(const std::string& word, HistRequest& request) {
  constexpr const char* kExample = "as in onmax(latency) or 'onmax(latency).save(next_comm,prev_comm)'";
  const size_t close = word.find(')');
  if (!word.starts_with("onmax(") || close == std::string::npos || close == 6)
    return Error{fmt::format("'{}' lacks the name of a field", word), kExample};
  if (!request.max_of.empty()) return Error{"onmax is given twice", {}};
  request.max_of = word.substr(6, close - 6);
  const std::string rest = word.substr(close + 1);
  if (rest.empty()) return {};
  if (!rest.starts_with(".save(") || rest.back() != ')' || rest.size() < 8)
    return Error{fmt::format("'{}': what onmax can do is .save(FIELD,...)", word), kExample};
  for (std::string& name : parts_of(std::string_view(rest).substr(6, rest.size() - 7), ',')) {
    if (name.empty()) return Error{fmt::format("'{}' lacks the name of a field", word), kExample};
    request.saved.push_back(std::move(name));
  }
  return {};
}

// Takes a whole trigger apart: "hist:keys=a:vals=b if c == d".
std::vector<std::string> words_of_trigger(const std::string& trigger) {
  std::string settings = trigger.substr(0, trigger.find(" if "));
  std::vector<std::string> words = parts_of(std::string_view(settings).substr(5), ':');
  std::erase(words, "");
  if (size_t at = trigger.find(" if "); at != std::string::npos) words.push_back(trigger.substr(at + 1));
  return words;
}

Result<void> parse_word(const std::string& word, HistRequest& request) {
  auto value_of = [&](std::initializer_list<const char*> names) -> std::optional<std::string> {
    for (const std::string name : names) {
      if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
    }
    return std::nullopt;
  };
  if (auto list = value_of({"keys", "key"})) {
    for (const std::string& text : parts_of(*list, ',')) {
      TRY(HistField field, parse_field(word, text, false));
      request.keys.push_back(std::move(field));
    }
    if (request.keys.size() > kMostKeys)
      return Error{fmt::format("'{}' has {} keys; {} are possible", word, request.keys.size(), kMostKeys), {}};
    return {};
  }
  if (auto list = value_of({"vals", "values", "val"})) return parse_values(word, *list, request);
  if (auto list = value_of({"sort"})) return parse_sort(*list, request);
  if (auto list = value_of({"match"})) return parse_match(*list, request);
  if (auto text = value_of({"size"})) {
    TRY(request.size, number(*text, 1, kMostEntries, "size"));
    return {};
  }
  if (word == "nohitcount" || word == "NOHC") {
    request.shows_hitcount = false;
    return {};
  }
  if (word.starts_with("onmax")) return parse_max(word, request);
  for (const char* other : {"onmatch", "onchange", "pause", "continue", "cont", "clear", "name="}) {
    if (word.starts_with(other)) {
      return Error{fmt::format("'{}' of ftrace's triggers is not in spile", word),
                   std::string(other) == "onmatch" ? "the time between two events: spile hist FIRST SECOND match=FIELD/FIELD"
                                                   : kWordsHint};
    }
  }
  const size_t equals = word.find('=');
  if (equals != std::string::npos && word.find_first_of("(\".") > equals) {
    const std::string near = nearest_name(word.substr(0, equals), {"keys", "vals", "sort", "size", "match"});
    return Error{fmt::format("unknown word '{}'", word), near.empty() ? kWordsHint : fmt::format("did you mean '{}='?", near)};
  }
  request.events.push_back(word);
  return {};
}

Result<void> check(HistRequest& request) {
  if (request.events.empty())
    return Error{"hist needs an event",
                 "spile hist sched:sched_switch keys=next_comm; spile -l 'kernel.trace(\"*\")' lists tracepoints"};
  if (request.events.size() > 2) {
    return Error{fmt::format("'{}' is a third event: hist takes one, or two for the time between them", request.events[2]),
                 kWordsHint};
  }
  const bool two = request.events.size() == 2;
  if (two && request.match.empty()) {
    return Error{fmt::format("'{}' and '{}': match= must say which hits belong together", request.events[0], request.events[1]),
                 "spile hist sched:sched_waking sched:sched_switch match=pid/next_pid"};
  }
  if (!two && !request.match.empty())
    return Error{"match= is for two events", "spile hist sched:sched_waking sched:sched_switch match=pid/next_pid"};
  if (request.keys.empty() && two) request.keys.push_back({"latency.log2", "latency", Shown::kLog2, 0});
  if (!request.shows_hitcount && request.values.empty())
    return Error{"nohitcount needs a value to show", "as in vals=hitcount.percent"};
  return {};
}

}  // namespace

Result<HistRequest> parse_hist(const std::vector<std::string>& words) {
  HistRequest request;
  std::vector<std::string> all;
  for (const std::string& word : words) {
    if (!word.starts_with("hist:")) all.push_back(word);
    else std::ranges::move(words_of_trigger(word), std::back_inserter(all));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] != "if" && !all[i].starts_with("if ")) {
      TRY_DO(parse_word(all[i], request));
      continue;
    }
    request.filter = all[i].substr(std::min<size_t>(3, all[i].size()));
    for (++i; i < all.size(); ++i) request.filter += (request.filter.empty() ? "" : " ") + all[i];
    if (request.filter.find_first_not_of(' ') == std::string::npos)
      return Error{"'if' needs a filter", "as in 'if prev_pid != 0 && prev_comm ~ \"k*\"'"};
  }
  TRY_DO(check(request));
  return request;
}

}  // namespace spile::verbs
