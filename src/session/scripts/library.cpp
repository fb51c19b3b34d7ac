#include "session/scripts/library.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/files/file.h"
#include "base/unique_fd.h"
#include "session/scripts/library_names.h"
#include "session/scripts/session_script.h"
#include "syntax/declared_names.h"
#include "syntax/visitor.h"

namespace spile::session {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kArchitectures[] = {"x86_64",  "i386",  "i686",    "arm",   "arm64", "aarch64",
                                               "powerpc", "ppc64", "ppc64le", "s390",  "s390x", "mips",
                                               "mips64",  "riscv", "ia64",    "alpha", "sparc"};

// Whether a subfolder of this name is searched: most are.
bool is_wanted_folder(const std::string& name, const syntax::ParseOptions& settings, Runtime runtime) {
  if (std::find(std::begin(kArchitectures), std::end(kArchitectures), name) != std::end(kArchitectures)) {
    return name == settings.architecture;
  }
  if (!name.empty() && name[0] >= '0' && name[0] <= '9') {
    const std::string& release = settings.kernel_release;
    bool ends_there =
        release.size() == name.size() || std::string_view(".-").find(release.c_str()[name.size()]) != std::string_view::npos;
    return release.starts_with(name) && ends_there;
  }
  if (name == "bpf") return runtime != Runtime::kInProcess;
  if (name == "dyninst" || name == "inproc") return runtime != Runtime::kBpf;
  return true;
}

Result<std::string> read_text(const fs::path& path) { return read_file(path, "tapset file " + path.string()); }

void add_names(std::vector<std::pair<std::string_view, size_t>>& index, const std::vector<std::string_view>& names, size_t file) {
  for (std::string_view name : names) {
    // An alias and its .return, mostly.
    if (index.empty() || index.back() != std::pair(name, file)) index.emplace_back(name, file);
  }
}

// Names that scripts declare, and declarations that have been followed, so that each is followed once.
struct Followed {
  ReferredNames names;           // that any script refers to
  ReferredNames library_names;   // that the library's scripts refer to
  std::set<std::string> hidden;  // functions of the library that the user's own ones replace, for the user
  std::set<const void*> declarations;

  template <typename T>
  bool follow(const T& declaration) {
    if (!declarations.insert(&declaration).second) return false;
    names.add(declaration);
    if (declaration.from_library) library_names.add(declaration);
    return true;
  }
  bool wants_function(const std::string& name) const {
    return library_names.functions.count(name) > 0 || (names.functions.count(name) > 0 && hidden.count(name) == 0);
  }
  size_t size() const { return names.size() + library_names.size(); }
};

bool may_go_on(const syntax::Statement& s) {
  if (s.kind == syntax::StatementKind::kNext) return true;
  auto* code = syntax::as<syntax::EmbeddedStatement>(s);
  bool may = code && code->code.find("STAP_NEXT") != std::string::npos;
  syntax::for_each_statement(s, [&](const syntax::Statement& child) { may = may || may_go_on(child); });
  return may;
}

// Finds the functions that the user declares with one number of parameters, and that never execute `next`: calls with as many
// arguments never reach the library's function of that name.
std::set<std::string> hiding_functions(const std::vector<syntax::Script>& scripts) {
  std::map<std::string, size_t> calls;  // name to the number of arguments; none: different ones
  constexpr size_t kDifferent = ~size_t{0};
  for (const syntax::Script& script : scripts) {
    auto look = [&](const syntax::Expression& x) {
      auto* call = syntax::as<syntax::Call>(x);
      if (!call) return;
      auto [known, added] = calls.emplace(call->name, call->arguments.size());
      if (!added && known->second != call->arguments.size()) known->second = kDifferent;
    };
    auto look_into = [&](const auto& body) {
      if (body) syntax::for_each_expression(static_cast<const syntax::Statement&>(*body), look);
    };
    for (const auto& probe : script.probes) look_into(probe->body);
    for (const auto& function : script.functions) look_into(function->body);
    for (const auto& alias : script.aliases) {
      look_into(alias->body);
      look_into(alias->closing);
    }
  }
  std::set<std::string> hidden, shared;
  for (const syntax::Script& script : scripts) {
    for (const auto& function : script.functions) {
      auto called = calls.find(function->name);
      bool serves_all = called == calls.end() || called->second == function->parameters.size();
      if (serves_all && !(function->body && may_go_on(*function->body))) hidden.insert(function->name);
      else shared.insert(function->name);
    }
  }
  for (const std::string& name : shared) hidden.erase(name);
  return hidden;
}

// Follows the declarations of a library script that the names so far refer to. Private declarations count for their own file
// only, where names refer to them in the same way. Returns whether it followed any.
bool follow_library(const syntax::Script& script, Followed& followed) {
  bool used = false;
  const ReferredNames& names = followed.names;
  for (const auto& function : script.functions) {
    if (followed.wants_function(function->name)) used |= followed.follow(*function);
  }
  for (const auto& alias : script.aliases) {
    for (const auto& name : alias->names) {
      bool matches = std::any_of(names.alias_heads.begin(), names.alias_heads.end(),
                                 [&](const std::string& written) { return may_match(written, head_of(name)); });
      if (matches) used |= followed.follow(*alias);
    }
  }
  // A library's own probes run when anything of it is in use.
  bool has_global = std::any_of(script.globals.begin(), script.globals.end(),
                                [&](const auto& global) { return names.variables.count(global->name) > 0; });
  if (used || has_global) {
    for (const auto& probe : script.probes) used |= followed.follow(*probe);
  }
  return used;
}

// Scripts of the library may do anything, so the folder's owner matters: beside a program that was copied to /tmp, another user
// could place a folder.
bool is_of_this_spile(const fs::path& folder) {
  struct stat file{}, program{};
  if (stat(folder.c_str(), &file) != 0 || !S_ISDIR(file.st_mode) || stat("/proc/self/exe", &program) != 0) return false;
  return (file.st_uid == 0 || file.st_uid == geteuid() || file.st_uid == program.st_uid) && (file.st_mode & S_IWOTH) == 0;
}

}  // namespace

std::string tapset_folder() {
  std::error_code error;
  fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  fs::path installed = executable.parent_path().parent_path() / "share/spile/tapset";
  if (is_of_this_spile(installed)) return installed;
  // A build tree: build/PRESET/bin/spile.
  fs::path source = executable.parent_path().parent_path().parent_path().parent_path() / "tapset";
  return is_of_this_spile(source) ? source.string() : std::string();
}

bool is_intrinsic_declaration(const syntax::Function& function) {
  const auto* code = function.body ? syntax::as<syntax::EmbeddedStatement>(*function.body) : nullptr;
  return code && code->code.find("/* intrinsic */") != std::string::npos;
}

Result<Library> Library::open(const ScriptOptions& script, Runtime runtime, const syntax::ParseOptions& settings,
                              SourceFiles& sources) {
  Library library;
  library.settings_ = settings;
  library.settings_.is_library = true;
  library.settings_.guru = true;
  library.settings_.arguments.clear();
  library.macros_ = std::make_unique<syntax::MacroLibrary>();
  library.settings_.macros = library.macros_.get();
  std::vector<std::string> folders = script.library_folders;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return Error{fmt::format("-I {}: not a directory", folder), {}};
  }
  if (const char* folder = getenv("SYSTEMTAP_TAPSET"); folder && *folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return Error{fmt::format("$SYSTEMTAP_TAPSET, {}: not a directory", folder), {}};
    folders.push_back(folder);
  }
  for (const std::string& folder : folders) TRY_DO(library.add_folder(folder, true, runtime, sources));
  if (std::string installed = tapset_folder(); !installed.empty()) {
    TRY_DO(library.add_folder(installed, false, runtime, sources));
  }
  library.add_file(sources.add("<session>", session_script(script)), false);
  library.add_file(sources.add("<session>.stpm", session_macros(script)), false);
  return library;
}

Result<void> Library::add_folder(const std::string& folder, bool is_own, Runtime runtime, SourceFiles& sources) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error); !error && entry != fs::end(entry); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (entry->is_directory(error)) {
      if (!is_wanted_folder(path.filename(), settings_, runtime)) entry.disable_recursion_pending();
    } else if (path.extension() == ".stp" || path.extension() == ".stpm") {
      paths.push_back(path);
    }
  }
  if (error) return Error{fmt::format("tapset folder {}: {}", folder, error.message()), {}};
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    TRY(std::string text, read_text(path));
    add_file(sources.add(path, std::move(text)), is_own);
  }
  return {};
}

void Library::add_file(const SourceFile& source, bool is_own) {
  size_t index = files_.size();
  bool is_macros = source.name().ends_with(".stpm");
  files_.push_back({&source, is_macros, false, is_own});
  syntax::DeclaredNames names = syntax::scan_declarations(source.text());
  if (is_macros) return add_names(macro_names_, names.macros, index);
  add_names(functions_, names.functions, index);
  add_names(globals_, names.globals, index);
  add_names(alias_heads_, names.alias_heads, index);
}

void Library::load_macros(std::string_view text, Diagnostics& diagnostics) {
  if (macro_names_.empty()) return;
  for (std::string_view name : syntax::scan_macro_uses(text)) {
    for (size_t found : files_with(macro_names_, name)) {
      File& file = files_[found];
      if (file.loaded) continue;
      file.loaded = true;
      ++parsed_;
      add_macros(file, diagnostics);
      load_macros(file.source->text(), diagnostics);
    }
  }
}

// A file of the installed tapset may have been read before the user's file that replaces one of its macros.
void Library::add_macros(const File& file, Diagnostics& diagnostics) {
  syntax::MacroLibrary found;
  syntax::parse_macros(*file.source, settings_, diagnostics, found);
  for (auto& [name, macro] : found.macros) {
    auto known = macros_->macros.find(name);
    const bool is_known = known != macros_->macros.end();
    if (is_known && !file.is_own && own_macros_.contains(name)) continue;
    if (is_known && file.is_own == own_macros_.contains(name)) {
      diagnostics.error(macro.range, "macro @" + name + " is defined twice").note(known->second.range, "first defined here");
      continue;
    }
    if (file.is_own) own_macros_.insert(name);
    macros_->macros[name] = std::move(macro);
  }
}

bool Library::is_own(const SourceFile* source) const {
  auto file = std::ranges::find(files_, source, &File::source);
  return file != files_.end() && file->is_own;
}

// Declarations that were taken out. They live on, since Followed knows declarations by their addresses.
struct Library::Replaced {
  std::vector<std::unique_ptr<syntax::Function>> functions;
  std::vector<std::unique_ptr<syntax::Global>> globals;
  std::vector<std::unique_ptr<syntax::Alias>> aliases;
};

// Takes out of the scripts from `first` on what the user's folders replace.
void Library::replace_installed(std::vector<syntax::Script>& scripts, size_t first, Replaced& replaced) const {
  std::set<std::pair<std::string, size_t>> functions;
  std::set<std::string> globals, aliases;
  for (size_t i = first; i < scripts.size(); ++i) {
    if (!is_own(scripts[i].file)) continue;
    for (const auto& function : scripts[i].functions) {
      if (!function->is_private && !(function->body && may_go_on(*function->body))) {
        functions.emplace(function->name, function->parameters.size());
      }
    }
    for (const auto& global : scripts[i].globals) {
      if (!global->is_private) globals.insert(global->name);
    }
    for (const auto& alias : scripts[i].aliases) {
      for (const auto& name : alias->names) aliases.insert(to_source(name));
    }
  }
  auto take = [](auto& from, auto& into, const auto& is_replaced) {
    auto kept = std::stable_partition(from.begin(), from.end(), [&](const auto& x) { return !is_replaced(*x); });
    std::move(kept, from.end(), std::back_inserter(into));
    from.erase(kept, from.end());
  };
  for (size_t i = first; i < scripts.size(); ++i) {
    if (is_own(scripts[i].file)) continue;
    take(scripts[i].functions, replaced.functions,
         [&](const syntax::Function& f) { return !f.is_private && functions.contains({f.name, f.parameters.size()}); });
    take(scripts[i].globals, replaced.globals,
         [&](const syntax::Global& g) { return !g.is_private && globals.contains(g.name); });
    for (const auto& alias : scripts[i].aliases) {
      std::erase_if(alias->names, [&](const auto& name) { return aliases.contains(to_source(name)); });
    }
    take(scripts[i].aliases, replaced.aliases, [](const syntax::Alias& alias) { return alias.names.empty(); });
  }
}

void Library::load_script(size_t index, std::vector<syntax::Script>& scripts, Diagnostics& diagnostics) {
  File& file = files_[index];
  if (file.loaded) return;
  file.loaded = true;
  ++parsed_;
  load_macros(file.source->text(), diagnostics);
  scripts.push_back(syntax::parse(*file.source, settings_, diagnostics));
}

std::set<size_t> Library::files_with(const Index& index, std::string_view name) const {
  std::set<size_t> found;
  for (const auto& [known, file] : index) {
    if (known == name) found.insert(file);
  }
  return found;
}

void Library::complete(std::vector<syntax::Script>& scripts, Diagnostics& diagnostics) {
  size_t user_scripts = scripts.size();
  Followed followed;
  followed.hidden = hiding_functions(scripts);
  for (const syntax::Script& script : scripts) {
    for (const auto& probe : script.probes) followed.follow(*probe);
    for (const auto& function : script.functions) followed.follow(*function);
    for (const auto& alias : script.aliases) followed.follow(*alias);
  }
  ReferredNames done;
  Replaced replaced;
  for (size_t before = 0; before != followed.size() + scripts.size();) {
    before = followed.size() + scripts.size();
    std::set<size_t> wanted;
    for (const std::string& name : followed.names.functions) {
      // The user's function of that name serves every call of the user's; the library's calls need the library's function.
      if (followed.wants_function(name) && done.functions.insert(name).second) wanted.merge(files_with(functions_, name));
    }
    for (const std::string& name : followed.names.variables) {
      if (done.variables.insert(name).second) wanted.merge(files_with(globals_, name));
    }
    for (const std::string& written : followed.names.alias_heads) {
      if (!done.alias_heads.insert(written).second) continue;
      const size_t before_it = wanted.size();
      for (const auto& [head, file] : alias_heads_) {
        if (may_match(written, head)) wanted.insert(file);
      }
      // A name that is not there: the error shall name a similar one of the family.
      const std::string family = written.substr(0, written.find('.'));
      if (wanted.size() != before_it || family == written) continue;
      for (const auto& [head, file] : alias_heads_) {
        if (may_match(family, head)) wanted.insert(file);
      }
    }
    for (size_t file : wanted) load_script(file, scripts, diagnostics);
    replace_installed(scripts, user_scripts, replaced);
    for (size_t i = user_scripts; i < scripts.size(); ++i) {
      std::erase_if(scripts[i].functions, [](const auto& function) { return is_intrinsic_declaration(*function); });
      follow_library(scripts[i], followed);
    }
  }
}

std::vector<std::string> Library::function_names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : functions_) {
    if (!name.starts_with("__")) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<syntax::Script> Library::parse_all(Diagnostics& diagnostics) {
  std::vector<syntax::Script> scripts;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].is_macros) continue;
    load_script(i, scripts, diagnostics);
  }
  return scripts;
}

}  // namespace spile::session
