#pragma once
// Looks up names as each file sees them: the globals and functions of all scripts, private ones visible in their own file only.
// The library does not see what the user declares, except four functions that are meant for that: its names mean the same in
// every script. Pointers are into the program's
// trees.

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sema/terms/elaboration.h"

namespace spile::sema {

class Declarations {
 public:
  // Reports names that are declared twice in one file as errors. REQUIRES: e outlives the object; no script is added meanwhile.
  explicit Declarations(Elaboration& e);

  // Returns the global of that name that is visible from the file that `from` stands in, the file's own first; null: none. Text
  // of a macro's file counts as text of the file of `home`, the function or probe around.
  syntax::Global* find_global(const std::string& name, const SourceRange& from, const SourceRange& home) const;
  // Whether the global is argc or argv, of the script's arguments.
  bool is_of_session(const syntax::Global& global) const;

  struct Found {
    // The overloads to be tried, in order, down to the first that can't fall through: lower priorities first (the user's without
    // one are 0, the library's 1), then those of the same file, then in the order of the scripts. All have the same number of
    // parameters: that of the arguments if any overload has so many, else more, with default values. A private one of the same
    // file hides other files'.
    std::vector<syntax::Function*> functions;
    const syntax::Function* other_arity = nullptr;  // a visible one of that name, where none takes the arguments
    const syntax::Function* hidden = nullptr;       // one private to another file; null: absent
  };
  // Looks up a call with that number of arguments. from, home: as for find_global().
  Found find_functions(const std::string& name, size_t arguments, const SourceRange& from, const SourceRange& home) const;

  // Returns the first function of that name in the same file, with any number of parameters; null: none.
  const syntax::Function* own_function(const std::string& name, const SourceRange& from) const;

  std::vector<std::string> global_names() const;    // public ones, sorted
  std::vector<std::string> function_names() const;  // all, sorted; overloads once a file

 private:
  struct Names {
    std::unordered_map<std::string, syntax::Global*> globals;
    std::unordered_map<std::string, std::vector<syntax::Function*>> functions;
  };
  void index(syntax::Script& script);
  void check_overload(const std::vector<syntax::Function*>& earlier, const syntax::Function& function);
  int script_of(const SourceRange& range, const SourceRange& home) const;
  bool sees(int from, size_t other) const;

  Elaboration& e_;
  std::vector<Names> names_;      // parallel to program.scripts
  std::vector<bool> is_library_;  // parallel to program.scripts
};

// Whether the function's body has a `next` (in embedded C, STAP_NEXT), which makes the call go on with the next overload.
bool can_fall_through(const syntax::Function& function);

}  // namespace spile::sema
