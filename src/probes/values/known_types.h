#pragma once
// Types of the standard libraries of C++ (libstdc++, libc++), Rust and Go that are printed as people think of them: a vector as
// its elements, a string as its text.
//
// To add a type: a row in the table of its language's file, with the name that its debug information gives it (without scopes and
// template arguments), and a function that finds the members it needs, by their names, and plans from them. A function that does
// not find them returns false, and the value is printed as any structure: another version of the library, or somebody else's type
// of that name.

#include "probes/values/value_planner.h"

namespace spile::probes {

// Plans a value of a known type; false, with nothing planned: the type is not known, or its members are not as expected.
bool plan_known_type(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, uint64_t offset, Detail detail);

// Whether a pointer is a value of a known type itself, rather than what leads to one: a map or channel of Go.
bool is_known_pointer(const debuginfo::Type& type);

// The same by language. name: plain_name() of the type.
bool plan_cpp_type(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, const std::string& name, uint64_t offset,
                   Detail detail);
bool plan_rust_type(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, const std::string& name, uint64_t offset,
                    Detail detail);
bool plan_go_type(ValuePlanner& planner, Routine& out, const debuginfo::Type& type, const std::string& name, uint64_t offset,
                  Detail detail);

}  // namespace spile::probes
