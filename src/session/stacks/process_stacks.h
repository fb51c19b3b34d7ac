#pragma once
// Stacks of processes that handlers in the kernel ask for. Reads what a process has mapped when a handler first asks for one of
// its stacks, and again when a stack leads to code that was not mapped then, so that handlers walk stacks themselves from then
// on; walks those of records that have a copy of a stack. Thread rule: one thread.

#include <sys/types.h>

#include <map>
#include <string>

#include "session/arena/arena_view.h"
#include "session/arena/controller.h"
#include "session/stacks/user_stacks.h"

namespace spile::session {

class ProcessStacks {
 public:
  // All must outlive this. process_arena: the file of the arena that processes with handlers of their own have; -1: none has any.
  // REQUIRES: the arena's layout has processes_offset.
  ProcessStacks(UserStacks& stacks, ArenaView& arena, Controller& controller, uint32_t most_frames, int process_arena);

  // Sets the process of -x or -c, and follows it: handlers of spile's own, of timers and of the end, name addresses as this one
  // has them. begins: it is -c's, which has not loaded its libraries yet.
  void set_target(pid_t pid, bool begins);
  // Takes the map that a process has from now on (UserStacks::describe), before it runs on.
  void take_map(pid_t pid, uint64_t map);
  // Reads what a process has mapped, for handlers to walk its stacks. Returns the offset of its map; 0: it can't be read, or has
  // ended.
  uint64_t follow(pid_t pid);
  // Follows the processes that handlers have asked for since the last call, and looks now and then whether others run another
  // program.
  void serve();
  // Returns when serve() is to be called again, at the latest (CLOCK_MONOTONIC, in ns).
  int64_t next_serve_ns() const { return next_look_ns_; }
  // Returns the text of a kUserStack record. style: abi::SymbolStyle. payload: as read from the ring, `size` bytes; it may be
  // forged.
  std::string text_of(uint32_t style, const char* payload, size_t size);
  // Returns the number of stacks that handlers have shown without all their frames, as they came before follow() was done.
  uint64_t cut_stacks() const;

 private:
  struct Known {
    uint64_t map = 0;
    int64_t read_ns = 0;  // CLOCK_MONOTONIC
  };
  abi::ProcessMaps& maps() const;
  void publish(pid_t pid, uint64_t map);
  uint64_t slots_of(pid_t pid) const;
  bool take_place(pid_t pid);
  void look_again(int64_t now);

  UserStacks& stacks_;
  ArenaView& arena_;
  Controller& controller_;
  const uint32_t most_frames_;
  uint64_t arena_inode_ = 0;  // of the arena of processes
  pid_t target_ = 0;
  int64_t begun_until_ns_ = 0;  // so long the target may be loading its libraries
  int64_t next_look_ns_ = 0;
  pid_t last_looked_ = 0;
  std::map<pid_t, Known> known_;
  std::map<pid_t, uint32_t> places_;  // in ProcessMaps::maps
  std::map<uint32_t, pid_t> taken_;
  uint64_t served_ = 0;  // of ProcessMaps::wanted_count
};

}  // namespace spile::session
