#pragma once
// The library: the tapset's files that come with spile, and those of -I. Opening it reads all files and finds out which names
// each declares; only the files that a script needs, directly or through other files, are parsed. Thread rule: one thread.
//
// Search path, as SystemTap documents it: folders of -I in their order, then $SYSTEMTAP_TAPSET, then the tapset beside the
// executable (../share/spile/tapset), or that of the source tree in which the executable was built. All *.stp and *.stpm files
// below a folder are searched. Subfolders named like an architecture, a kernel version ("6.1", "6.1.0") or a runtime are left out
// unless it is in use.
//
// Facts of this run, such as the script's arguments, are a file of the library, too (session_script.h).
//
// What a folder of -I or $SYSTEMTAP_TAPSET declares replaces what the installed tapset declares under that name, also for the
// tapset's own files: functions with as many parameters (unless they may execute `next`), globals, aliases and macros.
//
// A function whose body is %{ /* intrinsic */ %} declares a function of the runtime (sema/terms/intrinsics.h), for the
// documentation and for tools: calls are never resolved to the declaration.

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/source.h"
#include "session/terms/options.h"
#include "syntax/parser.h"
#include "syntax/preprocessor.h"

namespace spile::session {

// Returns the folder of the installed tapset, or the one of the source tree in which the program was built; "": neither is there,
// or it belongs neither to root, nor to our user, nor to the program's owner.
std::string tapset_folder();

class Library {
 public:
  // Reads the files. settings: what conditions see (release, architecture ...), in the library's files too. files: owns the
  // texts; must outlive the library and the scripts made of it. Errors: a folder of -I or $SYSTEMTAP_TAPSET is not one; a file
  // can't be read.
  static Result<Library> open(const ScriptOptions& script, Runtime runtime, const syntax::ParseOptions& settings,
                              SourceFiles& files);

  // Adds to macros() the macros that a text uses, and those that these use. REQUIRES: called before the text is parsed.
  void load_macros(std::string_view text, Diagnostics& diagnostics);
  const syntax::MacroLibrary& macros() const { return *macros_; }

  // Parses the files that declare what the scripts refer to and do not declare themselves, then what those refer to, and so on,
  // and appends them to `scripts`, without declarations of intrinsics. Each file is parsed once: a second call, or parse_all(),
  // leaves it out. scripts: the user's, without mistakes.
  void complete(std::vector<syntax::Script>& scripts, Diagnostics& diagnostics);

  // Parses and returns all scripts that are not parsed yet, for listings; with declarations of intrinsics.
  std::vector<syntax::Script> parse_all(Diagnostics& diagnostics);

  // Returns the names of the functions that scripts may call, sorted; without names that begin with two underscores.
  std::vector<std::string> function_names() const;

  // Return how many files the library has, and how many were parsed.
  size_t file_count() const { return files_.size(); }
  size_t parsed_count() const { return parsed_; }

 private:
  struct File {
    const SourceFile* source = nullptr;
    bool is_macros = false;
    bool loaded = false;
    bool is_own = false;  // of a folder that the user named
  };
  struct Replaced;
  // names and indexes in files_; few of the names are ever looked up
  using Index = std::vector<std::pair<std::string_view, size_t>>;

  Library() = default;
  Result<void> add_folder(const std::string& folder, bool is_own, Runtime runtime, SourceFiles& sources);
  void add_file(const SourceFile& source, bool is_own);
  void add_macros(const File& file, Diagnostics& diagnostics);
  void replace_installed(std::vector<syntax::Script>& scripts, size_t first, Replaced& replaced) const;
  bool is_own(const SourceFile* source) const;
  void load_script(size_t file, std::vector<syntax::Script>& scripts, Diagnostics& diagnostics);
  std::set<size_t> files_with(const Index& index, std::string_view name) const;

  syntax::ParseOptions settings_;
  std::unique_ptr<syntax::MacroLibrary> macros_;
  std::set<std::string> own_macros_;  // names of those in macros_ that a folder of the user defines
  std::vector<File> files_;
  Index functions_, globals_, alias_heads_, macro_names_;
  size_t parsed_ = 0;
};

// Returns whether a function only declares a function of the runtime.
bool is_intrinsic_declaration(const syntax::Function& function);

}  // namespace spile::session
