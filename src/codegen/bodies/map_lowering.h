#pragma once
// Elements of arrays: packed keys, lookup, insertion, removal, iteration. Works on values; Lowering evaluates the expressions of
// keys and slices first.
//
// Arrays with a single number as key have functions of their own in the runtime; other keys are packed into a buffer of the
// frame. A missing element reads as 0 or "", and reading does not make it. Handles come from the Place, so maps of the kernel and
// maps in an arena are lowered alike.

#include <array>
#include <functional>

#include "codegen/bodies/error_flow.h"
#include "codegen/bodies/frame.h"

namespace spile::codegen {

class MapLowering : BodyPart {
 public:
  MapLowering(Body& body, Frame& frame, ErrorFlow& errors) : BodyPart(body), frame_(frame), errors_(errors) {}

  struct Key {
    llvm::Value* single = nullptr;  // the array has one key, a long
    llvm::Value* buffer = nullptr;  // else: packed, and its length in bytes
    llvm::Value* length = nullptr;
    llvm::Value* text = nullptr;            // else: a text of site_texts.h, which is the array's only key
    std::array<llvm::Value*, 2> name = {};  // else: the name of the running thread, which is the array's only key
  };
  // Whether elements are cells of threads (sema::Sharing::kThreadCells): find, insert, set and remove need no key then.
  bool has_cells(const syntax::Global& global) const;
  // Makes the key of an element. values: one for each key of the array, in order. A buffer is a temporary of the frame (frame.h).
  Key pack(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> values);
  // Makes the key execname(), of an array with GlobalLayout::name_size.
  Key pack_name_bytes(const syntax::Global& global);
  // Makes the key of an array with one string as key from a text of Unit::site_tables(). REQUIRES: Place::has_text_keys().
  Key pack_text(llvm::Value* text) { return {.text = text}; }
  // Makes the key execname(), of an array with one string as key. REQUIRES: Place::has_name_keys().
  Key pack_name();

  // Return the address of an element's value, which holds until the array changes. find: null at run time where the
  // element is missing. insert: makes it, zeroed, where it is missing; never null: a script error where the array is full.
  llvm::Value* find(const syntax::Global& global, const Key& key);
  llvm::Value* insert(const syntax::Global& global, const Key& key, SourceRange range);
  // Stores a number, as insert() and a store do; a script error where the array is full.
  void set(const syntax::Global& global, const Key& key, llvm::Value* value, SourceRange range);
  void remove(const syntax::Global& global, const Key& key);
  void clear(const syntax::Global& global);
  // Returns the value at `element`, an address from find() or value_of(): a long, or a string in place; 0 or "" where it is null.
  llvm::Value* load_or_default(llvm::Value* element, ValueType type);

  // The order of visits, in the terms of spile_rt_iterate (runtime/interface.h). column: 0: by value, n: by the n-th key;
  // direction: +1, -1, 0: order of insertion. limit: the number of visits, an i64; 0 or less: none; null: all.
  struct Order {
    uint32_t column = 0;
    int32_t direction = 0;
    uint32_t statistic = 0;
    llvm::Value* limit = nullptr;
  };
  struct Blocks {
    llvm::BasicBlock* on_break;
    llvm::BasicBlock* on_continue;
  };
  // Emits a loop with the code of `visit` for every element whose keys equal those of `wanted` that are not null (empty: any
  // element). The runtime makes a (sorted) snapshot of the array first, in scratch memory (a script error where none is left), so
  // `visit` may change the array. Where `visit` leaves its block open, the next element follows. Blocks: the targets of jumps
  // past the loop, and to the next element.
  void iterate(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> wanted, const Order& order, SourceRange range,
               const std::function<void(llvm::Value* element, const Blocks&)>& visit);
  // Return the keys, and the value (a long, or a string in place), of an element that iterate() visits. Strings are those of the
  // snapshot or element: copy them before the element is removed.
  std::vector<llvm::Value*> keys_of(const syntax::Global& global, llvm::Value* element);
  llvm::Value* value_of(const syntax::Global& global, llvm::Value* element);
  // Notes a loop that was emitted, for kernel_loops.h. exit: of Frame::loop_exit(), made before head. Emits code where `done`
  // stands.
  void note_loop(llvm::BasicBlock* head, llvm::BasicBlock* done, llvm::Value* exit, SourceRange range);
  // Removes such an element. buffer: of MapShape::key_size bytes, to which its key is copied first, as the key goes with the
  // element.
  void remove_visited(const syntax::Global& global, llvm::Value* element, llvm::Value* buffer);

 private:
  llvm::Value* call_cells(const char* function, llvm::Type* result, const syntax::Global& global);
  llvm::Value* handle_of(const syntax::Global& global);  // of the thread's stripe
  void raise_if_full(llvm::Value* full, const syntax::Global& global, SourceRange range);
  void put_keys(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> values, Key& key);
  // Emit the snapshot of iterate(), and its next element: null at run time at the end.
  llvm::Value* snapshot(const syntax::Global& global, const Order& order, llvm::Value* limit, SourceRange range);
  llvm::Value* next_of(const syntax::Global& global, llvm::Value* iteration, const Order& order, SourceRange range);
  llvm::Function* callback(const std::string& name, const char* runtime, std::vector<llvm::Value*> arguments);
  llvm::Value* visited_key(const syntax::Global& global, llvm::Value* element);
  void match(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> wanted, llvm::ArrayRef<llvm::Value*> keys,
             llvm::BasicBlock* otherwise);

  Frame& frame_;
  ErrorFlow& errors_;
};

}  // namespace spile::codegen
