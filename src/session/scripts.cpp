#include "session/scripts.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "sema/program.h"
#include "session/library.h"
#include "session/procfs_value.h"

namespace spile::session {

namespace {

namespace fs = std::filesystem;

Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) return Error::from_errno("read " + name, errno);
  return text;
}

Result<std::string> read_script(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return Error{path + ": is a directory", "name a script file"};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Error::from_errno("open script " + path, errno);
  return read_stream(stream, path);
}

// What CONFIG_ conditions see: the running kernel's configuration, read when the first one asks; "" for what is unset.
std::function<std::string(std::string_view)> kernel_config(const std::string& release) {
  auto values = std::make_shared<std::optional<std::map<std::string, std::string, std::less<>>>>();
  return [release, values](std::string_view name) -> std::string {
    if (!*values) {
      values->emplace();
      std::ifstream file("/boot/config-" + release);
      for (std::string line; std::getline(file, line);) {
        size_t equals = line.find('=');
        if (!line.starts_with("CONFIG_") || equals == std::string::npos) continue;
        std::string value = line.substr(equals + 1);
        if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
        (*values)->emplace(line.substr(0, equals), std::move(value));
      }
    }
    auto found = (*values)->find(name);
    return found != (*values)->end() ? found->second : std::string();
  };
}

// Arguments that neither $1, @1 nor what tells of all of them refers to.
void warn_unused_arguments(const std::vector<syntax::Script>& scripts, const Options& options, const std::set<size_t>& used,
                           Diagnostics& diagnostics) {
  bool asks_for_all = used.contains(0);
  for (const syntax::Script& script : scripts) {
    for (const char* name : {"argv", "argc"}) asks_for_all |= script.file->text().find(name) != std::string_view::npos;
  }
  for (size_t i = 1; i <= options.arguments.size() && !asks_for_all; ++i) {
    if (!used.contains(i)) diagnostics.warning({}, fmt::format("unused command line option ${0}/@{0}", i));
  }
}

// MAXSTRINGLEN, as far as it is one: apply_settings() refuses what is none.
int64_t string_length(const Options& options) {
  int64_t length = sema::Limits().max_string_length;
  for (const std::string& limit : options.limits) {
    if (limit.starts_with("MAXSTRINGLEN=")) length = strtoll(limit.c_str() + limit.find('=') + 1, nullptr, 10);
  }
  return length;
}

}  // namespace

syntax::ParseOptions parse_settings(const Options& options) {
  syntax::ParseOptions settings;
  settings.arguments = options.arguments;
  settings.guru = options.guru;
  settings.privilege = options.privilege;
  if (!options.compatible.empty()) settings.systemtap_version = options.compatible;
  settings.runtime = options.runtime == Runtime::kBpf ? "bpf" : "inproc";
  settings.must_declare = options.additional_texts.empty();
  utsname system;
  if (uname(&system) == 0) {
    settings.kernel_release = system.release;
    settings.architecture = system.machine;
    settings.kernel_config = kernel_config(system.release);
  }
  return settings;
}

Result<LoadedScripts> load_scripts(const Options& options, SourceFiles& files, Diagnostics& diagnostics) {
  syntax::ParseOptions parse_options = parse_settings(options);
  TRY(Library library, Library::open(options, parse_options, files));
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
  if (options.script_text) {
    scripts.push_back(parse(files.add("<input>", *options.script_text)));
  } else if (options.script_file == "-") {
    char stdin_text[65536];
    std::string text;
    for (size_t n; (n = fread(stdin_text, 1, sizeof stdin_text, stdin)) > 0;) text.append(stdin_text, n);
    scripts.push_back(parse(files.add("<stdin>", std::move(text))));
  } else {
    TRY(std::string text, read_script(options.script_file));
    scripts.push_back(parse(files.add(options.script_file, std::move(text))));
  }
  for (const std::string& more : options.additional_texts) scripts.push_back(parse(files.add("<-E>", more)));
  if (!diagnostics.has_errors()) warn_unused_arguments(scripts, options, used_arguments, diagnostics);
  // The library is only looked into for scripts that parse: their errors come first.
  if (!diagnostics.has_errors()) library.complete(scripts, diagnostics);
  if (options.last_pass > 1) declare_procfs_value(scripts, string_length(options), files);  // -p1 shows what was written
  return loaded;
}

Result<std::vector<syntax::Script>> load_library(const Options& options, SourceFiles& files, Diagnostics& diagnostics) {
  TRY(Library library, Library::open(options, parse_settings(options), files));
  return library.parse_all(diagnostics);
}

}  // namespace spile::session
