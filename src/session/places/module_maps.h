#pragma once
// What the traced processes have mapped, as handlers and spile need it to walk stacks and to name addresses: a map in the arena
// for each process (abi::ModuleMap). Does nothing for a script that needs no tables of stacks. Thread rule: one thread, that of
// the engine.

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "abi/arena.h"
#include "codegen/codegen.h"
#include "engine/engine.h"
#include "sema/terms/program.h"
#include "session/stacks/user_stacks.h"

namespace spile::session {

class ModuleMaps {
 public:
  // Prepares the tables. arena, kernel: of UserStacks. state: gets the offset of the map by which handlers of the controller name
  // addresses. All must outlive this. REQUIRES: the layout has tables; called before processes are attached to.
  void make_stacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, const codegen::ArenaLayout& layout, uint32_t needs,
                   abi::ControllerState& state);
  // Returns the object that names addresses; null before make_stacks().
  UserStacks* stacks() const { return stacks_.get(); }
  // From now on, `take` gets the map of each process that has loaded or unloaded modules, before it runs on.
  void give_to(std::function<void(pid_t, uint64_t map)> take) { take_map_ = std::move(take); }

  // Makes a process's map anew, of its modules. is_named: end and timer probes name addresses as this process has them. Returns
  // the map's offset in the arena; 0: there is none.
  uint64_t describe(pid_t pid, std::span<const engine::Module> modules, bool is_named);
  // Returns the offset of a process's map, as TargetSide::module_map_of() does.
  uint64_t map_of(engine::Engine& engine, pid_t pid, int64_t at_ns, bool is_named);
  // Forget when maps were made, so that map_of() reads modules again: of a process that has executed another program, or of all.
  void forget(pid_t pid) { described_.erase(pid); }
  void forget_all() { described_.clear(); }

 private:
  struct Described {
    uint64_t map = 0;
    int64_t time_ns = 0;  // when the modules were read,
    int64_t took_ns = 0;  // and how long that took
  };
  std::map<pid_t, Described> described_;
  std::unique_ptr<UserStacks> stacks_;
  std::function<void(pid_t, uint64_t map)> take_map_;
  abi::ControllerState* controller_state_ = nullptr;  // where there are stacks
};

}  // namespace spile::session
