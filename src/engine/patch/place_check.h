#pragma once
// Checks addresses that come from debug information, symbol tables and notes. Such data may be damaged, or belong to another
// build, and a patch inside an instruction, or one made for a function's entry elsewhere, ends the program. They are compared with what
// the program itself runs by: the table of functions that unwinders use in its memory (function_table.h), and direct
// calls in its text.
//
//   a place in a function        decoding from the function's begin must meet it, else it is refused
//   a function's entry           must be a begin in that table, or where a direct call leads; else its probes run as those
//                                of any instruction (flags and red zone kept), and its returns are refused
//   a function's begin and end   are those of the table
//   where there is no table      decoding from many bytes before must fall into step with the place, or a call lead there

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

// Remembers what it has found by file, as all processes that run it have the same text.
class PlaceCheck {
 public:
  // The module is loaded, and relocated, in `space`.
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
