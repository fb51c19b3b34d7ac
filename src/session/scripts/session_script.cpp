#include "session/scripts/session_script.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "session/terms/limits.h"

namespace spile::session {

namespace {

constexpr size_t kNamedArguments = 32;  // argv_1 to argv_32

// Returns a string as scripts write it.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

// The comments have the form of those in tapset/, from which the documentation is made (tools/document_library.py).
std::string session_script(const ScriptOptions& options) {
  const std::vector<std::string>& arguments = options.arguments;
  const size_t named = kNamedArguments;
  std::string script =
      fmt::format("global argc = {}\nglobal argv[{}]\n", arguments.size(), std::max(arguments.size(), named) + 1);
  for (size_t i = 1; i <= named; ++i) {
    script += fmt::format("global argv_{} = {}\n", i, literal(i <= arguments.size() ? arguments[i - 1] : ""));
  }
  // This probe runs before any other. What -G gave to a variable is an argument, too.
  script += "probe begin(-9223372036854775807) {\n";
  for (size_t i = 1; i <= std::max(arguments.size(), named); ++i) {
    if (i > arguments.size()) script += fmt::format("  if (argv_{} != \"\")", i);
    script += fmt::format("  argv[{}] = {}\n", i, i <= named ? fmt::format("argv_{}", i) : literal(arguments[i - 1]));
  }
  script += "}\n";

  time_t now = time(nullptr);
  tm local{};
  localtime_r(&now, &local);
  script += fmt::format("function tz_gmtoff:long () {{ return {} }}\n", -local.tm_gmtoff);
  script += fmt::format("function tz_name:string () {{ return {} }}\n", literal(local.tm_zone ? local.tm_zone : ""));
  script += fmt::format("function stp_pid:long () {{ return {} }}\n", getpid());
  std::string name = options.module_name.empty() ? fmt::format("spile_{}", getpid()) : options.module_name;
  script += fmt::format("function module_name:string () {{ return {} }}\n", literal(name));
  script += "function module_size:string () { return \"\" }\n";
  script += fmt::format("function is_myproc:long () {{ return uid() == {} }}\n", getuid());
  return script;
}

std::string session_macros(const ScriptOptions& options) {
  return fmt::format("@define MAXSTRINGLEN %( {} %)\n", string_length(options));
}

}  // namespace spile::session
