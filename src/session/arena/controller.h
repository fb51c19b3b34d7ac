#pragma once
// The controller domain: places the script's controller code in spile itself and runs begin, end, error and timer
// handlers on merged globals. A handler that dies or does not end is given up (handler_guard.h): from then on no code runs, and
// the functions below return what they do where there is nothing. Thread rule: one thread.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "codegen/codegen.h"
#include "session/arena/arena_view.h"
#include "session/arena/handler_guard.h"

namespace spile::session {

class Controller {
 public:
  // Copies the code into executable memory of spile, and gives it the arena's address. code and arena must outlive the
  // controller. drain is called from inside a handler whose output ring is full; it must empty the ring of abi::kControllerSlot.
  // Errors: no such memory.
  static Result<std::unique_ptr<Controller>> place(const codegen::ControllerCode& code, ArenaView& arena,
                                                   std::function<void()> drain);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Sets the globals to their initial values. REQUIRES: called once, before all functions below.
  void initialize();
  // Adds what threads of traced processes have accumulated since the last call to the controller's copies of globals, and clears
  // it at the threads. Waits for running handlers (ArenaView::advance_epoch()). REQUIRES: called before run_probe().
  void merge();
  // Runs the handler of a probe; probe: index into sema::Program::probes. REQUIRES: its handler runs in the controller.
  void run_probe(int probe);
  // Returns whether the condition of a probe is true now. REQUIRES: sema::Probe::switched.
  bool condition_holds(int probe);

  // Walks the stack of the Subject in ControllerState and returns its addresses as a kBacktrace record has them, `most` at most,
  // and abi::kMostFrames. May be called while a handler runs. REQUIRES: the layout has processes_offset.
  std::vector<uint64_t> walk_stack(uint32_t most);

  // The functions below fill and read the controller's copies of globals that another back end owns (bpf). global: index into
  // sema::Program::globals; codegen::ControllerCode has the form of keys and values, which are copied.
  void clear_global(int global);
  // Sets an element. Returns false if the map is full.
  bool put_element(int global, std::span<const char> key, std::span<const uint8_t> value);
  // Adds a shard's long or aggregate to an element. What finds no room is counted by lost_updates().
  void add_element(int global, std::span<const char> key, std::span<const uint8_t> value);
  // Calls `visit` for each element; key and value are valid during the call. Returns false if the global's lock could not be had,
  // and some elements may be missing. REQUIRES: visit calls no function of this.
  bool for_each_element(int global, const std::function<void(std::span<const char> key, const void* value)>& visit);

  // Why a handler was given up. Null: none was.
  const Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  // Handlers that still run when CLOCK_MONOTONIC has reached this are given up soon after; 0: never.
  void set_limit(int64_t monotonic_ns) { guard_->set_limit(monotonic_ns); }

  // Returns the number of updates whose elements found no room in merge() and add_element().
  uint64_t lost_updates() const { return lost_updates_; }

 private:
  // Copies a key and a value into the arena, since the code reaches no other memory of spile's. Returns where the value is.
  char* hand_over(std::span<const char> key, std::span<const uint8_t> value);
  char* exchanged_key() const { return arena_.exchange() + codegen::kExchangeHead; }
  Controller(const codegen::ControllerCode& code, ArenaView& arena, std::function<void()> drain)
      : code_(code), arena_(arena), drain_(std::move(drain)) {}
  // Calls the code at an offset of the image, as a function of this type. The code may use the stack below this frame. 0: there
  // is no such code, as only in a bundle that somebody has changed.
  template <typename Function, typename... Arguments>
  [[gnu::noinline, clang::disable_tail_calls]] auto call(uint32_t offset, Arguments... arguments) {
    using Returned = std::invoke_result_t<Function*, Arguments...>;
    if (failure_) return Returned();
    HandlerGuard::Call guarded(*guard_);
    if (offset == 0) return give_up("is missing"), Returned();
    switch (sigsetjmp(guarded.place, 0)) {
      case 0:
        arena_.controller_state().stack_end = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
        run(reinterpret_cast<Function*>(text_ + offset), arguments...);
      case HandlerGuard::kReturned:
        if constexpr (std::is_void_v<Returned>) return;
        else return result<Returned>;
      default: return give_up(guard_->reason()), Returned();
    }
  }
  // Code that was entered in its midst may return with other registers than it found, so nothing relies on them from here to
  // call()'s frame; and it may take what lies above its return address for its own: that is room of zeros.
  template <typename Function, typename... Arguments>
  [[noreturn, gnu::noinline]] static void run(Function* function, Arguments... arguments) {
    using Returned = std::invoke_result_t<Function*, Arguments...>;
    volatile uint64_t room[512] = {};
    asm volatile("" ::"r"(room) : "memory");
    if constexpr (std::is_void_v<Returned>) function(arguments...);
    else result<Returned> = function(arguments...);
    HandlerGuard::return_to_call();
  }
  template <typename Returned>
  static inline Returned result;
  void give_up(std::string_view reason);

  const codegen::ControllerCode& code_;
  ArenaView& arena_;
  std::function<void()> drain_;
  char* text_ = nullptr;
  size_t text_size_ = 0;
  uint64_t lost_updates_ = 0;
  std::unique_ptr<HandlerGuard> guard_;
  std::optional<Error> failure_;
};

}  // namespace spile::session
