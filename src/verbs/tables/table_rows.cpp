#include "verbs/tables/table_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/number_text.h"
#include "base/visible_text.h"

namespace spile::verbs {

void sort_rows(std::vector<std::vector<Cell>>& rows, size_t column) {
  std::ranges::stable_sort(rows, [column](const auto& a, const auto& b) {
    if (std::holds_alternative<int64_t>(a[column])) return std::get<int64_t>(a[column]) > std::get<int64_t>(b[column]);
    return std::get<std::string>(a[column]) < std::get<std::string>(b[column]);
  });
}

std::string place_in_file(const std::string& name) {
  const size_t begin = name.find(" [/"), size = name.rfind('/');
  if (!name.starts_with("0x") || begin == std::string::npos || size == begin + 2) return name;
  const size_t file = name.rfind('/', size - 1);
  return file == std::string::npos ? name : fmt::format("[{}]", name.substr(file + 1, size - file - 1));
}

void TableRows::take(std::string_view head, runs::PayloadReader& arguments, std::string& out) {
  if (head == "begin\n") return begin();
  if (head == "last\n") return void(is_last_ = true);
  if (head == "empty ") return void(settings_.empty = arguments.next_string());
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
      if (column.unit == Unit::kStack) {
        const std::string_view stack = arguments.next_string();
        // Each line has an end, unless the string was too short for it (MAXSTRINGLEN).
        if (!stack.empty() && !stack.ends_with('\n')) ++cut_;
        row.emplace_back(std::string(stack));
      } else if (column.unit == Unit::kText) row.emplace_back(std::string(arguments.next_string()));
      else row.emplace_back(arguments.next_long());
    }
    if (settings_.complete) settings_.complete(row);
    if (settings_.merges) merge_last();
    return;
  }
  if (head == "caller ") {
    std::map<std::string, int64_t>& callers = callers_[std::string(arguments.next_string())];
    const std::string name = visible_text(place_in_file(std::string(arguments.next_string())));
    if (!callers.contains(name) && ++pairs_ > kMostCallers) return void(++lost_callers_);
    callers[name] += std::max<int64_t>(arguments.next_long(), 0);
    return;
  }
  if (head != "done ") return;
  add_callers();
  Table table{settings_.columns, std::exchange(rows_, {})};
  indexes_.clear();
  sort_rows(table.rows, settings_.sort_by);
  show(table, arguments.next_long(), out);
  left_out_ = 0;
}

// Adds the last row to an earlier one with the same texts and IDs, if there is one.
void TableRows::merge_last() {
  const std::vector<Cell>& last = rows_.back();
  std::string key;
  const auto is_key = [&](size_t column) {
    return std::holds_alternative<std::string>(last[column]) || settings_.columns[column].unit == Unit::kId;
  };
  for (size_t i = 0; i < last.size(); ++i) {
    if (is_key(i))
      key += std::holds_alternative<std::string>(last[i]) ? std::get<std::string>(last[i]) + '\0'
                                                          : fmt::format("{}\n", std::get<int64_t>(last[i]));
  }
  const auto [known, is_first] = indexes_.try_emplace(std::move(key), rows_.size() - 1);
  if (is_first) return;
  std::vector<Cell>& first = rows_[known->second];
  for (size_t i = 0; i < last.size(); ++i) {
    if (!is_key(i))
      std::get<int64_t>(first[i]) = static_cast<int64_t>(static_cast<uint64_t>(std::get<int64_t>(first[i])) +
                                                         static_cast<uint64_t>(std::get<int64_t>(last[i])));
  }
  rows_.pop_back();
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
    out += table_json(table, time_ns, settings_.with_ms);
    return;
  }
  const uint64_t all = table.rows.size() + left_out_;
  if (all == 0 && is_last_ && has_shown_) return;  // the end came right behind a table
  has_shown_ = true;
  if (settings_.repeats) out += clock_text(time_ns, settings_.with_ms) + "\n";
  if (all == 0) {
    out += settings_.empty + "\n";
    return;
  }
  table.rows.resize(std::min(table.rows.size(), settings_.most));
  out += table_text(table, output_width());
  if (all > table.rows.size()) out += fmt::format("... and {} more (--limit)\n", with_commas(all - table.rows.size()));
  if (settings_.repeats) out += "\n";
}

std::vector<std::string> TableRows::losses() const {
  std::vector<std::string> warnings;
  if (lost_ > 0) warnings.push_back(fmt::format("{} rows of the table are not shown: there are too many", lost_));
  if (lost_callers_ > 0)
    warnings.push_back(fmt::format("{} callers in the table are not shown: there are too many", lost_callers_));
  if (cut_ > 0)
    warnings.push_back(fmt::format("the outer callers of {} stacks are not shown: they are longer than MAXSTRINGLEN", cut_));
  return warnings;
}

}  // namespace spile::verbs
