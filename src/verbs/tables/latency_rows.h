#pragma once
// The output of `spile lat`: a histogram with percentiles at the end, or a line of a heat map for each interval, which shows how
// many calls took how long. Its script prints
//
//   sum N MIN AVG P50 P90 P99 P99.9 MAX     of an interval with calls, in ns
//   bucket INDEX N                          of a logarithmic histogram: runs/text/histogram_text.h
//   last                                    the next interval is that of the end
//   done NS                                 the interval is over, at a time since 1970

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runs/text/presenter.h"

namespace spile::verbs {

class LatencyRows final : public runs::Presenter {
 public:
  struct Settings {
    bool json = false;
    bool heat = false;
    bool with_ms = false;  // times have milliseconds
  };
  explicit LatencyRows(Settings settings);

  void take(std::string_view head, runs::PayloadReader& arguments, std::string& out) override;
  void finish(std::string&) override {}
  std::vector<std::string> losses() const override { return {}; }

 private:
  void show(int64_t time_ns, std::string& out);
  std::string json_text(int64_t time_ns) const;
  std::string histogram() const;
  std::string heat_line(int64_t time_ns);

  Settings settings_;
  bool utf8_;
  std::array<int64_t, 8> sums_{};
  std::vector<uint64_t> buckets_;
  uint64_t lines_ = 0;
  bool is_last_ = false;
};

}  // namespace spile::verbs
