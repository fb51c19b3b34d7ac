#include "base/files/elf_identity.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/files/elf_header.h"
#include "base/unique_fd.h"

namespace spile {
namespace {

constexpr uint64_t kMostNotes = 64 << 10;
constexpr unsigned kMostHeaders = 512;

struct Headers {
  Elf64_Ehdr file;
  std::vector<Elf64_Phdr> programs;
};

std::optional<Headers> read_headers(const ReadBytes& read, uint64_t start) {
  Headers headers;
  Elf64_Ehdr& file = headers.file;
  if (!read(start, &file, sizeof file) || !is_elf64(file) || file.e_phentsize != sizeof(Elf64_Phdr) ||
      file.e_phnum > kMostHeaders) {
    return {};
  }
  headers.programs.resize(file.e_phnum);
  if (!read(start + file.e_phoff, headers.programs.data(), headers.programs.size() * sizeof(Elf64_Phdr))) return {};
  return headers;
}

std::string build_id_in(const std::vector<uint8_t>& notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    memcpy(&note, notes.data() + at, sizeof note);
    size_t name = at + sizeof note;
    size_t description = name + (size_t{note.n_namesz} + 3) / 4 * 4;
    size_t end = description + (size_t{note.n_descsz} + 3) / 4 * 4;
    if (end > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes.data() + name, "GNU", 4) == 0) {
      std::string text;
      for (size_t i = 0; i < note.n_descsz; ++i) text += fmt::format("{:02x}", notes[description + i]);
      return text;
    }
    at = end;
  }
  return {};
}

// place: of a segment's bytes.
template <typename Place>
std::string identity(const ReadBytes& read, uint64_t start, const Place& place) {
  auto headers = read_headers(read, start);
  if (!headers) return {};
  const std::vector<Elf64_Phdr>& programs = headers->programs;
  for (const Elf64_Phdr& note : programs) {
    // A note outside the loaded segments can't be found in memory.
    auto holds = [&](const Elf64_Phdr& load) {
      return load.p_type == PT_LOAD && note.p_offset >= load.p_offset &&
             note.p_offset + note.p_filesz <= load.p_offset + load.p_filesz;
    };
    if (note.p_type != PT_NOTE || note.p_filesz > kMostNotes || std::none_of(programs.begin(), programs.end(), holds)) continue;
    std::vector<uint8_t> notes(note.p_filesz);
    if (!read(place(*headers, note), notes.data(), notes.size())) continue;
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  auto add = [&](const void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const uint8_t*>(bytes)[i]) * 0x100000001b3;
  };
  add(&headers->file, sizeof headers->file);
  add(programs.data(), programs.size() * sizeof(Elf64_Phdr));
  return fmt::format("headers {:016x}", hash);
}

}  // namespace

std::string elf_identity_of_file(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // whose path is another process's may be a pipe
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  auto read = [&](uint64_t at, void* into, uint64_t size) {
    return pread(file.get(), into, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  };
  return identity(read, 0, [](const Headers&, const Elf64_Phdr& note) { return note.p_offset; });
}

std::string elf_identity_in_memory(const ReadBytes& read, uint64_t start) {
  return identity(read, start, [&](const Headers& headers, const Elf64_Phdr& note) {
    for (const Elf64_Phdr& load : headers.programs) {
      if (load.p_type == PT_LOAD) return start + note.p_vaddr - (load.p_vaddr - load.p_offset);
    }
    return start + note.p_offset;
  });
}

std::string without_deleted(const std::string& path, uint64_t inode) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (!path.ends_with(kDeleted)) return path;
  struct stat file;
  if (stat(path.c_str(), &file) == 0 && file.st_ino == inode) return path;
  return path.substr(0, path.size() - kDeleted.size());
}

}  // namespace spile
