#include "verbs/tracing/flame.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "runs/timeline/perfetto_file.h"
#include "verbs/tasks/task_verbs.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/run_facts.h"
#include "verbs/tracing/flame_scripts.h"

namespace spile::verbs {

namespace {

Result<FlameForm> form_of(const std::string& file) {
  if (file.empty() || file.ends_with(".folded")) return FlameForm::kFolded;
  if (file.ends_with(".speedscope.json")) return FlameForm::kSpeedscope;
  if (file.ends_with(".svg")) return FlameForm::kSvg;
  if (file.ends_with(".html")) return FlameForm::kHtml;
  if (file.ends_with(".pb.gz")) return FlameForm::kPprof;
  if (file.ends_with(".pftrace")) return FlameForm::kPerfetto;
  return Error{fmt::format("-o {}: the name's ending does not say which file to write", file),
               "it can be .html, .svg, .folded, .speedscope.json, .pb.gz or .pftrace"};
}

}  // namespace

void FlameSamples::take(std::string_view head, runs::PayloadReader& arguments, std::string&) {
  if (head == "stack ") {
    const int64_t process = arguments.next_long(), thread = arguments.next_long();
    const std::string_view name = arguments.next_string();
    const int64_t weight = arguments.next_long();
    const std::string_view stack = arguments.next_string();
    if (weight > 0)
      samples_.add(0, process, thread, name, stack, stack.empty() || stack.ends_with('\n'), static_cast<uint64_t>(weight));
  }
  if (head != "sample ") return;
  const int64_t time = arguments.next_long(), process = arguments.next_long(), thread = arguments.next_long();
  const std::string_view name = arguments.next_string(), stack = arguments.next_string();
  // Each line has an end, unless the string was too short for it (MAXSTRINGLEN).
  samples_.add(time, process, thread, name, stack, stack.empty() || stack.ends_with('\n'));
}

void FlameSamples::finish(std::string& out) {
  switch (form_) {
    case FlameForm::kFolded: out += runs::folded_stacks(samples_); break;
    case FlameForm::kSpeedscope: out += runs::speedscope_file(samples_, facts_); break;
    case FlameForm::kSvg: out += runs::svg_picture(samples_, facts_); break;
    case FlameForm::kHtml: out += runs::html_page(samples_, facts_); break;
    case FlameForm::kPprof: out += runs::pprof_file(samples_, facts_); break;
    case FlameForm::kPerfetto: out += runs::perfetto_samples(samples_, runs::read_clocks()); break;
  }
}

std::vector<std::string> FlameSamples::losses() const {
  std::vector<std::string> warnings;
  if (samples_.samples().empty() && !empty_.empty()) warnings.push_back(fmt::format("the picture is empty: {}", empty_));
  if (samples_.lost() > 0) warnings.push_back(fmt::format("{} samples are not shown: there are too many", samples_.lost()));
  if (samples_.cut() > 0)
    warnings.push_back(
        fmt::format("the outer callers of {} samples are not shown: their stacks are longer than MAXSTRINGLEN", samples_.cut()));
  std::ranges::copy(names_.losses(), std::back_inserter(warnings));
  return warnings;
}

Result<VerbScript> make_flame(const VerbLine& line, const session::Options& options) {
  if (!line.words.empty())
    return Error{fmt::format("flame takes no words, such as '{}'", line.words.front()), "spile flame -x PID -T 10 -o flame.html"};
  if (!line.shows_script && options.target.command.empty() && options.target.processes.empty())
    return Error{"flame needs the processes to look at", "spile flame -x PID -T 10 -o flame.html, or -c COMMAND"};
  if (options.output.rotate_bytes > 0) return Error{"spile flame can't be used with -S: its output is one file", {}};
  TRY(const FlameForm form, form_of(options.output.file));
  TRY(const FlameScript made, make_flame_script(line));
  if (made.words.ends_with(" --kernel") && options.target.processes.size() > 1)
    return Error{"spile flame --off-cpu --kernel looks at one process and its children", "-x with one process, or -c COMMAND"};
  if (form == FlameForm::kPerfetto && made.unit != runs::Samples::Unit::kSamples)
    return Error{fmt::format("-o {}: Perfetto's samples are of processor time, and have no weights", options.output.file),
                 "use .html, .svg, .folded, .speedscope.json or .pb.gz"};
  VerbScript script;
  script.text = fmt::format("# spile flame{}\n{}", made.words, made.text);
  script.limits = made.limits;
  script.limits.emplace_back(kReportLimit);
  script.limits.emplace_back("MAXSKIPPED=0");
  script.presenter =
      std::make_shared<FlameSamples>(form, run_facts("flame" + made.words, script.text, options), made.unit, made.empty);
  return script;
}

const VerbOption kFlameOptions[6] = {
    {"hz", "N", "flame: samples in a second of a thread's processor time (100)"},
    {"off-cpu", nullptr, "flame: the time in system calls, where threads wait"},
    {"kernel", nullptr, "flame: with --off-cpu: all time without a processor, and where in the kernel"},
    {"alloc", nullptr, "flame: the memory that is allocated"},
    {"lock", nullptr, "flame: the time in which threads wait in futexes, for locks and conditions"},
    {"of", "FUNCTION", "flame: the calls of a function, by their callers"},
};

}  // namespace spile::verbs
