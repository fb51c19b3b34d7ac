#pragma once
// Looks up names as each file sees them: the globals and functions of all scripts, private ones visible in their own file only.
// The library does not see what the user declares: its names mean the same in every script.

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sema/elaboration.h"

namespace spile::sema {

class Declarations {
 public:
  // Reports names that are declared twice in one file.
  explicit Declarations(Elaboration& e);

  // Visible from the file that `from` stands in; null if there is none. Text of a macro's file belongs to `home`, the
  // function or probe that it stands in.
  syntax::Global* find_global(const std::string& name, const SourceRange& from, const SourceRange& home) const;
  // Whether the global is argc or argv, of the script's arguments.
  bool is_of_session(const syntax::Global& global) const;

  struct Found {
    // Overloads that take so many arguments, the first to be tried first, down to the first that can't fall through:
    // lower priorities first (the user's without one are 0, the library's 1), then those of the same file, then in the
    // order of the scripts.
    std::vector<syntax::Function*> functions;
    const syntax::Function* other_arity = nullptr;  // a visible one of that name, where none takes the arguments
    const syntax::Function* hidden = nullptr;       // one private to another file; null: absent
  };
  Found find_functions(const std::string& name, size_t arguments, const SourceRange& from, const SourceRange& home) const;

  // A function of the same file, with any number of parameters; null if the file has none of that name.
  const syntax::Function* own_function(const std::string& name, const SourceRange& from) const;

  std::vector<std::string> global_names() const;    // public ones, sorted
  std::vector<std::string> function_names() const;  // all

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

// Whether the function's body has a `next`, which makes the call go on with the next overload.
bool can_fall_through(const syntax::Function& function);

}  // namespace spile::sema
