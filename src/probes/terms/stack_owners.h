#pragma once
// Runtimes that walk, copy or check the stacks that their programs run on. A return probe replaces the return address of a call
// that is under way by one of spile's; such a runtime reads it there and does not know it. So the returns of functions that such
// a runtime may find on a stack are not probed; their entries are. docs/decisions/027 has the table for people. Thread rule: any
// thread.
//
// Go is not in the table: its functions are recognized by a note in the file, and probed at their return instructions
// (abi::kReturnsInPlace).

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spile::probes {

enum class OwnedPart : uint8_t {
  kFunctions,  // some functions of a file, by their names
  kFile,       // all functions of a file
  kProcess,    // all functions in a process that has the file: callbacks from it into the runtime may be on any stack
};

struct StackOwner {
  const char* runtime;  // its name: "OCaml 5"
  OwnedPart part;
  // A file is one of the runtime's if its name begins so ("libguile-") or it defines such a symbol; empty: not looked at.
  std::string_view file;
  std::string_view symbol;
  bool (*owns)(std::string_view function);  // kFunctions; function: with its scopes ("v8::Isolate::New")
  const char* reason;                       // why not: a clause without a full stop
  bool refuses_entries = false;             // their entries aren't probed either
  bool judges_faults = false;               // its handler for SIGSEGV asks whose code the fault is in (abi::kTouchesStack)
};

// Returns the whole table.
std::span<const StackOwner> stack_owners();

// The owners that a file's functions may have. The file is read by the constructor.
class FileOwners {
 public:
  // path: of the file, whose name counts too: a file that can't be read has owners by its name only. opened: the path that is
  // read instead, where `path` no longer leads to the file (debuginfo/elf/mapped_file.h).
  explicit FileOwners(const std::string& path, const std::string& opened = {});

  // Returns the owner of the stacks on which the function runs; null: they are ordinary stacks. function: as StackOwner::owns
  // takes it.
  const StackOwner* of(std::string_view function) const;

 private:
  std::vector<const StackOwner*> rows_;
};

// Returns the row with kProcess that holds for processes with this file, or null. Symbols are looked for in programs only.
const StackOwner* process_owner(const std::string& path, bool main_executable, const std::string& opened = {});

}  // namespace spile::probes
