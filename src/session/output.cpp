#include "session/output.h"

#include <errno.h>
#include <x86intrin.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "session/histogram_text.h"
#include "session/printf_text.h"

namespace spile::session {

Result<std::unique_ptr<Output>> Output::open(const Options& options, const codegen::CompiledScript& script) {
  TRY(auto file, OutputFile::open(options.output_file, options.rotate_bytes, options.rotate_files));
  return std::unique_ptr<Output>(new Output(options, script, std::move(file)));
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
    if (header.kind != abi::kPad) {
      size_t offset = bytes_.size();
      bytes_.insert(bytes_.end(), ring + at, ring + at + header.size);
      std::memcpy(bytes_.data() + offset, &header, sizeof header);  // what was checked is what is kept
      pending_.push_back({header.time, offset, header.size});
    }
    tail += header.size;
  }
  std::atomic_ref<uint64_t>(slot.ring_tail).store(tail, std::memory_order_release);
  return true;
}

void Output::add(const abi::RecordHeader& header, const char* payload) {
  size_t offset = bytes_.size();
  bytes_.resize(offset + header.size);
  std::memcpy(bytes_.data() + offset, &header, sizeof header);
  std::memcpy(bytes_.data() + offset + sizeof header, payload, header.size - sizeof header);
  pending_.push_back({header.time, offset, header.size});
}

void Output::write_pending(bool everything) {
  std::stable_sort(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) { return a.time < b.time; });
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
      if (header.id < script_.formats.size()) append_printf(text_, script_.formats[header.id], arguments);
      break;
    case abi::kHistogram:
      if (header.id < script_.formats.size() && size >= sizeof(abi::Aggregate)) {
        std::vector<uint64_t> buckets((size - sizeof(abi::Aggregate)) / 8);
        std::memcpy(buckets.data(), payload + sizeof(abi::Aggregate), buckets.size() * 8);
        if (buckets.size() >= 2) text_ = histogram_text(script_.formats[header.id], buckets);
      }
      break;
    case abi::kText:
      text_ = arguments.next_string();
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
