#pragma once
// A table that a verb prints: as text with aligned columns, or as JSON Lines. Texts in cells are a traced process's: control
// characters become octal, as terminals would obey them.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace spile::verbs {

enum class Unit : uint8_t {
  kText,   // std::string; the last column of text takes the room that is left
  kCount,  // int64_t: "268,211"
  kId,     // int64_t: "268211"
  kTime,   // int64_t, ns: "1.23 ms"
  kBytes,  // int64_t: "1.2M"
  kStack,  // std::string of lines: below the row in text, an array in JSON. The last column
  // std::string of lines "COUNT NAME": below the row in text, an array of objects with `function` and `calls` in JSON. The last
  // column
  kCallers,
};
struct Column {
  const char* head;  // above the column; of kStack and kCallers: ""
  const char* json;  // the member's name: times end with _ns
  Unit unit;
};
using Cell = std::variant<int64_t, std::string>;
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // a cell for each column, of its unit's type
};

// Whether a column is of lines below the row.
inline bool is_below(const Column& column) { return column.unit == Unit::kStack || column.unit == Unit::kCallers; }
// The lines of a kCallers cell: how often, and who.
std::vector<std::pair<int64_t, std::string_view>> callers_in(std::string_view cell);

// Returns a line of heads and one for each row, and those of stacks. width: of the terminal, in columns; texts are shortened to
// fit. is_cut: then the last columns are left out where rows are longer.
std::string table_text(const Table& table, size_t width, bool is_cut = false);
// Returns an object for each row, with the member "time" first: a text in UTC, of a moment in ns since 1970; with_ms: to the
// millisecond.
std::string table_json(const Table& table, int64_t time_ns, bool with_ms = false);
// Returns a moment as "19:14:56" of the local time, with_ms as "19:14:56.250"; "?": no calendar has that time.
std::string clock_text(int64_t time_ns, bool with_ms);

// Columns of the terminal that standard output is; 200 where it is not one.
size_t output_width();

}  // namespace spile::verbs
