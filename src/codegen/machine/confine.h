#pragma once
// Memory safety of the code that runs in spile itself (docs/security.md, "What handlers in spile can reach").

#include "codegen/module/script_module.h"

namespace spile::codegen {

// Makes every load, store and copy of an optimized module of the controller go through spile_rt_confine
// (runtime/process/confine.cpp), except where the place is certain: a constant offset within a local variable, a variable of the
// module, or an argument that points to enough memory in every call. REQUIRES: the module has spile_rt_confine. No later
// pass may move or repeat loads.
void confine_accesses(ScriptModule& script);

}  // namespace spile::codegen
