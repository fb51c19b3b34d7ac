#include "verbs/table_rows.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"

namespace spile::verbs {

void sort_rows(std::vector<std::vector<Cell>>& rows, size_t column) {
  std::ranges::stable_sort(rows, [column](const auto& a, const auto& b) {
    if (std::holds_alternative<int64_t>(a[column])) return std::get<int64_t>(a[column]) > std::get<int64_t>(b[column]);
    return std::get<std::string>(a[column]) < std::get<std::string>(b[column]);
  });
}

void TableRows::take(std::string_view head, session::PayloadReader& arguments, std::string& out) {
  if (head == "begin\n") return begin();
  if (head == "more ") {
    left_out_ += static_cast<uint64_t>(std::max<int64_t>(arguments.next_long(), 0));
    return;
  }
  if (head == "row ") {
    if (rows_.size() >= kMostRows) {
      ++lost_;
      return;
    }
    std::vector<Cell>& row = rows_.emplace_back();
    for (const Column& column : settings_.columns) {
      if (column.unit == Unit::kCallers) {
        row.emplace_back(std::string());  // they follow
        continue;
      }
      if (column.unit == Unit::kText || column.unit == Unit::kStack) row.emplace_back(std::string(arguments.next_string()));
      else row.emplace_back(arguments.next_long());
    }
    if (settings_.complete) settings_.complete(row);
    return;
  }
  if (head == "caller ") {
    std::map<std::string, int64_t>& callers = callers_[std::string(arguments.next_string())];
    std::string name(arguments.next_string());
    std::ranges::replace(name, '\n', ' ');
    if (!callers.contains(name) && ++pairs_ > kMostCallers) return void(++lost_callers_);
    callers[name] += std::max<int64_t>(arguments.next_long(), 0);
    return;
  }
  if (head != "done ") return;
  add_callers();
  Table table{settings_.columns, std::exchange(rows_, {})};
  sort_rows(table.rows, settings_.sort_by);
  show(table, arguments.next_long(), out);
  left_out_ = 0;
}

// Gives rows their callers, the most frequent first.
void TableRows::add_callers() {
  if (settings_.columns.back().unit == Unit::kCallers) {
    for (std::vector<Cell>& row : rows_) {
      const auto found = callers_.find(std::get<std::string>(row.front()));
      if (found == callers_.end()) continue;
      std::vector<std::pair<int64_t, std::string>> sorted;
      for (const auto& [name, count] : found->second) sorted.emplace_back(-count, name);
      std::ranges::sort(sorted);
      auto& cell = std::get<std::string>(row.back());
      for (const auto& [count, name] : sorted) cell += fmt::format("{} {}\n", -count, name);
    }
  }
  callers_.clear();
  pairs_ = 0;
}

void TableRows::show(Table& table, int64_t time_ns, std::string& out) {
  if (settings_.json) {
    out += table_json(table, time_ns);
    return;
  }
  if (settings_.repeats) {
    const time_t seconds = time_ns / 1'000'000'000;
    tm local{};
    if (localtime_r(&seconds, &local)) out += fmt::format("{:%H:%M:%S}\n", local);
  }
  const uint64_t all = table.rows.size() + left_out_;
  if (all == 0) {
    out += settings_.empty + "\n";
    return;
  }
  table.rows.resize(std::min(table.rows.size(), settings_.most));
  out += table_text(table, output_width());
  if (all > table.rows.size()) out += fmt::format("... and {} more (--limit)\n", with_commas(all - table.rows.size()));
  if (settings_.repeats) out += "\n";
}

std::string TableRows::losses() const {
  std::string text;
  if (lost_ > 0) text += fmt::format("WARNING: {} rows of the table are not shown: there are too many\n", lost_);
  if (lost_callers_ > 0) text += fmt::format("WARNING: {} callers in the table are not shown: there are too many\n", lost_callers_);
  return text;
}

}  // namespace spile::verbs
