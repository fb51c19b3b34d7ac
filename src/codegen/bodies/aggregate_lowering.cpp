#include "codegen/bodies/aggregate_lowering.h"

#include "abi/record.h"

namespace spile::codegen {

namespace {

const char* name_of(syntax::Statistic::Operator op) {
  using Operator = syntax::Statistic::Operator;
  switch (op) {
    case Operator::kCount: return "@count";
    case Operator::kSum: return "@sum";
    case Operator::kMin: return "@min";
    case Operator::kMax: return "@max";
    case Operator::kAverage: return "@avg";
    case Operator::kVariance: return "@variance";
    case Operator::kPercentile: return "@percentile";
  }
  CHECK(false);
}

}  // namespace

llvm::Value* AggregateLowering::find(const syntax::Global& global) {
  return call("spile_rt_aggregate_get", unit.module.ptr(), {context, unit.place.global(body, global)});
}

llvm::Value* AggregateLowering::storage(const syntax::Global& global, SourceRange range) {
  llvm::Value* handle = unit.place.global(body, global);
  if (unit.place.globals_are_memory()) return handle;
  llvm::Value* aggregate = call("spile_rt_aggregate_get", unit.module.ptr(), {context, handle});
  errors_.raise_if(b.CreateIsNull(aggregate), range, "aggregate '" + global.name + "' can't be found in its kernel map");
  return aggregate;
}

void AggregateLowering::add(const syntax::Global& global, llvm::Value* aggregate, llvm::Value* value) {
  call("spile_rt_aggregate_add", unit.module.none(), {aggregate, unit.aggregate_shape(global), value});
}

void AggregateLowering::clear(const syntax::Global& global, SourceRange range) {
  llvm::Value* aggregate = storage(global, range);
  call("spile_rt_aggregate_clear", unit.module.none(), {aggregate, unit.aggregate_shape(global)});
}

llvm::Value* AggregateLowering::percentile(const syntax::Global& global, llvm::Value* aggregate, llvm::Value* percent,
                                           int64_t scale, SourceRange range) {
  llvm::Value* count = extract(global, aggregate, syntax::Statistic::Operator::kCount, range);
  errors_.raise_if(b.CreateICmpEQ(count, number(0)), range, "empty aggregate near operator '@percentile'");
  errors_.raise_if(b.CreateICmpUGT(percent, number(100 * scale)), range, "@percentile of %d percent: it goes from 0 to 100",
                   {percent});
  return call("spile_rt_aggregate_percentile", b.getInt64Ty(), {aggregate, unit.aggregate_shape(global), percent, number(scale)});
}

llvm::Value* AggregateLowering::extract(const syntax::Global& global, llvm::Value* aggregate, syntax::Statistic::Operator op,
                                        SourceRange range) {
  using Operator = syntax::Statistic::Operator;
  auto field = [&](size_t offset) {
    llvm::Value* is_empty = b.CreateIsNull(aggregate);
    llvm::Value* place = at_offset(aggregate, static_cast<int64_t>(offset));
    return maps_.load_or_default(b.CreateSelect(is_empty, aggregate, place), ValueType::kLong);
  };
  llvm::Value* count = field(offsetof(abi::Aggregate, count));
  if (op == Operator::kCount) return count;
  if (op == Operator::kSum) return field(offsetof(abi::Aggregate, sum));
  errors_.raise_if(b.CreateICmpEQ(count, number(0)), range, std::string("empty aggregate near operator '") + name_of(op) + "'");
  switch (op) {
    case Operator::kMin: return field(offsetof(abi::Aggregate, min));
    case Operator::kMax: return field(offsetof(abi::Aggregate, max));
    case Operator::kAverage: return arithmetic_.divide(false, field(offsetof(abi::Aggregate, sum)), count, range);
    default: return call("spile_rt_aggregate_variance", b.getInt64Ty(), {aggregate, unit.aggregate_shape(global)});
  }
}

uint32_t AggregateLowering::bucket_count(const syntax::Global& global) {
  const abi::AggregateShape& shape = unit.layout_of(global).aggregate;
  uint32_t sketch = shape.features & abi::kAggregateSketch ? abi::kSketchBytes : 0;
  return (shape.size - sketch - static_cast<uint32_t>(sizeof(abi::Aggregate))) / 8;
}

llvm::Value* AggregateLowering::bucket(llvm::Value* aggregate, llvm::Value* index) {
  llvm::Value* place = b.CreateGEP(b.getInt64Ty(), at_offset(aggregate, sizeof(abi::Aggregate)), index);
  return maps_.load_or_default(b.CreateSelect(b.CreateIsNull(aggregate), aggregate, place), ValueType::kLong);
}

void AggregateLowering::require_values(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram) {
  llvm::Value* count = extract(global, aggregate, syntax::Statistic::Operator::kCount, histogram.range);
  errors_.raise_if(
      b.CreateICmpEQ(count, number(0)), histogram.range,
      histogram.is_log ? "empty aggregate near operator '@hist_log'" : "empty aggregate near operator '@hist_linear'");
}

uint32_t AggregateLowering::elision() const { return static_cast<uint32_t>(unit.program.limits.hist_elision); }

void AggregateLowering::write_text(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram,
                                   bool with_newline, llvm::Value* out) {
  llvm::Value* at = call("spile_rt_histogram_text", b.getInt32Ty(),
                         {out, at_offset(aggregate, sizeof(abi::Aggregate)), b.getInt32(bucket_count(global)),
                          b.getInt1(histogram.is_log), number(histogram.low), number(histogram.width), b.getInt32(elision())});
  if (with_newline) at = call("spile_rt_format_literal", b.getInt32Ty(), {out, at, unit.module.text("\n"), b.getInt32(1)});
  call("spile_rt_format_end", unit.module.none(), {out, at});
}

void AggregateLowering::write_record(const syntax::Global& global, llvm::Value* aggregate, const syntax::Histogram& histogram) {
  OutputFormat format{OutputFormat::Kind::kHistogram,
                      {},
                      {},
                      histogram.is_log,
                      histogram.low,
                      histogram.high,
                      histogram.width,
                      {},
                      static_cast<int32_t>(elision()),
                      histogram.has_summary,
                      histogram.unit};
  const uint32_t aggregate_size = static_cast<uint32_t>(sizeof(abi::Aggregate)) + 8 * bucket_count(global);
  uint32_t size = aggregate_size;
  std::vector<llvm::Value*> percentiles;
  for (const SummaryPercent& each : kSummaryPercents) {
    if (histogram.has_summary)
      percentiles.push_back(percentile(global, aggregate, number(each.percent), each.scale, histogram.range));
  }
  size += 8 * static_cast<uint32_t>(percentiles.size());
  unit.note_record(abi::kHistogram);
  llvm::Value* record =
      call("spile_rt_record_begin", unit.module.ptr(),
           {context, b.getInt32(abi::kHistogram), b.getInt32(unit.tables.add_format(format)), b.getInt32(size)});
  llvm::BasicBlock *put = block("histogram.put"), *done = block("histogram.done");
  b.CreateCondBr(b.CreateIsNull(record), done, put);
  b.SetInsertPoint(put);
  llvm::Value* end = call("spile_rt_record_put_bytes", unit.module.ptr(), {record, aggregate, b.getInt32(aggregate_size)});
  for (llvm::Value* each : percentiles) end = call("spile_rt_record_put_long", unit.module.ptr(), {end, each});
  call("spile_rt_record_end", unit.module.none(), {context, record, end});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace spile::codegen
