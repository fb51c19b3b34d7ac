#include "probes/terms/shared_libraries.h"

#include <elf.h>
#include <fmt/format.h>
#include <glob.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "abi/native_elf.h"
#include "base/files/elf_header.h"
#include "base/text/split.h"

namespace spile::probes {

namespace {

// The strings of a file's dynamic section. Every offset comes from the file: read through bounds checks only.
struct Dynamic {
  std::vector<std::string> needed;
  std::string rpath;
  std::string runpath;
};

class ElfBytes {
 public:
  explicit ElfBytes(const std::string& path) : file_(path, std::ios::binary) {}

  template <typename T>
  bool read(uint64_t offset, T& value) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(reinterpret_cast<char*>(&value), sizeof value));
  }
  std::string string(uint64_t offset) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    std::string text;
    for (char c = 0; text.size() < 4096 && file_.get(c) && c;) text += c;
    return text;
  }

 private:
  std::ifstream file_;
};

Dynamic read_dynamic(const std::string& path) {
  Dynamic dynamic;
  ElfBytes file(path);
  Elf64_Ehdr header{};
  if (!file.read(0, header) || !is_elf64(header)) return dynamic;

  std::vector<Elf64_Phdr> loads;
  Elf64_Phdr table{};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!file.read(header.e_phoff + uint64_t{i} * sizeof segment, segment)) return dynamic;
    if (segment.p_type == PT_LOAD) loads.push_back(segment);
    if (segment.p_type == PT_DYNAMIC) table = segment;
  }
  std::vector<Elf64_Dyn> entries;
  uint64_t strings = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= table.p_filesz; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry{};
    if (!file.read(table.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
    entries.push_back(entry);
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
  }
  uint64_t offset = 0;
  for (const Elf64_Phdr& load : loads) {
    if (strings >= load.p_vaddr && strings - load.p_vaddr < load.p_filesz) offset = strings - load.p_vaddr + load.p_offset;
  }
  if (offset == 0) return dynamic;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NEEDED) dynamic.needed.push_back(file.string(offset + entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH) dynamic.rpath = file.string(offset + entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH) dynamic.runpath = file.string(offset + entry.d_un.d_val);
  }
  return dynamic;
}

std::string real_path(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return {};
  std::string result = resolved;
  free(resolved);
  return result;
}

// "a:b" with $ORIGIN and $LIB replaced.
void add_directories(const std::string& list, const std::string& origin, std::vector<std::string>& out) {
  for (const std::string_view part : split(list, ':')) {
    std::string directory(part);
    for (std::string_view variable : {"${ORIGIN}", "$ORIGIN", "${LIB}", "$LIB"}) {
      size_t at = directory.find(variable);
      if (at == std::string::npos) continue;
      directory.replace(at, variable.size(),
                        variable.find("ORIGIN") != std::string_view::npos ? origin : fmt::format("lib/{}", abi::kElf.libraries));
    }
    if (!directory.empty()) out.push_back(directory);
  }
}

void add_configured(const std::string& file, std::vector<std::string>& out, int depth) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    if (word != "include") {
      out.push_back(word);
      continue;
    }
    glob_t found{};
    if (depth < 4 && words >> word && glob(word.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) add_configured(found.gl_pathv[i], out, depth + 1);
    }
    globfree(&found);
  }
}

const std::vector<std::string>& system_directories() {
  static const std::vector<std::string> directories = [] {
    std::vector<std::string> all;
    add_configured("/etc/ld.so.conf", all, 0);
    for (const char* parent : {"/lib/", "/usr/lib/"}) all.push_back(std::string(parent) + abi::kElf.libraries);
    for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) all.emplace_back(directory);
    return all;
  }();
  return directories;
}

bool is_shared_library(const std::string& path) {
  ElfBytes file(path);
  Elf64_Ehdr header{};
  return file.read(0, header) && is_native_elf(header);
}

std::string find_library(const std::string& name, const std::vector<std::string>& directories) {
  if (name.find('/') != std::string::npos) return real_path(name);
  for (const std::string& directory : directories) {
    std::string candidate = real_path(directory + "/" + name);
    if (!candidate.empty() && is_shared_library(candidate)) return candidate;
  }
  return {};
}

}  // namespace

std::string system_library(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return {};
  std::vector<std::string> directories;
  if (const char* environment = getenv("LD_LIBRARY_PATH")) add_directories(environment, "", directories);
  directories.insert(directories.end(), system_directories().begin(), system_directories().end());
  return find_library(name, directories);
}

std::vector<std::string> linked_libraries(const std::string& program) {
  struct Pending {
    std::string path;
    std::string inherited_rpath;  // RPATHs of those that needed it count as well; RUNPATH is for direct needs only
  };
  std::vector<std::string> libraries;
  std::set<std::string> seen = {program};
  std::deque<Pending> pending = {{program, ""}};
  const char* environment = getenv("LD_LIBRARY_PATH");
  while (!pending.empty()) {
    Pending next = std::move(pending.front());
    pending.pop_front();
    Dynamic dynamic = read_dynamic(next.path);
    std::string origin = std::filesystem::path(next.path).parent_path();
    std::vector<std::string> directories;
    if (dynamic.runpath.empty()) {
      add_directories(dynamic.rpath, origin, directories);
      add_directories(next.inherited_rpath, origin, directories);
    }
    if (environment) add_directories(environment, origin, directories);
    add_directories(dynamic.runpath, origin, directories);
    directories.insert(directories.end(), system_directories().begin(), system_directories().end());
    for (const std::string& name : dynamic.needed) {
      std::string path = find_library(name, directories);
      if (path.empty() || !seen.insert(path).second) continue;
      libraries.push_back(path);
      pending.push_back({path, dynamic.runpath.empty() ? dynamic.rpath + ":" + next.inherited_rpath : ""});
    }
  }
  return libraries;
}

}  // namespace spile::probes
