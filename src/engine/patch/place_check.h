#pragma once
// Checks addresses that come from debug information, symbol tables and notes. Such data may be damaged, or belong to another
// build, and a patch inside an instruction, or one made for a function's entry elsewhere, ends the program. They are compared
// with what the program itself runs by: the table of functions that unwinders use in its memory (function_table.h), and direct
// calls in its text.
//
//   a place in a function        decoding from the function's begin must meet it, else it is refused
//   a function's entry           must be a begin in that table, a stub of a procedure linkage table, or where a direct call
//                                leads; else its probes run as those of any instruction (flags and red zone kept), and its
//                                returns are refused
//   a function's begin and end   are those of the table
//   without a table              the function's begin must be a multiple of 8, or a direct call lead there, or decoding from many
//                                bytes before it fall into step; decoding from this begin, if it is known, must meet the place
//   a semaphore                  must lie in the module's data
//
// Requests whose address is not in the module's text pass: they are refused when they are laid out. For the engine's thread.

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/space/address_space.h"

namespace spile::engine {

struct CheckedRequests {
  RequestList list;  // requests that pass, with function, size and probe as they were found to be
  struct Refusal {
    uint32_t site_id;
    std::string reason;
  };
  std::vector<Refusal> refused;
};

// Remembers what it has found by list and file, as all processes that run the file have the same text. Keeps each list.
class PlaceCheck {
 public:
  // Checks the requests of a list (not null). The result is good as long as this object.
  // REQUIRES: the module is loaded, and relocated (text_relocations.h), in `space`.
  const CheckedRequests& check(const AddressSpace& space, const Module& module, const RequestList& list);

 private:
  struct Key {
    const void* list;
    uint64_t device, inode;
    auto operator<=>(const Key&) const = default;
  };
  struct Checked {
    RequestList asked;  // keeps the key's address taken
    CheckedRequests answer;
  };
  std::map<Key, Checked> known_;
};

}  // namespace spile::engine
