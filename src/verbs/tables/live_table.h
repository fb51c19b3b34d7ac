#pragma once
// A table on the whole of a terminal that is drawn anew at each interval, with keys, as top(1) does:
//
//   s  the next column to sort by     /  a filter by the first column     p  pause     w  write the table to a file     q  quit
//   arrows, j, k  choose a row        c  the callers of the chosen row, where the last column has them (kCallers), and back
//
// The first column has a sparkline behind it: its second column, of calls, over the last intervals. The third is calls in a
// second, whose sum is in the last line, with what was lost and an estimate of what the probes cost. From begin() until finish()
// (or destruction) the terminal shows the alternate screen and takes single keys, and what the program writes to standard error
// is kept, to be written then. A terminal's own suspension (Ctrl-Z) is off. NO_COLOR, if it is not empty: without colors.

#include <termios.h>

#include <deque>
#include <string>
#include <unordered_map>

#include "base/unique_fd.h"
#include "verbs/tables/table_rows.h"

namespace spile::verbs {

class LiveTable final : public TableRows {
 public:
  struct Frame {
    std::string title, subject;  // shown above and below: "spile top"; "4711 shop"
    size_t functions = 0;        // that are probed
    bool counts_callers = false;
  };
  LiveTable(Settings settings, Frame frame);
  ~LiveTable() override;

  // Whether standard input and output are a terminal that this program may use now: it is not a job in the background there.
  static bool has_terminal();

  // Leaves the terminal as it was, with the last table below what was there.
  void finish(std::string& out) override;
  int input() const override;
  void take_input() override;
  void note_losses(uint64_t lost) override { lost_ = lost; }

 protected:
  void begin() override;
  void show(Table& table, int64_t time_ns, std::string& out) override;

 private:
  void take_key(char key);
  void take_sequence(std::string_view sequence);
  void choose(int step);
  void draw();
  std::string text_with_sparks(const Table& table, size_t width) const;
  std::string callers_text(size_t width) const;
  bool has_callers() const { return settings().columns.back().unit == Unit::kCallers; }
  void leave();
  // The rows that the filter leaves, sorted, and cut to `most`.
  Table chosen(size_t most) const;
  void remember();
  void save();
  // The last `length` intervals of a row: columns of equal times stand below each other.
  std::string spark(const std::string& name, size_t length) const;
  std::string head_line(size_t width) const;
  std::string foot_line() const;

  static constexpr size_t kPast = 16;          // intervals of a sparkline
  static constexpr size_t kMostKnown = 65536;  // rows that have one

  Frame frame_;
  std::string filter_, message_;
  size_t sort_by_;
  int message_age_ = 0;  // intervals since the key that it answers: it is shown for one
  bool is_open_ = false, is_paused_ = false, shows_callers_ = false, edits_filter_ = false, has_ended_ = false, utf8_, color_;
  termios before_{};
  UniqueFd errors_, own_errors_;  // standard error while the screen is open, and before
  Table last_;
  std::string chosen_;  // the first cell of the chosen row; "": the first row
  int64_t last_time_ = 0;
  uint64_t lost_ = 0;
  double call_ns_ = 0;  // what the probes of a call cost, estimated
  size_t intervals_ = 0;
  std::unordered_map<std::string, std::deque<int64_t>> past_;
};

}  // namespace spile::verbs
