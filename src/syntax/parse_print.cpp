// print and its relatives: their arguments, and the format or delimiter that some begin with.
//
//   print println sprint sprintln       values           printd printdln sprintd sprintdln   delimiter, values
//   printf sprintf                      format, values   print_char                          one number

#include <algorithm>
#include <array>

#include "syntax/print_format.h"
#include "syntax/recursive_descent.h"

namespace spile::syntax {

namespace {

struct PrintForm {
  std::string_view name;
  bool to_stream, with_format, with_delimiter, with_newline, is_char;
};

constexpr std::array<PrintForm, 11> kPrintForms = {{
    {"print", true, false, false, false, false},
    {"println", true, false, false, true, false},
    {"printd", true, false, true, false, false},
    {"printdln", true, false, true, true, false},
    {"printf", true, true, false, false, false},
    {"print_char", true, false, false, false, true},
    {"sprint", false, false, false, false, false},
    {"sprintln", false, false, false, true, false},
    {"sprintd", false, false, true, false, false},
    {"sprintdln", false, false, true, true, false},
    {"sprintf", false, true, false, false, false},
}};

const PrintForm* print_form(std::string_view name) {
  auto form = std::find_if(kPrintForms.begin(), kPrintForms.end(), [&](const PrintForm& f) { return f.name == name; });
  return form == kPrintForms.end() ? nullptr : &*form;
}

}  // namespace

bool is_print_name(std::string_view name) { return print_form(name) != nullptr; }

ExpressionPtr Parser::parse_print(const Token& name) {
  const PrintForm& form = *print_form(name.text);
  auto node = std::make_unique<Print>(name.range);
  node->to_stream = form.to_stream;
  node->with_format = form.with_format;
  node->with_delimiter = form.with_delimiter;
  node->with_newline = form.with_newline;
  node->is_char = form.is_char;
  Token open = take();
  if (!parse_print_arguments(*node, name, open)) return nullptr;
  node->range = since(name.range);
  if (!check_print_arguments(*node, name)) return nullptr;
  return finish(std::move(node));
}

bool Parser::parse_print_arguments(Print& print, const Token& name, const Token& open) {
  bool more = true;
  if (print.with_format || print.with_delimiter) {
    if (!parse_format_argument(print, name)) return false;
    more = accept(",");
  } else if (at(")")) {
    more = false;
  }
  while (more) {
    ExpressionPtr argument = parse_printable();
    if (!argument) return false;
    print.arguments.push_back(std::move(argument));
    more = accept(",");
  }
  return expect(")", "after the arguments of '" + std::string(name.text) + "'", &open);
}

// The format or the delimiter: a literal, for it is read now.
bool Parser::parse_format_argument(Print& print, const Token& name) {
  std::string what = print.with_format ? "the format of '" : "the delimiter of '";
  if (peek().kind != TokenKind::kString) {
    error_expected(what + std::string(name.text) + "', a string literal")
        .hint(print.with_format ? "printf(\"%d %s\\n\", number, string)" : "printd(\", \", value, value)");
    return false;
  }
  print.format_range = peek().range;
  std::string text = parse_string_value();
  print.format_range = since(print.format_range);
  if (!print.with_format) {
    print.delimiter = std::move(text);
    return true;
  }
  ParsedFormat parsed = parse_format(text);
  print.format = std::move(text);
  print.parts = std::move(parsed.parts);
  if (parsed.error.empty()) return true;
  tokens_.error(print.format_range, parsed.error).hint(parsed.hint);
  return false;
}

bool Parser::check_print_arguments(const Print& print, const Token& name) {
  std::string text(name.text);
  size_t given = print.arguments.size();
  auto histogram =
      std::find_if(print.arguments.begin(), print.arguments.end(), [](const ExpressionPtr& a) { return as<Histogram>(a); });
  if (histogram != print.arguments.end() && (given != 1 || print.with_format || print.with_delimiter || print.is_char)) {
    tokens_.error((*histogram)->range, "a histogram can't be printed together with other values, or with a format")
        .hint("print(@hist_log(stats))");
    return false;
  }
  if (print.with_format) return true;  // whether arguments and format agree is for pass 2 to say
  size_t needed = print.with_delimiter ? 2 : print.with_newline ? 0 : 1;
  bool takes_one = print.is_char;
  if (given >= needed && (given <= 1 || !takes_one)) return true;
  std::string wanted = needed == 2 ? "at least two values after the delimiter" : takes_one ? "one value" : "at least one value";
  tokens_.error(print.range, "'" + text + "' takes " + wanted + ", not " + std::to_string(given))
      .hint(print.with_delimiter ? text + "(\", \", value, value)" : text + "(value)");
  return false;
}

}  // namespace spile::syntax
