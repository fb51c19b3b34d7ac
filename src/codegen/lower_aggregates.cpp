// What is read from aggregates: @count(s) and the like, buckets of histograms, print(@hist_log(s)).

#include "abi/record.h"
#include "codegen/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

const syntax::Global& global_of(const syntax::Expression& stats) {
  if (const auto* element = syntax::as<syntax::Index>(stats)) return *element->array->global;
  return *syntax::as<syntax::Variable>(stats)->global;
}

const char* name_of(syntax::Statistic::Operator op) {
  using Operator = syntax::Statistic::Operator;
  switch (op) {
    case Operator::kCount: return "@count";
    case Operator::kSum: return "@sum";
    case Operator::kMin: return "@min";
    case Operator::kMax: return "@max";
    case Operator::kAverage: return "@avg";
    case Operator::kVariance: return "@variance";
  }
  CHECK(false);
}

}  // namespace

llvm::Value* Lowering::aggregate_of(const syntax::Expression& stats) {
  const syntax::Global& global = global_of(stats);
  if (const auto* element = syntax::as<syntax::Index>(stats)) {
    std::vector<const syntax::Expression*> indexes;
    for (const auto& index : element->indexes) indexes.push_back(index.get());
    return find_element(global, lower_key(global, indexes));
  }
  return call("spile_rt_aggregate_get", unit.module.ptr(), {context, unit.place.global(body, global)});
}

// Where an aggregate is written: never null.
llvm::Value* Lowering::aggregate_storage(const syntax::Global& global, SourceRange range) {
  llvm::Value* handle = unit.place.global(body, global);
  if (unit.place.globals_are_memory()) return handle;
  llvm::Value* aggregate = call("spile_rt_aggregate_get", unit.module.ptr(), {context, handle});
  errors_.raise_if(b.CreateIsNull(aggregate), range, "aggregate '" + global.name + "' can't be found in its kernel map");
  return aggregate;
}

llvm::Value* Lowering::lower_statistic(const syntax::Statistic& statistic) {
  return extract(aggregate_of(*statistic.stats), global_of(*statistic.stats), statistic.op, statistic.range);
}

// Of an empty aggregate @count and @sum are 0, the others errors.
llvm::Value* Lowering::extract(llvm::Value* aggregate, const syntax::Global& global, syntax::Statistic::Operator op,
                               SourceRange range) {
  using Operator = syntax::Statistic::Operator;
  auto field = [&](size_t offset) { return load_or_default(b.CreateSelect(b.CreateIsNull(aggregate), aggregate,
                                                                          at_offset(aggregate, static_cast<int64_t>(offset))),
                                                           ValueType::kLong); };
  llvm::Value* count = field(offsetof(abi::Aggregate, count));
  if (op == Operator::kCount) return count;
  if (op == Operator::kSum) return field(offsetof(abi::Aggregate, sum));
  errors_.raise_if(b.CreateICmpEQ(count, number(0)), range, std::string("empty aggregate near operator '") + name_of(op) + "'");
  switch (op) {
    case Operator::kMin: return field(offsetof(abi::Aggregate, min));
    case Operator::kMax: return field(offsetof(abi::Aggregate, max));
    case Operator::kAverage: return divide(false, field(offsetof(abi::Aggregate, sum)), count, range);
    default: return call("spile_rt_aggregate_variance", b.getInt64Ty(), {aggregate, unit.aggregate_shape(global)});
  }
}

uint32_t Lowering::bucket_count(const syntax::Global& global) {
  const abi::AggregateShape& shape = unit.layout_of(global).aggregate;
  return (shape.size - static_cast<uint32_t>(sizeof(abi::Aggregate))) / 8;
}

// The count in a bucket whose number is in range; 0 where there is no aggregate.
llvm::Value* Lowering::bucket(llvm::Value* aggregate, llvm::Value* index) {
  llvm::Value* place = b.CreateGEP(b.getInt64Ty(), at_offset(aggregate, sizeof(abi::Aggregate)), index);
  return load_or_default(b.CreateSelect(b.CreateIsNull(aggregate), aggregate, place), ValueType::kLong);
}

// The count in a bucket, or whether there is such a bucket (`5 in @hist_log(s)`). An empty aggregate has none.
llvm::Value* Lowering::lower_histogram_index(const syntax::HistogramIndex& index) {
  const syntax::Expression& stats = *index.histogram->stats;
  llvm::Value* number_of_bucket = lower(*index.bucket);
  llvm::Value* aggregate = aggregate_of(stats);
  llvm::Value* buckets = number(bucket_count(global_of(stats)));
  if (index.tests) {
    llvm::Value* values = extract(aggregate, global_of(stats), syntax::Statistic::Operator::kCount, index.range);
    llvm::Value* exists = b.CreateAnd(b.CreateICmpNE(values, number(0)), b.CreateICmpULT(number_of_bucket, buckets));
    return b.CreateZExt(exists, b.getInt64Ty());
  }
  require_values(*index.histogram, aggregate);
  errors_.raise_if(b.CreateICmpUGE(number_of_bucket, buckets), index.range, "histogram index out of range (%d) near operator '['",
           {number_of_bucket});
  return bucket(aggregate, number_of_bucket);
}

void Lowering::require_values(const syntax::Histogram& histogram, llvm::Value* aggregate) {
  llvm::Value* count = extract(aggregate, global_of(*histogram.stats), syntax::Statistic::Operator::kCount, histogram.range);
  errors_.raise_if(b.CreateICmpEQ(count, number(0)), histogram.range,
           histogram.is_log ? "empty aggregate near operator '@hist_log'" : "empty aggregate near operator '@hist_linear'");
}

// sprint(@hist_log(s)): what does not fit into a string is cut off.
llvm::Value* Lowering::histogram_string(const syntax::Histogram& histogram, bool with_newline) {
  if (!unit.place.formats_histograms()) {
    unit.refuse(histogram.range, "sprint of a histogram is not available in a handler that runs in the kernel", "print it, or do it in a timer or end probe");
    return unit.module.text("");
  }
  llvm::Value* aggregate = aggregate_of(*histogram.stats);
  require_values(histogram, aggregate);
  llvm::Value* out = frame_.temporary_string();
  llvm::Value* at = call("spile_rt_histogram_text", b.getInt32Ty(),
                         {out, at_offset(aggregate, sizeof(abi::Aggregate)), b.getInt32(bucket_count(global_of(*histogram.stats))),
                          b.getInt1(histogram.is_log), number(histogram.low), number(histogram.width), b.getInt32(elision())});
  if (with_newline) at = call("spile_rt_format_literal", b.getInt32Ty(), {out, at, unit.module.text("\n"), b.getInt32(1)});
  call("spile_rt_format_end", unit.module.none(), {out, at});
  return out;
}

uint32_t Lowering::elision() const { return static_cast<uint32_t>(unit.program.limits.hist_elision); }

void Lowering::print_histogram(const syntax::Histogram& histogram) {
  const syntax::Global& global = global_of(*histogram.stats);
  OutputFormat format{OutputFormat::Kind::kHistogram, {}, {}, histogram.is_log, histogram.low, histogram.high,
                      histogram.width, {}, static_cast<int32_t>(elision())};
  llvm::Value* aggregate = aggregate_of(*histogram.stats);
  require_values(histogram, aggregate);
  uint32_t size = unit.layout_of(global).aggregate.size;
  unit.note_record(abi::kHistogram);
  llvm::Value* record =
      call("spile_rt_record_begin", unit.module.ptr(),
           {context, b.getInt32(abi::kHistogram), b.getInt32(unit.tables.add_format(format)), b.getInt32(size)});
  llvm::BasicBlock *put = block("histogram.put"), *done = block("histogram.done");
  b.CreateCondBr(b.CreateIsNull(record), done, put);
  b.SetInsertPoint(put);
  llvm::Value* end =
      call("spile_rt_record_put_bytes", unit.module.ptr(), {record, aggregate, b.getInt32(size)});
  call("spile_rt_record_end", unit.module.none(), {context, record, end});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace spile::codegen
