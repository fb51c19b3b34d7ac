#pragma once
// Reads the tables that linkers and <sys/sdt.h> write into an ELF file: SDT marks in notes, the entries of the procedure linkage
// table, and where threads have the module's thread-local variables.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "debuginfo/elf/elf_image.h"
#include "debuginfo/terms/module_facts.h"

namespace spile::debuginfo {

// Return the SDT marks and the entries of the procedure linkage table in the order of the file; damaged ones are left out.
std::vector<Mark> read_marks(const ElfImage& image);
std::vector<PltEntry> read_plt(const ElfImage& image);
// Returns the words of the global offset table that hold addresses of symbols: their file addresses, with the symbols' names
// (views into the image).
std::unordered_map<uint64_t, std::string_view> imported_slots(const ElfImage& image);

// Returns the words that the dynamic linker fills with what the function at `resolver`, an STT_GNU_IFUNC of this module, returns.
std::vector<FileAddress> slots_of_ifunc(const ElfImage& image, FileAddress resolver);

// Returns operations that leave the run-time address at which a thread has the first thread-local variable of the module (ELF
// Handling For Thread-Local Storage, variant II). An executable's are at a fixed distance below the thread pointer. For a library
// the dynamic linker writes that distance, or the module's number, where the library's code finds it: in its global
// offset table. Error: a phrase for Place::reason.
Result<location::Operations> thread_block(const ElfImage& image, bool is_executable);

}  // namespace spile::debuginfo
