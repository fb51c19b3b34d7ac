#pragma once
// The local variables and temporary strings of a body.
//
// Longs are variables of the LLVM function. Strings, packed keys and other bytes lie in the frame, one piece of the thread's
// scratch memory (spile_rt_frame):
//
//   string variables | temporaries of the statement that runs
//
// Statements reuse the temporaries' bytes; the frame is as large as the largest statement needs. Its size is only known when
// the body has been emitted, so close() fills in the block that open() has left empty.
//
//   frame.declare(locals) -> frame.open() -> statements -> frame.close(...) -> frame.release() on every way out
//
// A body that needs no bytes gets no code for a frame.

#include <functional>
#include <unordered_map>

#include "codegen/bodies/body.h"

namespace spile::codegen {

class Frame : BodyPart {
 public:
  explicit Frame(Body& body) : BodyPart(body) {}

  // Forgets variables and temporaries, to begin the next body of the same function.
  void reset();
  // Makes variables: longs are 0 and strings empty from open() on. May be called repeatedly before open(). in_loops: loops may
  // change them, so that longs lie in the frame where the place asks for that (Place::repeats_by_calls).
  void declare(const std::vector<std::unique_ptr<syntax::Local>>& locals, bool in_loops);
  // Leaves a block for close() to fill in, and goes on behind it.
  void open();
  // Emits the code that takes the frame, and leaves the insert point as it was. on_failure: emits what happens where no scratch
  // memory is left; it must end the block, without release().
  void close(const std::function<void()>& on_failure);
  // Emits code that gives the frame back. REQUIRES: after close().
  void release();
  // Returns whether the body needs bytes. Final after close().
  bool is_used() const { return peak_ > 0; }

  llvm::Value* long_of(const syntax::Local& local);  // the variable's address
  // Each emits an address in the frame, and is aligned to 8 bytes. REQUIRES: after open(). A temporary's bytes are not
  // initialized, and are its own until the innermost Temporaries object ends.
  llvm::Value* string_of(const syntax::Local& local);
  llvm::Value* temporary_bytes(uint32_t bytes);
  llvm::Value* temporary_string();
  llvm::Value* copied(llvm::Value* string);  // to a temporary string
  // Makes a variable of eight bytes, without a value, that a loop changes: it has to be as old as a temporary of the statement
  // around it.
  llvm::Value* loop_variable(llvm::Type* type, const char* name);
  // Makes ScriptLoop::exit; null where loops stay as they are.
  llvm::Value* loop_exit();

  // mark() emits a value that says how much scratch memory is in use; release_to() gives back all that was taken since, besides
  // the frame. An error that leaves in between gives it back, too.
  llvm::Value* mark();
  void release_to(llvm::Value* mark);

  // Temporaries made during its life are reused after it.
  class Temporaries {
   public:
    explicit Temporaries(Frame& frame) : frame_(frame), top_(frame.top_) {}
    ~Temporaries() { frame_.top_ = top_; }
    Temporaries(const Temporaries&) = delete;
    Temporaries& operator=(const Temporaries&) = delete;

   private:
    Frame& frame_;
    uint32_t top_;
  };

 private:
  llvm::Value* address(uint32_t offset);

  std::unordered_map<const syntax::Local*, llvm::Value*> longs_;  // allocas
  std::unordered_map<const syntax::Local*, uint32_t> placed_;     // strings, and longs that loops change: offsets in the frame
  std::vector<uint32_t> string_offsets_, long_offsets_;           // those, in the order of declaration
  uint32_t top_ = 0, peak_ = 0;                                   // bytes in use here; at most
  bool needs_mark_ = false;
  llvm::BasicBlock* taking_ = nullptr;  // where close() takes the frame
  llvm::BasicBlock* taken_ = nullptr;
  llvm::Value* base_ = nullptr;  // variable: the frame's address
  llvm::Value* mark_ = nullptr;  // variable: of the scratch memory before the frame
};

}  // namespace spile::codegen
