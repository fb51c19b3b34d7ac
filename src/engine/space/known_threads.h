#pragma once
// Which threads the process tables of an address space name, by thread pointer (thread_identities.h). Belongs to the engine's
// thread.

#include <sys/types.h>

#include <unordered_map>
#include <unordered_set>

#include "abi/arena.h"

namespace spile::engine {

struct KnownThread {
  uint32_t index;  // of its entry in abi::ProcessTable::identities
  uint64_t tid;    // 0: several threads have the thread pointer
};

class KnownThreads {
 public:
  // Returns the process that the tables name; 0: the process has no tables.
  pid_t process() const { return process_; }
  void set_process(pid_t pid) { process_ = pid; }

  const std::unordered_map<uint64_t, KnownThread>& by_pointer() const { return by_pointer_; }
  KnownThread* find(uint64_t thread_pointer) {
    auto found = by_pointer_.find(thread_pointer);
    return found == by_pointer_.end() ? nullptr : &found->second;
  }
  // Gives the thread pointer an entry that no other has. Returns it, valid until remove() or clear(), or nullptr if too many are
  // known. The caller sets its tid. REQUIRES: find() does not know it.
  KnownThread* add(uint64_t thread_pointer) {
    if (by_pointer_.size() >= abi::kThreadTableEntries / 2) return nullptr;
    auto index = static_cast<uint32_t>(abi::thread_table_index(thread_pointer));
    while (!indices_.insert(index).second) index = (index + 1) % abi::kThreadTableEntries;
    return &by_pointer_.emplace(thread_pointer, KnownThread{index, 0}).first->second;
  }
  void remove(uint64_t thread_pointer) {
    auto found = by_pointer_.find(thread_pointer);
    if (found == by_pointer_.end()) return;
    indices_.erase(found->second.index);
    by_pointer_.erase(found);
  }
  // Notes a thread that has no thread pointer (0). Returns whether another one has none, either.
  bool add_without_pointer(pid_t tid) {
    if (without_pointer_ == 0) without_pointer_ = tid;
    return without_pointer_ != tid;
  }
  void found_pointer(pid_t tid) {
    if (without_pointer_ == tid) without_pointer_ = 0;
  }
  void clear() {
    without_pointer_ = 0;
    by_pointer_.clear();
    indices_.clear();
  }

 private:
  pid_t process_ = 0;
  pid_t without_pointer_ = 0;  // the first such thread; 0: none
  std::unordered_map<uint64_t, KnownThread> by_pointer_;
  std::unordered_set<uint32_t> indices_;  // of by_pointer_
};

}  // namespace spile::engine
