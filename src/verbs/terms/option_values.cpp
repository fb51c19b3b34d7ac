#include "verbs/terms/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/diagnostics.h"
#include "base/source.h"
#include "syntax/parser.h"
#include "syntax/printer.h"

namespace spile::verbs {

Result<int> parse_number(const std::string& name, const std::string& text, int least, int most, const std::string& hint) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return Error{fmt::format("{} {}: not a number from {} to {}", name, text, least, most), hint};
  return number;
}

Result<int64_t> parse_time(const std::string& name, const std::string& text) {
  constexpr struct {
    const char* name;
    double ns;
  } kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto known = std::ranges::find_if(kUnits, [&](const auto& each) { return unit == each.name; });
  if (error != std::errc() || known == std::end(kUnits) || !std::isfinite(number) || number < 0 || number * known->ns > 1e18)
    return Error{fmt::format("{} {}: not a time", name, text), "a number and its unit: 500ns, 20us, 1.5ms, 2s"};
  return static_cast<int64_t>(number * known->ns);
}

Result<std::string> parse_function(const std::string& word) {
  if (word.empty()) return Error{"the name of a function is empty", {}};
  if (library_and_function(word).second.empty())
    return Error{fmt::format("'{}' names a library, and no function in it", word),
                 fmt::format("{}* is all of its functions", word)};
  return word;
}

Result<void> check_expression(const std::string& name, const std::string& text) {
  const Error wrong{fmt::format("{} '{}': not an expression of the script language", name, text),
                    "such as '$size', 'pid()' or '$p->length > 100'"};
  if (text.find_first_not_of(" \t\n") == std::string::npos)
    return Error{fmt::format("the value of option '{}' is empty", name), wrong.hint};
  if (text.find('@') != std::string::npos) return {};
  constexpr std::string_view kHead = "probe never {(";
  const SourceFile file("", fmt::format("{}{})}}", kHead, text));
  Diagnostics diagnostics;
  const syntax::Script script = syntax::parse(file, {}, diagnostics);
  if (!diagnostics.has_errors() && script.probes.size() == 1 && script.probes.front()->body->statements.size() == 1) return {};
  if (!diagnostics.has_errors()) return wrong;
  const SourceRange range = diagnostics.all().front().range;
  if (!range || range.begin < kHead.size()) return wrong;
  if (range.begin >= kHead.size() + text.size()) return Error{wrong.message + ": it lacks its end", wrong.hint};
  return Error{fmt::format("{}, from '{}' on", wrong.message, text.substr(range.begin - kHead.size())), wrong.hint};
}

std::pair<std::string, std::string> library_and_function(const std::string& word) {
  const size_t colon = word.find(':');
  const std::string head = word.substr(0, colon);
  const bool is_library = colon != std::string::npos && head.find(".so") != std::string::npos &&
                          head.find('@') == std::string::npos && word.compare(colon, 2, "::") != 0;
  return is_library ? std::pair(head, word.substr(colon + 1)) : std::pair(std::string(), word);
}

std::string function_point(const std::string& word) {
  const auto [library, function] = library_and_function(word);
  return library.empty() ? fmt::format("process.function({})", syntax::quoted(function))
                         : fmt::format("process.library({}).function({})", syntax::quoted(library), syntax::quoted(function));
}

}  // namespace spile::verbs
