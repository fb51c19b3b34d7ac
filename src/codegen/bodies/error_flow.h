#pragma once
// Where the errors of a body go. An error is a branch:
//
//   inside a `try` of the body      to its `catch`, with the error's text in the try's buffer
//   elsewhere                       to the end of the body, with a record written for spile to print
//
// A script function can't know at compile time whether one of its callers is inside a `try`: State::message is the buffer of
// the innermost one while the script runs, or null. A function that fails returns kFunctionFailed, having written the
// text or the record, and its caller goes on where an error of its own would (propagate).

#include <functional>

#include "codegen/bodies/body.h"

namespace spile::codegen {

class ErrorFlow : BodyPart {
 public:
  explicit ErrorFlow(Body& body) : BodyPart(body) {}

  // Makes `failed` the way of errors outside any `try`, from here on. REQUIRES: no `try` is open.
  void set_end(llvm::BasicBlock* failed) { handlers_.assign(1, {failed, nullptr}); }
  // Emits a part of the body that runs outside its `try`s: errors that `emit` raises go to `failed`, with a record (or, in a
  // script function that runs inside a caller's `try`, with their text in that one's buffer).
  void with_end(llvm::BasicBlock* failed, const std::function<void()>& emit);

  // Goes on where `bad` (i1) is false; else raises the script error. `text` has a %d or %p for each argument (i64, at most 2),
  // before " near ". What follows the last " near " is printed, but isn't part of what `catch` gets; nor is the place, which is
  // appended. Emits nothing where `bad` is the constant false.
  void raise_if(llvm::Value* bad, SourceRange range, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments = {});
  // Raises the error whatever happens, and ends the block: set another insert point, or start_dead_block(), before emitting more.
  void raise(SourceRange range, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments);
  // Raises an error that no `try` catches, and ends the block: of a handler that has no time left, also for its `catch`.
  void raise_final(SourceRange range, const std::string& text);
  void raise_final_if(llvm::Value* bad, SourceRange range, const std::string& text);
  // Raises error() with `text`, a string that the script made. Code that is emitted next can't be reached.
  void raise_text(llvm::Value* text);
  // Emits, after a call of a script function, the jumps for its `status` (FunctionStatus): to where an error goes if it failed,
  // to aborted() if it aborted. kFunctionDone and kFunctionNext go on.
  void propagate(llvm::Value* status);
  // Returns the block to which abort() goes: out of every `try`. Code that ends a script function has to fill in that block,
  // which aborted_end() returns; null: no code goes there.
  llvm::BasicBlock* aborted();
  llvm::BasicBlock* aborted_end() const { return aborted_; }

  // Begins a `try`: errors go to `caught`, with their text in `buffer` (a string). Returns State::message outside the try, for
  // set_message() at the begin of `caught`. close_try() ends the innermost one.
  llvm::Value* open_try(llvm::BasicBlock* caught, llvm::Value* buffer);
  void close_try();
  size_t open_tries() const { return outer_messages_.size(); }
  // Restores State::message before a jump out of all but the outermost `depth` tries; they stay open for code that is emitted
  // later.
  void leave_tries(size_t depth);
  // Stores State::message; emits nothing in a body without State.
  void set_message(llvm::Value* message);
  // Makes errors that `emit` raises go to `failed`, without text or record.
  void silence(llvm::BasicBlock* failed, const std::function<void()>& emit);

 private:
  std::string excerpt_of(SourceRange range) const;
  void branch_if_bad(llvm::Value* bad, const std::function<void()>& raise_it);
  void note(const std::function<void()>& put);
  struct Handler {
    llvm::BasicBlock* target;
    llvm::Value* message;  // null: not inside a try of this body
    bool silent = false;   // neither text nor record is made
  };
  void write_message(llvm::Value* out, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments);
  void to_message_or_record(const std::function<void(llvm::Value*)>& message, const std::function<void()>& put);

  std::vector<Handler> handlers_;             // innermost last
  std::vector<llvm::Value*> outer_messages_;  // State::message outside each try that is open here
  llvm::BasicBlock* aborted_ = nullptr;
};

}  // namespace spile::codegen
