#pragma once
// Bundles: a script that passes 1 to 4 have made ready, in one file, for machines that have no debug information and no compiler.
// `spile -p4 -o x.spile ...` writes one, `spile x.spile -x PID` runs it: pass 5 alone.
//
// A bundle is a program: it has machine code that runs with the rights of whoever runs it. What is read here is checked, so that
// a damaged or hostile file is an error and not a crash of the reader; its code is as trustworthy as its author, so files that
// others may have written are rejected. bundle_file.h reads and writes them, bundle_place.h finds their files, bundle_run.h runs
// them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/source.h"
#include "codegen/codegen.h"
#include "kernelinfo/mechanisms.h"
#include "sema/terms/program.h"
#include "session/terms/options.h"

namespace spile::session {

// A file in which sites of the script lie.
struct BundledModule {
  std::string path;      // where it was
  std::string identity;  // base/files/elf_identity.h
};

// The kernel that handlers in the kernel were compiled for.
struct BundledKernel {
  std::string release, version;  // of uname(2); "": the script has no handlers there
  uint64_t text = 0;             // address of _text, which differs from boot to boot; 0: not known
  uint32_t cpus = 0;             // for so many at most
  bool fixed_addresses = false;  // handlers have addresses of the kernel's variables in their code
};

struct Bundle {
  std::string spile_version;
  ScriptOptions source;  // how the script is compiled again: its text in text, or -E's
  ProgramOptions settings;
  sema::Program program;  // what pass 5 reads: probes without bodies, sites, groups, names and types of globals, limits
  codegen::CompiledScript script;
  std::vector<BundledModule> modules;
  BundledKernel kernel;
  kernelinfo::Features features;
  std::string module_name;
  bool has_target = false;    // it was compiled with -x or -c, and runs with either
  int64_t time_limit_ns = 0;  // -T; one given at the run holds
  SourceFiles files = {};     // which ranges of the program point into
};

}  // namespace spile::session
