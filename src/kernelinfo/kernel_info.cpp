#include "kernelinfo/kernel_info.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <unordered_map>

#include "base/tracefs.h"
#include "debuginfo/names.h"
#include "kernelinfo/debug_image.h"
#include "kernelinfo/whole_file.h"

namespace spile::kernelinfo {

namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool has_member(Btf& types, std::string_view structure, std::string_view member) {
  auto type = types.type_named(structure);
  return type && type->member(member);
}

}  // namespace

Result<std::shared_ptr<Btf>> KernelInfo::types(const std::string& module) {
  auto known = types_.find(module);
  if (known != types_.end()) return known->second;
  auto read_types = [&]() -> Result<std::shared_ptr<Btf>> {
    const std::string path = fmt::format("{}/kernel/btf/{}", places_.sys, module.empty() ? "vmlinux" : module);
    std::shared_ptr<Btf> base;
    if (!module.empty()) {
      TRY(base, types(""));
    }
    if (!module.empty() && !has_module(module)) {
      return Error{fmt::format("the module {} is not loaded, so that its types are not known", module), "load it before spile starts, or use int_arg(1), pointer_arg(2) ..."};
    }
    if (!exists(path)) {
      return Error{fmt::format("the {} has no type information (no {})", module.empty() ? "kernel" : "module " + module, path),
                   "the kernel must be built with CONFIG_DEBUG_INFO_BTF"};
    }
    TRY(std::vector<uint8_t> bytes, read_whole<std::vector<uint8_t>>(path));
    return Btf::read(std::move(bytes), path, std::move(base));
  };
  return types_.emplace(module, read_types()).first->second;
}

Result<const Symbols*> KernelInfo::symbols() {
  if (!symbols_) {
    const auto read = [&] { return read_whole<std::string>(places_.proc + "/kallsyms"); };
    Result<std::string> text = lists_.get("symbols", read, [](const std::string& list) { return !Symbols::parse(list).addresses_hidden(); });
    if (text.ok()) symbols_ = Symbols::parse(std::move(text).value());
    else symbols_ = std::move(text).error();
  }
  if (!symbols_->ok()) return symbols_->error();
  return &**symbols_;
}

namespace {

std::string key_of(std::string_view name, std::string_view module) { return fmt::format("{}\t{}", name, module); }

// Gives each function the address of its symbol. Where several have a name, the list has them in the order of their addresses; they get
// empty if the list does not have them all.
void add_addresses(std::vector<TraceableFunction>& functions, const Symbols& symbols) {
  std::unordered_map<std::string, std::vector<uint64_t>> addresses;
  std::unordered_map<std::string, size_t> counts, used;
  for (const TraceableFunction& function : functions) ++counts[key_of(function.name, function.module)];
  for (const Symbol& symbol : symbols.all()) {
    if (!symbol.is_code()) continue;
    auto wanted = counts.find(key_of(symbol.name, symbol.module));
    if (wanted != counts.end()) addresses[wanted->first].push_back(symbol.address);
  }
  for (auto& [key, all] : addresses) std::sort(all.begin(), all.end());
  for (TraceableFunction& function : functions) {
    const std::string key = key_of(function.name, function.module);
    auto known = addresses.find(key);
    if (known != addresses.end() && known->second.size() == counts[key]) function.address = known->second[used[key]++];
  }
}

// The list has the place of the traced call, which with indirect branch tracking is behind the function's ENDBR64.
void correct_addresses(std::vector<TraceableFunction>& functions, const Symbols& symbols) {
  constexpr uint64_t kEndbr = 4;  // bytes
  std::vector<uint64_t> starts;
  starts.reserve(symbols.all().size());
  for (const Symbol& symbol : symbols.all()) {
    if (symbol.is_code()) starts.push_back(symbol.address);
  }
  std::ranges::sort(starts);
  const auto is_start = [&](uint64_t address) { return std::ranges::binary_search(starts, address); };
  for (TraceableFunction& function : functions) {
    if (is_start(function.address)) continue;
    function.address = is_start(function.address - kEndbr) ? function.address - kEndbr : 0;
  }
}

}  // namespace

Result<const std::vector<TraceableFunction>*> KernelInfo::traceable() {
  // Addresses are not hidden there, and whoever may read it may read it whole.
  const auto read_tracing = [&](const std::string& name) {
    const auto read = [&] { return places_.tracefs.empty() ? read_tracefs(name) : read_whole<std::string>(places_.tracefs + "/" + name); };
    return lists_.get(name, read, [](const std::string& list) { return !list.empty(); });
  };
  auto read_list = [&]() -> Result<std::vector<TraceableFunction>> {
    Result<const Symbols*> known = symbols();
    const bool addressed = known.ok() && !(*known)->addresses_hidden();
    Result<std::string> text = Error{};
    if (addressed) text = read_tracing("available_filter_functions_addrs");
    const bool with_addresses = text.ok();
    if (!with_addresses) {
      text = read_tracing("available_filter_functions");
      if (!text) {
        Error error = std::move(text).error().within("find functions that can be traced");
        if (error.hint.empty()) error.hint = "patterns need a kernel that is built with CONFIG_FUNCTION_TRACER and not locked down (/sys/kernel/security/lockdown); name each function";
        return error;
      }
    }
    std::vector<TraceableFunction> functions = parse_traceable(*text, with_addresses);
    if (with_addresses) correct_addresses(functions, **known);
    else if (addressed) add_addresses(functions, **known);
    return functions;
  };
  if (!traceable_) traceable_ = read_list();
  if (!traceable_->ok()) return traceable_->error();
  return &**traceable_;
}

const std::vector<BlacklistedRange>& KernelInfo::blacklist() {
  if (!blacklist_) {
    Result<std::string> text = read_whole<std::string>(places_.sys + "/kernel/debug/kprobes/blacklist");
    blacklist_ = text.ok() ? parse_blacklist(*text) : std::vector<BlacklistedRange>();
  }
  return *blacklist_;
}

std::string KernelInfo::refusal(const Symbol& symbol) {
  if (debuginfo::clone_name(symbol.name).fragment) return "is a part of a function that is jumped to, never called";
  if (is_blacklisted(blacklist(), symbol.name, symbol.address)) return "is on the kernel's blacklist of kprobes";
  if (!symbol.module.empty() || symbol.address == 0) return "";
  if (!init_text_) {
    Result<const Symbols*> all = symbols();
    auto address_of = [&](std::string_view name) {
      std::vector<Symbol> found = all.ok() ? (*all)->named(name, "") : std::vector<Symbol>();
      return found.empty() ? uint64_t{0} : found[0].address;
    };
    init_text_ = {address_of("_sinittext"), address_of("_einittext")};
  }
  if (init_text_->first <= symbol.address && symbol.address < init_text_->second) return "ran while the kernel started (__init), and is gone";
  return "";
}

namespace {

// Finds offsets of members in the kernel's structures.
class Offsets {
 public:
  explicit Offsets(Btf& types) : types_(types) {}
  uint32_t of(std::string_view structure, std::string_view name) {
    auto type = types_.type_named(structure);
    auto member = type ? type->member(name) : std::nullopt;
    whole_ &= member.has_value();
    return member ? static_cast<uint32_t>(member->offset) : 0;
  }
  uint32_t size_of(std::string_view structure) {
    auto type = types_.type_named(structure);
    whole_ &= type.has_value();
    return type ? static_cast<uint32_t>(type->size()) : 0;
  }
  bool whole() const { return whole_; }  // all of them were there

 private:
  Btf& types_;
  bool whole_ = true;
};

std::optional<TaskLayout> task_layout(Btf& types) {
  Offsets offsets(types);
  TaskLayout layout;
  layout.task_mm = offsets.of("struct task_struct", "mm");
  layout.task_signal = offsets.of("struct task_struct", "signal");
  layout.task_files = offsets.of("struct task_struct", "files");
  layout.mm_exe_file = offsets.of("struct mm_struct", "exe_file");
  layout.file_inode = offsets.of("struct file", "f_inode");
  layout.signal_threads = offsets.of("struct signal_struct", "nr_threads");
  layout.files_table = offsets.of("struct files_struct", "fdt");
  layout.table_files = offsets.of("struct fdtable", "fd");
  return offsets.whole() ? std::optional(layout) : std::nullopt;
}

std::optional<MemberLayout> member_layout(Btf& types) {
  Offsets offsets(types);
  MemberLayout layout;
  layout.task_parent = offsets.of("struct task_struct", "real_parent");
  layout.task_signal = offsets.of("struct task_struct", "signal");
  layout.task_thread_pid = offsets.of("struct task_struct", "thread_pid");
  layout.task_cred = offsets.of("struct task_struct", "cred");
  layout.task_mm = offsets.of("struct task_struct", "mm");
  layout.task_name = offsets.of("struct task_struct", "comm");
  layout.task_links = offsets.of("struct task_struct", "pid_links");
  layout.signal_pids = offsets.of("struct signal_struct", "pids");
  layout.pid_level = offsets.of("struct pid", "level");
  layout.pid_tasks = offsets.of("struct pid", "tasks");
  layout.pid_numbers = offsets.of("struct pid", "numbers");
  layout.number_size = offsets.size_of("struct upid");
  layout.number_value = offsets.of("struct upid", "nr");
  layout.number_space = offsets.of("struct upid", "ns");
  layout.space_inode = offsets.of("struct pid_namespace", "ns") + offsets.of("struct ns_common", "inum");
  layout.space_ids = offsets.of("struct pid_namespace", "idr") + offsets.of("struct idr", "idr_rt") + offsets.of("struct xarray", "xa_head");
  layout.node_shift = offsets.of("struct xa_node", "shift");
  layout.node_slots = offsets.of("struct xa_node", "slots");
  layout.cred_euid = offsets.of("struct cred", "euid");
  layout.cred_egid = offsets.of("struct cred", "egid");
  layout.mm_arguments = offsets.of("struct mm_struct", "arg_start");
  layout.mm_arguments_end = offsets.of("struct mm_struct", "arg_end");
  layout.mm_environment = offsets.of("struct mm_struct", "env_start");
  layout.mm_environment_end = offsets.of("struct mm_struct", "env_end");
  return offsets.whole() ? std::optional(layout) : std::nullopt;
}

}  // namespace

const Features& KernelInfo::features() {
  if (features_) return *features_;
  Features found;
  found.kprobe = exists(places_.sys + "/bus/event_source/devices/kprobe/type");
  if (Result<std::shared_ptr<Btf>> described = types(""); described.ok()) {
    Btf& btf = **described;
    // The kernel describes what it was built with: these functions and structures are compiled where the feature is.
    found.tracing = btf.function("register_ftrace_direct") && btf.enum_with("BPF_FUNC_get_func_arg");
    found.tracing_cookie = has_member(btf, "struct bpf_tramp_link", "cookie");
    found.multi = has_member(btf, "struct bpf_kprobe_multi_link", "cookies");
    found.tasks = task_layout(btf);
    found.members = member_layout(btf);
    // From 6.14 on fprobes are made of the function graph tracer's, whose return handlers get no stack pointer.
    found.multi_return_stack = found.multi && has_member(btf, "struct fprobe", "rethook");
  }
  features_ = found;
  return *features_;
}

bool KernelInfo::has_module(const std::string& module) const {
  return !module.empty() && module.find('/') == std::string::npos && exists(fmt::format("{}/module/{}", places_.sys, module));
}

// Lines are "kernel/drivers/block/loop.ko.xz: ...". Names have '_' where those of files may have '-'.
bool KernelInfo::knows_module(const std::string& module) const {
  utsname machine;
  if (uname(&machine) != 0) return false;
  Result<std::string> text = read_whole<std::string>(fmt::format("{}/{}/modules.dep", places_.modules, machine.release));
  if (!text.ok()) return false;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::string name = line.substr(0, line.find(':'));
    name.erase(0, name.rfind('/') + 1);
    std::replace(name.begin(), name.end(), '-', '_');
    if (name.starts_with(module + ".ko")) return true;
  }
  return false;
}

Result<std::string> KernelInfo::debug_image() {
  if (!debug_image_) debug_image_ = find_debug_image(places_);
  return *debug_image_;
}

bool KernelInfo::has_debug_image() const { return kernelinfo::has_debug_image(places_); }

int KernelInfo::kptr_restrict() const {
  Result<std::string> text = read_whole<std::string>(places_.proc + "/sys/kernel/kptr_restrict");
  return text.ok() && !text->empty() ? std::atoi(text->c_str()) : -1;
}

}  // namespace spile::kernelinfo
