#include "probes/world/ifunc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/files/elf_identity.h"
#include "base/processes/proc.h"
#include "base/unique_fd.h"

namespace spile::probes {

namespace {

// What a process has in memory: words at addresses in files.
class Memory {
 public:
  explicit Memory(pid_t pid)
      : memory_(open(pid ? fmt::format("/proc/{}/mem", pid).c_str() : "/proc/self/mem", O_RDONLY | O_CLOEXEC)) {
    if (auto mappings = read_mappings(pid); mappings.ok()) mappings_ = std::move(*mappings);
  }

  // Returns run-time address minus address in the file; nullopt: the process has not mapped the file.
  std::optional<uint64_t> bias_of(const debuginfo::Module& module) const {
    for (const Mapping& mapping : mappings_) {
      // spile itself has files mapped that it only reads.
      if (!mapping.executable || mapping.inode == 0 || without_deleted(mapping.path, mapping.inode) != module.path()) continue;
      if (auto address = module.address_of(mapping.offset)) return mapping.begin - address->value;
    }
    return std::nullopt;
  }
  // Returns the files of which it has mapped code.
  std::set<std::string> files() const {
    std::set<std::string> files;
    for (const Mapping& mapping : mappings_) {
      if (mapping.executable && mapping.inode != 0 && mapping.path.starts_with('/'))
        files.insert(without_deleted(mapping.path, mapping.inode));
    }
    return files;
  }
  std::optional<uint64_t> word_at(uint64_t address) const {
    uint64_t word = 0;
    if (!memory_ || pread(memory_.get(), &word, sizeof word, static_cast<off_t>(address)) != sizeof word) return std::nullopt;
    return word;
  }

 private:
  UniqueFd memory_;
  std::vector<Mapping> mappings_;
};

bool is_code(const debuginfo::Module& module, FileAddress address) {
  return std::ranges::any_of(module.segments(), [&](const debuginfo::Segment& segment) {
    return segment.executable && address >= segment.address && address.value - segment.address.value < segment.file_size;
  });
}

// Whether the module's path leads to the file that spile itself has mapped under it.
bool is_mapped_here(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  auto mappings = read_mappings(0);
  return mappings.ok() && std::ranges::any_of(*mappings, [&](const Mapping& mapping) {
           return mapping.path == path && mapping.inode == status.st_ino;
         });
}

class Search {
 public:
  Search(TracedWorld& world, debuginfo::Module& module, const debuginfo::Function& ifunc)
      : world_(world), module_(module), ifunc_(ifunc) {}

  std::optional<FileAddress> in(pid_t pid) {
    const Memory memory(pid);
    auto bias = memory.bias_of(module_);
    if (!bias) return std::nullopt;
    if (auto own = among(memory, *bias, *bias, module_.slots_of_ifunc(ifunc_.address))) return own;
    std::vector<std::string> names = ifunc_.aliases;
    names.push_back(ifunc_.linkage_name);
    for (const std::string& path : memory.files()) {
      auto importer = world_.module(path);
      auto their_bias = importer.ok() ? memory.bias_of(**importer) : std::nullopt;
      if (!their_bias) continue;
      for (const std::string& name : names) {
        if (auto found = among(memory, *bias, *their_bias, (*importer)->slots_of_import(name))) return found;
      }
    }
    return std::nullopt;
  }

 private:
  // The first of the words that is an address of the module's code. The process may have written anything there.
  std::optional<FileAddress> among(const Memory& memory, uint64_t bias, uint64_t bias_of_slots,
                                   const std::vector<FileAddress>& slots) const {
    for (FileAddress slot : slots) {
      auto word = memory.word_at(bias_of_slots + slot.value);
      if (!word) continue;
      const FileAddress address(*word - bias);
      if (address != ifunc_.address && is_code(module_, address)) return address;
    }
    return std::nullopt;
  }

  TracedWorld& world_;
  debuginfo::Module& module_;
  const debuginfo::Function& ifunc_;
};

}  // namespace

std::vector<Implementation> implementations_of(TracedWorld& world, debuginfo::Module& module, const debuginfo::Function& ifunc) {
  std::vector<Implementation> found;
  Search search(world, module, ifunc);
  std::vector<pid_t> processes = world.processes();
  if (processes.empty() && is_mapped_here(module.path())) processes = {0};
  for (pid_t pid : processes) {
    auto address = search.in(pid);
    if (address && std::ranges::none_of(found, [&](const Implementation& known) { return known.address == *address; }))
      found.push_back({*address, pid});
  }
  return found;
}

}  // namespace spile::probes
