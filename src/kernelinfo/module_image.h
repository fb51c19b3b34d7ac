#pragma once
// Finds the file with the debug information of a loaded module of the kernel, and where its sections lie in memory. As with the
// kernel's own image (debug_image.h), the build-id of the file is compared with the one that the kernel shows of the module.

#include <string>
#include <vector>

#include "base/result.h"
#include "debuginfo/linked_object.h"
#include "kernelinfo/places.h"

namespace spile::kernelinfo {

// A section as the kernel has loaded it. Sections that it has freed (.init.text) or that each CPU has a copy of are not among
// them.
struct LoadedSection {
  FileAddress begin;  // in the linked object
  uint64_t size;      // bytes
  uint64_t address;   // run-time
  bool executable;
};

struct ModuleImage {
  debuginfo::LinkedObject object;
  std::vector<LoadedSection> sections;
};

// Returns the path of a module below the folder of the kernel's release, "kernel/drivers/block/loop.ko", without a suffix of
// compression; "": the modules on disk lack it.
std::string module_path(const Places& places, const std::string& module);
// REQUIRES: the module is loaded. Errors: no file is there (the message names the package that has it); all files found are of
// other builds; the kernel shows no build-id of the module, or hides where it is.
Result<ModuleImage> open_module_image(const Places& places, const std::string& module);
// Returns whether a file is where packages put it, perhaps of another build.
bool has_module_image(const Places& places, const std::string& module);

}  // namespace spile::kernelinfo
