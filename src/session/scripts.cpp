#include "session/scripts.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include "syntax/preprocessor.h"

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

// Those with this extension, below the folders, in a fixed order.
std::vector<fs::path> library_files(const std::vector<std::string>& folders, std::string_view extension) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
      if (entry.path().extension() == extension) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
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

}  // namespace

std::string tapset_folder() {
  std::error_code error;
  fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  fs::path installed = executable.parent_path().parent_path() / "share/spile/tapset";
  if (fs::is_directory(installed, error)) return installed;
  // A build tree: build/PRESET/bin/spile.
  fs::path source = executable.parent_path().parent_path().parent_path().parent_path() / "tapset";
  return fs::is_directory(source, error) ? source.string() : std::string();
}

Result<std::vector<syntax::Script>> load_scripts(const Options& options, SourceFiles& files, Diagnostics& diagnostics) {
  syntax::ParseOptions parse_options;
  parse_options.arguments = options.arguments;
  parse_options.guru = options.guru;
  parse_options.runtime = options.runtime == Runtime::kBpf ? "bpf" : "inproc";
  utsname system;
  if (uname(&system) == 0) {
    parse_options.kernel_release = system.release;
    parse_options.architecture = system.machine;
    parse_options.kernel_config = kernel_config(system.release);
  }

  std::vector<std::string> folders = options.library_folders;
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return Error{fmt::format("-I {}: not a directory", folder), {}};
  }
  if (std::string standard = tapset_folder(); !standard.empty()) folders.push_back(standard);
  syntax::MacroLibrary macros;
  for (const fs::path& path : library_files(folders, ".stpm")) {
    TRY(std::string text, read_script(path));
    syntax::parse_macros(files.add(path, std::move(text)), parse_options, diagnostics, macros);
  }
  parse_options.macros = &macros;

  std::vector<syntax::Script> scripts;
  if (options.script_text) {
    scripts.push_back(syntax::parse(files.add("<input>", *options.script_text), parse_options, diagnostics));
  } else if (options.script_file == "-") {
    char stdin_text[65536];
    std::string text;
    for (size_t n; (n = fread(stdin_text, 1, sizeof stdin_text, stdin)) > 0;) text.append(stdin_text, n);
    scripts.push_back(syntax::parse(files.add("<stdin>", std::move(text)), parse_options, diagnostics));
  } else {
    TRY(std::string text, read_script(options.script_file));
    scripts.push_back(syntax::parse(files.add(options.script_file, std::move(text)), parse_options, diagnostics));
  }
  for (const std::string& more : options.additional_texts) {
    scripts.push_back(syntax::parse(files.add("<-E>", more), parse_options, diagnostics));
  }

  parse_options.is_library = true;
  parse_options.guru = true;
  parse_options.arguments.clear();
  for (const fs::path& path : library_files(folders, ".stp")) {
    TRY(std::string text, read_script(path));
    scripts.push_back(syntax::parse(files.add(path, std::move(text)), parse_options, diagnostics));
  }
  return scripts;
}

}  // namespace spile::session
