#include "probes/process/process_part.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "probes/terms/shared_libraries.h"
#include "probes/world/kernel_image.h"
#include "probes/world/kernel_types.h"
#include "syntax/printer.h"

namespace spile::probes {

namespace {

using sema::Domain;

bool is_build_id(const std::string& text) {
  constexpr size_t kShortest = 16;  // no program is called so
  return text.size() >= kShortest && text.size() % 2 == 0 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// What the process has mapped, or where packages of debug symbols have links to programs.
Result<std::string> file_with(TracedWorld& world, const std::string& build_id) {
  std::vector<std::string> candidates;
  if (world.has_target()) {
    candidates = world.libraries(world.program());
    candidates.insert(candidates.begin(), world.program());
  }
  auto linked = world.find_executable(fmt::format("/usr/lib/debug/.build-id/{}/{}", build_id.substr(0, 2), build_id.substr(2)));
  if (linked.ok()) candidates.push_back(*linked);
  for (const std::string& path : candidates) {
    auto module = world.module(path);
    if (module.ok() && (*module)->build_id() == build_id) return path;
  }
  return Error{fmt::format("process \"{}\": no program or library of the traced process has this build-id", build_id),
               "'readelf -n FILE' prints the build-id of a file"};
}

Result<std::vector<std::string>> programs_of(TracedWorld& world, const ProcessPart& part) {
  const syntax::PointComponent& process = *part.process;
  if (process.number) {
    int64_t pid = *process.number;
    const std::vector<pid_t>& given = world.options().processes;
    if (std::find(given.begin(), given.end(), pid) != given.end()) {
      TRY(std::string program, world.program_of_process(static_cast<pid_t>(pid)));
      return std::vector<std::string>{std::move(program)};
    }
    if (world.process_domain() == Domain::kTarget) {
      return Error{fmt::format("process({}) is not the traced process", pid), fmt::format("run spile with -x {}", pid)};
    }
    TracedWorld other({.program = "", .processes = {static_cast<pid_t>(pid)}, .runtime = world.options().runtime});
    TRY_DO(other.find_program());
    return std::vector<std::string>{other.program()};
  }
  if (!process.text) {
    if (world.has_target()) return world.programs();
    return Error{"'process' without a path needs a program to trace", "use -c COMMAND, -x PID, or process(\"PATH\")"};
  }
  if (has_wildcard(*process.text)) {
    std::vector<std::string> paths = world.find_executables(*process.text);
    std::erase_if(paths, [&](const std::string& path) { return !world.module(path).ok(); });
    if (paths.empty()) return Error{fmt::format("process \"{}\": no program matches", *process.text), ""};
    return paths;
  }
  if (is_build_id(*process.text)) {
    TRY(std::string file, file_with(world, *process.text));
    return std::vector<std::string>{file};
  }
  Result<std::string> path = world.find_executable(*process.text);
  if (path.ok()) return std::vector<std::string>{*path};
  // A shared library may go by its name alone: process("libc.so.6").
  if (process.text->find('/') == std::string::npos && world.has_target()) {
    for (const std::string& library : world.libraries(world.program())) {
      if (world.is_named(library, *process.text)) return std::vector<std::string>{library};
    }
  }
  if (std::string library = system_library(*process.text); !library.empty()) return std::vector<std::string>{std::move(library)};
  return std::move(path).error();
}

}  // namespace

// The files behind the paths that match: /lib/libx.so and libx.so.6 may be links to /usr/lib/libx.so.6.1, which is what
// processes have mapped.
static std::set<std::string> targets_of_links(const std::string& pattern) {
  std::set<std::string> targets;
  glob_t matches{};
  if (pattern.find('/') != std::string::npos && glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    for (size_t i = 0; i < matches.gl_pathc; ++i) {
      std::error_code error;
      std::filesystem::path real = std::filesystem::canonical(matches.gl_pathv[i], error);
      if (!error) targets.insert(real);
    }
  }
  globfree(&matches);
  return targets;
}

Result<std::vector<std::string>> modules_of(TracedWorld& world, const ProcessPart& part) {
  TRY(std::vector<std::string> programs, programs_of(world, part));
  if (!part.library) return programs;
  const std::string& wanted = *part.library->text;
  std::vector<std::string> found, names;
  std::set<std::string> links = targets_of_links(wanted);
  for (const std::string& program : programs) {
    for (const std::string& library : world.libraries(program)) {
      std::string name = std::filesystem::path(library).filename();
      names.push_back(name);
      bool matches = glob_matches(wanted, library) || links.contains(library) || world.is_named(library, wanted);
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

const std::vector<std::string>& after_process() {
  static const std::vector<std::string> names = {"function", "library", "statement", "mark",    "provider", "plt",
                                                 "begin",    "end",     "thread",    "syscall", "insn",     "allocator"};
  return names;
}

namespace {
size_t after_library(const syntax::ProbePoint& point) {
  return point.components.size() > 1 && point.components[1].name == "library" ? 2 : 1;
}
}  // namespace

bool follows_process(const syntax::ProbePoint& point, std::string_view name) {
  size_t at = after_library(point);
  return point.components[0].name == "process" && point.components.size() > at && point.components[at].name == name;
}

Result<ProcessPart> parse_process(const syntax::ProbePoint& point) {
  ProcessPart part;
  part.process = &point.components[0];
  part.of_kernel = part.process->name == "kernel" || part.process->name == "module";
  part.next = after_library(point);
  if (part.next == 2) {
    part.library = &point.components[1];
    if (!part.library->text) return Error{"library needs the name of a shared library", "process.library(\"libc*\")"};
  }
  return part;
}

Result<Points> resolve_in_modules(TracedWorld& world, const ProcessPart& part, const ResolveIn& resolve_in) {
  if (part.of_kernel) {
    TRY(const KernelImage* image, world.kernel_image(part.kernel_module()));
    TRY(Points points, resolve_in(*image->module));
    return keep_allowed(world, *image, std::move(points));
  }
  if (world.process_domain() == Domain::kTarget && !world.has_target() && !world.options().only_lists) {
    return Error{"probes on processes need a process to run in", "use -c COMMAND or -x PID; --runtime=bpf probes all processes"};
  }
  TRY(std::vector<std::string> paths, modules_of(world, part));
  Points all;
  bool found = false;
  Error failure;
  std::vector<std::string> left_out;
  for (const std::string& path : paths) {
    Result<std::shared_ptr<debuginfo::Module>> module = world.module(path);
    Result<Points> points = module.ok() ? resolve_in(**module) : Result<Points>(module.error());
    if (!points.ok()) {
      // A pattern need not match everywhere; a file that can't be read may be where it would.
      if (!module.ok() || !part.process->text) left_out.push_back(points.error().message);
      if (failure.message.empty()) failure = std::move(points).error();
      continue;
    }
    found = true;
    all.insert(all.end(), std::make_move_iterator(points->begin()), std::make_move_iterator(points->end()));
  }
  // A pattern over several libraries needs to be found in one of them.
  if (!found) return failure;
  if (!part.library) {
    for (std::string& why : left_out) world.leave_out(std::move(why));
  }
  return all;
}

std::string head_of(const sema::Site& site) {
  if (!site.kernel) return fmt::format("process({})", syntax::quoted(site.module));
  const std::string loaded = loaded_module(site.module);
  return loaded.empty() ? "kernel" : fmt::format("module(\"{}\")", loaded);
}

sema::ResolvedPoint point_at(TracedWorld& world, const ProcessPart& part, debuginfo::Module& module, FileAddress address,
                             sema::ProbeKind kind) {
  if (part.of_kernel) return kernel_point_at(world, **world.kernel_image(part.kernel_module()), address, kind);
  sema::ResolvedPoint point;
  point.kind = kind;
  point.domain = world.process_domain();
  point.process = part.process->number ? static_cast<pid_t>(*part.process->number) : 0;
  point.site.module = module.path();
  point.site.address = address;
  point.site.go = module.is_made_by_go();
  point.site.file_offset = module.file_offset(address).value_or(0);
  return point;
}

}  // namespace spile::probes
