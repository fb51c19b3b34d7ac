#include "editor/catalogue.h"

#include <array>

#include "syntax/preprocessor.h"

namespace spile::editor {

namespace {

struct Word {
  std::string_view name, signature, documentation;
};

constexpr std::array<Word, 20> kKeywords = {{
    {"probe", "probe POINT, ... { STATEMENTS }", "What is done when one of the points is hit."},
    {"global", "global NAME [= VALUE], ARRAY[SIZE], ...", "Variables that all probes share."},
    {"private", "private global NAME / private function ...", "A declaration that only this file sees."},
    {"function", "function NAME[:TYPE] (PARAMETER[:TYPE], ...) { STATEMENTS }", "A function."},
    {"if", "if (CONDITION) STATEMENT [else STATEMENT]", ""},
    {"else", "if (CONDITION) STATEMENT else STATEMENT", ""},
    {"while", "while (CONDITION) STATEMENT", ""},
    {"for", "for (FIRST; CONDITION; STEP) STATEMENT", ""},
    {"foreach", "foreach ([KEY, ...] in ARRAY[+-] [limit N]) STATEMENT", "Goes over an array; + and - sort."},
    {"in", "[KEY, ...] in ARRAY", "Whether an array has an element."},
    {"limit", "foreach (KEY in ARRAY limit N) STATEMENT", ""},
    {"return", "return [VALUE]", "Leaves a function."},
    {"next", "next", "Leaves the probe, or tries the next overload of a function."},
    {"break", "break", "Leaves the innermost loop."},
    {"continue", "continue", "Begins the innermost loop's next turn."},
    {"delete", "delete ARRAY[KEY] / ARRAY / SCALAR", "Removes an element, all elements, or resets a scalar."},
    {"try", "try { STATEMENTS } catch [(MESSAGE)] { STATEMENTS }", "Catches run-time errors."},
    {"catch", "try { STATEMENTS } catch [(MESSAGE)] { STATEMENTS }", ""},
    {"string", "string", "The type of texts."},
    {"long", "long", "The type of numbers: 64 bits, signed."},
}};

constexpr std::array<Word, 25> kOperators = {{
    {"@count", "@count(STATS)", "How many values were collected with <<<."},
    {"@sum", "@sum(STATS)", "Their sum."},
    {"@min", "@min(STATS)", "The smallest."},
    {"@max", "@max(STATS)", "The largest."},
    {"@avg", "@avg(STATS)", "Their average, as an integer."},
    {"@variance", "@variance(STATS[, BITS])", "Their variance."},
    {"@percentile", "@percentile(STATS, PERCENT)", "The value that so many percent of them do not exceed, within 1 %."},
    {"@hist_log", "@hist_log(STATS[, UNIT])", "A histogram with buckets of powers of two."},
    {"@hist_linear", "@hist_linear(STATS, LOW, HIGH, WIDTH[, UNIT])", "A histogram with buckets of one width."},
    {"@defined", "@defined($EXPRESSION)", "Whether a $variable can be found here."},
    {"@choose_defined", "@choose_defined($A, $B)", "$A if it can be found here, else $B."},
    {"@entry", "@entry(EXPRESSION)", "In a return probe: its value when the function was entered."},
    {"@cast", "@cast(POINTER, \"TYPE\"[, \"MODULE\"])", "A number as a pointer to a type: ->member follows."},
    {"@var", "@var(\"NAME[@FILE]\"[, \"MODULE\"])", "A global variable of the traced program."},
    {"@enum", "@enum(\"NAME\"[, \"MODULE\"])", "The value of an enumeration's constant."},
    {"@sizeof", "@sizeof(\"TYPE\"[, \"MODULE\"]), @sizeof($x)", "The size of a type or a variable, in bytes."},
    {"@enum_name", "@enum_name($x), @enum_name(VALUE, \"TYPE\"[, \"MODULE\"])", "The same as @enumname."},
    {"@enumname", "@enumname($x), @enumname(VALUE, \"TYPE\"[, \"MODULE\"])",
     "The name of the enumeration's constant with that value, or the number."},
    {"@const", "@const(\"NAME\")", "A constant of C."},
    {"@perf", "@perf(\"COUNTER\")", "A performance counter's value."},
    {"@probewrite", "@probewrite(VARIABLE)", "Whether the probe's body writes the variable."},
    {"@kderef", "@kderef(SIZE, ADDRESS)", "Reads the kernel's memory."},
    {"@uderef", "@uderef(SIZE, ADDRESS)", "Reads the traced process's memory."},
    {"@kregister", "@kregister(NUMBER)", "A register, by its DWARF number."},
    {"@uregister", "@uregister(NUMBER)", "A register, by its DWARF number."},
}};

constexpr std::array<Word, 8> kPrints = {{
    {"print", "print (VALUE, ...)", "Prints values one after the other."},
    {"println", "println (VALUE, ...)", "Prints values and a line's end."},
    {"printd", "printd (DELIMITER, VALUE, VALUE, ...)", "Prints values with a delimiter between."},
    {"printdln", "printdln (DELIMITER, VALUE, VALUE, ...)", "The same, and a line's end."},
    {"printf", "printf (FORMAT, VALUE, ...)", "%d %i %u %o %x %X %p %s %c %b %m %M %%"},
    {"sprint", "sprint:string (VALUE, ...)", "What print prints, as a string."},
    {"sprintf", "sprintf:string (FORMAT, VALUE, ...)", "What printf prints, as a string."},
    {"sprintln", "sprintln:string (VALUE, ...)", "What println prints, as a string."},
}};

constexpr std::array<Word, 36> kPoints = {{
    {"begin", "begin[(ORDER)]", "When the script starts."},
    {"end", "end[(ORDER)]", "When it ends."},
    {"error", "error[(ORDER)]", "When it ends after a run-time error."},
    {"never", "never", "Never; checked all the same."},
    {"oneshot", "oneshot", "Once: begins and leaves."},
    {"timer.s", "timer.s(N)", "Every N seconds."},
    {"timer.ms", "timer.ms(N)", "Every N milliseconds."},
    {"timer.us", "timer.us(N)", "Every N microseconds."},
    {"timer.ns", "timer.ns(N)", "Every N nanoseconds."},
    {"timer.hz", "timer.hz(N)", "N times a second."},
    {"timer.jiffies", "timer.jiffies(N)", "Every N jiffies."},
    {"timer.profile", "timer.profile", "Every tick, on every processor."},
    {"timer.profile.freq.hz", "timer.profile.freq.hz(N)", "N times a second, on every processor."},
    {"process.function", "process(\"PATH\").function(\"NAME\")", "The entry of a program's functions."},
    {"process.function.return", "process(\"PATH\").function(\"NAME\").return", "Their return."},
    {"process.function.call", "process(\"PATH\").function(\"NAME\").call", "Those that are not inlined."},
    {"process.function.inline", "process(\"PATH\").function(\"NAME\").inline", "Those that are."},
    {"process.statement", "process(\"PATH\").statement(\"NAME@FILE:LINE\")", "A line of a program."},
    {"process.library", "process(\"PATH\").library(\"NAME\").function(\"NAME\")", "In a library that it uses."},
    {"process.mark", "process(\"PATH\").mark(\"NAME\")", "A mark that the program's author set (SDT)."},
    {"process.plt", "process(\"PATH\").plt(\"NAME\")", "Its calls into libraries."},
    {"process.allocator", "process.allocator(\"malloc\")",
     "Each function that is called as malloc is, in all files of a program."},
    {"process.begin", "process(\"PATH\").begin", "A process appears."},
    {"process.end", "process(\"PATH\").end", "It ends."},
    {"process.syscall", "process(\"PATH\").syscall", "It makes a system call."},
    {"kernel.function", "kernel.function(\"NAME\")", "The entry of the kernel's functions."},
    {"kernel.function.return", "kernel.function(\"NAME\").return", "Their return."},
    {"kernel.trace", "kernel.trace(\"GROUP:NAME\")", "A tracepoint of the kernel."},
    {"kernel.data.write", "kernel.data(\"NAME\").write", "A variable of the kernel is written."},
    {"kernel.lsm", "kernel.lsm(\"HOOK\")", "The kernel asks its security modules."},
    {"netfilter.hook", "netfilter.hook(\"local_in\").pf(\"ipv4\")", "A packet passes a hook of netfilter."},
    {"perf.type.config", "perf.type(N).config(N)", "A performance counter's event."},
    {"perf.type.config.sample", "perf.type(N).config(N).sample(COUNT)", "After so many events."},
    {"perf.type.config.hz", "perf.type(N).config(N).hz(RATE)", "So many times a second."},
    {"perfcounter.count", "perfcounter(\"NAME\").count(N)", "After so many events of the processor."},
    {"procfs.read", "procfs(\"PATH\").read", "Somebody reads the file."},
}};

std::string signature_of(const syntax::Function& function) {
  std::string text = function.name;
  if (function.declared_type != ValueType::kUnknown) text += std::string(":") + to_string(function.declared_type);
  text += " (";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const syntax::Local& parameter = *function.parameters[i];
    text += (i ? ", " : "") + parameter.name;
    if (parameter.type != ValueType::kUnknown) text += std::string(":") + to_string(parameter.type);
    if (function.defaults[i]) text += " = " + to_source(*function.defaults[i]);
  }
  return text + ")";
}

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// One line of a comment without /* * */ // #.
std::string_view bare(std::string_view line) {
  line = trimmed(line);
  if (line.ends_with("*/")) line.remove_suffix(2);
  if (line.starts_with("/**")) {
    line.remove_prefix(3);
  } else if (line.starts_with("/*") || line.starts_with("//")) {
    line.remove_prefix(2);
  } else if (line.starts_with("*") || line.starts_with("#")) {
    line.remove_prefix(1);
  }
  return trimmed(line);
}

}  // namespace

std::string comment_above(std::string_view text, size_t offset) {
  size_t line_start = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  std::vector<std::string_view> lines;  // from below
  bool inside = false;                  // of /* */
  while (line_start > 0) {
    size_t previous = line_start >= 2 ? text.rfind('\n', line_start - 2) : std::string_view::npos;
    previous = previous == std::string_view::npos ? 0 : previous + 1;
    std::string_view line = trimmed(text.substr(previous, line_start - 1 - previous));
    if (!inside && line.ends_with("*/")) inside = true;
    if (!inside && !line.starts_with("//") && !line.starts_with("#")) break;
    lines.push_back(bare(line));
    if (inside && line.starts_with("/*")) break;
    line_start = previous;
  }
  std::string comment;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (comment.empty() && line->empty()) continue;
    comment += std::string(*line) + "\n";
  }
  while (comment.ends_with("\n")) comment.pop_back();
  return comment;
}

Catalogue Catalogue::of_language() {
  Catalogue catalogue;
  auto add_all = [&](const auto& words, Entry::Kind kind) {
    for (const Word& word : words) {
      catalogue.add({kind, std::string(word.name), std::string(word.signature), std::string(word.documentation), {}});
    }
  };
  add_all(kKeywords, Entry::Kind::kKeyword);
  add_all(kOperators, Entry::Kind::kOperator);
  add_all(kPrints, Entry::Kind::kFunction);
  add_all(kPoints, Entry::Kind::kPoint);
  return catalogue;
}

void Catalogue::add(Entry entry) {
  std::string name = entry.name;
  entries_.emplace(std::move(name), std::move(entry));
}

void Catalogue::add(const syntax::Script& script) {
  if (!script.file) return;
  std::string_view text = script.file->text();
  for (const auto& function : script.functions) {
    add({Entry::Kind::kFunction, function->name, signature_of(*function), comment_above(text, function->range.begin),
         function->range});
  }
  for (const auto& global : script.globals) {
    std::string signature = std::string(global->is_private ? "private" : "global") + " " + global->name;
    add({Entry::Kind::kGlobal, global->name, signature, comment_above(text, global->range.begin), global->range});
  }
  for (const auto& alias : script.aliases) {
    for (const syntax::ProbePoint& name : alias->names) {
      std::string signature = "probe " + to_source(name) + (alias->epilogue ? " +=" : " =");
      for (size_t i = 0; i < alias->points.size(); ++i) signature += (i ? ", " : " ") + to_source(alias->points[i]);
      add({Entry::Kind::kAlias, to_source(name), signature, comment_above(text, alias->range.begin), name.range});
    }
  }
}

std::vector<const Entry*> Catalogue::find(std::string_view name) const {
  std::vector<const Entry*> found;
  auto [begin, end] = entries_.equal_range(name);
  for (auto entry = begin; entry != end; ++entry) found.push_back(&entry->second);
  return found;
}

std::vector<const Entry*> Catalogue::beginning_with(std::string_view prefix) const {
  std::vector<const Entry*> found;
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end() && entry->first.starts_with(prefix); ++entry) {
    found.push_back(&entry->second);
  }
  return found;
}

}  // namespace spile::editor
