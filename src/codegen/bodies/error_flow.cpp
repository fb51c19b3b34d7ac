#include "codegen/bodies/error_flow.h"

#include "abi/record.h"
#include "base/source_excerpt.h"
#include "codegen/bodies/record_writer.h"

namespace spile::codegen {

void ErrorFlow::branch_if_bad(llvm::Value* bad, const std::function<void()>& raise_it) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(bad); constant && constant->isZero()) return;
  llvm::BasicBlock *failed = block("error"), *good = block("good");
  b.CreateCondBr(bad, failed, good, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 100000));
  b.SetInsertPoint(failed);
  raise_it();
  b.SetInsertPoint(good);
}

void ErrorFlow::raise_if(llvm::Value* bad, SourceRange range, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments) {
  branch_if_bad(bad, [&] { raise(range, text, arguments); });
}

void ErrorFlow::raise_final_if(llvm::Value* bad, SourceRange range, const std::string& text) {
  branch_if_bad(bad, [&] { raise_final(range, text); });
}

namespace {

// The text of a record (codegen::ErrorText), in which only what stands before `end` has conversions.
std::string error_format(const std::string& text, size_t end) {
  std::string format = text.substr(0, end);
  for (char c : text.substr(std::min(end, text.size()))) format += c == '%' ? std::string("%%") : std::string(1, c);
  return format;
}

}  // namespace

// Scripts of the user are named by -e, -E or their file; what is wrong in the library's code is wrong where it is called.
std::string ErrorFlow::excerpt_of(SourceRange range) const {
  const bool is_users = range && (range.file == unit.program.scripts.front().file || range.file->name().starts_with("<"));
  return is_users ? source_excerpt(range) : std::string();
}

// `catch` gets what went wrong ("division by 0"); what is printed says where, too ("... near operator '/' at a.stp:3:5").
void ErrorFlow::raise(SourceRange range, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments) {
  std::string place = range.to_string();
  std::string full = place.empty() ? text : text + " at " + place;
  std::string caught = text.substr(0, text.rfind(" near "));
  full = error_format(full, arguments.empty() ? 0 : caught.size());
  to_message_or_record([&](llvm::Value* message) { write_message(message, caught, arguments); },
                       [&] {
                         llvm::Value* first = arguments.empty() ? number(0) : arguments[0];
                         llvm::Value* second = arguments.size() < 2 ? number(0) : arguments[1];
                         llvm::CallInst* write = b.CreateCall(
                             unit.raise_function(),
                             {context, b.getInt32(unit.tables.add_error({full, place, excerpt_of(range)})), first, second});
                         write->setCallingConv(unit.raise_function()->getCallingConv());
                       });
  b.CreateBr(handlers_.back().target);
}

void ErrorFlow::raise_final(SourceRange range, const std::string& text) {
  const bool is_catchable = body.script_function ? unit.functions_abort() : open_tries() > 0;
  if (!is_catchable || handlers_.back().silent) return raise(range, text, {});
  const std::string place = range.to_string();
  note([&] {
    llvm::CallInst* write = b.CreateCall(
        unit.raise_function(),
        {context, b.getInt32(unit.tables.add_error({place.empty() ? text : text + " at " + place, place, excerpt_of(range)})),
         number(0), number(0)});
    write->setCallingConv(unit.raise_function()->getCallingConv());
  });
  b.CreateBr(aborted());
}

void ErrorFlow::raise_text(llvm::Value* text) {
  to_message_or_record([&](llvm::Value* message) { call("spile_rt_string_copy", unit.module.none(), {message, text}); },
                       [&] { write_record(body, abi::kErrorText, 0, {text}); });
  b.CreateBr(handlers_.back().target);
  start_dead_block();
}

// Makes the record of an error.
void ErrorFlow::note(const std::function<void()>& put) {
  put();
  if (unit.place.stops_itself())
    call("spile_rt_note_error", unit.module.none(), {context, number(unit.program.limits.max_errors)});
}

void ErrorFlow::to_message_or_record(const std::function<void(llvm::Value*)>& message, const std::function<void()>& put) {
  if (handlers_.back().silent) return;
  auto record = [&] { note(put); };
  if (handlers_.back().message) return message(handlers_.back().message);
  if (!body.script_function) return record();
  llvm::Value* buffer = b.CreateLoad(unit.module.ptr(), at_offset(state, offsetof(State, message)));
  llvm::BasicBlock *caught = block("error.caught"), *uncaught = block("error.uncaught"), *done = block("error.done");
  b.CreateCondBr(b.CreateIsNull(buffer), uncaught, caught);
  b.SetInsertPoint(caught);
  message(buffer);
  b.CreateBr(done);
  b.SetInsertPoint(uncaught);
  record();
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

// Text with %d and %p, made by the same functions as sprintf.
void ErrorFlow::write_message(llvm::Value* out, const std::string& text, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Value* at = b.getInt32(0);
  auto put_literal = [&](const std::string& piece) {
    if (piece.empty()) return;
    at = call("spile_rt_format_literal", b.getInt32Ty(),
              {out, at, unit.module.text(piece), b.getInt32(static_cast<uint32_t>(piece.size()))});
  };
  size_t begin = 0, next = 0;
  while (next < arguments.size()) {
    size_t percent = text.find('%', begin);
    while (percent != std::string::npos && text[percent + 1] != 'd' && text[percent + 1] != 'p') {
      percent = text.find('%', percent + 1);
    }
    CHECK(percent != std::string::npos);
    bool decimal = text[percent + 1] == 'd';
    put_literal(text.substr(begin, percent - begin) + (decimal ? "" : "0x"));
    auto kind = decimal ? syntax::FormatPart::Kind::kSigned : syntax::FormatPart::Kind::kHex;
    at = call("spile_rt_format_long", b.getInt32Ty(),
              {out, at, arguments[next++], b.getInt32(static_cast<uint32_t>(kind)), b.getInt32(0),
               b.getInt32(static_cast<uint32_t>(-1)), b.getInt32(static_cast<uint32_t>(-1))});
    begin = percent + 2;
  }
  put_literal(text.substr(begin));
  call("spile_rt_format_end", unit.module.none(), {out, at});
}

void ErrorFlow::propagate(llvm::Value* status) {
  auto leave_if = [&](FunctionStatus bad, llvm::BasicBlock* target) {
    llvm::BasicBlock* good = block("call.good");
    b.CreateCondBr(b.CreateICmpEQ(status, b.getInt32(bad)), target, good,
                   llvm::MDBuilder(b.getContext()).createBranchWeights(1, 100000));
    b.SetInsertPoint(good);
  };
  leave_if(kFunctionFailed, handlers_.back().target);
  if (unit.functions_abort()) leave_if(kFunctionAborted, aborted());
}

llvm::BasicBlock* ErrorFlow::aborted() {
  if (!body.script_function) return handlers_.front().target;
  if (!aborted_) aborted_ = block("aborted");
  return aborted_;
}

llvm::Value* ErrorFlow::open_try(llvm::BasicBlock* caught, llvm::Value* buffer) {
  llvm::Value* outer = state ? b.CreateLoad(unit.module.ptr(), at_offset(state, offsetof(State, message))) : nullptr;
  set_message(buffer);
  handlers_.push_back({caught, buffer});
  outer_messages_.push_back(outer);
  return outer;
}

void ErrorFlow::close_try() {
  llvm::Value* outer = outer_messages_.back();
  outer_messages_.pop_back();
  handlers_.pop_back();
  set_message(outer);
}

void ErrorFlow::with_end(llvm::BasicBlock* failed, const std::function<void()>& emit) {
  handlers_.push_back({failed, nullptr});
  emit();
  handlers_.pop_back();
}

void ErrorFlow::silence(llvm::BasicBlock* failed, const std::function<void()>& emit) {
  handlers_.push_back({failed, nullptr, true});
  emit();
  handlers_.pop_back();
}

void ErrorFlow::leave_tries(size_t depth) {
  if (outer_messages_.size() > depth) set_message(outer_messages_[depth]);
}

void ErrorFlow::set_message(llvm::Value* message) {
  if (state && !terminated()) b.CreateStore(message, at_offset(state, offsetof(State, message)));
}

}  // namespace spile::codegen
