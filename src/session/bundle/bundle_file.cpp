#include "session/bundle/bundle_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>

#include "base/files/file.h"
#include "base/files/replace_file.h"
#include "base/unique_fd.h"
#include "bpf/bpf.h"
#include "session/bundle/bundle_check.h"
#include "session/bundle/bundle_fields.h"
#include "session/bundle/bundle_place.h"

namespace spile::session {

namespace {

constexpr uint64_t kLargestBundle = uint64_t{256} << 20;  // unpacked, bytes

// What stands in a bundle for a probe: all but its body.
struct ProbeFields {
  int index = -1;
  sema::ProbeKind kind = sema::ProbeKind::kNever;
  sema::Domain domain = sema::Domain::kController;
  std::vector<sema::ResolvedPoint> points;
  bool has_condition = false, saves_values = false, switched = false, needs_site_id = false, needs_stack = false,
       needs_registers = false;
  uint8_t returned_bytes = 8;
  bool returned_signed = false, is_report = false, only_accumulates = false;
  uint32_t file = 0, begin = 0, end = 0;  // its range; file: index + 1, 0: nowhere
};
template <class A>
void fields(A& a, Like<ProbeFields> auto& p) {
  a(p.index, p.kind, p.domain, p.points, p.has_condition, p.saves_values, p.switched, p.needs_site_id, p.needs_stack,
    p.needs_registers, p.returned_bytes, p.returned_signed, p.is_report, p.only_accumulates, p.file, p.begin, p.end);
}

struct GlobalFields {
  std::string name;
  ValueType type = ValueType::kUnknown;
  std::vector<ValueType> key_types;
  bool is_array = false;
};
template <class A>
void fields(A& a, Like<GlobalFields> auto& g) {
  a(g.name, g.type, g.key_types, g.is_array);
}

struct FileFields {
  std::string name, text;
};
template <class A>
void fields(A& a, Like<FileFields> auto& f) {
  a(f.name, f.text);
}

// A bundle as it lies in the file.
struct Fields {
  std::string spile_version;
  ScriptOptions source;
  ProgramOptions settings;
  std::vector<FileFields> files;
  std::vector<GlobalFields> globals;
  std::vector<ProbeFields> probes;
  std::vector<sema::SiteGroup> groups;
  std::vector<sema::ArmedSite> sites;
  std::vector<sema::KeptFunction> kept;
  std::vector<uint8_t> kept_registers;
  uint32_t needs = 0;
  sema::Limits limits;
  bool guru = false, time_probes = false;
  codegen::CompiledScript script;
  std::vector<BundledModule> modules;
  BundledKernel kernel;
  kernelinfo::Features features;
  std::string module_name;
  bool has_target = false;
  int64_t time_limit_ns = 0;
};
template <class A>
void fields(A& a, Like<Fields> auto& f) {
  a(f.spile_version, f.source, f.settings, f.files, f.globals, f.probes, f.groups, f.sites, f.kept, f.kept_registers, f.needs,
    f.limits, f.guru, f.time_probes, f.script, f.modules, f.kernel, f.features, f.module_name, f.has_target, f.time_limit_ns);
}

// ---- writing

ProbeFields fields_of(const sema::Probe& probe, std::vector<const SourceFile*>& files) {
  ProbeFields made;
  made.index = probe.index;
  made.kind = probe.kind;
  made.domain = probe.domain;
  made.points = probe.points;
  made.has_condition = probe.condition != nullptr;
  made.saves_values = !probe.entry_saves.empty();
  made.switched = probe.switched;
  made.needs_site_id = probe.needs_site_id;
  made.needs_stack = probe.needs_stack;
  made.needs_registers = probe.needs_registers;
  made.returned_bytes = probe.returned_bytes;
  made.returned_signed = probe.returned_signed;
  made.is_report = probe.is_report;
  made.only_accumulates = probe.only_accumulates;
  if (probe.range.file) {
    auto known = std::ranges::find(files, probe.range.file);
    made.file = static_cast<uint32_t>(known - files.begin()) + 1;
    if (known == files.end()) files.push_back(probe.range.file);
    made.begin = probe.range.begin;
    made.end = probe.range.end;
  }
  return made;
}

// Whether code of the script has addresses of the kernel's variables, which differ from boot to boot.
bool has_kernel_addresses(const sema::Program& program) {
  constexpr uint64_t kKernelHalf = uint64_t{1} << 63;
  auto is_address = [](const location::Operation& operation) {
    const auto* constant = std::get_if<location::Constant>(&operation);
    return std::holds_alternative<location::Address>(operation) ||
           (constant && static_cast<uint64_t>(constant->value) >= kKernelHalf);
  };
  auto has = [&](const sema::Binding& binding) {
    return binding.reads_kernel_memory && !binding.ops.empty() && is_address(binding.ops.front());
  };
  for (const sema::Probe& probe : program.probes) {
    if (std::ranges::any_of(probe.bindings, has)) return true;
  }
  return std::ranges::any_of(program.function_bindings, [&](const auto& bindings) { return std::ranges::any_of(bindings, has); });
}

BundledKernel this_kernel() {
  BundledKernel kernel;
  utsname name{};
  uname(&name);
  kernel.release = name.release;
  kernel.version = name.version;
  kernel.text = kernel_text_address();
  kernel.cpus = static_cast<uint32_t>(bpf::possible_cpus());
  return kernel;
}

Fields fields_of(const RunInput& input, const ScriptOptions& source, const ProgramOptions& settings,
                 const TargetOptions& target) {
  const sema::Program& program = input.program;
  Fields made;
  made.spile_version = SPILE_VERSION;
  made.source = source;
  if (!source.text && program.scripts.front().file) made.source.text = std::string(program.scripts.front().file->text());
  made.settings = settings;
  std::vector<const SourceFile*> files;
  for (const sema::Probe& probe : program.probes) made.probes.push_back(fields_of(probe, files));
  for (const SourceFile* file : files) made.files.push_back({file->name(), std::string(file->text())});
  for (const syntax::Global* global : program.globals)
    made.globals.push_back({global->name, global->type, global->key_types, global->is_array});
  made.groups = program.site_groups;
  made.sites.assign(program.sites.begin(), program.sites.end());
  made.kept = program.sites.kept_functions();
  made.kept_registers = program.sites.kept_registers();
  made.needs = program.needs;
  made.limits = program.limits;
  made.guru = program.guru;
  made.time_probes = program.time_probes;
  made.script = input.script;
  for (const auto& [path, file] : input.files) made.modules.push_back({path, file.identity});
  if (!input.script.kernel.object.empty()) {
    made.kernel = this_kernel();
    made.kernel.fixed_addresses = has_kernel_addresses(program);
  }
  made.features = input.kernel;
  made.module_name = input.module_name;
  made.has_target = !target.command.empty() || !target.processes.empty();
  made.time_limit_ns = target.time_limit_ns;
  return made;
}

// ---- reading

sema::Probe probe_of(const ProbeFields& from, const std::vector<const SourceFile*>& files) {
  sema::Probe probe;
  probe.index = from.index;
  probe.kind = from.kind;
  probe.domain = from.domain;
  probe.points = from.points;
  if (from.file > 0 && from.file <= files.size()) probe.range = {files[from.file - 1], from.begin, from.end};
  // Pass 5 asks whether these are there, and nothing of what they are.
  if (from.has_condition) probe.condition = std::make_unique<syntax::Number>(probe.range, 1);
  if (from.saves_values) probe.entry_saves.push_back(std::make_unique<syntax::Number>(probe.range, 1));
  probe.switched = from.switched;
  probe.needs_site_id = from.needs_site_id;
  probe.needs_stack = from.needs_stack;
  probe.needs_registers = from.needs_registers;
  probe.returned_bytes = from.returned_bytes;
  probe.returned_signed = from.returned_signed;
  probe.is_report = from.is_report;
  probe.only_accumulates = from.only_accumulates;
  return probe;
}

std::unique_ptr<Bundle> bundle_of(Fields from) {
  auto bundle = std::make_unique<Bundle>();
  bundle->spile_version = std::move(from.spile_version);
  bundle->source = std::move(from.source);
  bundle->settings = std::move(from.settings);
  std::vector<const SourceFile*> files;
  for (FileFields& file : from.files) files.push_back(&bundle->files.add(std::move(file.name), std::move(file.text)));
  sema::Program& program = bundle->program;
  syntax::Script& script = program.scripts.emplace_back();
  for (GlobalFields& global : from.globals) {
    auto made = std::make_unique<syntax::Global>();
    made->name = std::move(global.name);
    made->type = global.type;
    made->key_types = std::move(global.key_types);
    made->is_array = global.is_array;
    made->index = static_cast<int>(program.globals.size());
    program.globals.push_back(made.get());
    script.globals.push_back(std::move(made));
  }
  for (const ProbeFields& probe : from.probes) program.probes.push_back(probe_of(probe, files));
  program.site_groups = std::move(from.groups);
  for (sema::ArmedSite& site : from.sites) program.sites.add(std::move(site));
  program.sites.keep(std::move(from.kept), std::move(from.kept_registers));
  program.needs = from.needs;
  program.limits = from.limits;
  program.guru = from.guru;
  program.time_probes = from.time_probes;
  bundle->script = std::move(from.script);
  bundle->modules = std::move(from.modules);
  bundle->kernel = std::move(from.kernel);
  bundle->features = from.features;
  bundle->module_name = std::move(from.module_name);
  bundle->has_target = from.has_target;
  bundle->time_limit_ns = from.time_limit_ns;
  return bundle;
}

// A bundle is executed: as with a script that sudo runs, nobody else may be able to write it.
Result<void> check_owner(const std::string& path, const struct stat& info) {
  if (info.st_uid != geteuid() && info.st_uid != 0) {
    return Error{fmt::format("{} belongs to user {}, and has machine code that would run with your rights", path, info.st_uid),
                 "copy it, if you trust that user: the copy is yours"};
  }
  if (info.st_mode & S_IWOTH)
    return Error{fmt::format("anybody may write {}, which has machine code that would run with your rights", path),
                 fmt::format("chmod go-w {}", path)};
  if (info.st_mode & S_IWGRP) {
    return Error{fmt::format("group {} may write {}, which has machine code that would run with your rights", info.st_gid, path),
                 fmt::format("chmod go-w {}", path)};
  }
  return {};
}

Result<std::string> read_checked(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!file || fstat(file.get(), &info) != 0) return Error::from_errno("open " + path, errno);
  if (!S_ISREG(info.st_mode)) return Error{path + " is not a file", ""};
  TRY_DO(check_owner(path, info));
  if (static_cast<uint64_t>(info.st_size) > kLargestBundle) return Error{path + " is too large for a bundle", ""};
  std::string bytes;
  if (const int failure = read_all(file.get(), bytes, static_cast<size_t>(info.st_size)))
    return Error::from_errno("read " + path, failure);
  return bytes;
}

constexpr const char* kMakeAgain = "make it again: spile -p4 -o FILE ...";
Error damaged(const std::string& name) {
  return {name + " is damaged", "copy it again, or make it again: spile -p4 -o FILE ..."};
}

uint32_t checksum_of(std::string_view bytes) {
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

}  // namespace

bool is_bundle(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  char magic[sizeof kBundleMagic] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, sizeof magic) && std::equal(magic, magic + sizeof magic, kBundleMagic);
}

Result<std::string> pack_bundle(std::string_view fields) {
  if (fields.size() > kLargestBundle)
    return Error{fmt::format("the bundle would have {} MiB, more than the {} that one may have", fields.size() >> 20,
                             kLargestBundle >> 20),
                 "probe fewer places"};
  uLongf size = compressBound(fields.size());
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(fields.data()), fields.size(),
                Z_BEST_SPEED) != Z_OK) {
    return Error{"pack the bundle: out of memory", ""};
  }
  packed.resize(size);
  BundleHeader header{};
  std::ranges::copy(kBundleMagic, header.magic);
  header.version = kBundleVersion;
  header.checksum = checksum_of(packed);
  header.packed_size = packed.size();
  header.unpacked_size = fields.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + packed;
}

Result<std::string> unpack_bundle(const std::string& name, std::string_view bytes) {
  BundleHeader header;
  if (bytes.size() < sizeof header || !bytes.starts_with(std::string_view(kBundleMagic, sizeof kBundleMagic)))
    return Error{name + " is not a bundle of spile", ""};
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.remove_prefix(sizeof header);
  if (header.version != kBundleVersion)
    return Error{fmt::format("{} has version {} of bundles; this spile runs version {}", name, header.version, kBundleVersion),
                 kMakeAgain};
  if (header.packed_size != bytes.size() || header.unpacked_size > kLargestBundle || checksum_of(bytes) != header.checksum)
    return damaged(name);
  std::string fields(header.unpacked_size, '\0');
  uLongf size = fields.size();
  if (uncompress(reinterpret_cast<Bytef*>(fields.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) !=
          Z_OK ||
      size != fields.size())
    return damaged(name);
  return fields;
}

Result<void> write_bundle(const std::string& path, const RunInput& input, const ScriptOptions& source,
                          const ProgramOptions& settings, const TargetOptions& target) {
  BundleWriter writer;
  writer(fields_of(input, source, settings, target));
  TRY(const std::string bytes, pack_bundle(writer.take()));
  return replace_file(path, bytes);
}

Result<std::unique_ptr<Bundle>> parse_bundle(const std::string& name, std::string_view bytes) {
  TRY(const std::string unpacked, unpack_bundle(name, bytes));
  // The code relies on all of the structures of the spile that made it.
  std::string version;
  BundleReader first(unpacked);
  first(version);
  if (!first.failed() && version != SPILE_VERSION)
    return Error{fmt::format("{} was made by spile {}; this is {}", name, version, SPILE_VERSION), kMakeAgain};
  Fields read;
  BundleReader reader(unpacked);
  reader(read);
  if (!reader.at_end()) return damaged(name);
  std::unique_ptr<Bundle> bundle = bundle_of(std::move(read));
  if (auto outcome = check_bundle(*bundle); !outcome.ok()) return std::move(outcome).error().within(name);
  return bundle;
}

Result<std::unique_ptr<Bundle>> read_bundle(const std::string& path) {
  TRY(const std::string bytes, read_checked(path));
  return parse_bundle(path, bytes);
}

}  // namespace spile::session
