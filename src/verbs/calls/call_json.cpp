#include "verbs/calls/call_json.h"

#include <charconv>

#include "base/text/json.h"

namespace spile::verbs {

namespace {

Json value_of(const CallValue& value) {
  if (!value.number) return value.text;
  int64_t number = 0;
  uint64_t whole = 0;
  const char *begin = value.text.data(), *end = begin + value.text.size();
  if (std::from_chars(begin, end, number).ptr == end) return number;
  if (std::from_chars(begin, end, whole).ptr == end) return whole;
  return value.text;
}

}  // namespace

std::string json_line(const CallRecord& record) {
  Json object;
  object["id"] = record.id;
  object["parent"] = record.parent == 0 ? Json() : Json(record.parent);
  object["depth"] = record.depth;
  object["pid"] = record.pid;
  object["tid"] = record.tid;
  object["flow"] = record.flow;
  object["thread"] = record.thread;
  object["function"] = record.function;
  Json arguments = Json::object();
  for (const CallValue& value : record.arguments) {
    if (!value.name.empty()) arguments[value.name] = value_of(value);
  }
  object["arguments"] = std::move(arguments);
  if (record.result) object["result"] = value_of(*record.result);
  object["begin_ns"] = record.began;
  if (!record.runs) object["duration_ns"] = record.duration;
  object["end"] = record.runs ? "runs" : record.returned ? "returned" : "left";
  return object.dump() + "\n";
}

}  // namespace spile::verbs
