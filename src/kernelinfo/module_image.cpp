#include "kernelinfo/module_image.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text/split.h"
#include "kernelinfo/debug_image.h"
#include "kernelinfo/whole_file.h"

namespace spile::kernelinfo {

namespace {

std::string folder_of(const Places& places, const std::string& module) { return fmt::format("{}/module/{}", places.sys, module); }

// Where packages have it: Debian below debug by the module's own path, Fedora so with .debug behind it. The last is a kernel's
// own build that was not stripped.
std::vector<std::string> candidates(const Places& places, const std::string& module, const std::string& build_id) {
  std::vector<std::string> paths;
  if (build_id.size() > 2)
    paths.push_back(fmt::format("{}/.build-id/{}/{}.debug", places.debug, build_id.substr(0, 2), build_id.substr(2)));
  const std::string path = module_path(places, module), version = kernel_release(places);
  if (path.empty()) return paths;
  for (const char* usr : {"", "/usr"}) {
    for (const char* suffix : {"", ".debug"})
      paths.push_back(fmt::format("{}{}/lib/modules/{}/{}{}", places.debug, usr, version, path, suffix));
  }
  paths.push_back(fmt::format("{}/{}/{}", places.modules, version, path));
  return paths;
}

std::vector<LoadedSection> loaded_sections(const Places& places, const std::string& module,
                                           const std::vector<debuginfo::PlacedSection>& placed) {
  std::vector<LoadedSection> sections;
  for (const debuginfo::PlacedSection& section : placed) {
    if (section.name.starts_with(".init") || section.name.find('/') != std::string::npos) continue;
    Result<std::string> text = read_whole<std::string>(fmt::format("{}/sections/{}", folder_of(places, module), section.name));
    uint64_t address = 0;
    if (!text.ok() || !text->starts_with("0x")) continue;
    std::from_chars(text->data() + 2, text->data() + text->size(), address, 16);
    if (address != 0) sections.push_back({section.address, section.size, address, section.executable});
  }
  return sections;
}

}  // namespace

// Lines are "kernel/drivers/block/loop.ko.xz: ...". Names have '_' where those of files may have '-'.
std::string module_path(const Places& places, const std::string& module) {
  Result<std::string> text = read_whole<std::string>(fmt::format("{}/{}/modules.dep", places.modules, kernel_release(places)));
  if (!text.ok()) return {};
  for (const std::string_view line : lines_of(*text)) {
    std::string path(line.substr(0, line.find(':')));
    std::string name = path.substr(path.rfind('/') + 1);
    std::ranges::replace(name, '-', '_');
    if (!name.starts_with(module + ".ko")) continue;
    path.resize(path.rfind(".ko") + 3);
    return path.find("..") == std::string::npos ? path : std::string();
  }
  return {};
}

bool has_module_image(const Places& places, const std::string& module) {
  const std::string id = build_id_of_notes(folder_of(places, module) + "/notes/.note.gnu.build-id");
  std::vector<std::string> paths = candidates(places, module, id);
  // Of a module on disk, only its contents say whether it was stripped.
  std::erase_if(paths, [&](const std::string& path) { return path.starts_with(places.modules + "/"); });
  return std::ranges::any_of(paths, [](const std::string& path) { return access(path.c_str(), F_OK) == 0; });
}

Result<ModuleImage> open_module_image(const Places& places, const std::string& module) {
  const std::string id = build_id_of_notes(folder_of(places, module) + "/notes/.note.gnu.build-id");
  if (id.empty())
    return Error{fmt::format("the kernel shows no build-id of the module {} ({}/notes), so its debug information can't be told "
                             "from that of other builds",
                             module, folder_of(places, module)),
                 ""};
  const std::string package = debug_package(places);
  const std::string path = module_path(places, module);
  Error refused{
      path.empty()
          ? fmt::format(
                "the debug information of the module {} is not installed, or not found: the modules on disk ({}/{}) lack it",
                module, places.modules, kernel_release(places))
          : fmt::format("the debug information of the module {} is not installed (no {}/lib/modules/{}/{})", module, places.debug,
                        kernel_release(places), path),
      fmt::format("apt install {}; without it there are module(\"{}\").function(\"NAME\") with .call and .return, "
                  ".statement(\"NAME+OFFSET\"), and parameters at entries",
                  package, module)};
  for (const std::string& path : candidates(places, module, id)) {
    if (access(path.c_str(), F_OK) != 0) continue;
    Result<debuginfo::LinkedObject> object = debuginfo::open_linked(path);
    if (!object.ok() || object->module->build_id() != id) {
      refused =
          object.ok()
              ? Error{fmt::format("{} is of another build than the module that is loaded: its build-id is {}, the module's is {}",
                                  path, object->module->build_id().empty() ? "not there" : object->module->build_id(), id),
                      fmt::format("install the {} of the version that runs, or boot the version that it belongs to", package)}
              : object.error();
      continue;
    }
    if (!object->module->has_debug_info()) continue;
    ModuleImage image{std::move(*object), {}};
    image.sections = loaded_sections(places, module, image.object.sections);
    if (std::ranges::none_of(image.sections, &LoadedSection::executable))
      return Error{fmt::format("the kernel hides where the module {} is ({}/sections), so its debug information can't be applied",
                               module, folder_of(places, module)),
                   "run as root"};
    return image;
  }
  return refused;
}

}  // namespace spile::kernelinfo
