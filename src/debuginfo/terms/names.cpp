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
#include <optional>

#include "base/text/glob.h"
#include "debuginfo/terms/signatures.h"

namespace spile::debuginfo {
namespace {

bool is_identifier(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

// Tokens that the demangler writes and the mangled name doesn't have as they stand.
constexpr std::array<std::string_view, 15> kAbbreviated = {
    "std",           "string",         "basic_string", "allocator", "istream", "ostream", "iostream", "basic_istream",
    "basic_ostream", "basic_iostream", "anonymous",    "namespace", "lambda",  "unnamed", "operator"};

std::vector<std::string> required_identifiers(const std::vector<ScopeName>& scopes) {
  std::vector<std::string> required;
  for (const auto& [scope, parameters, qualifiers, clones] : scopes) {
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

// Behind the template's arguments, too.
size_t skip_operator(std::string_view text, size_t at) {
  const size_t i = behind_operator(text, at);
  // "operator<< <int>": a space divides the symbol from the template's arguments.
  const size_t arguments = text.substr(i, 2) == " <" ? i + 1 : i;
  return arguments < text.size() && text[arguments] == '<' ? behind_pair(text, arguments) : i;
}

// What follows the parameters: " const", " &&", " [clone .isra.0]", the rest of the type of a function that returns a function's
// address. False: something that can't follow them, so that the brackets are part of the name (Go's "main.(*T).push").
bool read_tail(std::string_view tail, ScopeName& scope) {
  while (!tail.empty()) {
    const size_t end = tail.find_first_of(" ;&[(", 1);
    const std::string_view word = tail.substr(0, std::min(end, tail.size()));
    if (tail[0] == ' ' || tail[0] == ';') {
      tail.remove_prefix(1);
    } else if (tail.starts_with("[clone ")) {
      const size_t behind = behind_pair(tail, 0);
      scope.clones += tail.substr(7, behind - 8);
      tail.remove_prefix(behind);
    } else if (tail[0] == ')') {
      return true;
    } else if (word == "const" || word == "volatile" || word == "&" || tail.starts_with("[abi:")) {
      if (tail[0] == '[') tail.remove_prefix(behind_pair(tail, 0));
      else scope.qualifiers.append(word), tail.remove_prefix(word.size());
    } else {
      return false;
    }
  }
  return true;
}

// The parameters at text[at], and what qualifies the scope. Returns the index behind them; nullopt: they are none.
std::optional<size_t> read_parameters(std::string_view text, size_t at, ScopeName& scope) {
  const size_t behind = behind_pair(text, at);
  if (text[behind - 1] != ')') return std::nullopt;
  size_t next = behind;
  for (const std::string_view qualifier : {" const", " volatile"})
    if (text.substr(next).starts_with(qualifier)) next += qualifier.size();
  const bool inner = text.substr(next, 2) == "::";  // something local is in the function
  ScopeName found;
  if (!read_tail(inner ? text.substr(behind, next - behind) : text.substr(behind), found)) return std::nullopt;
  found.parameters = text.substr(at + 1, behind - at - 2);
  found.name = std::move(scope.name);
  scope = std::move(found);
  return inner ? next : text.size();
}

std::vector<ScopeName> split_demangled(std::string_view text) {
  std::vector<ScopeName> scopes;
  size_t start = 0;  // of the current scope
  bool after_type = false;
  auto take = [&](size_t end) {
    std::string_view name = text.substr(start, end - start);
    // "char *shop::name()", as debuggers write it.
    if (scopes.empty() && after_type && name.find_first_not_of("*&") != name.npos)
      name.remove_prefix(name.find_first_not_of("*&"));
    scopes.push_back({std::string(name)});
  };
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    const bool word_start = i == start || !is_identifier(text[i - 1]);
    if (word_start && text.substr(i, 8) == "operator" && !(i + 8 < text.size() && is_identifier(text[i + 8]))) {
      i = skip_operator(text, i);
      continue;
    }
    if (c == '(' && !text.substr(i).starts_with(kAnonymousNamespace)) {
      const size_t behind = behind_pair(text, i);
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
      take(i);
      const auto next = read_parameters(text, i, scopes.back());
      if (!next) {
        scopes.pop_back();
        i = behind;
        continue;
      }
      if (*next == text.size()) return scopes;
      start = i = *next + 2;
      continue;
    }
    if (c == '<' || c == '{' || c == '(' || c == '[') {
      i = behind_pair(text, i);
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
      after_type = true;
    }
    ++i;
  }
  take(text.size());
  return scopes;
}

// "vector<int>" -> "vector", "f[abi:cxx11]" -> "f"; operators are left alone.
std::string_view without_arguments(std::string_view scope) {
  if (scope.substr(0, 8) == "operator") return scope.substr(0, behind_operator(scope, 0));
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

// Without a Rust hash, decoded; empty if it isn't the mangled name of a function.
static std::vector<ScopeName> named_scopes(std::string_view mangled) {
  // _ZT, _ZG: thunks (their function has a symbol of its own), guard variables, tables.
  if (mangled.substr(0, 2) != "_Z" || mangled.substr(0, 3) == "_ZT" || mangled.substr(0, 3) == "_ZG") return {};
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), free);
  if (status != 0 || !text) return {};
  auto scopes = split_demangled(text.get());
  if (scopes.size() > 1 && is_rust_hash(scopes.back().name)) {
    scopes.pop_back();
    for (ScopeName& scope : scopes)
      if (scope.name.find_first_of("$.") != scope.name.npos) scope.name = decode_rust(scope.name);
  }
  return scopes;
}

std::vector<std::string> scopes_of(std::string_view mangled) {
  std::vector<std::string> names;
  for (ScopeName& scope : named_scopes(mangled)) names.push_back(std::move(scope.name));
  return names;
}

std::string pattern_of_shown(std::string_view text) {
  constexpr std::pair<char, char> kLetters[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'"', '"'}};
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string pattern;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      pattern += text[i];
      continue;
    }
    const std::string_view rest = text.substr(i + 1);
    const auto letter = std::ranges::find_if(kLetters, [&](const auto& each) { return each.first == rest[0]; });
    if (letter != std::end(kLetters)) {
      pattern += letter->second;
      i += 1;
    } else if (rest.size() >= 3 && rest[0] <= '3' && std::ranges::all_of(rest.substr(0, 3), is_octal)) {
      pattern += static_cast<char>((rest[0] - '0') * 64 + (rest[1] - '0') * 8 + rest[2] - '0');
      i += 3;
    } else {
      pattern += text.substr(i, 2);
      i += 1;
    }
  }
  return pattern;
}

NamePattern::NamePattern(std::string_view pattern)
    : text_(pattern), pattern_(pattern_of_shown(pattern)), glob_(is_glob(pattern)) {
  pattern = pattern_;
  // Debuggers write "main.Map[...]" for all that Go has made of a generic function.
  for (size_t at = 0; (at = pattern.find("[...]", at)) != pattern.npos; ++at) {
    if (with_any_arguments_.empty()) with_any_arguments_ = pattern;
    const size_t from_end = pattern.size() - at;
    with_any_arguments_.replace(with_any_arguments_.size() - from_end, 5, "\\[*]");
  }
  if (pattern.substr(0, 2) == "::") {
    anchored_ = true;
    pattern.remove_prefix(2);
  }
  scopes_ = split_demangled(pattern);
  required_ = required_identifiers(scopes_);
  for (const ScopeName& scope : scopes_) {
    literal_ |= names_operator(scope.name) || scope.parameters;
    plain_.push_back(plain_scope(scope.name));
    plain_parameters_.push_back(scope.parameters ? plain_parameters(*scope.parameters) : std::string());
  }
}

std::string NamePattern::name_alone() const { return scopes_.empty() ? std::string() : scopes_.back().name; }

std::string NamePattern::without_signature() const {
  std::string joined;
  for (const ScopeName& scope : scopes_) joined += (joined.empty() && !anchored_ ? "" : "::") + scope.name;
  return joined;
}

bool NamePattern::has_signature() const { return !scopes_.empty() && scopes_.back().parameters; }

bool NamePattern::may_match(std::string_view symbol) const {
  if (glob_ || symbol.starts_with(text_)) return true;
  if (!symbol.starts_with("_Z")) return anchored_ || literal_;
  return std::ranges::all_of(
      required_, [&](const std::string& part) { return memmem(symbol.data(), symbol.size(), part.data(), part.size()); });
}

NamePattern::Fit NamePattern::fit(std::string_view base) const {
  if (base == text_ || base == pattern_) return Fit::kExact;
  if (glob_ && !literal_ && glob_matches(pattern_, base)) return has_wildcard(pattern_) ? Fit::kLoose : Fit::kExact;
  if (!with_any_arguments_.empty() && glob_matches(with_any_arguments_, base)) return Fit::kExact;
  if (base.substr(0, 2) != "_Z") {
    // A function of C has a signature in debuggers, but not in its symbol.
    const bool named = (anchored_ || has_signature()) && scopes_.size() == 1 && glob_matches(scopes_[0].name, base);
    return !named ? Fit::kNone : has_signature() ? Fit::kLoose : Fit::kExact;
  }
  for (const std::string& identifier : required_)
    if (base.find(identifier) == base.npos) return Fit::kNone;
  return fit_of_scopes(base);
}

NamePattern::Fit NamePattern::fit_of_scope(size_t p, const ScopeName& scope) const {
  const ScopeName& wanted = scopes_[p];
  Fit fit = Fit::kExact;
  if (wanted.parameters) {
    const bool any = *wanted.parameters == "*";
    if (!any && plain_parameters_[p] != plain_parameters(scope.parameters.value_or(""))) return Fit::kNone;
    if (!wanted.clones.empty() && wanted.clones != scope.clones) return Fit::kNone;
    if (wanted.qualifiers != scope.qualifiers && !wanted.qualifiers.empty()) return Fit::kNone;
    if (wanted.qualifiers != scope.qualifiers) fit = Fit::kLoose;
  }
  if (wanted.name == scope.name) return fit;
  const std::string_view alone = without_arguments(scope.name);
  if (names_operator(wanted.name))
    return plain_[p] == plain_scope(scope.name) || plain_[p] == plain_scope(alone) ? fit : Fit::kNone;
  if (wanted.name == alone) return fit;
  if (wanted.name.ends_with('>') && plain_[p] == plain_scope(scope.name)) return fit;
  // As it stands, too: "f[abi:cxx11]" and "f<char [2]>" are names, though they have brackets.
  return glob_matches(wanted.name, scope.name) || glob_matches(wanted.name, alone) ? Fit::kLoose : Fit::kNone;
}

// How well scopes[i...] are what the pattern says from its scope p on. A "*" that is a scope of its own stands for any number of
// them, but none. Anonymous namespaces may be left out.
NamePattern::Fit NamePattern::fit_from(size_t p, const std::vector<ScopeName>& scopes, size_t i) const {
  Fit fit = Fit::kExact;
  for (; p < scopes_.size() && i < scopes.size(); ++p, ++i) {
    if (scopes_[p].name == "*" && !scopes_[p].parameters) {
      if (p + 1 == scopes_.size()) return Fit::kLoose;
      for (size_t next = i + 1; next < scopes.size(); ++next)
        if (fit_from(p + 1, scopes, next) != Fit::kNone) return Fit::kLoose;
      return Fit::kNone;
    }
    if (scopes[i].name == kAnonymousNamespace && scopes_[p].name != kAnonymousNamespace)
      if (const Fit rest = fit_from(p, scopes, i + 1); rest != Fit::kNone) return std::min(fit, rest);
    fit = std::min(fit, fit_of_scope(p, scopes[i]));
    if (fit == Fit::kNone) return fit;
  }
  return p == scopes_.size() && i == scopes.size() ? fit : Fit::kNone;
}

NamePattern::Fit NamePattern::fit_of_scopes(std::string_view base) const {
  const std::vector<ScopeName> scopes = named_scopes(base);
  if (scopes_.empty() || scopes.size() < scopes_.size()) return Fit::kNone;
  const size_t last_start = anchored_ ? 0 : scopes.size() - scopes_.size();
  Fit best = Fit::kNone;
  for (size_t start = 0; start <= last_start && best != Fit::kExact; ++start) best = std::max(best, fit_from(0, scopes, start));
  return best;
}

std::string name_with_signature(std::string_view mangled) {
  std::string text;
  for (const ScopeName& scope : named_scopes(mangled)) {
    text += (text.empty() ? "" : "::") + scope.name;
    if (scope.parameters) text += "(" + *scope.parameters + ")";
    if (!scope.qualifiers.empty()) text += " " + scope.qualifiers;
  }
  return text.empty() ? std::string(mangled) : text;
}

std::string with_scopes(const std::string& pattern, const std::vector<std::string>& names) {
  if (pattern.find_first_not_of("*?") == pattern.npos) return {};
  std::string scope, whole;
  for (const std::string& name : names) {
    if (name.find("::") == name.npos) continue;
    const std::vector<ScopeName> scopes = split_demangled(name);
    if (scopes.empty()) continue;
    const auto last = scopes.end() - 1;
    const auto is_scope =
        std::find_if(scopes.begin(), last, [&](const ScopeName& each) { return glob_matches(pattern, each.name); });
    if (is_scope != last) {
      if (!scope.empty() && scope != is_scope->name) return pattern + "::*";
      scope = is_scope->name;
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
