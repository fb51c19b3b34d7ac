// Finds the files of a bundle on the machine that runs it.

#include "session/bundle/bundle_place.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/files/elf_identity.h"
#include "bpf/bpf.h"
#include "debuginfo/elf/mapped_file.h"
#include "kernelinfo/kernel_info.h"
#include "probes/world/traced_world.h"
#include "session/terms/command_words.h"

namespace spile::session {

namespace {

// A file that the target has, or that lies where the bundle's did.
struct Candidate {
  std::string path;
  debuginfo::OpenOptions options;
  std::string identity;
};

Candidate candidate_of(const std::string& path, debuginfo::OpenOptions options) {
  std::string identity = elf_identity_of_file(options.place_of(path));
  return {path, std::move(options), std::move(identity)};
}

// Those of the target: the programs, and what they have loaded or are linked to.
Result<std::vector<Candidate>> files_of_target(const TargetOptions& target) {
  std::vector<Candidate> files;
  std::set<std::string> seen;
  for (pid_t pid : target.processes) {
    for (const debuginfo::MappedFile& file : debuginfo::mapped_files(pid)) {
      if (!seen.insert(file.path).second) continue;
      auto options = debuginfo::options_for(file);
      if (options.ok()) files.push_back(candidate_of(file.path, *options));
    }
  }
  if (target.command.empty()) return files;
  probes::WorldOptions options;
  options.program = command_program(target.command);
  probes::TracedWorld world(options);
  TRY_DO(world.find_program());
  for (const std::string& program : world.programs()) {
    files.push_back(candidate_of(program, {}));
    for (const std::string& library : world.libraries(program)) files.push_back(candidate_of(library, {}));
  }
  return files;
}

void rename_module(sema::Program& program, const std::map<std::string, std::string>& places) {
  auto rename = [&](std::string& module) {
    if (auto moved = places.find(module); moved != places.end()) module = moved->second;
  };
  for (sema::Probe& probe : program.probes) {
    for (sema::ResolvedPoint& point : probe.points) {
      rename(point.site.module);
      rename(point.program);
    }
  }
  std::vector<sema::ArmedSite> sites(program.sites.begin(), program.sites.end());
  std::vector<sema::KeptFunction> kept = program.sites.kept_functions();
  std::vector<uint8_t> registers = program.sites.kept_registers();
  for (sema::ArmedSite& armed : sites) rename(armed.site.module);
  for (sema::KeptFunction& function : kept) rename(function.module);
  program.sites = {};
  for (sema::ArmedSite& armed : sites) program.sites.add(std::move(armed));
  program.sites.keep(std::move(kept), std::move(registers));
}

std::string shown(const std::string& identity) { return identity.empty() ? "no build-id" : "build-id " + identity; }

// Whether the script has points of the target itself, `process.function("f")`, rather than of a file that it names.
bool probes_the_target(const Bundle& bundle) {
  auto names_it = [](std::string_view text) {
    constexpr std::string_view kProcess = "process";
    for (size_t at = text.find(kProcess); at != text.npos; at = text.find(kProcess, at + 1)) {
      const size_t next = text.find_first_not_of(" \t\n", at + kProcess.size());
      if (next != text.npos && text[next] == '.') return true;
    }
    return false;
  };
  return bundle.source.text && names_it(*bundle.source.text);
}

bool is_on_address(const sema::ResolvedPoint& point) {
  return point.site.kernel || (point.kind == sema::ProbeKind::kDataAccess && point.domain == sema::Domain::kKernel);
}

bool needs_addresses(const Bundle& bundle) {
  return bundle.kernel.fixed_addresses || std::ranges::any_of(bundle.program.probes, [](const sema::Probe& probe) {
           return std::ranges::any_of(probe.points, is_on_address);
         });
}

Result<void> check_kernel(Bundle& bundle) {
  if (bundle.kernel.release.empty()) return {};
  utsname here{};
  uname(&here);
  const BundledKernel& made = bundle.kernel;
  if (made.release != here.release || made.version != here.version) {
    return Error{fmt::format("the bundle was made for Linux {} ({}); this is {} ({})", made.release, made.version, here.release,
                             here.version),
                 "make it on a machine with this kernel"};
  }
  if (static_cast<uint32_t>(bpf::possible_cpus()) > made.cpus) {
    return Error{
        fmt::format("the bundle was made for {} processors at most; this machine may have {}", made.cpus, bpf::possible_cpus()),
        "make it on a machine with as many"};
  }
  if (!needs_addresses(bundle)) return {};
  const uint64_t now = kernel_text_address();
  if (now == made.text && now != 0) return {};
  kernelinfo::KernelInfo kernel{kernelinfo::Places{}};
  auto symbols = kernel.symbols();
  if (made.fixed_addresses)
    return Error{"the bundle's handlers have addresses of the kernel's variables, which are others since it was started anew",
                 "make the bundle again"};
  // The kernel lies elsewhere after each start.
  for (sema::Probe& probe : bundle.program.probes) {
    for (sema::ResolvedPoint& point : probe.points) {
      if (!point.site.kernel || point.site.kernel->address == 0) continue;
      auto moved = std::make_shared<sema::KernelFunction>(*point.site.kernel);
      const std::string module = point.site.module.starts_with("kernel:") ? point.site.module.substr(7) : "";
      const bool is_loaded = now != 0 && made.text != 0;
      if (module.empty() && is_loaded) {
        moved->address += now - made.text;
      } else {
        const auto found = symbols.ok() ? (*symbols)->named(moved->symbol, module) : std::vector<kernelinfo::Symbol>();
        if (found.size() != 1)
          return Error{fmt::format("the address of the kernel's function '{}' is not known here", moved->symbol),
                       "run as root; kernel.kptr_restrict may be at most 1"};
        moved->address = found.front().address;
      }
      point.site.kernel = std::move(moved);
    }
    const bool watches = std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) {
      return point.kind == sema::ProbeKind::kDataAccess && point.domain == sema::Domain::kKernel;
    });
    if (watches)
      return Error{"the bundle watches addresses of the kernel's variables, which are others since it was started anew",
                   "make the bundle again"};
  }
  return {};
}

}  // namespace

uint64_t kernel_text_address() {
  std::ifstream symbols("/proc/kallsyms");
  for (std::string line; std::getline(symbols, line);) {
    if (line.ends_with(" _text")) return std::strtoull(line.c_str(), nullptr, 16);
  }
  return 0;
}

Result<probes::ModuleFiles> place_bundle(Bundle& bundle, const TargetOptions& target) {
  TRY_DO(check_kernel(bundle));
  TRY(const std::vector<Candidate> theirs, files_of_target(target));
  probes::ModuleFiles files;
  std::map<std::string, std::string> places;  // where modules are now
  for (const BundledModule& module : bundle.modules) {
    // In the target it may have another name than where the bundle was made; a file of the old name that the target does not use
    // is not meant.
    auto same_path = std::ranges::find(theirs, module.path, &Candidate::path);
    auto same_file = std::ranges::find_if(
        theirs, [&](const Candidate& file) { return !module.identity.empty() && file.identity == module.identity; });
    const bool is_itself = same_path != theirs.end() && same_path->identity == module.identity;
    const Candidate found = is_itself                   ? *same_path
                            : same_file != theirs.end() ? *same_file
                            : same_path != theirs.end() ? *same_path
                                                        : candidate_of(module.path, {});
    // A library that the target loads later may be anywhere yet: the engine looks at it then.
    const bool is_absent = found.identity.empty() && same_path == theirs.end();
    if (!is_absent && found.identity != module.identity) {
      return Error{fmt::format("{} is another build than the bundle was made for: {} here, {} there", found.path,
                               shown(found.identity), shown(module.identity)),
                   "make the bundle for this build: spile -p4 -o FILE ..."};
    }
    if (found.path != module.path) places.emplace(module.path, found.path);
    files[found.path] = {found.options, module.identity};
  }
  const bool is_other_program = std::ranges::none_of(bundle.modules, [&](const BundledModule& module) {
    return std::ranges::any_of(theirs, [&](const Candidate& file) {
      return file.path == module.path || (!module.identity.empty() && file.identity == module.identity);
    });
  });
  if (is_other_program && !theirs.empty() && !bundle.modules.empty() && probes_the_target(bundle)) {
    const Candidate& target_file = theirs.front();
    const BundledModule& module = bundle.modules.front();
    return Error{fmt::format("{} is another program than the bundle was made for, {}: {} here, {} there", target_file.path,
                             module.path, shown(target_file.identity), shown(module.identity)),
                 "make the bundle for this program: spile -p4 -o FILE ..."};
  }
  if (!places.empty()) rename_module(bundle.program, places);
  return files;
}

}  // namespace spile::session
