#include "debuginfo/terms/signatures.h"

#include <ctype.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace spile::debuginfo {
namespace {

constexpr int kDeepest = 100;  // brackets within brackets; a name that has more stays as it is

bool is_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.' || c == '~'; }

// Cuts at the commas outside of brackets.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t i = 0; i < list.size();) {
    if (std::string_view("(<[{").find(list[i]) != std::string_view::npos) {
      i = behind_pair(list, i);
    } else if (list[i++] == ',') {
      parts.push_back(list.substr(begin, i - 1 - begin));
      begin = i;
    }
  }
  parts.push_back(list.substr(begin));
  return parts;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Of <stddef.h>, <stdint.h> and <stdio.h>: debuggers write them where debug information has them, mangled names have what they
// stand for on x86-64 and aarch64.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kTypedefs = {{{"size_t", "unsigned long"},
                                                                                      {"ssize_t", "long"},
                                                                                      {"ptrdiff_t", "long"},
                                                                                      {"intptr_t", "long"},
                                                                                      {"uintptr_t", "unsigned long"},
                                                                                      {"int8_t", "signed char"},
                                                                                      {"int16_t", "short"},
                                                                                      {"int32_t", "int"},
                                                                                      {"int64_t", "long"},
                                                                                      {"uint8_t", "unsigned char"},
                                                                                      {"uint16_t", "unsigned short"},
                                                                                      {"uint32_t", "unsigned int"},
                                                                                      {"uint64_t", "unsigned long"},
                                                                                      {"nullptr_t", "decltype(nullptr)"},
                                                                                      {"FILE", "_IO_FILE"},
                                                                                      {"_Bool", "bool"}}};

// What a list of template arguments has where nobody wrote an argument.
bool is_default_argument(std::string_view argument) {
  constexpr std::array<std::string_view, 6> kDefaults = {"allocator<", "char_traits<", "less<",
                                                         "hash<",      "equal_to<",    "default_delete<"};
  return argument.starts_with("std::") &&
         std::ranges::any_of(kDefaults, [&](std::string_view each) { return argument.substr(5).starts_with(each); });
}

std::string plain_type(std::string_view type, bool is_parameter, int depth);

std::string plain_list(std::string_view list, bool are_parameters, int depth) {
  std::string joined;
  for (std::string_view part : parts_of(list)) joined += (joined.empty() ? "" : ",") + plain_type(part, are_parameters, depth);
  return joined == "void" ? std::string() : joined;
}

std::string plain_arguments(std::string_view list, int depth) {
  std::vector<std::string> arguments;
  for (std::string_view part : parts_of(list)) arguments.push_back(plain_type(part, false, depth));
  while (arguments.size() > 1 && is_default_argument(arguments.back())) arguments.pop_back();
  std::string joined;
  for (const std::string& argument : arguments) joined += (joined.empty() ? "" : ",") + argument;
  return joined;
}

// A number as a template's argument: "3u" and "3ul" are what debug information has as "3".
std::string without_suffix(std::string name) {
  if (!isdigit(static_cast<unsigned char>(name[0]))) return name;
  name.resize(std::min(name.find_last_not_of("ulUL") + 1, name.size()));
  return name;
}

std::string looked_through(std::string name) {
  const std::string_view plain = std::string_view(name).substr(name.starts_with("std::") ? 5 : 0);
  for (const auto& [from, to] : kTypedefs)
    if (plain == from) return std::string(to);
  for (const auto& [from, to] :
       {std::pair{"std::basic_string<char>", "std::string"}, std::pair{"std::basic_string_view<char>", "std::string_view"},
        std::pair{"std::basic_ostream<char>", "std::ostream"}, std::pair{"std::basic_istream<char>", "std::istream"}})
    if (name == from) return to;
  return without_suffix(std::move(name));
}

// Reads a name with its scopes and arguments at type[at]. Empty: something else is there.
std::string read_name(std::string_view type, size_t& at, int depth) {
  std::string name;
  while (at < type.size()) {
    const std::string_view rest = type.substr(at);
    if (rest.starts_with(kAnonymousNamespace) && rest.substr(kAnonymousNamespace.size()).starts_with("::")) {
      at += kAnonymousNamespace.size() + 2;
    } else if (rest.starts_with("::")) {
      if (!name.empty()) name += "::";
      at += 2;
    } else if (rest[0] == '<' && !name.empty()) {
      const size_t behind = behind_pair(type, at);
      name += "<" + plain_arguments(type.substr(at + 1, std::max(behind, at + 2) - at - 2), depth) + ">";
      at = behind;
    } else if (rest.starts_with("[abi:")) {
      at = behind_pair(type, at);
    } else if (rest[0] == '{' || rest[0] == '\'' || (rest[0] == '(' && name == "decltype")) {
      const size_t behind = rest[0] == '\'' ? std::min(type.find('\'', at + 1), type.size() - 1) + 1 : behind_pair(type, at);
      name += type.substr(at, behind - at);
      at = behind;
    } else if (is_word(rest[0])) {
      while (at < type.size() && is_word(type[at])) name += type[at++];
    } else if (rest.starts_with(" <") && !name.empty()) {
      ++at;
    } else {
      break;
    }
  }
  for (const std::string_view inlined : {"__cxx11::", "__1::"})
    for (size_t found; (found = name.find("std::" + std::string(inlined))) != name.npos;) name.erase(found + 5, inlined.size());
  return name;
}

// The words in front of a declarator: "const unsigned long" and "unsigned long const" are "unsigned long" with `is_const`.
struct Words {
  bool is_const = false, is_volatile = false;
  int longs = 0;
  bool is_unsigned = false, is_signed = false, is_short = false, has_int = false;
  std::string name;

  void add(const std::string& word) {
    if (word == "const") is_const = true;
    else if (word == "volatile") is_volatile = true;
    else if (word == "unsigned") is_unsigned = true;
    else if (word == "signed") is_signed = true;
    else if (word == "short") is_short = true;
    else if (word == "long") ++longs;
    else if (word == "int") has_int = true;
    else if (word != "struct" && word != "class" && word != "union" && word != "enum" && word != "typename")
      name += (name.empty() ? "" : " ") + word;
  }
  std::string text(bool with_qualifiers) const {
    std::string base = name.empty() ? "" : looked_through(name);
    if (name.empty() && is_short) base = "short";
    else if (name.empty() && longs > 0) base = longs > 1 ? "long long" : "long";
    else if (name.empty() && (has_int || is_unsigned || is_signed)) base = "int";
    else if (longs > 0) base = "long " + base;  // long double
    if (is_unsigned) base = "unsigned " + base;
    else if (is_signed && base == "char") base = "signed char";
    if (with_qualifiers && is_const) base += " const";
    if (with_qualifiers && is_volatile) base += " volatile";
    return base;
  }
};

// What follows the words: "*", "const&", "(*)(int)", "[3]".
std::string plain_declarator(std::string_view text, int depth) {
  if (depth > kDeepest) return std::string(text);
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ') {
      ++i;
    } else if (c == '(' || c == '[' || c == '{') {
      const size_t behind = behind_pair(text, i);
      const std::string_view inside = trimmed(text.substr(i + 1, std::max(behind, i + 2) - i - 2));
      const bool declares = !inside.empty() && (inside[0] == '*' || inside[0] == '&' || inside.ends_with("::*"));
      plain += c;
      plain += declares ? plain_declarator(inside, depth + 1) : plain_list(inside, true, depth + 1);
      plain += c == '(' ? ')' : c == '[' ? ']' : '}';
      i = behind;
    } else if (is_word(c)) {
      const std::string word = read_name(text, i, depth + 1);
      if (word == "restrict" || word == "__restrict" || word == "__restrict__") continue;
      plain += (plain.empty() || !is_word(plain.back()) ? "" : " ") + word;
    } else {
      plain += c;
      ++i;
    }
  }
  return plain;
}

std::string plain_type(std::string_view type, bool is_parameter, int depth) {
  type = trimmed(type);
  if (depth > kDeepest) return std::string(type);
  Words words;
  size_t at = 0;
  while (at < type.size()) {
    if (type[at] == ' ') {
      ++at;
      continue;
    }
    const size_t before = at;
    const std::string word = read_name(type, at, depth + 1);
    if (at == before) break;
    // "int Class::*": a pointer to a member.
    if (word.ends_with("::")) {
      at = before;
      break;
    }
    words.add(word);
  }
  const std::string rest = plain_declarator(type.substr(at), depth);
  // What is passed as a copy may be const: callers need not know.
  const std::string base = words.text(!is_parameter || !rest.empty());
  return base + rest;
}

// The longest symbol first: "operator+<int>" is + with the template's arguments.
constexpr std::string_view kSymbols[] = {"()", "[]", "<=>", "->*", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "+=",
                                         "-=", "*=", "/=",  "%=",  "^=",  "&=",  "|=", "&&", "||", "++", "--", "->", "+",
                                         "-",  "*",  "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  "<",  ">",  ","};

bool begins_operator(std::string_view scope) {
  return scope.starts_with("operator") && (scope.size() == 8 || !(is_word(scope[8]) || scope[8] == ':'));
}

}  // namespace

size_t behind_pair(std::string_view text, size_t at) {
  int depth = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    // "operator>" inside template arguments is rare enough to be cut wrongly: the name only fails to match.
    if (c == '>' && text[i - 1] == '-') continue;
    if (c == ')' || c == '>' || c == '}' || c == ']')
      if (--depth <= 0) return i + 1;
  }
  return text.size();
}

size_t behind_operator(std::string_view text, size_t at) {
  size_t i = at + 8;
  const size_t begin = std::min(text.find_first_not_of(' ', i), text.size());
  for (std::string_view symbol : kSymbols)
    if (text.substr(begin).starts_with(symbol)) return begin + symbol.size();
  if (text.substr(begin).starts_with("\"\"")) {
    i = std::min(text.find_first_not_of(' ', begin + 2), text.size());
    while (i < text.size() && is_word(text[i])) ++i;
    return i;
  }
  return begin > i ? std::min(text.find('(', begin), text.size()) : i;  // new, delete, conversions
}

bool names_operator(std::string_view scope) {
  if (!begins_operator(scope)) return false;
  const size_t behind = behind_operator(scope, 0);
  const std::string_view arguments = trimmed(scope.substr(behind));
  return behind > 8 && (arguments.empty() || (arguments[0] == '<' && arguments.ends_with('>')));
}

std::string plain_parameters(std::string_view list) { return plain_list(list, true, 0); }

std::string plain_scope(std::string_view scope) {
  if (!names_operator(scope)) {
    size_t at = 0;
    std::string name = read_name(scope, at, 0);
    return at == scope.size() ? name : std::string(scope);
  }
  const size_t behind = behind_operator(scope, 0);
  const std::string_view symbol = trimmed(scope.substr(8, behind - 8)), arguments = trimmed(scope.substr(behind));
  std::string plain = "operator";
  if (symbol.starts_with("\"\"")) plain.append("\"\"").append(trimmed(symbol.substr(2)));
  else if (is_word(symbol[0])) plain += " " + plain_type(symbol, false, 0);
  else plain += symbol;
  if (arguments.size() > 1) plain += "<" + plain_arguments(arguments.substr(1, arguments.size() - 2), 0) + ">";
  return plain;
}

}  // namespace spile::debuginfo
