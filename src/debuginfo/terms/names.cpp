// The Itanium C++ ABI mangles an identifier as its length and itself, so an identifier of a pattern occurs in every
// mangled name that can match: looking for it spares demangling 110,000 names (1-5 us each) for one pattern. The
// exceptions are operators and the standard library's abbreviations (St, Sa, Ss, ...), see kAbbreviated.
#include "debuginfo/terms/names.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/text/glob.h"

namespace spile::debuginfo {
namespace {

bool is_identifier(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// Tokens that the demangler writes and the mangled name doesn't have as they stand.
constexpr std::array<std::string_view, 14> kAbbreviated = {
    "std",           "string",        "basic_string",   "allocator", "istream",   "ostream", "iostream",
    "basic_istream", "basic_ostream", "basic_iostream", "anonymous", "namespace", "lambda",  "unnamed"};

std::vector<std::string> required_identifiers(const std::vector<std::string>& scopes) {
  std::vector<std::string> required;
  for (const std::string& scope : scopes) {
    if (scope.find("operator") != scope.npos) continue;
    std::string run;
    for (size_t i = 0; i <= scope.size(); ++i) {
      const char c = i < scope.size() ? scope[i] : '\0';
      if (is_identifier(c)) {
        run += c;
        continue;
      }
      // "str*" may be an abbreviated "string", so a run next to a wildcard is only sure where it is no prefix of one.
      const bool doubtful = std::any_of(kAbbreviated.begin(), kAbbreviated.end(),
                                        [&](std::string_view word) { return word.find(run) != word.npos; });
      if (run.size() >= 2 && !doubtful) required.push_back(run);
      run.clear();
      // Template arguments and character classes are not as they are written.
      if (c == '<' || c == '[' || c == '(' || c == '{') break;
    }
  }
  return required;
}

// Behind a matching pair that starts at text[at]; text.size() where it isn't closed.
size_t skip_pair(std::string_view text, size_t at) {
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

// Behind "operator" and its symbol, at text[at].
size_t skip_symbol(std::string_view text, size_t at) {
  size_t i = at + 8;
  if (text.substr(i, 2) == "()" || text.substr(i, 2) == "[]") return i + 2;
  if (i < text.size() && text[i] == ' ') return std::min(text.find('(', i), text.size());  // new, delete, conversions
  if (text.substr(i, 3) == "\"\" ") return std::min(text.find('(', i), text.size());
  // The longest symbol that fits: "operator+<int>" is + with the template's arguments.
  static constexpr std::string_view kSymbols[] = {
      "<=>", "->*", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "&&",
      "||",  "++",  "--",  "->",  "+",  "-",  "*",  "/",  "%",  "^",  "&",  "|",  "~",  "!",  "=",  "<",  ">",  ","};
  for (std::string_view symbol : kSymbols) {
    if (!text.substr(i).starts_with(symbol)) continue;
    i += symbol.size();
    break;
  }
  return i;
}

// Behind the template's arguments, too.
size_t skip_operator(std::string_view text, size_t at) {
  const size_t i = skip_symbol(text, at);
  // "operator<< <int>": a space divides the symbol from the template's arguments.
  const size_t arguments = text.substr(i, 2) == " <" ? i + 1 : i;
  return arguments < text.size() && text[arguments] == '<' ? skip_pair(text, arguments) : i;
}

std::vector<std::string> split_demangled(std::string_view text) {
  std::vector<std::string> scopes;
  size_t start = 0;  // of the current scope
  auto take = [&](size_t end) { scopes.emplace_back(text.substr(start, end - start)); };
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    const bool word_start = i == start || !is_identifier(text[i - 1]);
    if (word_start && text.substr(i, 8) == "operator" && !(i + 8 < text.size() && is_identifier(text[i + 8]))) {
      i = skip_operator(text, i);
      continue;
    }
    if (c == '(' && text.substr(i, 21) != "(anonymous namespace)") {
      const size_t behind = skip_pair(text, i);
      // A function that returns one by its address: "void (*f(int))(double)".
      if (scopes.empty() && i == start && (text.substr(i, 2) == "(*" || text.substr(i, 2) == "(&")) {
        start = i = i + 2;
        continue;
      }
      // Of the return type: "decltype(auto) f(int)", "decltype (a+b) f(int)".
      if (scopes.empty() && (i == start || text.substr(start, i - start) == "decltype")) {
        i = behind;
        continue;
      }
      size_t next = behind;
      if (text.substr(next, 6) == " const") next += 6;
      if (text.substr(next, 2) != "::") {  // the parameters of the function itself
        take(i);
        return scopes;
      }
      take(i);  // a function that something local is in
      start = i = next + 2;
      continue;
    }
    if (c == '<' || c == '{' || c == '(' || c == '[') {
      i = skip_pair(text, i);
      continue;
    }
    if (text.substr(i, 2) == "::") {
      take(i);
      start = i = i + 2;
      continue;
    }
    if (c == ' ') {  // what came before was the return type
      scopes.clear();
      start = i + 1;
    }
    ++i;
  }
  take(text.size());
  return scopes;
}

// "vector<int>" -> "vector", "f[abi:cxx11]" -> "f"; operators are left alone.
std::string_view without_arguments(std::string_view scope) {
  if (scope.substr(0, 8) == "operator") return scope.substr(0, skip_symbol(scope, 0));
  size_t end = std::min(scope.find('<'), scope.find('['));
  return end == 0 ? scope : scope.substr(0, end);
}

bool is_rust_hash(std::string_view scope) {
  return scope.size() == 17 && scope[0] == 'h' && scope.find_first_not_of("0123456789abcdef", 1) == scope.npos;
}

// What stands for characters that C++ identifiers don't have: "_$LT$a..B$u20$as$u20$a..C$GT$" is "<a::B as a::C>"
// (rustc_symbol_mangling/src/legacy.rs).
std::string decode_rust(std::string_view scope) {
  constexpr std::array<std::pair<std::string_view, char>, 8> kEscapes = {
      {{"LT", '<'}, {"GT", '>'}, {"RF", '&'}, {"BP", '*'}, {"LP", '('}, {"RP", ')'}, {"C", ','}, {"SP", '@'}}};
  std::string decoded;
  if (scope.starts_with("_$")) scope.remove_prefix(1);
  for (size_t at = 0; at < scope.size();) {
    size_t end = scope[at] == '$' ? scope.find('$', at + 1) : scope.npos;
    if (end != scope.npos) {
      std::string_view escape = scope.substr(at + 1, end - at - 1);
      auto known = std::find_if(kEscapes.begin(), kEscapes.end(), [&](auto& e) { return e.first == escape; });
      if (known != kEscapes.end()) {
        decoded += known->second;
      } else if (escape.size() == 3 && escape[0] == 'u') {
        decoded += static_cast<char>(std::strtol(std::string(escape.substr(1)).c_str(), nullptr, 16));
      } else {
        decoded += scope.substr(at, end + 1 - at);
      }
      at = end + 1;
    } else if (scope.substr(at, 2) == "..") {
      decoded += "::";
      at += 2;
    } else {
      decoded += scope[at++];
    }
  }
  return decoded;
}

}  // namespace

bool file_matches(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || glob_matches(pattern, path)) return true;
  for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
    if (glob_matches(pattern, path.substr(slash + 1))) return true;
  return false;
}

CloneName clone_name(std::string_view symbol) {
  CloneName result;
  // foo@VERS_1, foo@@VERS_2: symbol versions as static symbol tables spell them. A leading '@' is no version.
  if (size_t at = symbol.find('@', 1); at != symbol.npos) symbol = symbol.substr(0, at);
  const std::string_view whole = symbol;
  // From the end: [.suffix][.number]
  while (true) {
    size_t end = symbol.size();
    size_t digits = end;
    while (digits > 0 && isdigit(static_cast<unsigned char>(symbol[digits - 1]))) --digits;
    if (digits < end && digits > 0 && symbol[digits - 1] == '.') end = digits - 1;
    const size_t dot = end == 0 ? symbol.npos : symbol.rfind('.', end - 1);
    if (dot == symbol.npos || dot == 0) break;
    const std::string_view suffix = symbol.substr(dot + 1, end - dot - 1);
    const bool numbered = end != symbol.size();
    if (suffix == "cold" || (numbered ? suffix == "__part" : suffix == "warm")) {
      result.fragment = true;
      result.part_suffix = whole.substr(dot);
    } else if (numbered && suffix == "part") {
      result.split = result.specialised = true;
    } else if (numbered && (suffix == "isra" || suffix == "constprop")) {
      result.specialised = true;
      result.may_lose_result |= suffix == "isra";
    } else if (!(numbered && (suffix == "lto_priv" || suffix == "llvm" || suffix == "__uniq")) && suffix != "localalias" &&
               !(!numbered && suffix == "cfi")) {
      break;
    }
    symbol = symbol.substr(0, dot);
  }
  result.base = symbol;
  return result;
}

std::vector<std::string> scopes_of(std::string_view mangled) {
  // _ZT, _ZG: thunks (their function has a symbol of its own), guard variables, tables.
  if (mangled.substr(0, 2) != "_Z" || mangled.substr(0, 3) == "_ZT" || mangled.substr(0, 3) == "_ZG") return {};
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), free);
  if (status != 0 || !text) return {};
  auto scopes = split_demangled(text.get());
  if (scopes.size() > 1 && is_rust_hash(scopes.back())) {
    scopes.pop_back();
    for (std::string& scope : scopes) {
      if (scope.find_first_of("$.") != scope.npos) scope = decode_rust(scope);
    }
  }
  return scopes;
}

NamePattern::NamePattern(std::string_view pattern) : text_(pattern), glob_(is_glob(pattern)) {
  if (pattern.substr(0, 2) == "::") {
    anchored_ = true;
    pattern.remove_prefix(2);
  }
  scopes_ = split_demangled(pattern);
  required_ = required_identifiers(scopes_);
}

bool NamePattern::may_match(std::string_view symbol) const {
  if (glob_ || symbol.starts_with(text_)) return true;
  if (!symbol.starts_with("_Z")) return anchored_;
  return std::ranges::all_of(
      required_, [&](const std::string& part) { return memmem(symbol.data(), symbol.size(), part.data(), part.size()); });
}

bool NamePattern::matches(std::string_view base) const {
  if (glob_ ? glob_matches(text_, base) : base == text_) return true;
  if (base.substr(0, 2) != "_Z") return anchored_ && scopes_.size() == 1 && glob_matches(scopes_[0], base);
  for (const std::string& identifier : required_)
    if (base.find(identifier) == base.npos) return false;
  return matches_scopes(base);
}

// Whether scopes[i...] are what pattern[p...] says. A "*" that is a scope of its own stands for any number of them, but none.
static bool scopes_match(const std::vector<std::string>& pattern, size_t p, const std::vector<std::string>& scopes, size_t i) {
  for (; p < pattern.size() && i < scopes.size(); ++p, ++i) {
    if (pattern[p] == "*") {
      if (p + 1 == pattern.size()) return true;
      for (size_t next = i + 1; next < scopes.size(); ++next)
        if (scopes_match(pattern, p + 1, scopes, next)) return true;
      return false;
    }
    // As it stands, too: "f[abi:cxx11]" and "f<char [2]>" are names, though they have brackets.
    if (pattern[p] != scopes[i] && !glob_matches(pattern[p], scopes[i]) &&
        !glob_matches(pattern[p], without_arguments(scopes[i])))
      return false;
  }
  return p == pattern.size() && i == scopes.size();
}

bool NamePattern::matches_scopes(std::string_view base) const {
  const std::vector<std::string> scopes = scopes_of(base);
  if (scopes_.empty() || scopes.size() < scopes_.size()) return false;
  const size_t last_start = anchored_ ? 0 : scopes.size() - scopes_.size();
  for (size_t start = 0; start <= last_start; ++start)
    if (scopes_match(scopes_, 0, scopes, start)) return true;
  return false;
}

std::string with_scopes(const std::string& pattern, const std::vector<std::string>& names) {
  if (pattern.find_first_not_of("*?") == pattern.npos) return {};
  std::string scope, whole;
  for (const std::string& name : names) {
    if (name.find("::") == name.npos) continue;
    const std::vector<std::string> scopes = split_demangled(name);
    if (scopes.empty()) continue;
    const auto is_scope =
        std::find_if(scopes.begin(), scopes.end() - 1, [&](const std::string& each) { return glob_matches(pattern, each); });
    if (is_scope != scopes.end() - 1) {
      if (!scope.empty() && scope != *is_scope) return pattern + "::*";
      scope = *is_scope;
    } else if (whole.empty() && glob_matches(pattern, name)) {
      whole = name;
    }
  }
  return scope.empty() ? whole : scope + "::*";
}

std::string last_scopes(std::string_view symbol, size_t count) {
  const std::string_view base = clone_name(symbol).base;
  std::vector<std::string> scopes = scopes_of(base);
  if (scopes.empty()) return base.substr(0, 2) == "_Z" ? std::string() : std::string(base);
  std::string joined;
  for (size_t i = scopes.size() - std::min(count, scopes.size()); i < scopes.size(); ++i) {
    if (!joined.empty()) joined += "::";
    joined += without_arguments(scopes[i]);
  }
  return joined;
}

}  // namespace spile::debuginfo
