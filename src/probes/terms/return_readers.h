#pragma once
// Functions of the C library that look at return addresses to learn who has called them, and how a file's code comes to them. A
// return probe replaces return addresses, so the functions of a program whose return address one of these would read are left
// alone.

#include <cstdint>
#include <set>
#include <string>

namespace spile::probes {

// File addresses in one file: entries of its procedure linkage table, words of its global offset table, functions of its own.
struct ReturnReaders {
  std::set<uint64_t> own;      // of functions that read their own return address: dlsym looks for its caller, for RTLD_NEXT
  std::set<uint64_t> callers;  // of functions that read their caller's: gprof's mcount
};

// Finds them in the symbols of a file; none if it can't be read. Thread rule: any thread.
ReturnReaders return_readers_in(const std::string& path);

}  // namespace spile::probes
