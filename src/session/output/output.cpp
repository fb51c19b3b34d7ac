#include "session/output/output.h"

#include <errno.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>

#include "abi/time_counter.h"
#include "base/clock.h"
#include "base/messages.h"
#include "base/print.h"
#include "runs/text/error_hints.h"
#include "runs/text/printf_text.h"
#include "session/serve/session_status.h"

namespace spile::session {

namespace {

constexpr uint64_t kMostPid = (uint64_t{1} << 22) - 1;  // the kernel's PID_MAX_LIMIT

// Whether a record goes to a stream with -b; the controller handles others at once.
bool prints(const abi::RecordHeader& header) {
  return header.kind == abi::kPrintf || header.kind == abi::kHistogram || header.kind == abi::kText;
}

bool has_addresses(const abi::RecordHeader& header) {
  return header.kind == abi::kBacktrace || header.kind == abi::kSymbols || header.kind == abi::kUserStack ||
         header.kind == abi::kKernelBacktrace || header.kind == abi::kKernelSymbols;
}

// Of a kKernelBacktrace or kKernelSymbols record, where no kernel is probed.
std::string plain_addresses(const abi::RecordHeader& header, runs::PayloadReader& payload) {
  if (header.kind == abi::kKernelBacktrace) return "<no kernel backtrace>\n";
  std::string text;
  for (uint64_t address : runs::addresses_in(payload.next_string(), abi::kMostFrames)) text += fmt::format(" {:#x}\n", address);
  return text;
}

// place: "a.stp:3:5", or "".
Message handler_error(const std::string& text, std::string_view excerpt, std::string_view place, std::string_view hint) {
  Message message(MessageKind::kHandlerError, text);
  message.excerpt = excerpt;
  message.hint = hint;
  const size_t second = place.rfind(':');
  const size_t first = second == std::string_view::npos || second == 0 ? second : place.rfind(':', second - 1);
  if (first == std::string_view::npos) return message;
  message.file = place.substr(0, first);
  std::from_chars(place.data() + first + 1, place.data() + second, message.line);
  std::from_chars(place.data() + second + 1, place.data() + place.size(), message.column);
  message.end_line = message.line;
  // The carets of the excerpt are as long as the place.
  message.end_column =
      message.column + 1 + static_cast<uint32_t>(excerpt.size() - std::min(excerpt.size(), excerpt.rfind('^') + 2));
  return message;
}

}  // namespace

Result<std::unique_ptr<Output>> Output::open(const OutputOptions& options, const MessageOptions& messages,
                                             const codegen::CompiledScript& script) {
  std::unique_ptr<runs::OutputFile> file;
  // With -b, -o names the streams.
  if (options.in_memory()) {
    file = runs::OutputFile::in_memory(options.buffer_bytes());
  } else {
    TRY(file, runs::OutputFile::open(options.bulk ? std::string() : options.file, options.rotate_bytes, options.rotate_files));
  }
  std::unique_ptr<Output> output(new Output(messages, script, std::move(file)));
  output->presenter_ = options.presenter;
  if (options.bulk) {
    std::string base = options.file.empty() ? "spile_stream" : runs::expand_path(options.file);
    output->streams_ = std::make_unique<StreamFiles>(std::move(base), script);
  }
  return output;
}

Output::~Output() { file_->flush(); }

// A ring with much in it is taken piece by piece, each written before the next is taken: room for the handlers comes soon, and
// little is held. What is there at first is taken in any case; what comes meanwhile, later.
bool Output::collect(ArenaView& arena) {
  bool any = false, more = true;
  uint64_t complete = UINT64_MAX;  // the time up to which the rings that hold more have been taken
  int64_t since = 0;
  for (uint64_t taken = 0; more && taken <= 2 * arena.largest_ring(); taken += kPiece) {
    // Records with a time before a horizon have been published by the next one, unless a thread was interrupted between reading
    // the clock and publishing for the whole time between the two.
    if (const int64_t now = monotonic_ns(); now - since >= kLeastAge) {
      since = now;
      horizon_ = next_horizon_;
      next_horizon_ = abi::time_counter();
    }
    more = false;
    complete = UINT64_MAX;
    arena.for_each_used_slot([&](uint32_t i) {
      const RingReader::Taken ring = take_ring(arena, i);
      any |= ring.any;
      if (!ring.more) return;
      more = true;
      complete = std::min(complete, ring.last_time);
    });
    if (more) write_until(std::min(horizon_, complete));
    if (held_bytes_ > kMostHeld) write_pending(true);
  }
  horizon_ = std::min(horizon_, complete);
  return any;
}

void Output::collect_controller(ArenaView& arena) {
  bool any = false;
  for (RingReader::Taken ring{.more = true}; ring.more; any |= ring.any) ring = take_ring(arena, abi::kControllerSlot);
  if (!any) return;
  write_pending(true);
}

bool Output::is_believed(const abi::RecordHeader& header) {
  if ((script_.target_records & abi::record_kind_bit(header.kind)) == 0) {
    ++disbelieved_;
    return false;
  }
  if (header.kind != abi::kSystem && header.kind != abi::kSwitchFile) return true;
  if (actions_waiting_ >= kMostActions) {
    ++actions_dropped_;
    return false;
  }
  ++actions_waiting_;
  return true;
}

void Output::report_damage(uint32_t ring) {
  ++damaged_;
  if (damaged_ <= kMostDamaged && !messages_.suppress_warnings) {
    print_to(stderr, "WARNING: output ring {} is damaged, its content is lost\n", ring);
  }
}

RingReader::Taken Output::take_ring(ArenaView& arena, uint32_t index) {
  if (!rings_) rings_ = std::make_unique<RingReader>(arena.slot_count(), owner_size_);
  const Origin origin = index == abi::kControllerSlot ? Origin::kController
                        : arena.is_kernels(index)     ? Origin::kKernel
                                                      : Origin::kTarget;
  const size_t run = pending_.size();
  RingReader::Taken taken = rings_->take(arena.slot(index), arena.ring(index), index, arena.withheld(index), kPiece, bytes_,
                                         [&](const abi::RecordHeader& header, size_t offset) {
                                           if (origin == Origin::kTarget && !is_believed(header)) return;
                                           if (streams_ && (has_addresses(header) || prints(header))) {
                                             const OwnedRecord record = record_at(offset, header.size);
                                             if (prints(header)) append_stream(record.header, {record.payload, record.size});
                                             else stream_text(record.header, name_addresses(header, record.payload, record.size));
                                           } else {
                                             pending_.push_back({header.time, offset, header.size, origin});
                                             held_bytes_ += header.size;
                                           }
                                         });
  if (pending_.size() > run) runs_.push_back(run);
  if (taken.damaged) report_damage(index);
  if (!stream_bytes_.empty()) write_stream(arena, index);
  return taken;
}

std::string Output::name_addresses(const abi::RecordHeader& header, const char* payload, size_t size) {
  runs::PayloadReader arguments(payload, size);
  size_t words = size / 8;
  if (header.kind == abi::kKernelBacktrace || header.kind == abi::kKernelSymbols) {
    if (!kernel_stacks_) return plain_addresses(header, arguments);
    return header.kind == abi::kKernelBacktrace ? kernel_stacks_->backtrace_text(words, arguments)
                                                : kernel_stacks_->symbols_text(arguments);
  }
  if (header.kind == abi::kUserStack) return process_stacks_ ? process_stacks_->text_of(header.id, payload, size) : "";
  if (!stacks_) return header.kind == abi::kBacktrace ? "<no user backtrace>\n" : "";
  return header.kind == abi::kBacktrace ? stacks_->backtrace_text(header.id, words - std::min<size_t>(words, 1), arguments)
                                        : stacks_->symbols_text(header.id, arguments);
}

// The reader of a stream does not know what addresses meant, so the stream gets their text.
void Output::stream_text(abi::OwnedHeader header, const std::string& text) {
  auto length = static_cast<uint32_t>(text.size());
  std::vector<char> payload((sizeof length + text.size() + 7) / 8 * 8);
  std::memcpy(payload.data(), &length, sizeof length);
  std::memcpy(payload.data() + sizeof length, text.data(), text.size());
  header.kind = abi::kText;
  append_stream(header, payload);
}

void Output::append_stream(abi::OwnedHeader header, std::span<const char> payload) {
  header.size = static_cast<uint32_t>(sizeof header + payload.size());
  const char* bytes = reinterpret_cast<const char*>(&header);
  stream_bytes_.insert(stream_bytes_.end(), bytes, bytes + sizeof header);
  stream_bytes_.insert(stream_bytes_.end(), payload.begin(), payload.end());
}

void Output::write_stream(ArenaView& arena, uint32_t index) {
  Result<void> written = streams_->append(arena, index, stream_bytes_);
  stream_bytes_.clear();
  if (!written.ok()) stream_failed(written.error());
}

void Output::stream_failed(const Error& error) {
  if (stream_usable_) print_to(stderr, "ERROR: {}\n", error.message);
  stream_usable_ = false;
}

void Output::finish_streams(ArenaView& arena) {
  if (!streams_) return;
  arena.for_each_used_slot([&](uint32_t i) {
    uint64_t lost = arena.slot(i).skipped[abi::kSkipOutputFull];
    if (lost == 0) return;
    if (Result<void> written = streams_->append_lost(arena, i, lost); !written.ok()) stream_failed(written.error());
  });
}

void Output::add(abi::RecordHeader header, std::span<const char> payload) {
  header.size = static_cast<uint32_t>(sizeof header + payload.size());
  if (held_bytes_ > kMostHeld) write_pending(true);
  if (pending_.empty() || pending_.back().time > header.time) runs_.push_back(pending_.size());
  size_t offset = bytes_.size();
  bytes_.resize(offset + header.size);
  std::memcpy(bytes_.data() + offset, &header, sizeof header);
  if (!payload.empty()) std::memcpy(bytes_.data() + offset + sizeof header, payload.data(), payload.size());
  pending_.push_back({header.time, offset, header.size, Origin::kKernelRing});
  held_bytes_ += header.size;
}

Output::OwnedRecord Output::record_at(size_t offset, size_t size) const {
  OwnedRecord record;
  const char* at = bytes_.data() + offset;
  std::memcpy(&record.header, at, sizeof(abi::RecordHeader));
  record.payload = at + sizeof(abi::RecordHeader);
  record.size = size - sizeof(abi::RecordHeader) - owner_size_;
  std::memcpy(&record.header.owner, record.payload + record.size, owner_size_);
  if (record.header.owner.process > kMostPid || record.header.owner.thread > kMostPid) record.header.owner = {};
  return record;
}

// Each run is in order: neighbors are merged, in rounds, until one run is left.
void Output::sort_pending() {
  if (runs_.empty() || runs_.front() != 0) runs_.insert(runs_.begin(), 0);
  runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
  auto at = [&](size_t run) {
    return pending_.begin() + static_cast<ptrdiff_t>(run < runs_.size() ? runs_[run] : pending_.size());
  };
  while (runs_.size() > 1) {
    std::vector<size_t> merged;
    for (size_t run = 0; run < runs_.size(); run += 2) {
      merged.push_back(runs_[run]);
      std::inplace_merge(at(run), at(run + 1), at(run + 2), [](const Pending& a, const Pending& b) { return a.time < b.time; });
    }
    runs_ = std::move(merged);
  }
  runs_.clear();
}

void Output::write_pending(bool everything) { write_until(everything ? UINT64_MAX : horizon_); }

void Output::write_until(uint64_t time) {
  sort_pending();
  const auto after =
      std::upper_bound(pending_.begin(), pending_.end(), time, [](uint64_t t, const Pending& p) { return t < p.time; });
  for (auto p = pending_.begin(); p != after; ++p) {
    const OwnedRecord record = record_at(p->offset, p->size);
    write_record(record.header, record.payload, record.size, p->origin);
    held_bytes_ -= p->size;
  }
  if (after != pending_.begin()) file_->flush();
  pending_.erase(pending_.begin(), after);
  // Written records are dropped once they take as much room as the others.
  if (bytes_.size() - held_bytes_ < held_bytes_) return;
  rest_.clear();
  for (Pending& p : pending_) {
    const size_t offset = rest_.size();
    rest_.insert(rest_.end(), bytes_.begin() + static_cast<ptrdiff_t>(p.offset),
                 bytes_.begin() + static_cast<ptrdiff_t>(p.offset + p.size));
    p.offset = offset;
  }
  bytes_.swap(rest_);
}

void Output::write_record(const abi::OwnedHeader& header, const char* payload, size_t size, Origin origin) {
  runs::PayloadReader arguments(payload, size);
  const runs::TextRules rules{origin != Origin::kController, file_->is_terminal() ? &terminal_ : nullptr, &script_.literals};
  text_.clear();
  if (recorder_) {
    if (sender_) write_event(header, payload, size, origin);
    if (record(header, payload, size, origin)) return;
  }
  if (events_ && write_event(header, payload, size, origin)) return;
  switch (header.kind) {
    case abi::kPrintf:
      if (presenter_) {
        present(header, arguments, rules);
        break;
      }
      runs::append_record_text(text_, script_.formats, header, payload, size, rules);
      break;
    case abi::kHistogram:
    case abi::kText: runs::append_record_text(text_, script_.formats, header, payload, size, rules); break;
    case abi::kBacktrace:
    case abi::kSymbols:
    case abi::kUserStack:
    case abi::kKernelBacktrace:
    case abi::kKernelSymbols: runs::append_foreign(text_, name_addresses(header, payload, size), rules); break;
    case abi::kWarning: write_warning(script_string(arguments), origin); break;
    case abi::kErrorText: write_error(std::string(script_string(arguments))); break;
    case abi::kError:
      if (header.id < script_.errors.size())
        write_error(runs::error_text(script_.errors[header.id], arguments), script_.errors[header.id].excerpt,
                    script_.errors[header.id].place);
      else ++disbelieved_;
      break;
    case abi::kSystem: run_command(header, arguments, origin); break;
    case abi::kSwitchFile:
      if (origin == Origin::kTarget) --actions_waiting_;
      if (origin != Origin::kTarget || may_switch_file()) file_->next_file();
      break;
    case abi::kExit: exit_requested_ = true; break;
    default: break;
  }
  file_->write(text_);
}

void Output::write_events(const sema::Program& program, const ArenaView& arena) {
  std::vector<std::string> points;
  for (const sema::Probe& probe : program.probes) points.push_back(point_text(probe));
  events_ = std::make_unique<runs::EventLines>(std::move(points));
  dated_by_ = &arena;
}

void Output::send_events(const sema::Program& program, const ArenaView& arena, runs::KafkaSender* sender, std::string host) {
  write_events(program, arena);
  sender_ = sender;
  host_ = std::move(host);
}

void Output::record_by(RunRecorder* recorder, const ArenaView& arena) {
  recorder_ = recorder;
  dated_by_ = &arena;
}

// Records of a ring buffer of the kernel have its monotonic time (abi/record.h).
int64_t Output::time_of(const abi::RecordHeader& header, Origin origin) const {
  return origin == Origin::kKernelRing ? static_cast<int64_t>(header.time) + realtime_offset_ns()
                                       : dated_by_->time_of(header.time);
}

bool Output::record(const abi::OwnedHeader& header, const char* payload, size_t size, Origin origin) {
  if (header.kind == abi::kPrintf) {
    if (header.id < script_.formats.size() && script_.formats[header.id].kind == syntax::OutputFormat::Kind::kPrintf) {
      recorder_->add_printf(header, time_of(header, origin), runs::PayloadReader(payload, size));
    } else {
      ++disbelieved_;
    }
    return true;
  }
  const bool has_text = header.kind == abi::kHistogram || header.kind == abi::kText;
  if (!has_text && !has_addresses(header)) return false;
  event_text_.clear();
  if (has_text) runs::append_record_text(event_text_, script_.formats, header, payload, size);
  else event_text_ = name_addresses(header, payload, size);
  recorder_->add_text(header, time_of(header, origin), event_text_);
  return true;
}

bool Output::write_event(const abi::OwnedHeader& header, const char* payload, size_t size, Origin origin) {
  const bool has_text = header.kind == abi::kPrintf || header.kind == abi::kHistogram || header.kind == abi::kText;
  if (!has_text && !has_addresses(header)) return false;
  event_text_.clear();
  if (has_text) runs::append_record_text(event_text_, script_.formats, header, payload, size);
  else event_text_ = name_addresses(header, payload, size);
  const syntax::OutputFormat* format =
      header.kind == abi::kPrintf && header.id < script_.formats.size() ? &script_.formats[header.id] : nullptr;
  text_.clear();
  events_->append(text_, header, time_of(header, origin), event_text_, format, runs::PayloadReader(payload, size), host_);
  if (sender_) {
    sender_->send(header.owner.process > 0 ? fmt::format("{}/{}", host_, header.owner.process) : host_, text_);
  } else {
    text_ += '\n';
    file_->write(text_);
  }
  return true;
}

void Output::present(const abi::RecordHeader& header, runs::PayloadReader& arguments, const runs::TextRules& rules) {
  if (header.id >= script_.formats.size()) return;
  const std::vector<syntax::FormatPart>& parts = script_.formats[header.id].parts;
  if (parts.empty() || parts.front().kind != syntax::FormatPart::Kind::kLiteral) return;
  presented_.clear();
  presenter_->take(parts.front().literal, arguments, presented_);
  if (presenter_->has_all()) request_exit();
  runs::append_foreign(text_, presented_, rules);
}

void Output::finish_presentation() {
  if (!presenter_) return;
  presented_.clear();
  text_.clear();
  presenter_->finish(presented_);
  runs::append_foreign(text_, presented_, {true, file_->is_terminal() ? &terminal_ : nullptr, &script_.literals});
  file_->write(text_);
  file_->flush();
}

// Returns a string argument, cut to the length that a handler can make.
std::string_view Output::script_string(runs::PayloadReader& arguments) const {
  return arguments.next_string().substr(0, script_.string_limit);
}

// Limits how often processes can switch files, since each switch may make a file.
bool Output::may_switch_file() {
  int64_t now = monotonic_ns() / 1'000'000'000;
  if (switches_ == 0) first_switch_ = now;
  uint64_t allowed = kSwitchesAtOnce + kSwitchesPerSecond * static_cast<uint64_t>(now - first_switch_);
  if (switches_ >= allowed) return ++actions_dropped_, false;
  return ++switches_, true;
}

void Output::run_command(const abi::RecordHeader& header, runs::PayloadReader& arguments, Origin origin) {
  const bool is_made = header.id == abi::kCommandText;
  const bool from_target = origin == Origin::kTarget;
  if (from_target) --actions_waiting_;
  if (is_made && from_target) {
    if (script_.commands.made_at.empty()) return void(++disbelieved_);
    if (std::string why = why_untrusted_ ? why_untrusted_() : std::string(); !why.empty()) {
      write_error(
          fmt::format("system() at {}: the command is computed in a handler that runs in a process, and {}: that process could "
                      "have any command run.  "
                      "Use a literal command, or call system() in a begin, end or timer probe; -g allows it anyway",
                      script_.commands.made_at, why));
      return;
    }
  } else if (!is_made && header.id >= script_.commands.texts.size()) {
    return void(++disbelieved_);
  }
  file_->flush();
  commands_.run(is_made ? std::string(script_string(arguments)) : script_.commands.texts[header.id]);
}

// A warning is printed once: a handler that warns may be hit a million times.
void Output::write_warning(std::string_view text, Origin origin) {
  if (messages_.suppress_warnings || warned_.contains(text)) return;
  if (origin == Origin::kTarget && ++target_warnings_ > kMostWarnings) return;
  constexpr size_t kMostRemembered = 1000;
  if (warned_.size() < kMostRemembered) warned_.emplace(text);
  file_->flush();
  if (MessageSink* sink = message_sink()) return sink->take(Message(MessageKind::kWarning, std::string(text)));
  fprintf(stderr, "WARNING: %.*s\n", static_cast<int>(text.size()), text.data());
}

// An error is printed once, and at the end how often it occurred: many threads may raise it before they are stopped.
void Output::write_error(std::string text, std::string_view excerpt, std::string_view place) {
  if (messages_.suppress_handler_errors) {
    ++suppressed_errors_;
    return;
  }
  ++errors_;
  const bool is_of_verb = messages_.verb.is_set() && !place.empty();
  last_error_ = is_of_verb ? runs::error_of_verb(text, place, messages_.verb.name, messages_.verb.when_full) : std::move(text);
  if (auto known = error_counts_.find(last_error_); known != error_counts_.end()) {
    ++known->second;
    return;
  }
  if (error_counts_.size() >= kMostErrors) {
    ++errors_not_printed_;
    return;
  }
  error_counts_.emplace(last_error_, 1);
  file_->flush();
  if (is_of_verb) {
    // The run goes on (MAXERRORS, cli/command_line.cpp).
    const std::string warning = last_error_ + ": hits like this are left out, and counted";
    if (messages_.suppress_warnings) return;
    if (MessageSink* sink = message_sink()) return sink->take(Message(MessageKind::kWarning, warning));
    return print_to(stderr, "WARNING: {}\n", warning);
  }
  // A text of the script's own has no place.
  const std::string_view hint = place.empty() ? std::string_view() : runs::hint_of_error(last_error_);
  if (MessageSink* sink = message_sink()) return sink->take(handler_error(last_error_, excerpt, place, hint));
  print_to(stderr, "ERROR: {}\n{}", last_error_, excerpt);
  if (!hint.empty()) print_to(stderr, "  hint: {}\n", hint);
}

std::string Output::refusals_text() const {
  std::string text;
  auto add = [&](uint64_t number, std::string_view what) {
    if (number > 0) text += fmt::format("WARNING: {} {}\n", number, what);
  };
  add(damaged_ > kMostDamaged ? damaged_ - kMostDamaged : 0, "more times, an output ring was damaged");
  add(disbelieved_,
      "records dropped that no handler of the script can have written: a traced process has written to spile's memory");
  add(actions_dropped_ + commands_.refused(), "calls of system() or switch_file() ignored: too many at once");
  add(target_warnings_ > kMostWarnings ? target_warnings_ - kMostWarnings : 0, "more warnings not printed");
  add(errors_not_printed_, "more errors not printed");
  if (presenter_) text += presenter_->losses();
  return text;
}

std::string Output::repeated_errors_text() const {
  std::string lines;
  for (const auto& [text, times] : error_counts_) {
    if (messages_.verb.is_set())
      lines += fmt::format("WARNING: {} {}: {}\n", times, times == 1 ? "hit left out" : "hits left out", text);
    else if (times > 1) lines += fmt::format("WARNING: {} times: ERROR: {}\n", times, text);
  }
  return lines;
}

}  // namespace spile::session
