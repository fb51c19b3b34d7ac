#pragma once
// Finds the file with the debug information of the running kernel: an uncompressed vmlinux, as packages of debug symbols and
// kernel builds have it. A file of another build would put probes at wrong places, so its build-id is compared with the one that
// the kernel shows of itself.

#include <string>

#include "base/result.h"
#include "kernelinfo/places.h"

namespace spile::kernelinfo {

// Returns the release of the running kernel ("6.1.0-56-amd64"); "": not known.
std::string kernel_release(const Places& places);
// Returns the build-id in a file of notes, in lower-case hexadecimal; "": none, or it can't be read.
std::string build_id_of_notes(const std::string& path);
// Returns the build-id in the notes of the running kernel (/sys/kernel/notes), in lower-case hexadecimal; "": the kernel does not
// show it.
std::string running_build_id(const Places& places);
// Returns the path of the file. Errors: no file is there (the message names the package that has it); all files found are of
// other builds; the running kernel has no build-id.
Result<std::string> find_debug_image(const Places& places);
// Returns whether any file is where find_debug_image() looks, perhaps of another build.
bool has_debug_image(const Places& places);
// Returns "linux-image-RELEASE-dbg": the package of Debian that has the file.
std::string debug_package(const Places& places);

}  // namespace spile::kernelinfo
