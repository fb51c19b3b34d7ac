#pragma once
// Makes tables of what a verb's script prints. Its printfs begin with
//
//   row       a row follows: a cell for each column, %d or %s
//   caller    %s %s %d: who has called what the first cell of a row names, and how often; of tables whose last column is
//             kCallers. Several of one name are added up
//   more      %d: rows that the script has left out of this table
//   empty     %s: what is said of a table without rows from now on, instead of Settings::empty
//   done      %d: the table is whole, at a time in ns since 1970
//   begin     the script runs

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "runs/text/presenter.h"
#include "verbs/tables/table.h"

namespace spile::verbs {

class TableRows : public runs::Presenter {
 public:
  struct Settings {
    std::vector<Column> columns;
    size_t sort_by = 1;      // the column by which rows are sorted, the largest first; texts the other way
    size_t most = 20;        // rows that are shown; the others are counted
    bool json = false;       // all rows, as JSON Lines
    bool repeats = false;    // several tables, each headed by the time
    std::string empty = {};  // what is said of a table without rows
    bool with_ms = false;    // times have milliseconds: there are several tables in a second
    std::function<void(std::vector<Cell>&)> complete = {};  // of a row, before it is sorted
    bool merges = false;  // rows whose texts and IDs complete() has made equal are one, with the sums of their numbers
  };
  explicit TableRows(Settings settings) : settings_(std::move(settings)) {}

  void take(std::string_view head, runs::PayloadReader& arguments, std::string& out) override;
  void finish(std::string&) override {}
  std::vector<std::string> losses() const override;

  static constexpr size_t kMostRows = 65536, kMostCallers = 262144;

 protected:
  virtual void begin() {}
  // Prints a table that is whole.
  virtual void show(Table& table, int64_t time_ns, std::string& out);
  const Settings& settings() const { return settings_; }
  // Whether the table is that of the end, which comes in the midst of an interval.
  bool is_last() const { return is_last_; }

 private:
  Settings settings_;
  void add_callers();
  void merge_last();

  std::vector<std::vector<Cell>> rows_;
  std::map<std::string, std::map<std::string, int64_t>> callers_;  // by row, by caller
  size_t pairs_ = 0;                                               // in callers_
  std::unordered_map<std::string, size_t> indexes_;                // of rows, by their texts and IDs: merges
  uint64_t left_out_ = 0, lost_ = 0, lost_callers_ = 0, cut_ = 0;
  bool is_last_ = false, has_shown_ = false;
};

// "0x556e2527159d [/usr/bin/postgres+0x47259d/0x8b8000]" -> "[postgres+0x47259d]": code without a name, whose address alone means
// nothing in another run. Other names stay.
std::string place_in_file(const std::string& name);

// Sorts rows by a column: the largest numbers first, texts from A to Z.
void sort_rows(std::vector<std::vector<Cell>>& rows, size_t column);

}  // namespace spile::verbs
