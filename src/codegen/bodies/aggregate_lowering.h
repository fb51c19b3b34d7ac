#pragma once
// Statistics: what is written to aggregates and read from them (abi/aggregate.h). Works on addresses of aggregates, which are
// null at run time for an empty one; Lowering finds them.

#include "codegen/bodies/arithmetic.h"
#include "codegen/bodies/map_lowering.h"

namespace spile::codegen {

class AggregateLowering : BodyPart {
 public:
  AggregateLowering(Body& body, ErrorFlow& errors, Arithmetic& arithmetic, MapLowering& maps)
      : BodyPart(body), errors_(errors), arithmetic_(arithmetic), maps_(maps) {}

  // Return the aggregate of a global that is not an array. find: to read; may be null at run time. storage: to write; never null.
  llvm::Value* find(const syntax::Global& global);
  llvm::Value* storage(const syntax::Global& global, SourceRange range);
  // Adds `value`, an i64. REQUIRES: `aggregate` is not null: from storage(), or of an element that was inserted.
  void add(const syntax::Global& global, llvm::Value* aggregate, llvm::Value* value);
  void clear(const syntax::Global& global, SourceRange range);

  // Returns @count and the like, an i64. Of an empty aggregate @count and @sum are 0, the others script errors.
  llvm::Value* extract(const syntax::Global& global, llvm::Value* aggregate, syntax::Statistic::Operator op, SourceRange range);

  // Returns @percentile: what percent / scale percent of the values do not exceed. percent: an i64, of which a script error is
  // raised where it is not within 0 and 100 * scale; scale: 1 to 1000. Of an empty aggregate a script error.
  llvm::Value* percentile(const syntax::Global& global, llvm::Value* aggregate, llvm::Value* percent, int64_t scale,
                          SourceRange range);

  // Histograms. bucket_count: of a linear one with underflow (index 0) and overflow (the last one). bucket: the number of values
  // in one, 0 for a null aggregate; index: an i64; REQUIRES: 0 <= index < bucket_count().
  uint32_t bucket_count(const syntax::Global& global);
  llvm::Value* bucket(llvm::Value* aggregate, llvm::Value* index);
  // Raises a script error where the aggregate is null or empty.
  void require_values(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram);
  // Writes the rows as text to `out`, a string's memory, as far as they fit. REQUIRES: require_values().
  void write_text(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram, bool with_newline,
                  llvm::Value* out);
  // Writes a record, which the controller prints; one that does not fit into the ring is lost and counted. REQUIRES:
  // require_values().
  void write_record(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram);

 private:
  uint32_t elision() const;  // HIST_ELISION

  ErrorFlow& errors_;
  Arithmetic& arithmetic_;
  MapLowering& maps_;
};

}  // namespace spile::codegen
