// The runtime in the kernel as one translation unit, for the bitcode.

#include "runtime/bpf/context.cpp"
#include "runtime/bpf/functions.cpp"
#include "runtime/bpf/handler.cpp"
#include "runtime/bpf/map.cpp"
#include "runtime/bpf/memory.cpp"
#include "runtime/bpf/record.cpp"
#include "runtime/bpf/storage.cpp"
#include "runtime/bpf/string.cpp"
