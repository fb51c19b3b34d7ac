#pragma once
// Function names: the suffixes compilers give to clones, and C++ and Rust names as people write them. Thread rule: any
// thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spile::debuginfo {

// Whether a file pattern matches whole components at the end of a path ("parse.c" and "src/*.c" both find
// "/build/src/parse.c").
bool file_matches(std::string_view pattern, std::string_view path);

struct CloneName {
  std::string_view base;  // without symbol version and clone suffixes
  // .cold, .warm, .__part.N: as parts of functions are named, which are jumped to (debuginfo/elf/entries.h decides); with
  // what follows.
  std::string_view part_suffix = {};
  bool fragment = false;         // has a part_suffix
  bool split = false;            // .part.N: the rest of a function whose head was inlined
  bool specialised = false;      // .isra, .constprop, .part: parameters may be others than the source has
  bool may_lose_result = false;  // .isra: a result that no caller uses is not computed
};
// Takes a symbol's name apart: "foo.constprop.0.isra.0" -> foo. Views point into `symbol`. GCC: gimple clone names;
// Clang: .llvm.N (ThinLTO promotion), .__uniq.N, .cfi (the function itself, where its name is a jump table's entry).
CloneName clone_name(std::string_view symbol);

// Demangles a name and cuts it into its scopes, without return type and parameters:
// "ns::Foo<int>::bar(int) const" -> {"ns", "Foo<int>", "bar"}; empty if it isn't a mangled name (Itanium ABI).
std::vector<std::string> scopes_of(std::string_view mangled_base);

// Returns a symbol's name as people would write it, with at most `count` scopes (at least 1) and without template arguments:
// "Foo::bar". "" for one that can't be demangled, or is not the name of a function.
std::string last_scopes(std::string_view symbol, size_t count);

// Returns a function's name with its parameters, as nm -C and debuggers write it: "ns::Foo<int>::bar(int) const"; one that isn't
// mangled, as it is.
std::string name_with_signature(std::string_view mangled_base);

// A pattern that found nothing, whose author may have meant names with their scopes: returns what finds those among `names`:
// "shop::*" for "shop" and "sho*" where "shop::sell" is a name, or that name for "sh*ell". "": no such name.
std::string with_scopes(const std::string& pattern, const std::vector<std::string>& names);

// Returns the pattern of a name as listings and errors print it: \n \t \r \ooo and \" are the character that they stand for; a
// backslash before another one stays, for the glob.
std::string pattern_of_shown(std::string_view text);

// A scope of a demangled name: "f(int) const" of "ns::f(int) const".
struct ScopeName {
  std::string name;                            // with the arguments of a template
  std::optional<std::string> parameters = {};  // what is between the brackets; nullopt: not said
  std::string qualifiers = {};                 // "const", "const&": without spaces
  std::string clones = {};                     // ".isra.0", as demanglers write it in brackets
};

// FunctionPattern::name, prepared to be matched against many symbols. A pattern with parameters ("f(int)", as nm -C and debuggers
// write it) is one function, an operator ("operator*") is itself; in other scopes * ? and [] are wildcards.
class NamePattern {
 public:
  // kLoose: matches by a wildcard, or without what the pattern leaves out (the const behind a signature). It counts only where
  // nothing matches exactly.
  enum class Fit : uint8_t { kNone, kLoose, kExact };

  explicit NamePattern(std::string_view pattern);
  // `base`: CloneName::base of a symbol. Demangles only what can match.
  Fit fit(std::string_view base) const;
  bool matches(std::string_view base) const { return fit(base) != Fit::kNone; }
  // False: neither a symbol of this name, nor what clone_name() finds in it, matches. For tables of which nearly nothing matches.
  bool may_match(std::string_view symbol) const;
  // Returns the number of scopes in the pattern: 2 for "Foo::bar".
  size_t scope_count() const { return scopes_.size(); }
  // Returns the last scope without parameters: "bar" of "Foo::bar(int)".
  std::string name_alone() const;
  bool has_signature() const;
  // Returns the pattern without parameters: "Foo::bar" of "Foo::bar(int)".
  std::string without_signature() const;

 private:
  Fit fit_of_scopes(std::string_view base) const;
  Fit fit_of_scope(size_t p, const ScopeName& scope) const;
  Fit fit_from(size_t p, const std::vector<ScopeName>& scopes, size_t i) const;

  std::string text_;     // as it was given: a name may have a backslash of its own
  std::string pattern_;  // pattern_of_shown(text_)
  bool glob_;
  bool literal_ = false;                       // has a signature or an operator: text_ is not a glob of whole symbols
  bool anchored_ = false;                      // leading "::"
  std::string with_any_arguments_;             // glob for a text with "[...]"; else empty
  std::vector<ScopeName> scopes_;              // between the "::"
  std::vector<std::string> plain_;             // plain_scope() of each
  std::vector<std::string> plain_parameters_;  // of each
  // Identifiers that every mangled name that can match has as they stand.
  std::vector<std::string> required_;
};

}  // namespace spile::debuginfo
