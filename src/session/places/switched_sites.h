#pragma once
// Sites whose probes have conditions that no handler in a process changes: they are armed while a condition is true, and cost
// nothing while none is. Thread rule: one thread.

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"
#include "sema/terms/program.h"

namespace spile::session {

class SwitchedSites {
 public:
  // All must outlive this. verbosity: of pass 5.
  SwitchedSites(const sema::Program& program, const codegen::CompiledScript& script, int verbosity);

  // Switches sites on and off whose conditions have become true or false. holds returns whether the condition of a probe is true;
  // it is called for probes that are `switched`. Before the engine arms the sites, this decides how they will be armed.
  void update(engine::Engine& engine, const std::function<bool(int probe)>& holds);
  // Prints how the conditions of probes are evaluated.
  void print() const;

 private:
  struct Group {
    int index;  // into Program::site_groups
    std::vector<uint32_t> sites = {};
    bool on = true;
  };

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  const int verbosity_;
  std::vector<Group> groups_;       // whose sites are armed with abi::kSwitchable
  std::map<int, bool> conditions_;  // of probes that are `switched`, by index: as last evaluated
};

}  // namespace spile::session
