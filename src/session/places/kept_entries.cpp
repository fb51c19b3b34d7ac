#include "session/places/kept_entries.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/unique_fd.h"
#include "debuginfo/debuginfo.h"

namespace spile::session {

namespace {

// One ELF file's functions, their parts that lie elsewhere, and their code.
class ModuleCode {
 public:
  ModuleCode(const std::string& path, const debuginfo::OpenOptions& options)
      : file_(open(options.place_of(path).c_str(), O_RDONLY | O_CLOEXEC)) {
    auto module = debuginfo::Module::open(path, options);
    if (!module.ok()) return;
    module_ = *module;
    parts_ = module_->parts();
  }

  // Returns the number of bytes from the function's entry to its end; 0: unknown.
  uint64_t size_from(FileAddress entry) const {
    auto function = module_ ? module_->function_at(entry) : std::nullopt;
    return function ? function->address.value + function->size - entry.value : 0;
  }
  // Whether the function is entered only by calls, and by jumps of other functions.
  bool is_entered_from_outside(FileAddress entry) const {
    uint64_t size = size_from(entry);
    if (size == 0 || jumps_to_entry(entry, size, entry)) return false;
    auto function = module_->function_at(entry);
    std::vector<std::string> names = std::move(function->aliases);
    names.push_back(std::move(function->linkage_name));
    return std::none_of(parts_.begin(), parts_.end(), [&](const debuginfo::Function& part) {
      bool is_ours = std::find(names.begin(), names.end(), part.part_of) != names.end();
      return is_ours && jumps_to_entry(part.address, part.size, entry);
    });
  }

 private:
  // Whether the code at `from` has a jump to the entry. True if the code can't be read.
  bool jumps_to_entry(FileAddress from, uint64_t size, FileAddress entry) const {
    auto offset = module_->file_offset(from);
    constexpr uint64_t kLargestFunction = 16 << 20;
    if (!offset || !file_ || size > kLargestFunction) return true;
    std::vector<uint8_t> code(size);
    if (pread(file_.get(), code.data(), size, static_cast<off_t>(*offset)) != static_cast<ssize_t>(size)) return true;
    return engine::jumps_to(code, from, entry);
  }

  UniqueFd file_;
  std::shared_ptr<debuginfo::Module> module_;
  std::vector<debuginfo::Function> parts_;
};

}  // namespace

KeptEntries kept_entries(const sema::Program& program, const codegen::TargetCode& code, const probes::ModuleFiles& files) {
  KeptEntries entries;
  std::map<std::string, ModuleCode> modules;
  for (size_t i = 0; i < program.sites.kept_functions().size(); ++i) {
    const sema::KeptFunction& kept = program.sites.kept_functions()[i];
    const probes::ModuleFile& file = probes::file_of(files, kept.module);
    const ModuleCode& module = modules.try_emplace(kept.module, kept.module, file.options).first->second;
    if (!module.is_entered_from_outside(kept.address)) {
      entries.unclear.push_back(i);
      continue;
    }
    engine::SiteRequest site;
    site.site_id = program.sites.kept_id(i);
    site.module_path = kept.module;
    site.module_identity = file.identity;
    site.address = kept.address;
    site.size = module.size_from(kept.address);
    site.flags = code.keep_entry_flags;
    site.probe = engine::EntryProbe{code.keep_entry};
    entries.sites.push_back(std::move(site));
  }
  return entries;
}

}  // namespace spile::session
