#pragma once
// Programs and libraries that were linked with -z notext: the dynamic linker writes addresses into their instructions when it has
// mapped them (DT_TEXTREL; https://www.sco.com/developers/gabi/latest/ch5.dynamic.html). A patch made before would be written
// into, and the displaced instructions would keep their unrelocated operands.

#include <sys/types.h>

#include "engine/process/target_memory.h"
#include "engine/terms/module.h"

namespace spile::engine {

// Whether the module has text relocations that have not been made yet. True also where they can't be read. module.path is read
// under the process's root. glibc makes a module's text inexecutable for the time in which it
// makes them, so it has no text then: all of them are made, or none.
bool awaits_text_relocations(pid_t pid, const TargetMemory& memory, const Module& module);

}  // namespace spile::engine
