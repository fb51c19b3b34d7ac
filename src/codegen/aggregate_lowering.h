#pragma once
// Statistics: what is written to aggregates and read from them (abi/aggregate.h). Works on addresses of aggregates, which are
// null at run time for an empty one; Lowering finds them.

#include "codegen/arithmetic.h"
#include "codegen/map_lowering.h"

namespace spile::codegen {

class AggregateLowering : BodyPart {
 public:
  AggregateLowering(Body& body, ErrorFlow& errors, Arithmetic& arithmetic, MapLowering& maps)
      : BodyPart(body), errors_(errors), arithmetic_(arithmetic), maps_(maps) {}

  // The aggregate of a global that is not an array. find: to read, null where it is empty. storage: to write, never null.
  llvm::Value* find(const syntax::Global& global);
  llvm::Value* storage(const syntax::Global& global, SourceRange range);
  void add(const syntax::Global& global, llvm::Value* aggregate, llvm::Value* value);
  void clear(const syntax::Global& global, SourceRange range);

  // @count and the like. Of an empty aggregate @count and @sum are 0, the others script errors.
  llvm::Value* extract(const syntax::Global& global, llvm::Value* aggregate, syntax::Statistic::Operator op, SourceRange range);

  // Histograms. bucket: the count in one; REQUIRES: index < bucket_count().
  uint32_t bucket_count(const syntax::Global& global);
  llvm::Value* bucket(llvm::Value* aggregate, llvm::Value* index);
  // A script error where the aggregate is empty.
  void require_values(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram);
  // Writes the rows as text to `out`, as far as they fit. REQUIRES: require_values().
  void write_text(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram, bool with_newline,
                  llvm::Value* out);
  // Writes a record, which the controller prints. REQUIRES: require_values().
  void write_record(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram);

 private:
  uint32_t elision() const;  // HIST_ELISION

  ErrorFlow& errors_;
  Arithmetic& arithmetic_;
  MapLowering& maps_;
};

}  // namespace spile::codegen
