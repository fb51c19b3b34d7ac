#pragma once
// What the engine knows of one address space, and has put into it. Processes that vforked share one; a fork starts as a copy.
// Belongs to the engine's thread. Each part keeps its own invariants:
//
//   clients      what each client's handlers use there           space_setup.h maps it
//   modules      what is mapped of files                         arming.cpp keeps it up to date
//   sites        what is patched in the text, and for whom       change/ changes it
//   traps        sites of the engine's own
//   signal_code  what handles signals if this spile is killed    breakpoints.h, fault_guard.h
//   calls        who reports its system calls                    calls/call_watch.h
//   threads      which threads the process tables name           thread_identities.h
//   arming       whether sites can be armed there                arming.cpp

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "engine/arch/architecture.h"
#include "engine/process/target_memory.h"
#include "engine/space/call_reporting.h"
#include "engine/space/client_space.h"
#include "engine/space/known_threads.h"
#include "engine/space/region.h"
#include "engine/space/signal_code.h"
#include "engine/space/site_table.h"
#include "engine/space/trap_sites.h"
#include "engine/terms/module.h"

namespace spile::engine {

struct Process;

// A module as it is mapped now.
struct LoadedModule {
  Module module;
  std::map<ClientId, size_t> lists_done;  // how many of the client's lists of requests for its path have been armed, or refused
};

// Whether sites can be armed in an address space, and are being armed.
class ArmingState {
 public:
  // Marks, while it lives, that sites of the space are being armed or taken out: a child that is forked meanwhile may have copied
  // a part of the change. state: outlives it.
  class Change {
   public:
    explicit Change(ArmingState& state) : state_(state) { state_.changes_++; }
    ~Change() { state_.changes_--; }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    ArmingState& state_;
  };
  bool is_changing() const { return changes_ > 0; }

  // Returns whether the last attempt to arm it has failed, or its program must not be probed.
  bool is_refused() const { return is_refused_; }
  void set_refused(bool refused) { is_refused_ = refused; }

  // Returns why no return can be probed in it (EngineEvents::owns_stacks); empty: returns can be probed.
  const std::string& return_obstacle() const { return return_obstacle_; }
  void set_return_obstacle(std::string why) { return_obstacle_ = std::move(why); }

  // Takes over what a forked child has of its parent's.
  void inherit(const ArmingState& parent) {
    is_refused_ = parent.is_refused_;
    return_obstacle_ = parent.return_obstacle_;
  }

 private:
  int changes_ = 0;
  bool is_refused_ = false;
  std::string return_obstacle_;
};

struct AddressSpace {
  TargetMemory memory;          // not open until a process has been attached to, or has executed its program
  std::vector<Process*> users;  // the processes that run in it; empty: all have left it
  SystemCallText system_call;   // all 0 until looked for
  std::map<ClientId, ClientSpace> clients;
  std::map<std::string, LoadedModule> modules;  // by device, inode and address
  SiteTable sites;
  TrapSites traps;
  SignalCode signal_code;
  CallReporting calls;
  KnownThreads threads;
  ArmingState arming;
  // Places that are not probed any more, since somebody else has written into them or one that they rest on, and that
  // Arming::report_overwritten has not reported yet: file and address in the file. And whether code was left to the process then,
  // because what has overwritten them may put our jumps back.
  std::map<Address, std::string> overwritten;
  bool keeps_code = false;

  // Takes over what a forked child is copied with.
  void inherit(const AddressSpace& parent);
  // Adds the site that begins there to `overwritten`.
  void note_overwritten(Address begin);
  // Forgets all sites, which have been taken out, with what is known of modules and requests.
  void forget_sites();
  // Returns whether the run-time address lies in code of any client, and whether any client has code.
  bool in_code(Address address) const;
  bool has_code() const;
  // Returns where at least 256 bytes are, behind a process table, that nobody else uses; 0 before the first is mapped.
  Address scratch() const;
  // Returns whether nothing of ours is mapped.
  bool empty() const;
  // Returns whether what was mapped last is there, as the memory shows. It is not there in a child that was forked before.
  bool is_mapped() const;
};

}  // namespace spile::engine
