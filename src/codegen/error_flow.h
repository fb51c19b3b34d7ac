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

#include "codegen/body.h"

namespace spile::codegen {

class ErrorFlow : BodyPart {
 public:
  explicit ErrorFlow(Body& body) : BodyPart(body) {}

  // Makes `failed` the way of errors outside any `try`, from here on. REQUIRES: no `try` is open.
  void set_end(llvm::BasicBlock* failed) { handlers_.assign(1, {failed, nullptr}); }
  // Emits a part of the body that runs outside its `try`s: errors that `emit` raises go to `failed`, with a record.
  void with_end(llvm::BasicBlock* failed, const std::function<void()>& emit);

  // Goes on where `bad` (i1) is false; else raises the script error. Its text may hold %d and %p for the arguments (i64). What
  // follows the last " near " is printed, but isn't part of what `catch` gets; nor is the place, which is appended.
  void raise_if(llvm::Value* bad, SourceRange range, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments = {});
  // Raises it, and ends the block.
  void raise(SourceRange range, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments);
  // error(): `text` is a string that the script made. What is emitted next can't be reached.
  void raise_text(llvm::Value* text);
  // After a call of a script function, with its FunctionStatus: leaves where the function failed or aborted.
  void propagate(llvm::Value* status);
  // Returns the block to which abort() goes: out of every `try`. In a script function, its end has to fill in that block
  // (aborted_end(); null: no code goes there).
  llvm::BasicBlock* aborted();
  llvm::BasicBlock* aborted_end() const { return aborted_; }

  // try: errors go to `caught`, with their text in `buffer` (a string). Returns State::message outside the try, for
  // set_message() at the begin of `caught`.
  llvm::Value* open_try(llvm::BasicBlock* caught, llvm::Value* buffer);
  void close_try();
  size_t open_tries() const { return outer_messages_.size(); }
  // Before a jump out of all but the outermost `depth` tries.
  void leave_tries(size_t depth);
  void set_message(llvm::Value* message);
  // Makes errors that `emit` raises go to `failed`, without text or record.
  void silence(llvm::BasicBlock* failed, const std::function<void()>& emit);

 private:
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
