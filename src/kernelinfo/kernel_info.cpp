#include "kernelinfo/kernel_info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "base/files/tracefs.h"
#include "debuginfo/terms/names.h"
#include "kernelinfo/debug_image.h"
#include "kernelinfo/feature_list.h"
#include "kernelinfo/whole_file.h"

namespace spile::kernelinfo {

namespace {

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

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
      return Error{fmt::format("the module {} is not loaded, so that its types are not known", module),
                   "load it before spile starts, or use int_arg(1), pointer_arg(2) ..."};
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
    Result<std::string> text =
        lists_.get("symbols", read, [](const std::string& list) { return !Symbols::parse(list).addresses_hidden(); });
    if (text.ok()) symbols_ = Symbols::parse(std::move(text).value());
    else symbols_ = std::move(text).error();
  }
  if (!symbols_->ok()) return symbols_->error();
  return &**symbols_;
}

namespace {

std::string key_of(std::string_view name, std::string_view module) { return fmt::format("{}\t{}", name, module); }

// Gives each function the address of its symbol. Where several have a name, the list has them in the order of their addresses;
// they get empty if the list does not have them all.
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
    const auto read = [&] {
      return places_.tracefs.empty() ? read_tracefs(name) : read_whole<std::string>(places_.tracefs + "/" + name);
    };
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
        if (error.hint.empty())
          error.hint =
              "patterns need a kernel that is built with CONFIG_FUNCTION_TRACER and not locked down "
              "(/sys/kernel/security/lockdown); name each function";
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
  if (init_text_->first <= symbol.address && symbol.address < init_text_->second)
    return "ran while the kernel started (__init), and is gone";
  return "";
}

const Features& KernelInfo::features() {
  if (features_) return *features_;
  const auto read = [&]() -> Result<std::string> {
    TRY(const std::shared_ptr<Btf> types, this->types(""));
    return feature_text(read_features(*types));
  };
  Result<std::string> text = lists_.get("features\n" + feature_names(), read, [](const std::string&) { return true; });
  features_ = text.ok() ? parse_features(*text).value_or(Features()) : Features();
  features_->kprobe = exists(places_.sys + "/bus/event_source/devices/kprobe/type");
  return *features_;
}

bool KernelInfo::has_module(const std::string& module) const {
  return !module.empty() && module.find('/') == std::string::npos && exists(fmt::format("{}/module/{}", places_.sys, module));
}

bool KernelInfo::knows_module(const std::string& module) const { return !module_path(places_, module).empty(); }

Result<ModuleImage> KernelInfo::module_image(const std::string& module) const { return open_module_image(places_, module); }

Result<std::string> KernelInfo::debug_image() {
  if (!debug_image_) debug_image_ = find_debug_image(places_);
  return *debug_image_;
}

bool KernelInfo::has_debug_image(const std::string& module) const {
  return module.empty() ? kernelinfo::has_debug_image(places_) : has_module_image(places_, module);
}

int KernelInfo::kptr_restrict() const {
  Result<std::string> text = read_whole<std::string>(places_.proc + "/sys/kernel/kptr_restrict");
  return text.ok() && !text->empty() ? std::atoi(text->c_str()) : -1;
}

}  // namespace spile::kernelinfo
