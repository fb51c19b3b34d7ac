#include "verbs/tracing/flame_scripts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded_text.h"
#include "verbs/tasks/task_verbs.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/script_text.h"

SPILE_EMBEDDED_TEXT(spile_verb_flame_samples)
SPILE_EMBEDDED_TEXT(spile_verb_flame_switches)
SPILE_EMBEDDED_TEXT(spile_verb_flame_weights)

namespace spile::verbs {

namespace {

using Unit = runs::Samples::Unit;

constexpr int kMostHz = 100000;

// Of a script that adds up weights by stack. what: a name of the file.
std::string weighing_script(std::string_view what, const std::string& point = {}) {
  ScriptValues values;
  for (const std::string_view name : {"ALLOC", "LOCK", "OFF_CPU"}) values.emplace_back(name, when(name == what));
  values.emplace_back("OF", point);
  return script_text(spile_verb_flame_weights(), values);
}

}  // namespace

Result<FlameScript> make_flame_script(const VerbLine& line) {
  FlameScript script;
  std::string point = "timer.profile", chosen;
  script.limits = {"MAXSTRINGLEN=4096"};
  bool in_kernel = false;
  for (const auto& [name, value] : line.options) {
    if (name == "kernel") {
      in_kernel = true;
      continue;
    }
    if (!chosen.empty())
      return Error{fmt::format("--{} and --{} can't be shown in one picture", chosen, name), "run spile flame for each"};
    chosen = name;
    script.words += value.empty() ? " --" + name : fmt::format(" --{} {}", name, value);
    std::ranges::replace(script.words, '\n', ' ');  // they stand in a comment
    if (name == "hz") {
      TRY(const int hz,
          parse_number("--hz", value, 1, kMostHz,
                       "so many samples are taken in a second of a thread's processor time; 100 if nothing is said"));
      point = fmt::format("timer.profile.freq.hz({})", hz);
    } else if (name == "alloc") {
      script.text = weighing_script("ALLOC");
      script.empty = "no allocation was seen";
      script.unit = Unit::kBytes;
    } else if (name == "lock") {
      script.text = weighing_script("LOCK");
      script.empty = "no thread has waited in a futex";
      script.unit = Unit::kNs;
    } else if (name == "off-cpu") {
      script.text = weighing_script("OFF_CPU");
      script.empty = "no system call took a microsecond or more";
      script.unit = Unit::kNs;
    } else if (name == "of") {
      TRY(const std::string function, parse_function(value));
      script.text = weighing_script("OF", function_point(function));
      script.empty = value + " was not called";
      script.unit = Unit::kCalls;
    }
  }
  if (in_kernel) {
    if (chosen != "off-cpu")
      return Error{"spile flame --kernel goes with --off-cpu", "spile flame --off-cpu --kernel -x PID -o flame.html"};
    script.words += " --kernel";
    script.text = spile_verb_flame_switches();
    script.empty = "no thread was without a processor";
  }
  if (!script.text.empty()) return script;
  script.text = script_text(spile_verb_flame_samples(), {{"POINT", point}});
  // Names of 256 frames and more have room.
  script.limits = {"MAXSTRINGLEN=16384", "MAXBACKTRACE=1024"};
  return script;
}

}  // namespace spile::verbs
