// process("PATH").function("PATTERN"), process(PID), process; .library("GLOB") before, .call .exported .return after.
//
// Where the functions are: in the program (without a path, that of -c or -x), or in its shared libraries.

#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "base/diagnostics.h"
#include "probes/family.h"
#include "probes/traced_world.h"

namespace spile::probes {

namespace {

using sema::Domain;
using sema::ProbeKind;
using sema::ResolvedPoint;

const std::vector<std::string> after_process = {"function", "library", "statement", "mark",    "plt",
                                                "begin",    "end",     "thread",    "syscall", "insn"};
const std::vector<std::string> after_function = {"call", "exported", "return"};

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1 || (index == 2 && point.components[1].name == "library")) return after_process;
  if (index >= 3 && point.components[index - 1].name == "return") return {"maxactive"};
  return after_function;
}

bool takes(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  size_t at = parts.size() > 1 && parts[1].name == "library" ? 2 : 1;
  return parts[0].name == "process" && parts.size() > at && parts[at].name == "function";
}

// The parts of a point, once its shape is known to be right.
struct Request {
  const syntax::PointComponent* process = nullptr;
  const syntax::PointComponent* library = nullptr;
  std::string pattern;  // of functions
  std::string file;     // after '@'
  bool is_return = false;
  bool only_exported = false;
  std::string suffix;  // ".return"
};

Result<Request> parse(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  request.process = &parts[0];
  size_t at = 1;
  if (parts[1].name == "library") {
    request.library = &parts[at++];
    if (!request.library->text)
      return Error{"library needs the name of a shared library", "process.library(\"libc*\")"};
  }
  const syntax::PointComponent& function = parts[at++];
  if (!function.text) {
    if (function.number) return Error{"functions by address are not available in this version", ""};
    return Error{"function needs a name", "process.function(\"main\")"};
  }
  for (; at < parts.size(); ++at) {
    const syntax::PointComponent& part = parts[at];
    if (part.text || (part.number && part.name != "maxactive"))
      return unexpected_component(point, at, components(point, at));
    if (part.name == "return" && !request.is_return) {
      request.is_return = true;
    } else if (part.name == "exported" && !request.is_return) {
      request.only_exported = true;
    } else if (part.name == "inline" || part.name.starts_with("callee")) {
      return Error{fmt::format("'.{}' is not available in this version", part.name), ""};
    } else if (part.name != "call" && !(part.name == "maxactive" && request.is_return)) {
      // maxactive: every thread has its own room for pending returns, there is nothing to size.
      return unexpected_component(point, at, components(point, at));
    }
    request.suffix += "." + part.name + (part.number ? fmt::format("({})", *part.number) : "");
  }
  size_t separator = function.text->find('@');
  request.pattern = function.text->substr(0, separator);
  if (separator != std::string::npos) request.file = function.text->substr(separator + 1);
  if (request.file.find(':') != std::string::npos) {
    return Error{"line numbers in function(\"name@file:line\") are not available in this version", ""};
  }
  if (request.pattern.empty()) return Error{"function needs a name before '@'", ""};
  return request;
}

// ---- which ELF files

bool is_glob(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

Result<std::vector<std::string>> programs_of(TracedWorld& world, const Request& request) {
  const syntax::PointComponent& process = *request.process;
  if (process.number) {
    int64_t pid = *process.number;
    if (world.has_target() && world.options().process == pid) return std::vector<std::string>{world.program()};
    if (world.process_domain() == Domain::kTarget) {
      return Error{fmt::format("process({}) is not the process that is traced", pid),
                   fmt::format("run spile with -x {}", pid)};
    }
    TracedWorld other({.program = "", .process = static_cast<pid_t>(pid), .runtime = world.options().runtime});
    TRY_DO(other.find_program());
    return std::vector<std::string>{other.program()};
  }
  if (!process.text) {
    if (world.has_target()) return std::vector<std::string>{world.program()};
    return Error{"'process' without a path needs a program to trace", "use -c COMMAND, -x PID, or process(\"PATH\")"};
  }
  if (is_glob(*process.text)) {
    std::vector<std::string> paths;
    glob_t found{};
    if (glob(process.text->c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        auto path = world.find_executable(found.gl_pathv[i]);
        if (path.ok() && world.module(*path).ok()) paths.push_back(*path);
      }
    }
    globfree(&found);
    if (paths.empty()) return Error{fmt::format("process \"{}\": no program matches", *process.text), ""};
    return paths;
  }
  Result<std::string> path = world.find_executable(*process.text);
  if (path.ok()) return std::vector<std::string>{*path};
  // A shared library may go by its name alone: process("libc.so.6").
  if (process.text->find('/') == std::string::npos && world.has_target()) {
    for (const std::string& library : world.libraries(world.program())) {
      if (std::filesystem::path(library).filename() == *process.text) return std::vector<std::string>{library};
    }
  }
  return std::move(path).error();
}

Result<std::vector<std::string>> modules_of(TracedWorld& world, const Request& request) {
  TRY(std::vector<std::string> programs, programs_of(world, request));
  if (!request.library) return programs;
  const std::string& wanted = *request.library->text;
  std::vector<std::string> found, names;
  for (const std::string& program : programs) {
    for (const std::string& library : world.libraries(program)) {
      std::string name = std::filesystem::path(library).filename();
      names.push_back(name);
      bool matches = fnmatch(wanted.c_str(), library.c_str(), 0) == 0 || fnmatch(wanted.c_str(), name.c_str(), 0) == 0;
      if (matches && std::find(found.begin(), found.end(), library) == found.end()) found.push_back(library);
    }
  }
  if (found.empty()) {
    std::string near = nearest_name(wanted, names);
    return Error{fmt::format("no library '{}' in {} ({} libraries known)", wanted, programs.front(), names.size()),
                 near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
  }
  return found;
}

// ---- which functions

// Functions whose return must not be diverted: reached without a call, returning twice or on another stack, or finding
// out who called them by their return address.
bool refuses_return(const std::string& name) {
  static const std::vector<std::string> names = {"_start",
                                                 "__restore_rt",
                                                 "setjmp",
                                                 "_setjmp",
                                                 "__setjmp",
                                                 "sigsetjmp",
                                                 "__sigsetjmp",
                                                 "vfork",
                                                 "__vfork",
                                                 "__libc_vfork",
                                                 "getcontext",
                                                 "__getcontext",
                                                 "setcontext",
                                                 "__setcontext",
                                                 "swapcontext",
                                                 "__swapcontext",
                                                 "__start_context",
                                                 "clone",
                                                 "__clone",
                                                 "clone3",
                                                 "__clone3",
                                                 "__clone_internal",
                                                 "dlopen",
                                                 "dlsym",
                                                 "dlvsym",
                                                 "dlmopen",
                                                 "___dlopen",
                                                 "___dlsym",
                                                 "___dlvsym",
                                                 "___dlmopen",
                                                 "mcount",
                                                 "_mcount",
                                                 "__fentry__",
                                                 "_dl_runtime_resolve",
                                                 "__tls_get_addr_slow",
                                                 "__longjmp",
                                                 "____longjmp_chk"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string thousands(size_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

Error no_function(debuginfo::Module& module, const Request& request) {
  std::vector<std::string> names = module.function_names();
  if (names.empty()) {
    return {fmt::format("{} has no symbols: its functions are not known", module.path()),
            "install its debug symbols, or a build that is not stripped"};
  }
  std::string near = nearest_name(request.pattern, names);
  std::string where = request.file.empty() ? "" : fmt::format(" of file '{}'", request.file);
  return {fmt::format("no function '{}'{} in {} ({} functions known)", request.pattern, where, module.path(),
                      thousands(names.size())),
          near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

ResolvedPoint make_point(const TracedWorld& world, const Request& request, debuginfo::Module& module,
                         const debuginfo::Function& function) {
  ResolvedPoint point;
  point.kind = request.is_return ? ProbeKind::kFunctionReturn : ProbeKind::kFunctionEntry;
  point.domain = world.process_domain();
  point.process = request.process->number ? static_cast<pid_t>(*request.process->number) : 0;
  point.site.module = module.path();
  point.site.address = function.address;
  point.site.file_offset = module.file_offset(function.address).value_or(0);
  point.site.size = function.size;
  point.site.function = function.name();
  point.site.source_file = function.declared.file;
  point.site.line = function.declared.line;
  point.text =
      fmt::format("process(\"{}\").function(\"{}{}\"){}", module.path(), function.name(),
                  function.declared.line ? fmt::format("@{}:{}", function.declared.file, function.declared.line) : "",
                  request.suffix);
  return point;
}

Result<Points> resolve_in(TracedWorld& world, const Request& request, const std::string& path) {
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(path));
  debuginfo::FunctionPattern pattern{request.pattern, request.file};
  TRY(std::vector<debuginfo::Function> functions, module->functions(pattern));
  if (request.only_exported) std::erase_if(functions, [](const auto& function) { return !function.exported; });
  if (functions.empty()) return no_function(*module, request);

  Points points;
  const char* reason = nullptr;
  for (const debuginfo::Function& function : functions) {
    if (function.is_ifunc) {
      reason = "only chooses the implementation at load time (IFUNC): calls don't go through it";
    } else if (request.is_return && refuses_return(function.name())) {
      reason =
          "can't be probed at its return: it has no caller to return to, returns twice, or looks at its return address";
    } else {
      points.push_back(make_point(world, request, *module, function));
    }
  }
  if (points.empty() && reason) return Error{fmt::format("function '{}' of {} {}", request.pattern, path, reason), ""};
  return points;
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  TRY(Request request, parse(point));
  if (world.process_domain() == Domain::kTarget && !world.has_target()) {
    return Error{"probes on processes need a process to run in",
                 "use -c COMMAND or -x PID; --runtime=bpf probes all processes"};
  }
  TRY(std::vector<std::string> paths, modules_of(world, request));
  Points all;
  bool found = false;
  Error failure;
  for (const std::string& path : paths) {
    Result<Points> points = resolve_in(world, request, path);
    if (!points.ok()) {
      if (failure.message.empty()) failure = std::move(points).error();
      continue;
    }
    found = true;
    all.insert(all.end(), std::make_move_iterator(points->begin()), std::make_move_iterator(points->end()));
  }
  // A pattern over several libraries needs to be found in one of them.
  if (!found) return failure;
  return all;
}

}  // namespace

const Family process_function_family = {"process", takes, resolve, components};

}  // namespace spile::probes
