// Expressions about aggregates: @count(s) and the like, buckets of histograms, print(@hist_log(s)).

#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

const syntax::Global& global_of(const syntax::Expression& stats) {
  if (const auto* element = syntax::as<syntax::Index>(stats)) return *element->array->global;
  return *syntax::as<syntax::Variable>(stats)->global;
}

}  // namespace

llvm::Value* Lowering::aggregate_of(const syntax::Expression& stats) {
  const syntax::Global& global = global_of(stats);
  if (const auto* element = syntax::as<syntax::Index>(stats)) {
    std::vector<const syntax::Expression*> indexes;
    for (const auto& index : element->indexes) indexes.push_back(index.get());
    return maps_.find(global, lower_key(global, indexes));
  }
  return aggregates_.find(global);
}

llvm::Value* Lowering::lower_statistic(const syntax::Statistic& statistic) {
  if (statistic.op == syntax::Statistic::Operator::kPercentile) {
    if (!unit.place.globals_are_memory()) {
      unit.refuse(statistic.range, "@percentile is not available in a handler that runs in the kernel before Linux 6.12",
                  "@hist_log is");
      return number(0);
    }
    llvm::Value* percent = lower(*statistic.percent);
    return aggregates_.percentile(global_of(*statistic.stats), aggregate_of(*statistic.stats), percent, statistic.percent_scale,
                                  statistic.range);
  }
  return aggregates_.extract(global_of(*statistic.stats), aggregate_of(*statistic.stats), statistic.op, statistic.range);
}

// The count in a bucket, or whether there is such a bucket (`5 in @hist_log(s)`). An empty aggregate has none.
llvm::Value* Lowering::lower_histogram_index(const syntax::HistogramIndex& index) {
  const syntax::Expression& stats = *index.histogram->stats;
  llvm::Value* number_of_bucket = lower(*index.bucket);
  llvm::Value* aggregate = aggregate_of(stats);
  llvm::Value* buckets = number(aggregates_.bucket_count(global_of(stats)));
  if (index.tests) {
    llvm::Value* values = aggregates_.extract(global_of(stats), aggregate, syntax::Statistic::Operator::kCount, index.range);
    llvm::Value* exists = b.CreateAnd(b.CreateICmpNE(values, number(0)), b.CreateICmpULT(number_of_bucket, buckets));
    return b.CreateZExt(exists, b.getInt64Ty());
  }
  aggregates_.require_values(global_of(stats), aggregate, *index.histogram);
  errors_.raise_if(b.CreateICmpUGE(number_of_bucket, buckets), index.range, "histogram index out of range (%d) near operator '['",
                   {number_of_bucket});
  return aggregates_.bucket(aggregate, number_of_bucket);
}

// sprint(@hist_log(s)): what does not fit into a string is cut off.
llvm::Value* Lowering::histogram_string(const syntax::Histogram& histogram, bool with_newline) {
  if (!unit.place.formats_histograms()) {
    unit.refuse(histogram.range, "sprint of a histogram is not available in a handler that runs in the kernel",
                "print it, or do it in a timer or end probe");
    return unit.module.text("");
  }
  const syntax::Global& global = global_of(*histogram.stats);
  llvm::Value* aggregate = aggregate_of(*histogram.stats);
  aggregates_.require_values(global, aggregate, histogram);
  llvm::Value* out = frame_.temporary_string();
  aggregates_.write_text(global, aggregate, histogram, with_newline, out);
  return out;
}

void Lowering::print_histogram(const syntax::Histogram& histogram) {
  const syntax::Global& global = global_of(*histogram.stats);
  llvm::Value* aggregate = aggregate_of(*histogram.stats);
  aggregates_.require_values(global, aggregate, histogram);
  aggregates_.write_record(global, aggregate, histogram);
}

}  // namespace spile::codegen
