// The native runtime as one translation unit, for the bitcode: every function sees every other.

#include "runtime/native/aggregate.cpp"
#include "runtime/native/iterate.cpp"
#include "runtime/native/lock.cpp"
#include "runtime/native/map.cpp"
#include "runtime/native/memory.cpp"
#include "runtime/native/record.cpp"
#include "runtime/native/storage.cpp"
#include "runtime/native/string.cpp"
#include "runtime/native/thread.cpp"
