#pragma once
// The library: the tapset's files that come with spile, and those of -I. Opening it reads them and finds out which names
// each declares; only those that a script needs, themselves or through others, are parsed.
//
// Search path, as SystemTap documents it: folders of -I in their order, then the tapset beside the executable
// (../share/spile/tapset), or the source tree's when run from there. Within a folder all files below it count,
// but those in subfolders named like an architecture, a kernel version ("6.1", "6.1.0") or a runtime only where that is
// the one in use.
//
// Facts of this run, such as the script's arguments, are a file of the library, too (session_script.h).
//
// A function whose body is %{ /* intrinsic */ %} declares what the runtime implements (sema/intrinsics.h), for the
// documentation and for tools: it is no candidate for calls.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/source.h"
#include "session/options.h"
#include "syntax/parser.h"
#include "syntax/preprocessor.h"

namespace spile::session {

// Returns the folder of the installed tapset, or the one of the source tree in which the program was built; "": neither is there, or it
// belongs neither to root, nor to our user, nor to the program's owner.
std::string tapset_folder();

class Library {
 public:
  // Reads the files. settings: what conditions see (release, architecture ...), in the library's files too. sources: owns the texts.
  // Errors: a folder of -I or a file can't be read.
  static Result<Library> open(const ScriptOptions& script, Runtime runtime, const syntax::ParseOptions& settings, SourceFiles& files);

  // The macros that a text uses, and those that they use, are added to macros(). To be called before the text is parsed.
  void load_macros(std::string_view text, Diagnostics& diagnostics);
  const syntax::MacroLibrary& macros() const { return *macros_; }

  // Parses what the scripts refer to and do not declare themselves, to the fixpoint, and appends it to them.
  // Intrinsics' declarations are left out of what is appended.
  void complete(std::vector<syntax::Script>& scripts, Diagnostics& diagnostics);

  // Everything, for listings: intrinsics' declarations too.
  std::vector<syntax::Script> parse_all(Diagnostics& diagnostics);

  // The functions that scripts may call, sorted; without those whose names begin with two underscores.
  std::vector<std::string> function_names() const;

  // Return how many files the library has, and how many were parsed.
  size_t file_count() const { return files_.size(); }
  size_t parsed_count() const { return parsed_; }

 private:
  struct File {
    const SourceFile* source = nullptr;
    bool is_macros = false;
    bool loaded = false;
  };
  using Index = std::multimap<std::string_view, size_t>;  // name to index in files_

  Library() = default;
  Result<void> add_folder(const std::string& folder, Runtime runtime, SourceFiles& sources);
  void add_file(const SourceFile& source);
  void load_script(size_t file, std::vector<syntax::Script>& scripts, Diagnostics& diagnostics);
  std::set<size_t> files_with(const Index& index, std::string_view name) const;

  syntax::ParseOptions settings_;
  std::unique_ptr<syntax::MacroLibrary> macros_;
  std::vector<File> files_;
  Index functions_, globals_, alias_heads_, macro_names_;
  size_t parsed_ = 0;
};

// Whether a function is a declaration of what the runtime implements.
bool is_intrinsic_declaration(const syntax::Function& function);

}  // namespace spile::session
