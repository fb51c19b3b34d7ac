#pragma once
// Function names: the suffixes compilers give to clones, and C++ and Rust names as people write them. Thread rule: any
// thread.

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

// A pattern that found nothing, whose author may have meant names with their scopes: returns what finds those among `names`:
// "shop::*" for "shop" and "sho*" where "shop::sell" is a name, or that name for "sh*ell". "": no such name.
std::string with_scopes(const std::string& pattern, const std::vector<std::string>& names);

// FunctionPattern::name, prepared to be matched against many symbols.
class NamePattern {
 public:
  explicit NamePattern(std::string_view pattern);
  // `base`: CloneName::base of a symbol. Demangles only what can match.
  bool matches(std::string_view base) const;
  // False: neither a symbol of this name, nor what clone_name() finds in it, matches. For tables of which nearly nothing matches.
  bool may_match(std::string_view symbol) const;
  // Returns the number of scopes in the pattern: 2 for "Foo::bar".
  size_t scope_count() const { return scopes_.size(); }

 private:
  bool matches_scopes(std::string_view base) const;

  std::string text_;
  bool glob_;
  bool anchored_ = false;            // leading "::"
  std::vector<std::string> scopes_;  // between the "::"
  // Identifiers that every mangled name that can match has as they stand.
  std::vector<std::string> required_;
};

}  // namespace spile::debuginfo
