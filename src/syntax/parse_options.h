#pragma once
// The settings with which a script is parsed: its arguments, and the facts that its conditions and macros can ask for. The
// defaults suit tests; session fills in those of the command line and the machine.

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace spile::syntax {

struct MacroLibrary;  // preprocessor.h

struct ParseOptions {
  std::vector<std::string> arguments;  // $1 @1 ...; the first is number 1
  bool guru = false;                   // -g: %{ %} may stand in scripts
  bool must_declare = false;           // a script without any declaration is an error
  bool is_library = false;             // a tapset's file: %{ %} may stand there too, $1 may not
  std::string kernel_release;          // kernel_v, kernel_vr
  std::string architecture = "x86_64";
  std::string runtime = "inproc";         // what %( runtime == "..." %) sees
  std::string systemtap_version = "5.2";  // systemtap_v: whose language this is, or what --compatible says
  std::string privilege = "stapdev";      // systemtap_privilege
  // Returns the value of a CONFIG_ name ("y", "m", "100"; "" for unset), called only where a condition names one. May be empty.
  std::function<std::string(std::string_view)> kernel_config;
  std::set<size_t>* used_arguments = nullptr;  // filled with the numbers of those that occur, 0 for $# and @#; may be null
  const MacroLibrary* macros = nullptr;        // of the tapset's .stpm files; outlives the parse; null: none
};

}  // namespace spile::syntax
