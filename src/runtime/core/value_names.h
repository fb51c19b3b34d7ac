#pragma once
// Finds template arguments in the names of functions, for the walk of values (value_walk.cpp): what a std::function calls, and
// what is in a std::any, is known by the function that its library made for it.

#include <stdint.h>

namespace spile::rt {

// A name in a buffer, from `begun` to `end`.
struct NameInText {
  const char* text;
  uint32_t begun, end;
};

inline bool closes(char c) { return c == ')' || c == '}' || c == ']' || c == '>'; }
inline bool opens(char c) { return c == '(' || c == '{' || c == '[' || c == '<'; }

// Finds the end of the argument that begins at `from`: a comma or a bracket.
inline bool find_end_of_argument(const NameInText& name, uint32_t from, uint32_t* end) {
  uint32_t at = from;
  for (int32_t depth = 0; at < name.end; ++at) {
    const char c = name.text[at];
    if (opens(c)) ++depth;
    if ((c == ',' || closes(c)) && depth == 0) {
      *end = at;
      return true;
    }
    if (closes(c)) --depth;
  }
  return false;
}

// Finds the last argument of the last template: of std::_Function_handler<int (int), main::{lambda(int)#1}>::_M_invoke the
// lambda.
inline bool find_last_argument(const NameInText& name, uint32_t* first, uint32_t* end) {
  uint32_t at = name.end;
  while (at > name.begun && name.text[at - 1] != '>') --at;
  if (at == name.begun) return false;
  *end = --at;
  for (int32_t depth = 0; at > name.begun; --at) {
    const char c = name.text[at - 1];
    if (closes(c)) ++depth;
    if (opens(c) && depth-- == 0) return false;
    if (c == ',' && depth == 0) {
      *first = at;
      return true;
    }
  }
  return false;
}

// Finds the first argument of __func<...>, a class of libc++.
inline bool find_first_argument(const NameInText& name, uint32_t* first, uint32_t* end) {
  uint32_t at = name.begun;
  for (;; ++at) {
    if (at + 7 > name.end) return false;
    if (name.text[at] == '_' && name.text[at + 1] == 'f' && name.text[at + 4] == 'c' && name.text[at + 5] == '<') break;
  }
  *first = at + 6;
  return find_end_of_argument(name, *first, end);
}

// Finds the first argument of the first template: of std::any::_Manager_internal<int>::_S_manage(...) int.
inline bool find_argument_of_class(const NameInText& name, uint32_t* first, uint32_t* end) {
  uint32_t at = name.begun;
  while (at < name.end && name.text[at] != '<') ++at;
  if (at == name.end) return false;
  *first = at + 1;
  if (!find_end_of_argument(name, *first, end)) return false;
  while (*end > *first && name.text[*end - 1] == ' ') --*end;
  return true;
}

}  // namespace spile::rt
