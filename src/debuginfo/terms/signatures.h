#pragma once
// What compilers, debuggers and people write differently in the names of C++ functions, and mean the same by: "char const*" and
// "const char *", "unsigned" and "unsigned int", std::string and std::__cxx11::basic_string<char, ...>. Thread rule: any thread.

#include <string>
#include <string_view>

namespace spile::debuginfo {

// Returns one spelling for all spellings of a list of parameters, without its parentheses: "char const*, unsigned int" for
// "const char *, unsigned". Typedefs of the standard library are looked through (size_t), others can't be.
std::string plain_parameters(std::string_view list);

// Returns one spelling for all spellings of a scope, or of an operator: "vector<int>" for "vector<int, std::allocator<int> >",
// "operator<<" for "operator <<".
std::string plain_scope(std::string_view scope);

// Whether a scope is an operator's whole name ("operator*", "operator new[]", "operator char const*"), rather than a pattern that
// begins so ("operator?*").
bool names_operator(std::string_view scope);

// Returns where the symbol of the operator ends, or the type that it converts to; text[at...] begins with "operator".
size_t behind_operator(std::string_view text, size_t at);

// Returns the index behind the bracket that closes the one at text[at]; text.size() where it isn't closed.
size_t behind_pair(std::string_view text, size_t at);

constexpr std::string_view kAnonymousNamespace = "(anonymous namespace)";

}  // namespace spile::debuginfo
