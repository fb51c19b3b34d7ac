#pragma once
// Objects that the code generator has made, kept on disk: a script that is run again is not optimized and emitted again.
//
// The key is a hash of all that the object is made of: the module as it is after lowering, with the parts of the runtime that
// it uses, the machine, the effort, and the build of spile. So an entry can't be out of date: what changes with the
// script, its arguments, options or the programs it probes has changed the module.
//
// DIRECTORY/KEY is a file with, in this order: "spile code 1\n", the 32-byte BLAKE3 hash of what follows, the object. Code is
// only taken from files of our own in a directory of our own that nobody else can write to. Any other file is treated as absent.
// Written by rename, so a reader never sees half of an entry. Thread rule: any thread, any number of processes.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace spile::codegen {

class ObjectCache {
 public:
  // Limits of entries and of bytes: above either keep() removes the least recently used entries, down to three quarters of both.
  static constexpr size_t kMostEntries = 256;
  static constexpr off_t kMostBytesOfAll = 256 << 20;  // a few MiB in practice
  // A larger file is not kept. Those of scripts with thousands of probes take a few MiB, and seconds to make.
  static constexpr off_t kMostBytes = 32 << 20;

  // An empty directory: nothing is ever found or kept.
  explicit ObjectCache(std::string directory) : directory_(std::move(directory)) {}

  bool is_used() const { return !directory_.empty(); }
  // Returns the object, and marks it as used now. key: a file's name, from module_key() (backend.h); empty: nothing is found or
  // kept.
  std::optional<std::string> find(const std::string& key) const;
  // Writes the object, and makes the directory (mode 0700) where it is absent. Failure is silent.
  void keep(const std::string& key, std::string_view object) const;

 private:
  bool is_ours() const;
  void drop_oldest(off_t coming) const;

  std::string directory_;
};

}  // namespace spile::codegen
