#include "kernelinfo/debug_image.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/files/elf_identity.h"
#include "base/files/file.h"

namespace spile::kernelinfo {

namespace {

std::string contents_of(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  return bytes.ok() ? std::move(*bytes) : std::string();
}

// Where packages and builds have it: Debian and Ubuntu below debug/boot, Fedora below debug/lib/modules, `make install` in /boot,
// and a kernel's own build.
std::vector<std::string> candidates(const Places& places, const std::string& build_id) {
  const std::string version = kernel_release(places);
  std::vector<std::string> paths = {
      fmt::format("{}/boot/vmlinux-{}", places.debug, version),
      fmt::format("{}/lib/modules/{}/vmlinux", places.debug, version),
      fmt::format("{}/vmlinux-{}", places.debug, version),
      fmt::format("{}/{}/vmlinux", places.modules, version),
      fmt::format("{}/{}/build/vmlinux", places.modules, version),
  };
  if (build_id.size() > 2)
    paths.insert(paths.begin(), fmt::format("{}/.build-id/{}/{}.debug", places.debug, build_id.substr(0, 2), build_id.substr(2)));
  return paths;
}

}  // namespace

std::string kernel_release(const Places& places) {
  std::string text = first_line(places.proc + "/sys/kernel/osrelease");
  utsname machine;
  if (text.empty() && uname(&machine) == 0) text = machine.release;
  return text.find('/') == std::string::npos ? text : std::string();
}

std::string running_build_id(const Places& places) { return build_id_of_notes(places.sys + "/kernel/notes"); }

std::string build_id_of_notes(const std::string& path) {
  const std::string notes = contents_of(path);
  constexpr uint64_t kAlignment = 4;
  auto aligned = [](uint64_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); };
  for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const uint64_t name = at + sizeof note, description = name + aligned(note.n_namesz);
    if (description + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && notes.compare(name, 3, "GNU") == 0) {
      std::string id;
      for (unsigned char byte : std::string_view(notes).substr(description, note.n_descsz)) id += fmt::format("{:02x}", byte);
      return id;
    }
    at = description + aligned(note.n_descsz);
  }
  return {};
}

std::string debug_package(const Places& places) { return fmt::format("linux-image-{}-dbg", kernel_release(places)); }

bool has_debug_image(const Places& places) {
  for (const std::string& path : candidates(places, running_build_id(places))) {
    if (access(path.c_str(), F_OK) == 0) return true;
  }
  return false;
}

Result<std::string> find_debug_image(const Places& places) {
  const std::string id = running_build_id(places);
  if (id.empty())
    return Error{fmt::format("the running kernel shows no build-id ({}/kernel/notes), so its debug information can't be told "
                             "from that of other builds",
                             places.sys),
                 ""};
  std::string other;
  for (const std::string& path : candidates(places, id)) {
    if (access(path.c_str(), F_OK) != 0) continue;
    const std::string found = elf_identity_of_file(path);
    if (found == id) return path;
    if (other.empty())
      other = fmt::format("{} is of another build than the running kernel: its build-id is {}, the kernel's is {}", path,
                          found.empty() ? "not readable" : found, id);
  }
  const std::string package = debug_package(places);
  if (!other.empty())
    return Error{other, fmt::format("install the {} of the version that runs, or boot the version that it belongs to", package)};
  return Error{fmt::format("the debug information of this kernel is not installed (no {}/boot/vmlinux-{})", places.debug,
                           kernel_release(places)),
               fmt::format("apt install {}; without it there are kernel.function(\"NAME\") with .call and .return, "
                           "kernel.statement(\"NAME+OFFSET\"), and parameters at entries",
                           package)};
}

}  // namespace spile::kernelinfo
