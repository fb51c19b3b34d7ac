#include "verbs/tables/table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text/number_text.h"
#include "base/text/split.h"
#include "base/text/terminal_text.h"
#include "base/visible_text.h"
#include "verbs/terms/json_lines.h"

namespace spile::verbs {

namespace {

constexpr size_t kWidthElsewhere = 200, kLeastTextWidth = 12;
constexpr std::string_view kGap = "  ", kStackIndent = "      ";

std::string cell_text(const Cell& cell, Unit unit) {
  if (const auto* text = std::get_if<std::string>(&cell)) return one_line(visible_text(*text), 4096);
  const int64_t number = std::get<int64_t>(cell);
  switch (unit) {
    case Unit::kTime: return time_text(number);
    case Unit::kBytes: return short_number(number);
    case Unit::kId: return fmt::format("{}", number);
    default: return number < 0 ? fmt::format("{}", number) : with_commas(static_cast<uint64_t>(number));
  }
}

// As much of a text as fits into a column.
std::string fitted(const std::string& text, size_t width) {
  constexpr std::string_view kCut = "...";
  return columns_of(text) <= width ? text : first_columns(text, width - kCut.size()) + std::string(kCut);
}

std::vector<std::string_view> full_lines_of(std::string_view text) {
  std::vector<std::string_view> lines = lines_of(text);
  std::erase(lines, "");
  return lines;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string blanks(width > columns_of(text) ? width - columns_of(text) : 0, ' ');
  return right ? blanks + text : text + blanks;
}

// A line of cells; the blanks behind the last are left out.
std::string line_of(const std::vector<std::string>& cells, const std::vector<size_t>& widths, std::span<const Column> columns) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i)
    line += fmt::format("{}{}", i == 0 ? "" : kGap, padded(cells[i], widths[i], columns[i].unit != Unit::kText));
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::vector<std::pair<int64_t, std::string_view>> callers_in(std::string_view cell) {
  std::vector<std::pair<int64_t, std::string_view>> callers;
  for (const std::string_view line : full_lines_of(cell)) {
    const size_t blank = std::min(line.find(' '), line.size());
    int64_t count = 0;
    std::from_chars(line.data(), line.data() + blank, count);
    callers.emplace_back(std::max<int64_t>(count, 0), line.substr(std::min(blank + 1, line.size())));
  }
  return callers;
}

std::string table_text(const Table& table, size_t width, bool is_cut) {
  std::span<const Column> columns = table.columns;
  const bool has_stacks = !columns.empty() && is_below(columns.back());
  if (has_stacks) columns = columns.first(columns.size() - 1);
  std::vector<size_t> widths;
  std::vector<std::string> heads;
  for (const Column& column : columns) {
    heads.emplace_back(column.head);
    widths.push_back(heads.back().size());
  }
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<Cell>& row : table.rows) {
    auto& texts = rows.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      texts.push_back(cell_text(row[i], columns[i].unit));
      widths[i] = std::max(widths[i], columns_of(texts.back()));
    }
  }
  // Texts give way to numbers.
  size_t all = 0;
  for (const size_t each : widths) all += each + kGap.size();
  for (size_t i = columns.size(); i-- > 0 && all > width + kGap.size();) {
    if (columns[i].unit != Unit::kText) continue;
    const size_t cut = std::min(all - width - kGap.size(), widths[i] > kLeastTextWidth ? widths[i] - kLeastTextWidth : 0);
    widths[i] -= cut;
    all -= cut;
    for (auto& row : rows) row[i] = fitted(row[i], widths[i]);
  }
  // A number that lacks its end would be another one.
  for (; is_cut && all > width + kGap.size() && columns.size() > 1; columns = columns.first(columns.size() - 1)) {
    all -= widths.back() + kGap.size();
    widths.pop_back();
    heads.pop_back();
    for (auto& row : rows) row.pop_back();
  }
  std::string out = line_of(heads, widths, columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    out += line_of(rows[i], widths, columns);
    if (!has_stacks) continue;
    if (table.columns.back().unit == Unit::kCallers) {
      for (const auto& [count, name] : callers_in(std::get<std::string>(table.rows[i].back())))
        out += fmt::format("{}{:>12}  from {}\n", kStackIndent, with_commas(static_cast<uint64_t>(count)),
                           one_line(name, std::max(width, size_t{60}) - 30));
      continue;
    }
    for (const std::string_view frame : full_lines_of(std::get<std::string>(table.rows[i].back())))
      out += fmt::format("{}{}\n", kStackIndent, one_line(frame, std::max(width, size_t{40}) - kStackIndent.size()));
  }
  return out;
}

std::string clock_text(int64_t time_ns, bool with_ms) {
  const time_t seconds = time_ns / 1'000'000'000;
  tm local{};
  if (!localtime_r(&seconds, &local)) return "?";
  return fmt::format("{:%H:%M:%S}", local) + (with_ms ? fmt::format(".{:03}", time_ns / 1'000'000 % 1000) : "");
}

std::string table_json(const Table& table, int64_t time_ns, bool with_ms) {
  std::string out;
  for (const std::vector<Cell>& row : table.rows) {
    Json object;
    object["time"] = json_time_of(time_ns, with_ms);
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      if (column.unit == Unit::kCallers) {
        Json callers = Json::array();
        for (const auto& [count, name] : callers_in(std::get<std::string>(row[i])))
          callers.push_back({{"function", name}, {"calls", count}});
        object[column.json] = std::move(callers);
      } else if (column.unit == Unit::kStack) {
        object[column.json] = full_lines_of(std::get<std::string>(row[i]));
      } else if (const auto* text = std::get_if<std::string>(&row[i])) {
        object[column.json] = *text;
      } else {
        object[column.json] = std::get<int64_t>(row[i]);
      }
    }
    out += object.dump() + "\n";
  }
  return out;
}

size_t output_width() {
  winsize size{};
  const bool is_terminal = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40;
  return is_terminal ? size.ws_col : kWidthElsewhere;
}

}  // namespace spile::verbs
