#pragma once
// The one lowering from typed tree to IR: the walk over the statements and expressions of a body (of a probe, of a script
// function, of entry values), and the life of a body around it (lower_body.cpp). The walk uses these
// classes, which work on IR values and know nothing of the tree's shape:
//
//   Body                 the function that is emitted, and what is known of the probed place
//   Frame                local variables, temporary strings
//   ErrorFlow            where script errors go
//   Arithmetic, MapLowering, AggregateLowering
//   TargetAccess         variables and memory of the traced program
//   RegisterAccess       arguments, registers, returned values
//
// All of them ask Unit::place (place.h) for what differs between a process, spile and the kernel.

#include <functional>

#include "codegen/bodies/aggregate_lowering.h"
#include "codegen/bodies/record_writer.h"
#include "codegen/bodies/register_access.h"

namespace spile::codegen {

// One object emits into one Body, one body after another, on the Body's thread.
class Lowering : BodyPart {
 public:
  explicit Lowering(Body& body)
      : BodyPart(body),
        frame_(body),
        errors_(body),
        arithmetic_(body, errors_),
        maps_(body, frame_, errors_),
        aggregates_(body, errors_, arithmetic_, maps_),
        target_(body, frame_, errors_, arithmetic_),
        registers_(body, frame_, errors_, target_) {}

  // Emits the whole body of a probe, with its locks, condition and frame. Control goes on after it, whatever happened.
  void lower_probe(const sema::Probe& probe);
  // Evaluates, in the controller, the condition of a probe that is `switched`, and stores it where handlers elsewhere read it.
  // Returns an i64: 1 where it is true, or where its evaluation failed.
  llvm::Value* lower_switch(const sema::Probe& probe);
  // Emits the body of a probe. REQUIRES: sema::Probe::only_accumulates. Nothing in it fails, and a signal handler may run it in
  // the midst of itself, so it needs no guard, and looks for the thread's slot at the first addition only. entered: the handler
  // has found the slot.
  void lower_light_probe(const sema::Probe& probe, bool entered);
  // Emits the body of a script function, and its returns (FunctionStatus). REQUIRES: Body::function is Unit::function(function).
  void lower_function(const syntax::Function& function);
  // Evaluates the entry values of a return probe. ok: an i1, false where one of them was an error: the values mean nothing then.
  // The frame stays taken where uses_frame(): the caller stores the values (strings lie in the frame), then emits
  // spile_rt_frame_release to a mark that it has taken before.
  struct EntrySaves {
    std::vector<llvm::Value*> values;
    llvm::Value* ok;
  };
  EntrySaves lower_entry_saves(const sema::Probe& probe);

  // Stores what the handler knows of the probed place in State, where something asks for it there. REQUIRES: emitted before a
  // body, with Body::probe set. lower_entry_saves() does it itself.
  void store_site() {
    registers_.store_site();
    target_.find_point();
  }
  // Whether the body that was emitted last takes a frame.
  bool uses_frame() const { return frame_.is_used(); }

  // Emits the whole of `function`, which reads or writes a global for embedded C (EmbeddedC::Accessor).
  void access_global(const syntax::Global& global, llvm::Function& function, bool writes);

 private:
  struct Loop {
    llvm::BasicBlock* on_break;
    llvm::BasicBlock* on_continue;
    size_t tries = 0;  // open around the loop in this body
  };

  // lower_expression.cpp
  llvm::Value* lower(const syntax::Expression& expression);
  llvm::Value* lower_condition(const syntax::Expression& expression);  // i1
  llvm::Value* lower_variable(const syntax::Variable& variable);
  llvm::Value* lower_unary(const syntax::Unary& unary);
  llvm::Value* lower_binary(const syntax::Binary& binary);
  llvm::Value* lower_logical(const syntax::Logical& logical);
  llvm::Value* lower_compare(const syntax::Compare& compare);
  llvm::Value* lower_concatenation(const syntax::Concatenation& concatenation);
  llvm::Value* lower_ternary(const syntax::Ternary& ternary);
  // Values of operands in order; strings that a later operand could overwrite are copied.
  std::vector<llvm::Value*> lower_operands(llvm::ArrayRef<const syntax::Expression*> operands);

  // lower_assignment.cpp
  llvm::Value* lower_assignment(const syntax::Assignment& assignment);
  llvm::Value* lower_increment(const syntax::Increment& increment);
  llvm::Value* assign_variable(const syntax::Variable& variable, const syntax::Assignment& assignment);
  // Adds one to the number of updates of the element at `place`, if the array keeps it (sema::Program::counts_updates).
  void count_update(const syntax::Global& global, llvm::Value* place);
  llvm::Value* assign_element(const syntax::Index& element, const syntax::Assignment& assignment);
  void accumulate(const syntax::Expression& target, llvm::Value* value);
  void store_variable(const syntax::Variable& variable, llvm::Value* value);
  void add_to_global(const syntax::Global& global, llvm::Value* delta);
  bool is_atomic(const syntax::Variable& variable) const;  // a global of sema::Sharing::kAtomic
  llvm::Value* add_atomically(const syntax::Variable& variable, llvm::Value* delta);
  llvm::Value* combine(const syntax::Assignment& assignment, llvm::Value* old, llvm::Value* value);

  // lower_maps.cpp
  MapLowering::Key lower_key(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> indexes);
  llvm::Value* lower_element(const syntax::Index& element);
  llvm::Value* lower_in(const syntax::In& in);
  void lower_delete(const syntax::Delete& statement);
  void delete_slice(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> slice);
  // Copies of the slice's values; null where it has `*`.
  std::vector<llvm::Value*> lower_slice(llvm::ArrayRef<const syntax::Expression*> slice);

  // lower_foreach.cpp
  void lower_foreach(const syntax::Foreach& loop);
  void lower_bucket_loop(const syntax::Foreach& loop);
  void lower_foreach_body(const syntax::Foreach& loop, llvm::Value* element, const Loop& blocks);

  // lower_aggregates.cpp
  llvm::Value* aggregate_of(const syntax::Expression& stats);  // null at run time: empty
  llvm::Value* lower_statistic(const syntax::Statistic& statistic);
  llvm::Value* lower_histogram_index(const syntax::HistogramIndex& index);
  llvm::Value* histogram_string(const syntax::Histogram& histogram, bool with_newline);
  void print_histogram(const syntax::Histogram& histogram);

  // lower_output.cpp
  llvm::Value* lower_print(const syntax::Print& print);
  std::vector<syntax::FormatPart> format_of(const syntax::Print& print);
  llvm::Value* lower_sprintf(const syntax::Print& print);
  // These write from byte `at` of `out` on, and return where the text ends.
  llvm::Value* put_sprintf(const syntax::Print& print, llvm::Value* out, llvm::Value* at);
  llvm::Value* put_formatted(const syntax::Print& print, llvm::Value* out, llvm::Value* at);
  llvm::Value* put_literal(const std::string& text, llvm::Value* out, llvm::Value* at);
  llvm::Value* read_dumps(const syntax::Print& print, const std::vector<syntax::FormatPart>& parts,
                          std::vector<llvm::Value*>& values, std::vector<llvm::Value*>& lengths, std::vector<ValueType>& types);
  llvm::Value* read_dump(llvm::Value* address, llvm::Value* wanted, llvm::Value* length, const syntax::Print& print);

  // lower_call.cpp
  llvm::Value* lower_call(const syntax::Call& call);
  llvm::Value* call_script_function(const syntax::Call& call);
  void try_overloads(const syntax::Call& call, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* call_intrinsic(const syntax::Call& call);
  llvm::Value* call_runtime_function(const syntax::Call& call);
  llvm::Value* clock(const std::string& name);
  llvm::Value* lower_argument(const syntax::Call& call);
  llvm::Value* lower_set_argument(const syntax::Call& call);
  llvm::Value* lower_register(const syntax::Call& call);
  llvm::Value* lower_system(const syntax::Call& call);
  void keep_kernel_stack(const syntax::Call& call);
  void fold_constants(std::vector<syntax::FormatPart>& parts, std::vector<const syntax::Expression*>& arguments);
  llvm::Value* lower_counter(const syntax::Perf& counter);

  // lower_regex.cpp
  llvm::Value* lower_regex(const syntax::Regex& expression);
  llvm::Value* lower_match_question(const syntax::Call& question);
  void prepare_match_memory();
  llvm::Value* match_memory();

  // lower_embedded.cpp
  llvm::Value* lower_embedded(const syntax::Embedded& expression);
  void lower_embedded(const syntax::EmbeddedStatement& statement);
  // Makes the functions by which `code` reads and writes globals.
  void define_accessors(const std::string& code);
  llvm::Value* run_embedded(EmbeddedC::Piece piece, llvm::ArrayRef<llvm::Value*> arguments, llvm::Value* result);

  // lower_variables.cpp. assign_target, increment_target: the value that the expression has
  llvm::Value* lower_operand(const syntax::Expression& node, const location::Operation& op);
  llvm::Value* read_target(const syntax::Expression& node);
  llvm::Value* assign_target(const syntax::Assignment& assignment);
  llvm::Value* increment_target(const syntax::Increment& increment);
  void write_target(const syntax::Expression& target, llvm::Value* value);

  // lower_statement.cpp
  void lower(const syntax::Statement& statement);
  void lower_if(const syntax::If& statement);
  void lower_loop(const syntax::Expression* condition, const syntax::Expression* step, const syntax::Statement& repeated);
  void lower_try(const syntax::Try& statement);
  void lower_return(const syntax::Return& statement);
  void spend_actions(const syntax::Statement& statements, SourceRange range, int64_t more = 0);

  // lower_body.cpp: the life of a body
  void close_frame(llvm::BasicBlock* failed);
  llvm::Value* is_wanted(const sema::Probe& probe);  // i1: what its condition says
  llvm::Value* switch_word(const sema::Probe& probe);
  void set_limits(const sema::Probe& probe);
  void go_on_if(bool wanted_value, const std::function<llvm::Value*()>& emit);
  void leave_if_exiting();
  void lower_locked(const sema::Probe& probe, const std::function<void()>& guards, const std::function<void()>& inside);
  llvm::BasicBlock* begin_own(llvm::BasicBlock* out);
  llvm::BasicBlock* lock_globals(const sema::Probe& probe, llvm::BasicBlock* out);

  Frame frame_;
  ErrorFlow errors_;
  Arithmetic arithmetic_;
  MapLowering maps_;
  AggregateLowering aggregates_;
  TargetAccess target_;
  RegisterAccess registers_;
  std::vector<Loop> loops_;
  llvm::BasicBlock* next_ = nullptr;           // where `return` goes, and `next` of a probe
  llvm::BasicBlock* fall_through_ = nullptr;   // where `next` of a function goes
  llvm::Value* result_ = nullptr;              // of a script function: where the result goes
  llvm::Value* light_entered_ = nullptr;       // variable, in light bodies only: the thread's slot is known
  llvm::BasicBlock* light_refused_ = nullptr;  // where a light body goes that gets no slot
};

// Lowers the bodies of all script functions that code of the unit calls, also through others. REQUIRES: after all handlers.
void lower_functions(Unit& unit);

// Returns whether evaluating an expression can change storage that another operand's value points into.
bool may_write(const syntax::Expression& expression);

}  // namespace spile::codegen
