#include "session/output.h"

#include <errno.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "session/printf_text.h"

namespace spile::session {

namespace {

// What goes to streams with -b; the rest is for the controller at once.
bool prints(const abi::RecordHeader& header) {
  return header.kind == abi::kPrintf || header.kind == abi::kHistogram || header.kind == abi::kText;
}

}  // namespace

Result<std::unique_ptr<Output>> Output::open(const Options& options, const codegen::CompiledScript& script) {
  std::unique_ptr<OutputFile> file;
  // With -b nothing but streams has the name of -o.
  if (options.flight_recorder && options.output_file.empty()) {
    file = OutputFile::in_memory(options.buffer_bytes());
  } else {
    TRY(file, OutputFile::open(options.bulk ? std::string() : options.output_file, options.rotate_bytes, options.rotate_files));
  }
  std::unique_ptr<Output> output(new Output(options, script, std::move(file)));
  if (options.bulk) {
    std::string base = options.output_file.empty() ? "spile_stream" : expand_path(options.output_file);
    output->streams_ = std::make_unique<StreamFiles>(std::move(base), script);
  }
  return output;
}

Output::~Output() { file_->flush(); }

bool Output::collect(Arena& arena) {
  // Whatever carries a time up to the last collection's start has been published by now, unless its thread was caught
  // between reading the clock and publishing for the whole time between two collections.
  horizon_ = next_horizon_;
  next_horizon_ = __rdtsc();
  bool any = false;
  arena.for_each_used_slot([&](uint32_t i) { any |= take_ring(arena, i); });
  return any;
}

void Output::collect_controller(Arena& arena) {
  if (!take_ring(arena, abi::kControllerSlot)) return;
  write_pending(true);
}

bool Output::take_ring(Arena& arena, uint32_t index) {
  abi::ThreadSlot& slot = arena.slot(index);
  const uint64_t ring_size = arena.layout().ring_size;
  uint64_t head = std::atomic_ref<uint64_t>(slot.ring_head).load(std::memory_order_acquire);
  uint64_t tail = slot.ring_tail;
  if (head == tail) return false;
  const char* ring = arena.ring(index);
  runs_.push_back(pending_.size());
  if (head - tail > ring_size || head % 8 != 0 || tail % 8 != 0) {
    // Not something a handler of ours wrote. Whatever it was is lost; start afresh where the writer is.
    fprintf(stderr, "WARNING: output ring %u is damaged, its content is lost\n", index);
    std::atomic_ref<uint64_t>(slot.ring_tail).store(head, std::memory_order_release);
    return false;
  }
  while (tail != head) {
    uint64_t at = tail & (ring_size - 1);
    uint64_t left = std::min(ring_size - at, head - tail);
    if (left < sizeof(abi::RecordHeader)) {
      tail += left;  // too small for a record: the writer went to the ring's start
      continue;
    }
    abi::RecordHeader header;
    std::memcpy(&header, ring + at, sizeof header);
    if (header.size < sizeof header || header.size % 8 != 0 || header.size > left) {
      fprintf(stderr, "WARNING: output ring %u is damaged, its content is lost\n", index);
      tail = head;
      break;
    }
    bool names_addresses = header.kind == abi::kBacktrace || header.kind == abi::kSymbols;
    if (streams_ && names_addresses) {
      stream_text(header, name_addresses(header, ring + at + sizeof header, header.size - sizeof header));
    } else if (header.kind != abi::kPad) {
      std::vector<char>& bytes = streams_ && prints(header) ? stream_bytes_ : bytes_;
      size_t offset = bytes.size();
      bytes.insert(bytes.end(), ring + at, ring + at + header.size);
      std::memcpy(bytes.data() + offset, &header, sizeof header);  // what was checked is what is kept
      if (&bytes == &bytes_) pending_.push_back({header.time, offset, header.size});
    }
    tail += header.size;
  }
  std::atomic_ref<uint64_t>(slot.ring_tail).store(tail, std::memory_order_release);
  if (!stream_bytes_.empty()) append_stream(arena, index);
  return true;
}

std::string Output::name_addresses(const abi::RecordHeader& header, const char* payload, size_t size) {
  if (!stacks_) return header.kind == abi::kBacktrace ? "<no user backtrace>\n" : "";
  PayloadReader arguments(payload, size);
  size_t words = size / 8;
  return header.kind == abi::kBacktrace ? stacks_->backtrace_text(header.id, words - std::min<size_t>(words, 1), arguments)
                                        : stacks_->symbols_text(header.id, arguments);
}

// Whoever reads the streams later does not know what the addresses meant: they get the text.
void Output::stream_text(abi::RecordHeader header, const std::string& text) {
  auto length = static_cast<uint32_t>(text.size());
  std::vector<char> payload((sizeof length + text.size() + 7) / 8 * 8);
  std::memcpy(payload.data(), &length, sizeof length);
  std::memcpy(payload.data() + sizeof length, text.data(), text.size());
  header.kind = abi::kText;
  header.size = static_cast<uint32_t>(sizeof header + payload.size());
  const char* bytes = reinterpret_cast<const char*>(&header);
  stream_bytes_.insert(stream_bytes_.end(), bytes, bytes + sizeof header);
  stream_bytes_.insert(stream_bytes_.end(), payload.begin(), payload.end());
}

void Output::append_stream(Arena& arena, uint32_t index) {
  Result<void> written = streams_->append(arena, index, stream_bytes_);
  stream_bytes_.clear();
  if (!written.ok()) stream_failed(written.error());
}

void Output::stream_failed(const Error& error) {
  if (stream_usable_) fprintf(stderr, "ERROR: %s\n", error.message.c_str());
  stream_usable_ = false;
}

void Output::finish_streams(Arena& arena) {
  if (!streams_) return;
  arena.for_each_used_slot([&](uint32_t i) {
    uint64_t lost = arena.slot(i).skipped[abi::kSkipOutputFull];
    if (lost == 0) return;
    if (Result<void> written = streams_->append_lost(arena, i, lost); !written.ok()) stream_failed(written.error());
  });
}

void Output::add(const abi::RecordHeader& header, const char* payload) {
  if (pending_.empty() || pending_.back().time > header.time) runs_.push_back(pending_.size());
  size_t offset = bytes_.size();
  bytes_.resize(offset + header.size);
  std::memcpy(bytes_.data() + offset, &header, sizeof header);
  std::memcpy(bytes_.data() + offset + sizeof header, payload, header.size - sizeof header);
  pending_.push_back({header.time, offset, header.size});
}

// Each run is in order by itself: neighbours are merged, in rounds, until one is left.
void Output::sort_pending() {
  if (runs_.empty() || runs_.front() != 0) runs_.insert(runs_.begin(), 0);
  runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
  auto at = [&](size_t run) { return pending_.begin() + static_cast<ptrdiff_t>(run < runs_.size() ? runs_[run] : pending_.size()); };
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

void Output::write_pending(bool everything) {
  sort_pending();
  size_t count = pending_.size();
  if (!everything) {
    auto after = std::upper_bound(pending_.begin(), pending_.end(), horizon_,
                                  [](uint64_t time, const Pending& p) { return time < p.time; });
    count = static_cast<size_t>(after - pending_.begin());
  }
  if (count == 0) return;
  for (size_t i = 0; i < count; ++i) {
    abi::RecordHeader header;
    const char* record = bytes_.data() + pending_[i].offset;
    std::memcpy(&header, record, sizeof header);
    write_record(header, record + sizeof header, pending_[i].size - sizeof header);
  }
  file_->flush();

  std::vector<char> rest;
  std::vector<Pending> rest_pending(pending_.begin() + static_cast<ptrdiff_t>(count), pending_.end());
  for (Pending& p : rest_pending) {
    size_t offset = rest.size();
    rest.insert(rest.end(), bytes_.begin() + static_cast<ptrdiff_t>(p.offset),
                bytes_.begin() + static_cast<ptrdiff_t>(p.offset + p.size));
    p.offset = offset;
  }
  bytes_.swap(rest);
  pending_.swap(rest_pending);
}

void Output::write_record(const abi::RecordHeader& header, const char* payload, size_t size) {
  PayloadReader arguments(payload, size);
  text_.clear();
  switch (header.kind) {
    case abi::kPrintf:
    case abi::kHistogram:
    case abi::kText:
      append_record_text(text_, script_.formats, header, payload, size);
      break;
    case abi::kBacktrace:
    case abi::kSymbols:
      text_ = name_addresses(header, payload, size);
      break;
    case abi::kWarning:
      write_warning(arguments.next_string());
      break;
    case abi::kErrorText:
    case abi::kError:
      write_error(header.kind == abi::kErrorText           ? std::string(arguments.next_string())
                  : header.id < script_.errors.size() ? error_text(script_.errors[header.id], arguments)
                                                      : "damaged error record");
      break;
    case abi::kSystem:
      file_->flush();
      commands_.run(std::string(arguments.next_string()));
      break;
    case abi::kSwitchFile:
      file_->next_file();
      break;
    case abi::kExit:
      exit_requested_ = true;
      break;
    default:
      break;
  }
  file_->write(text_);
}

// A warning is told once: a handler that warns may be hit a million times.
void Output::write_warning(std::string_view text) {
  if (options_.suppress_warnings || warned_.contains(text)) return;
  constexpr size_t kMostRemembered = 1000;
  if (warned_.size() < kMostRemembered) warned_.emplace(text);
  file_->flush();
  fprintf(stderr, "WARNING: %.*s\n", static_cast<int>(text.size()), text.data());
}

void Output::write_error(std::string text) {
  if (options_.suppress_handler_errors) {
    ++suppressed_errors_;
    return;
  }
  ++errors_;
  last_error_ = std::move(text);
  file_->flush();
  fprintf(stderr, "ERROR: %s\n", last_error_.c_str());
}

}  // namespace spile::session
