#include "verbs/tracing/report.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/messages.h"
#include "base/print.h"
#include "runs/run/otlp_message.h"
#include "runs/run/run_events.h"
#include "runs/run/run_page.h"
#include "runs/run/run_reader.h"
#include "runs/run/run_text.h"
#include "runs/run/run_timeline.h"
#include "runs/send/otlp_sender.h"
#include "runs/stacks/sample_files.h"
#include "runs/text/output_file.h"
#include "runs/timeline/perfetto_file.h"
#include "verbs/calls/recorded_calls.h"
#include "verbs/terms/option_values.h"
#include "verbs/terms/output_form.h"

namespace spile::verbs {

namespace {

constexpr std::string_view kDocuments[] = {".spile-run"}, kCsv[] = {".csv"}, kFolded[] = {".folded"};
constexpr int64_t kShortestTick = 10'000'000, kLongestTick = int64_t{86'400} * 1'000'000'000;

// Writes texts to a file as they come.
class TextFile {
 public:
  // path: "": standard output.
  static Result<TextFile> open(const std::string& path) {
    TextFile made;
    if (path.empty()) return made;
    made.path_ = path;
    made.file_.reset(::fopen(path.c_str(), "we"));
    if (!made.file_) return Error::from_errno("open output file " + path, errno);
    return made;
  }
  runs::TakeText taker() {
    return [this](std::string_view text) {
      if (file_) ::fwrite(text.data(), 1, text.size(), file_.get());
      else print_text(stdout, text);
    };
  }
  // Standard output is flushed, and its failure printed, at the end of the program (base/print.h).
  Result<void> close() {
    if (file_ && (::fflush(file_.get()) != 0 || ::ferror(file_.get()))) return Error::from_errno("write " + path_, errno);
    return {};
  }

 private:
  struct Close {
    void operator()(FILE* file) const { ::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<FILE, Close> file_;
};

Result<void> write(const std::string& path, const std::string& text) {
  TRY(TextFile file, TextFile::open(path));
  file.taker()(text);
  return file.close();
}

// Of runs with samples these, as `spile flame` writes them.
std::string perfetto_of(const std::vector<runs::RunDocument>& runs) {
  const runs::Samples samples = runs::samples_of(runs);
  if (!samples.samples().empty()) return runs::perfetto_samples(samples, {});
  const runs::RunFacts& facts = runs.front().facts;
  return runs::perfetto_trace(
      runs::timeline_of(runs),
      {"spile record " + (facts.script_name.starts_with("spile ") ? facts.script_name.substr(6) : facts.script_name),
       facts.script, facts.host},
      {});
}

// Sends each tick of each run, in order, and its calls, if it has such. Returns the exit status.
Result<int> send(const std::vector<runs::RunDocument>& runs, const std::string& where) {
  constexpr size_t kMostAhead = 100;
  int64_t patience_ms = 30'000;
  TRY(const std::unique_ptr<runs::OtlpSender> sender, runs::OtlpSender::create(where));
  for (const runs::RunDocument& run : runs) {
    for (const runs::RunTick& tick : run.ticks) {
      sender->send(runs::otlp_metrics(run.facts, run.probes, run.globals, tick));
      if (!sender->await_fewer(kMostAhead, patience_ms)) patience_ms = 0;  // the rest is given up, and counted
    }
  }
  if (!sender->await_fewer(0, patience_ms)) patience_ms = 0;
  sender->finish(0);
  std::vector<std::string> losses = sender->losses();
  for (const runs::RunDocument& run : runs) {
    if (!has_calls(run)) continue;
    TRY(const std::vector<std::string> of_calls, send_calls(run, where, patience_ms));
    losses.insert(losses.end(), of_calls.begin(), of_calls.end());
  }
  for (const std::string& loss : losses) warn(loss);
  return losses.empty() ? 0 : 1;
}

// What excludes that a run is recorded as one document; null: nothing.
const char* other_output(const session::Options& options) {
  return options.output.bulk               ? "-b"
         : options.output.flight_recorder  ? "-F"
         : options.output.rotate_bytes > 0 ? "-S"
         : options.verb.json               ? "--json"
                                           : nullptr;
}

void record_into(session::Options& options, std::string file) {
  options.output.record.file = std::move(file);
  options.output.file.clear();
  options.program.is_recorded = true;
  options.program.display_globals = false;  // the document has them
}

std::string path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

Result<void> take_record(session::Options& options, std::vector<std::pair<std::string, std::string>>& of_verbs) {
  session::RecordOptions& record = options.output.record;
  for (auto option = of_verbs.begin(); option != of_verbs.end(); ++option) {
    if (option->first != "every" || record.stream) continue;  // a stream has numbers when its reader asks: --every is the verb's
    TRY(record.every_ns, parse_time("--every", option->second));
    if (record.every_ns < kShortestTick || record.every_ns > kLongestTick)
      return Error{fmt::format("--every {}: out of range", option->second), "from 10ms to 86400s"};
    of_verbs.erase(option);
    break;
  }
  if (record.stream && !options.output.file.empty()) return Error{"record has one output: -o or --stream", {}};
  if (options.output.file.empty() && !record.stream)
    return Error{"record needs the name of the file to write", "spile record SCRIPT -x PID -o FILE.spile-run"};
  const char* other = other_output(options);
  if (other)
    return Error{fmt::format("record can't be used with {}: its output is one document", other),
                 options.verb.json ? "spile report FILE --json shows it as JSON" : ""};
  TRY_DO(check_output_form({.verb = "record", .files = kDocuments, .otherwise = "a document"}, options.output.file));
  record_into(options, std::move(options.output.file));
  return {};
}

Result<RunPage> RunPage::begin(session::Options& options, const std::string& verb) {
  if (const char* other = other_output(options))
    return Error{fmt::format("-o {}: the page of spile {} can't be used with {}", options.output.file, verb, other), {}};
  RunPage page;
  page.file_ = runs::expand_path(options.output.file);
  page.is_new_ = ::access(page.file_.c_str(), F_OK) != 0;
  // A file that can't be written is an error now rather than when all has run.
  if (!UniqueFd(::open(page.file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666)))
    return Error::from_errno("open output file " + page.file_, errno);
  // Disks have more room than memory, but not every file system can make files without a name.
  const size_t slash = page.file_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : page.file_.substr(0, slash + 1);
  page.record_.reset(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (!page.record_) page.record_.reset(::memfd_create("spile-run", MFD_CLOEXEC));
  if (!page.record_) return Error::from_errno("create a file for the run", errno);
  record_into(options, path_of(page.record_.get()));
  return page;
}

int RunPage::finish(int status) {
  struct stat facts{};
  if (::fstat(record_.get(), &facts) == 0 && facts.st_size == 0) {
    if (is_new_ && status != 0) ::unlink(file_.c_str());
    return status;
  }
  const auto write_page = [&]() -> Result<void> {
    std::vector<runs::RunDocument> runs;
    TRY(runs::RunDocument run, runs::read_run(path_of(record_.get())));
    runs.push_back(std::move(run));
    return write(file_, runs::run_page(runs));
  };
  const Result<void> written = write_page();
  return written.ok() ? status : refuse(written.error());
}

const VerbOption kRecordOptions[1] = {
    {"every", "TIME", "record: what globals and probes have is recorded so often (1s)"},
};

Result<int> answer_report(const std::vector<std::string>& words, const session::Options& options) {
  if (words.empty()) return Error{"report needs files that spile record has written", "spile report a.spile-run"};
  const session::VerbOptions& verb = options.verb;
  if (verb.json + verb.csv + verb.folded > 1) return Error{"report prints one form: --json, --csv or --folded", {}};
  const std::span<const std::string_view> files = verb.csv ? kCsv : verb.folded ? kFolded : std::span<const std::string_view>{};
  TRY_DO(check_output_form({.verb = "report", .files = files, .json = verb.json}, options.output.file));
  std::vector<runs::RunDocument> runs;
  for (const std::string& word : words) {
    TRY(runs::RunDocument run, runs::read_run(word));
    // A copy of a document has its host and its begin to the nanosecond.
    const auto same = std::ranges::find_if(runs, [&](const runs::RunDocument& other) {
      return run.facts.begun_ns != 0 && other.facts.host == run.facts.host && other.facts.begun_ns == run.facts.begun_ns;
    });
    if (same != runs.end())
      return Error{fmt::format("{} is the same document as {}: its numbers would be added twice", word,
                               words[static_cast<size_t>(same - runs.begin())]),
                   "leave one of them out"};
    runs.push_back(std::move(run));
  }
  if (!verb.html.empty()) TRY_DO(write(verb.html, runs::run_page(runs)));
  if (!verb.perfetto.empty()) TRY_DO(write(verb.perfetto, perfetto_of(runs)));
  const std::string& collector = options.output.otlp;
  int status = 0;
  if (!collector.empty()) {
    TRY(status, send(runs, collector));
  }
  const bool prints = verb.json || verb.csv || verb.folded;
  if (!prints && !(verb.html.empty() && verb.perfetto.empty() && collector.empty())) return status;
  TRY(TextFile out, TextFile::open(options.output.file));
  if (verb.json) {
    runs::write_run_json(runs, out.taker());
  } else if (verb.csv) {
    runs::write_run_csv(runs, out.taker());
  } else if (verb.folded) {
    const runs::Samples samples = runs::samples_of(runs);
    if (samples.samples().empty())
      return Error{fmt::format("{} has no samples", words.front()), "spile record flame -x PID -T 10 -o FILE records them"};
    out.taker()(runs::folded_stacks(samples));
  } else {
    runs::write_run_text(runs, out.taker());
  }
  TRY_DO(out.close());
  return status;
}

}  // namespace spile::verbs
