// The runtime in the kernel as one translation unit, for the bitcode.

#include "runtime/kernel_maps/cells.cpp"
#include "runtime/kernel_maps/context.cpp"
#include "runtime/kernel_maps/format.cpp"
#include "runtime/kernel_maps/functions.cpp"
#include "runtime/kernel_maps/handler.cpp"
#include "runtime/kernel_maps/map.cpp"
#include "runtime/kernel_maps/memory.cpp"
#include "runtime/kernel_maps/record.cpp"
#include "runtime/kernel_maps/regex.cpp"
#include "runtime/kernel_maps/returns.cpp"
#include "runtime/kernel_maps/storage.cpp"
#include "runtime/kernel_maps/string.cpp"
