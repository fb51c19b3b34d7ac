#include "verbs/tables/live_table.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdlib>

#include "base/files/file.h"
#include "base/result.h"
#include "base/text/number_text.h"
#include "base/text/terminal_text.h"
#include "verbs/terms/glyphs.h"

namespace spile::verbs {

namespace {

// ECMA-48 and xterm's control sequences.
constexpr std::string_view kOpen = "\x1b[?1049h\x1b[?25l", kClose = "\x1b[?25h\x1b[?1049l", kHome = "\x1b[H",
                           kEndOfLine = "\x1b[K\n", kClearBelow = "\x1b[J";
constexpr std::string_view kReverse = "\x1b[7m", kPlain = "\x1b[0m";
constexpr int kMostFiles = 1000;
constexpr char kEscape = '\x1b', kDelete = '\x7f', kBackspace = '\b';

winsize screen() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {24, 80, 0, 0};
  return size;
}

// Rows of the table that have room: beside the first and the last line, and its heads.
size_t rows_in(const winsize& size) { return size.ws_row > 3 ? size.ws_row - 3u : 0; }

// Of a text in UTF-8, which is not empty.
void remove_last_character(std::string& text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (text.size() > 1 && continues(text.back())) text.pop_back();
  text.pop_back();
}

// What the probes of a call cost on this machine, ns, estimated: twice what its two readings of the clock cost
// (docs/performance.md), and the look-up of a caller.
double cost_of_call(bool counts_callers) {
  constexpr int kTurns = 1000;
  constexpr double kCallerNs = 85;
  timespec begin{}, end{};
  uint64_t sum = 0;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < 2 * kTurns; ++i) sum += __rdtsc();
  asm volatile("" ::"r"(sum));
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double ns = static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 + static_cast<double>(end.tv_nsec - begin.tv_nsec);
  return 2 * ns / kTurns + (counts_callers ? kCallerNs : 0);
}

}  // namespace

LiveTable::LiveTable(Settings settings, Frame frame)
    : TableRows(std::move(settings)),
      frame_(std::move(frame)),
      sort_by_(this->settings().sort_by),
      utf8_(has_utf8()),
      color_(!getenv("NO_COLOR") || !*getenv("NO_COLOR")) {}

LiveTable::~LiveTable() { leave(); }

bool LiveTable::has_terminal() {
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);
  if (foreground < 0 && errno != ENOTTY) return false;
  return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && (foreground < 0 || foreground == getpgrp());
}

void LiveTable::begin() {
  if (is_open_ || has_ended_ || !has_terminal() || tcgetattr(STDIN_FILENO, &before_) != 0) return;
  // In the background later, which would stop this program in the midst of its work.
  signal(SIGTTOU, SIG_IGN);
  signal(SIGTTIN, SIG_IGN);
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VSUSP] = _POSIX_VDISABLE;
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  if (tcsetattr(STDIN_FILENO, TCSANOW, &keys) != 0) return;
  is_open_ = true;
  errors_ = UniqueFd(memfd_create("spile messages", MFD_CLOEXEC));
  own_errors_ = UniqueFd(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  if (errors_ && own_errors_) dup2(errors_.get(), STDERR_FILENO);
  (void)write_all(STDOUT_FILENO, kOpen);
  last_.columns = settings().columns;
  call_ns_ = cost_of_call(frame_.counts_callers);
  draw();
}

void LiveTable::leave() {
  if (!is_open_) return;
  is_open_ = false;
  (void)write_all(STDOUT_FILENO, kClose);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  if (!errors_ || !own_errors_) return;
  dup2(own_errors_.get(), STDERR_FILENO);
  char bytes[4096];
  lseek(errors_.get(), 0, SEEK_SET);
  for (ssize_t got; (got = read(errors_.get(), bytes, sizeof bytes)) > 0;)
    (void)write_all(STDERR_FILENO, {bytes, static_cast<size_t>(got)});
}

void LiveTable::show(Table& table, int64_t time_ns, std::string&) {
  if (!message_.empty() && ++message_age_ > 1) message_.clear();
  if (is_paused_) return;
  // The end comes in the midst of an interval: the last whole one stays, if there is one.
  if (is_last() && !last_.rows.empty()) return;
  last_ = std::move(table);
  last_time_ = time_ns;
  remember();
  draw();
}

void LiveTable::finish(std::string& out) {
  has_ended_ = true;
  leave();
  Table table = chosen(settings().most);
  out += table.rows.empty() ? settings().empty + "\n" : table_text(table, output_width());
}

void LiveTable::remember() {
  ++intervals_;
  std::unordered_map<std::string, int64_t> now;
  for (const auto& row : last_.rows) {
    const auto& name = std::get<std::string>(row[0]);
    now[name] = std::get<int64_t>(row[1]);
    if (past_.size() < kMostKnown) past_.try_emplace(name);
  }
  for (auto& [name, counts] : past_) {
    const auto count = now.find(name);
    counts.push_back(count == now.end() ? 0 : count->second);
    if (counts.size() > kPast) counts.pop_front();
  }
  std::erase_if(past_,
                [](const auto& known) { return std::ranges::all_of(known.second, [](int64_t count) { return count == 0; }); });
}

std::string LiveTable::spark(const std::string& name, size_t length) const {
  const auto known = past_.find(name);
  if (known == past_.end()) return "";
  const std::deque<int64_t>& counts = known->second;
  const size_t shown = std::min(counts.size(), length);
  std::string text(std::min(intervals_, length) - shown, ' ');
  const auto most = static_cast<double>(std::max<int64_t>(std::ranges::max(counts), 1));
  for (size_t i = counts.size() - shown; i < counts.size(); ++i) text += bar_part(static_cast<double>(counts[i]) / most, utf8_);
  return text;
}

std::string LiveTable::head_line(size_t width) const {
  const time_t seconds = last_time_ / 1'000'000'000;
  tm local{};
  localtime_r(&seconds, &local);
  std::string head = last_time_ == 0 ? frame_.title : fmt::format("{}  {:%H:%M:%S}", frame_.title, local);
  head += fmt::format("  by {}{}", settings().columns[sort_by_].head, is_paused_ ? "  paused" : "");
  if (!filter_.empty() || edits_filter_)
    head +=
        fmt::format("  /{}{} ({})", one_line(filter_, 60), edits_filter_ ? "_" : "", with_commas(chosen(SIZE_MAX).rows.size()));
  const std::string keys = fmt::format("q quit s sort / filter p pause w write{}", has_callers() ? " c callers" : "");
  const size_t taken = columns_of(head) + keys.size();
  return taken >= width ? first_columns(head, width) : head + std::string(width - taken, ' ') + keys;
}

std::string LiveTable::foot_line() const {
  if (!message_.empty()) return message_;
  constexpr double kPercent = 100, kSecond = 1e9, kWhole = 10;  // without decimals from here on
  int64_t rate = 0;
  for (const auto& row : last_.rows) rate += std::max<int64_t>(std::get<int64_t>(row[2]), 0);
  const double overhead = static_cast<double>(rate) * call_ns_ / kSecond * kPercent;
  std::string foot = fmt::format("{} · {} {} · {} calls/s · {} lost · overhead ~{:.{}f} %", frame_.subject,
                                 with_commas(frame_.functions), plural(frame_.functions, "function"), short_number(rate),
                                 with_commas(lost_), overhead, overhead < kWhole ? 1 : 0);
  if (utf8_) return foot;
  for (size_t at; (at = foot.find("·")) != std::string::npos;) foot.replace(at, std::string_view("·").size(), "-");
  return foot;
}

Table LiveTable::chosen(size_t most) const {
  Table table{last_.columns, {}};
  for (const auto& row : last_.rows) {
    if (filter_.empty() || std::get<std::string>(row[0]).find(filter_) != std::string::npos) table.rows.push_back(row);
  }
  sort_rows(table.rows, sort_by_);
  table.rows.resize(std::min(table.rows.size(), most));
  return table;
}

void LiveTable::draw() {
  if (!is_open_) return;
  const winsize size = screen();
  const size_t width = size.ws_col, height = size.ws_row;
  const size_t body = height > 2 ? height - 2 : 0;  // lines between the first and the last
  Table table = chosen(rows_in(size));
  const size_t shown = table.rows.size();
  size_t marked = 0;
  for (size_t i = 0; i < shown; ++i) {
    if (std::get<std::string>(table.rows[i][0]) == chosen_) marked = i;
  }
  if (has_callers()) {
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
  std::string frame(kHome);
  if (height > 1) frame += head_line(width) + std::string(kEndOfLine);
  constexpr size_t kMarkWidth = 2;
  const bool marks = has_callers() && !shows_callers_;
  std::string text =
      shows_callers_ ? callers_text(width) : text_with_sparks(table, width > kMarkWidth && marks ? width - kMarkWidth : width);
  size_t lines = 0;
  for (size_t begin = 0; begin < text.size() && lines < body; ++lines) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string mark = !marks ? "" : shown > 0 && lines == marked + 1 ? "> " : "  ";
    const std::string line = first_columns(mark + text.substr(begin, end - begin), width);
    const bool is_head = lines == 0 && color_;
    frame += fmt::format("{}{}{}{}", is_head ? kReverse : "", line, is_head ? kPlain : "", kEndOfLine);
    begin = end + 1;
  }
  for (; lines < body; ++lines) frame += kEndOfLine;
  frame += first_columns(foot_line(), width);
  frame += "\x1b[K";
  frame += kClearBelow;
  (void)write_all(STDOUT_FILENO, frame);
}

// Where all columns don't fit, the sparklines get shorter, and then give way.
std::string LiveTable::text_with_sparks(const Table& table, size_t width) const {
  constexpr size_t kWithLongSparks = 120;
  for (const size_t length : {kPast, size_t{8}, size_t{4}}) {
    if (length == kPast && width < kWithLongSparks) continue;
    Table wider = table;
    wider.columns.insert(wider.columns.begin() + 1, Column{"", "", Unit::kText});
    for (auto& row : wider.rows) row.insert(row.begin() + 1, spark(std::get<std::string>(row[0]), length));
    std::string text = table_text(wider, width, true);
    const bool has_all = std::string_view(text).substr(0, text.find('\n')).ends_with(table.columns.back().head);
    if (has_all) return text;
  }
  return table_text(table, width, true);
}

std::string LiveTable::callers_text(size_t width) const {
  constexpr int64_t kPercent = 100;
  Table table{{{"calls", "", Unit::kCount}, {"%", "", Unit::kCount}, {"caller", "", Unit::kText}}, {}};
  for (const auto& row : chosen(SIZE_MAX).rows) {
    if (std::get<std::string>(row[0]) != chosen_) continue;
    const int64_t all = std::max<int64_t>(std::get<int64_t>(row[1]), 1);
    for (const auto& [count, name] : callers_in(std::get<std::string>(row.back()))) {
      table.rows.push_back({count, static_cast<int64_t>(static_cast<double>(count) / static_cast<double>(all) * kPercent + 0.5),
                            std::string(name)});
    }
  }
  return fmt::format("callers of {} (c: back)\n{}", one_line(chosen_, 200),
                     table.rows.empty() ? "no call in this interval\n" : table_text(table, width));
}

// Moves the choice by so many rows of those that are shown.
void LiveTable::choose(int step) {
  const Table table = chosen(rows_in(screen()));
  if (table.rows.empty()) return;
  int64_t at = 0;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (std::get<std::string>(table.rows[i][0]) == chosen_) at = static_cast<int64_t>(i);
  }
  at = std::clamp<int64_t>(at + step, 0, static_cast<int64_t>(table.rows.size()) - 1);
  chosen_ = std::get<std::string>(table.rows[static_cast<size_t>(at)][0]);
}

int LiveTable::input() const { return is_open_ && has_terminal() ? STDIN_FILENO : -1; }

void LiveTable::take_input() {
  char keys[64];
  const ssize_t got = read(STDIN_FILENO, keys, sizeof keys);
  if (got <= 0) {
    if (got == 0 || (errno != EINTR && errno != EAGAIN && has_terminal())) kill(getpid(), SIGINT);  // the terminal is gone
    return;
  }
  message_.clear();
  message_age_ = 0;
  if (keys[0] == kEscape && got > 1) {
    take_sequence({keys + 1, static_cast<size_t>(got) - 1});
    draw();
    return;
  }
  for (ssize_t i = 0; i < got; ++i) take_key(keys[i]);
  draw();
}

// Of a key that sends several characters: the arrows up and down; others have no meaning here.
void LiveTable::take_sequence(std::string_view sequence) {
  if (edits_filter_ || !has_callers()) return;
  if (sequence == "[A" || sequence == "OA") choose(-1);
  if (sequence == "[B" || sequence == "OB") choose(1);
}

void LiveTable::take_key(char key) {
  if (edits_filter_) {
    if (key == '\n' || key == '\r') edits_filter_ = false;
    else if (key == kEscape) filter_.clear(), edits_filter_ = false;
    else if ((key == kDelete || key == kBackspace) && !filter_.empty()) remove_last_character(filter_);
    else if (static_cast<unsigned char>(key) >= ' ' && key != kDelete) filter_ += key;
    return;
  }
  switch (key) {
    case 'q':
      kill(getpid(), SIGINT);  // ends the session as Ctrl-C does
      break;
    case 's': sort_by_ = (sort_by_ + 1) % (settings().columns.size() - (has_callers() ? 1 : 0)); break;
    case '/': edits_filter_ = true; break;
    case 'p': is_paused_ = !is_paused_; break;
    case 'w': save(); break;
    case 'j':
    case 'k':
      if (has_callers()) choose(key == 'j' ? 1 : -1);
      break;
    case 'c':
      if (!has_callers()) {
        message_ = "callers are counted with --callers";
        break;
      }
      choose(0);
      shows_callers_ = !shows_callers_;
      break;
    default: break;
  }
}

// A file of its own for each table: nothing is overwritten.
void LiveTable::save() {
  for (int i = 1; i <= kMostFiles; ++i) {
    const std::string name = fmt::format("spile-top-{}.txt", i);
    UniqueFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file && errno == EEXIST) continue;
    if (!file) {
      message_ = Error::from_errno("write " + name, errno).message;
      return;
    }
    constexpr size_t kFileWidth = 200;
    (void)write_all(file.get(), table_text(chosen(SIZE_MAX), kFileWidth));
    message_ = "written to " + name;
    return;
  }
  message_ = fmt::format("there are {} files spile-top-N.txt: remove some", kMostFiles);
}

}  // namespace spile::verbs
