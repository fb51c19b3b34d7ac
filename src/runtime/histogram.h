#pragma once
// Writes histograms as SystemTap prints them: a row for each bucket, with a bar of at most 50 '@'. Two empty rows (HIST_ELISION,
// if that is less) frame the data on either side, but none below 0 is added to a logarithmic histogram whose data begins at 0 or
// above. Of a longer stretch of empty buckets only HIST_ELISION rows at each end are shown, and a row with '~' for the rest. The
// underflow and overflow rows of a linear histogram are shown only if they are not empty. The controller's text and sprint() in
// handlers are both made here: freestanding.

#include <stdint.h>

#include "abi/aggregate.h"

namespace spile::rt {

struct HistogramShape {
  bool is_log;         // else linear
  int64_t low, width;  // linear: the first bucket's least value, and how many values a bucket has (above 0); else ignored
  int32_t elision;     // HIST_ELISION, in rows; below 0: no row is left out
};

// Writer has put(char), which may drop what does not fit.
template <typename Writer>
class HistogramWriter {
 public:
  // buckets, count: as abi/aggregate.h lays them out for the shape: kLogBuckets, or 2 + linear_buckets(). Another thread may
  // change them meanwhile: the text is wrong then, but no other harm is done. All three references must outlive the writer.
  HistogramWriter(const HistogramShape& shape, const uint64_t* buckets, uint32_t count, Writer& out)
      : shape_(shape), buckets_(buckets), count_(count), out_(out) {}

  // Writes the head line, the rows and an empty line; nothing if all buckets are empty.
  void write() {
    uint64_t most = 0;
    for (uint32_t i = 0; i < count_; ++i) most = buckets_[i] > most ? buckets_[i] : most;
    if (most == 0) return;
    find_rows();
    uint64_t scale = most / kBarWidth + (most % kBarWidth != 0);
    uint32_t count_width = digits(most, false);
    label_width_ = 5;
    if (label_length(low_) > label_width_) label_width_ = label_length(low_);
    if (label_length(high_) > label_width_) label_width_ = label_length(high_);
    fill(' ', label_width_ - 5);
    put_text("value |");
    fill('-', kBarWidth);
    put_text(" count\n");
    write_rows(scale, count_width);
    out_.put('\n');
  }

 private:
  static constexpr uint32_t kBarWidth = 50;
  static constexpr uint32_t kMargin = 2;
  static constexpr uint32_t kLogZero = abi::kLogBuckets / 2;

  void find_rows() {
    low_ = 0;
    while (low_ + 1 < count_ && buckets_[low_] == 0) ++low_;
    high_ = count_ - 1;
    while (high_ > low_ && buckets_[high_] == 0) --high_;
    for (uint32_t i = 0; i < kMargin; ++i) {
      if (low_ > 0 && !(shape_.is_log && low_ == kLogZero)) --low_;
      if (high_ + 1 < count_) ++high_;
    }
    if (shape_.is_log) return;  // outliers' rows stand only where there are any
    if (low_ == 0 && buckets_[0] == 0) ++low_;
    if (high_ + 1 == count_ && buckets_[count_ - 1] == 0) --high_;
  }

  void write_rows(uint64_t scale, uint32_t count_width) {
    bool elided = false;
    for (uint32_t i = low_; i <= high_; ++i) {
      if (is_left_out(i)) {
        elided = true;
        continue;
      }
      if (elided) {
        fill(' ', label_width_ + 1);
        put_text("~\n");
      }
      elided = false;
      uint64_t value = buckets_[i];
      uint32_t bar = value / scale < kBarWidth ? static_cast<uint32_t>(value / scale) : kBarWidth;
      uint32_t width = digits(value, false);
      fill(' ', label_width_ - label_length(i));
      put_label(i);
      put_text(" |");
      fill('@', bar);
      fill(' ', kBarWidth - bar + 1 + (count_width > width ? count_width - width : 0));
      put_number(value, false);
      out_.put('\n');
    }
  }

  bool is_left_out(uint32_t row) const {
    if (shape_.elision < 0) return false;
    int64_t elision = shape_.elision;
    int64_t begin = row - elision < low_ ? low_ : row - elision;
    int64_t end = row + elision > high_ ? high_ : row + elision;
    for (int64_t i = begin; i <= end; ++i) {
      if (buckets_[i] != 0) return false;
    }
    return true;
  }

  // Returns the number in a row's label: the least value of its bucket. A linear histogram's underflow row has `low`, behind a
  // '<', and its overflow row the least value of the bucket before it, behind a '>'.
  int64_t label_value(uint32_t row) const {
    if (shape_.is_log) {
      if (row == kLogZero) return 0;
      if (row > kLogZero) return static_cast<int64_t>(uint64_t{1} << (row - kLogZero - 1));
      return static_cast<int64_t>(0 - (uint64_t{1} << (kLogZero - row - 1)));  // the lowest is -2^63
    }
    if (row == 0) return shape_.low;
    uint64_t before = row + 1 == count_ ? row - 2 : row - 1;
    return static_cast<int64_t>(static_cast<uint64_t>(shape_.low) + before * static_cast<uint64_t>(shape_.width));
  }
  bool is_outlier(uint32_t row) const { return !shape_.is_log && (row == 0 || row + 1 == count_); }
  uint32_t label_length(uint32_t row) const {
    int64_t value = label_value(row);
    return is_outlier(row) + digits(magnitude(value), value < 0);
  }
  void put_label(uint32_t row) {
    int64_t value = label_value(row);
    if (is_outlier(row)) out_.put(row == 0 ? '<' : '>');
    put_number(magnitude(value), value < 0);
  }

  static uint64_t magnitude(int64_t value) { return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value); }
  static uint32_t digits(uint64_t value, bool negative) {
    uint32_t count = 1;
    for (; value >= 10; value /= 10) ++count;
    return count + negative;
  }
  void put_number(uint64_t value, bool negative) {
    if (negative) out_.put('-');
    uint64_t unit = 1;
    for (uint64_t rest = value; rest >= 10; rest /= 10) unit *= 10;
    for (; unit > 0; unit /= 10) out_.put(static_cast<char>('0' + value / unit % 10));
  }
  void put_text(const char* text) {
    for (; *text; ++text) out_.put(*text);
  }
  void fill(char c, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) out_.put(c);
  }

  const HistogramShape& shape_;
  const uint64_t* buckets_;
  uint32_t count_;
  Writer& out_;
  uint32_t low_ = 0, high_ = 0;  // first and last row shown
  uint32_t label_width_ = 0;
};

}  // namespace spile::rt
