#include "session/scripts/scripts.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <zlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/files/file.h"
#include "base/text/split.h"
#include "sema/terms/program.h"
#include "session/scripts/library.h"

namespace spile::session {

namespace {

namespace fs = std::filesystem;

Result<std::string> read_script(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return Error{path + ": is a directory", "name a script file"};
  return read_file(path, "script " + path);
}

// The running kernel's configuration, read when the first condition asks for it.
struct KernelConfig {
  bool asked = false;
  std::map<std::string, std::string, std::less<>> values;

  bool is_missing() const { return asked && values.empty(); }
};

KernelConfig& running_config() {
  static KernelConfig config;
  return config;
}

// Returns the text of the first of the kernel's configuration files that exists. gzopen() also reads files that aren't
// compressed.
std::string config_text(const std::string& release) {
  for (const std::string& path : {std::string("/proc/config.gz"), "/boot/config-" + release,
                                  "/lib/modules/" + release + "/config", "/lib/modules/" + release + "/build/.config"}) {
    gzFile file = gzopen(path.c_str(), "rb");
    if (!file) continue;
    std::string text;
    char buffer[65536];
    for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
    gzclose(file);
    if (text.find("CONFIG_") != std::string::npos) return text;
  }
  return {};
}

// Returns what CONFIG_ conditions see: the value of an option, "" if it is unset.
std::function<std::string(std::string_view)> kernel_config(const std::string& release) {
  return [release](std::string_view name) -> std::string {
    KernelConfig& config = running_config();
    if (!config.asked) {
      config.asked = true;
      const std::string text = config_text(release);
      for (const std::string_view line : lines_of(text)) {
        size_t equals = line.find('=');
        if (!line.starts_with("CONFIG_") || equals == line.npos) continue;
        std::string_view value = line.substr(equals + 1);
        if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
        config.values.emplace(line.substr(0, equals), value);
      }
    }
    auto found = config.values.find(name);
    return found != config.values.end() ? found->second : std::string();
  };
}

void warn_missing_config(Diagnostics& diagnostics) {
  if (!running_config().is_missing()) return;
  diagnostics.warning({}, "the running kernel's configuration can't be read: CONFIG_ conditions treat all options as unset")
      .hint("spile looks for /proc/config.gz and /boot/config-RELEASE");
}

// Warns of arguments that the script does not refer to: not by $1 or @1, nor by $# or the like.
void warn_unused_arguments(const std::vector<syntax::Script>& scripts, const std::vector<std::string>& arguments,
                           const std::set<size_t>& used, Diagnostics& diagnostics) {
  bool asks_for_all = used.contains(0);
  for (const syntax::Script& script : scripts) {
    for (const char* name : {"argv", "argc"}) asks_for_all |= script.file->text().find(name) != std::string_view::npos;
  }
  for (size_t i = 1; i <= arguments.size() && !asks_for_all; ++i) {
    if (!used.contains(i)) diagnostics.warning({}, fmt::format("unused command line option ${0}/@{0}", i));
  }
}

}  // namespace

syntax::ParseOptions parse_settings(const ScriptOptions& script, const TargetOptions& target) {
  syntax::ParseOptions settings;
  settings.arguments = script.arguments;
  settings.guru = script.guru;
  settings.privilege = script.privilege;
  if (!script.compatible.empty()) settings.systemtap_version = script.compatible;
  // The names are SystemTap's. Before the script is parsed, the options alone show where handlers run.
  bool in_process = target.runtime == Runtime::kInProcess ||
                    (target.runtime == Runtime::kAuto && (!target.processes.empty() || !target.command.empty()));
  settings.runtime = in_process ? "dyninst" : "kernel";
  settings.must_declare = script.additional_texts.empty();
  utsname system;
  if (uname(&system) == 0) {
    settings.kernel_release = system.release;
    settings.architecture = system.machine;
    settings.kernel_config = kernel_config(system.release);
  }
  return settings;
}

Result<LoadedScripts> load_scripts(const ScriptOptions& script, const TargetOptions& target, SourceFiles& files,
                                   Diagnostics& diagnostics) {
  syntax::ParseOptions parse_options = parse_settings(script, target);
  TRY(Library library, Library::open(script, target.runtime, parse_options, files));
  if (tapset_folder().empty()) {
    diagnostics
        .warning(
            {},
            "the tapset library is missing: there is no share/spile/tapset, of the same owner, beside the program's bin folder")
        .hint("install spile's package, or run the program where it was built");
  }
  parse_options.macros = &library.macros();
  std::set<size_t> used_arguments;
  parse_options.used_arguments = &used_arguments;
  auto parse = [&](const SourceFile& file) {
    library.load_macros(file.text(), diagnostics);
    return syntax::parse(file, parse_options, diagnostics);
  };

  LoadedScripts loaded;
  loaded.library_functions = library.function_names();
  std::vector<syntax::Script>& scripts = loaded.scripts;
  if (script.text) {
    scripts.push_back(parse(files.add("<input>", *script.text)));
  } else if (script.file == "-") {
    char stdin_text[65536];
    std::string text;
    for (size_t n; (n = fread(stdin_text, 1, sizeof stdin_text, stdin)) > 0;) text.append(stdin_text, n);
    scripts.push_back(parse(files.add("<stdin>", std::move(text))));
  } else {
    TRY(std::string text, read_script(script.file));
    scripts.push_back(parse(files.add(script.file, std::move(text))));
  }
  for (const std::string& more : script.additional_texts) scripts.push_back(parse(files.add("<-E>", more)));
  warn_missing_config(diagnostics);
  if (!diagnostics.has_errors()) warn_unused_arguments(scripts, script.arguments, used_arguments, diagnostics);
  // The library is only looked into for scripts that parse: their errors come first.
  if (!diagnostics.has_errors()) library.complete(scripts, diagnostics);
  return loaded;
}

Result<std::vector<syntax::Script>> load_library(const ScriptOptions& script, const TargetOptions& target, SourceFiles& files,
                                                 Diagnostics& diagnostics) {
  TRY(Library library, Library::open(script, target.runtime, parse_settings(script, target), files));
  return library.parse_all(diagnostics);
}

}  // namespace spile::session
