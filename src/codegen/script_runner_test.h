#pragma once
// Runs scripts inside the test: text in, compiled code placed as engine and session would place it, an arena of this
// process's own memory, and what was printed out. No traced process: a target's handler is called as its trampoline
// would call it.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ucontext.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "abi/questions_test.h"
#include "abi/record.h"
#include "abi/spilled_returns.h"
#include "codegen/codegen.h"
#include "sema/fake_target_test.h"

namespace spile::rt {
std::span<const unsigned char> process_bitcode();
}

namespace spile::codegen {

// An image in memory, read-only and executable, its cells filled. Faults in it go on where its fix-ups say, and its questions are
// answered, as the controller does it: by handlers of SIGSEGV and SIGBUS that stay for the rest of the program.
class PlacedImage {
 public:
  PlacedImage(const abi::CodeImage& image, const abi::ImageCells& cells) : size_(image.bytes.size()), fixups_(image.fixups) {
    base_ = static_cast<uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(base_, image.bytes.data(), size_);
    std::memcpy(base_, &cells, sizeof cells);
    mprotect(base_, size_, PROT_READ | PROT_EXEC);
    next_ = std::exchange(placed_, this);
    catch_faults();
  }
  PlacedImage(const PlacedImage&) = delete;
  ~PlacedImage() {
    PlacedImage** link = &placed_;
    while (*link != this) link = &(*link)->next_;
    *link = next_;
    munmap(base_, size_);
  }
  void* at(uint32_t offset) const { return base_ + offset; }

 private:
  static void catch_faults() {
    struct sigaction action = {};
    action.sa_sigaction = &continue_after_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
  }
  // A fault elsewhere ends the program: the instruction runs again without the handler.
  static void continue_after_fault(int number, siginfo_t* info, void* opaque) {
    abi::answer_question(info);
    greg_t& rip = static_cast<ucontext_t*>(opaque)->uc_mcontext.gregs[REG_RIP];
    for (const PlacedImage* image = placed_; image; image = image->next_) {
      const auto offset = static_cast<uint64_t>(rip) - reinterpret_cast<uint64_t>(image->base_);
      for (const abi::FaultFixup& fixup : image->fixups_) {
        if (fixup.fault_offset != offset) continue;
        rip = static_cast<greg_t>(reinterpret_cast<uint64_t>(image->base_) + fixup.resume_offset);
        return;
      }
    }
    signal(number, SIG_DFL);
  }

  uint8_t* base_;
  size_t size_;
  std::vector<abi::FaultFixup> fixups_;
  PlacedImage* next_;
  static inline PlacedImage* placed_ = nullptr;  // all that exist, linked by next_
};

class ScriptRunner {
 public:
  explicit ScriptRunner(const std::string& text, sema::Program options = {}, uint32_t ring_size = 1 << 20, int level = 2) {
    script_ = sema::elaborate_text(text, std::move(options));
    if (!script_.ok()) {
      error_ = script_.messages();
      return;
    }
    Options compile_options;
    compile_options.layout = {.slot_count = 8, .ring_size = ring_size, .shadow_capacity = 64};
    compile_options.optimization = level;
    compile_options.process_bitcode = rt::process_bitcode();
    auto compiled = compile(script_.program, compile_options);
    if (!compiled.ok()) {
      error_ = compiled.error().message + compiled.error().output;
      return;
    }
    compiled_ = std::move(compiled).value();
    place();
  }
  ~ScriptRunner() {
    if (arena_) munmap(arena_, code().layout.size);
  }

  const std::string& error() const { return error_; }
  const CompiledScript& code() const { return compiled_.script; }
  const sema::Program& program() const { return script_.program; }
  abi::ArenaHeader* header() { return reinterpret_cast<abi::ArenaHeader*>(arena_); }
  abi::ThreadSlot* slot(uint32_t index) {
    return reinterpret_cast<abi::ThreadSlot*>(arena_ + code().layout.slots_offset + index * code().layout.slot_stride);
  }

  // The controller's function at an offset of its image.
  template <typename Function, typename... Arguments>
  [[gnu::noinline, clang::disable_tail_calls]] auto call(uint32_t offset, Arguments... arguments) {
    state().stack_end = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    return reinterpret_cast<Function*>(controller_->at(offset))(arguments...);
  }

  // All controller probes of a kind, in order. False: an error stopped the run.
  void run(sema::ProbeKind kind) {
    for (const sema::Probe& probe : program().probes) {
      if (probe.kind == kind) call<void()>(code().controller.probes.at(static_cast<size_t>(probe.index)));
    }
  }
  uint64_t merge(uint32_t epoch = 0) { return call<uint64_t(uint32_t)>(code().controller.merge, epoch); }
  void* enter_of(size_t group) { return target_->at(code().target.groups.at(group).enter); }
  void* exit_of(size_t group) { return target_->at(code().target.groups.at(group).exit); }
  void* keep_entry() { return target_->at(code().target.keep_entry); }
  void* unwind() { return target_->at(code().target.unwind); }
  void set_returned(uint64_t begin, uint64_t end) {
    cells_.returned_begin = begin;
    cells_.returned_end = end;
    place_target();
  }

  // What has been printed since the last call, in all slots, one after another; errors as "ERROR: text\n".
  std::string output() {
    std::string text;
    for (uint32_t i = 0; i < code().layout.slot_count; ++i) text += drain(slot(i));
    return text;
  }

 private:
  abi::ControllerState& state() {
    return *reinterpret_cast<abi::ControllerState*>(arena_ + code().layout.slots_offset - abi::kPageSize);
  }
  void place() {
    const ArenaLayout& layout = code().layout;
    arena_ =
        static_cast<char*>(mmap(nullptr, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    ASSERT_NE(arena_, MAP_FAILED);
    header()->magic = abi::kArenaMagic;
    header()->version = abi::kArenaVersion;
    header()->slot_count = layout.slot_count;
    header()->size = layout.size;
    header()->slots_offset = layout.slots_offset;
    header()->slot_stride = layout.slot_stride;
    header()->enabled = 1;
    slot(abi::kOverflowSlot)->owner = ~uint64_t{0};
    slot(abi::kOverflowSlot)->shared = 1;
    table_.assign((abi::kInheritedOffset + abi::inherited_size(layout.shadow_stride, layout.shadow_capacity)) / 8, 0);
    reinterpret_cast<abi::InheritedState*>(reinterpret_cast<char*>(table_.data()) + abi::kInheritedOffset)->slots =
        layout.slot_count;
    cells_.arena = reinterpret_cast<uint64_t>(arena_);
    cells_.process_table = reinterpret_cast<uint64_t>(table_.data());
    controller_ = std::make_unique<PlacedImage>(code().controller.image, cells_);
    if (!code().target.image.bytes.empty()) place_target();
    state().image_size = (code().controller.image.bytes.size() + abi::kPageSize - 1) & ~uint64_t{abi::kPageSize - 1};
    call<void()>(code().controller.init);
  }
  void place_target() { target_ = std::make_unique<PlacedImage>(code().target.image, cells_); }
  std::string drain(abi::ThreadSlot* slot) {
    const ArenaLayout& layout = code().layout;
    const char* ring = reinterpret_cast<const char*>(slot) + layout.ring_offset;
    std::string text;
    while (slot->ring_tail < slot->ring_head) {
      const char* at = ring + (slot->ring_tail & (layout.ring_size - 1));
      abi::RecordHeader record;
      std::memcpy(&record, at, sizeof record);
      text += text_of(record, at + sizeof record);
      slot->ring_tail += record.size;
    }
    return text;
  }

  static int64_t take_long(const char*& at) {
    int64_t value;
    std::memcpy(&value, at, 8);
    at += 8;
    return value;
  }
  static std::string take_string(const char*& at) {
    uint32_t length;
    std::memcpy(&length, at, 4);
    std::string text(at + 4, length);
    at += (4 + length + 7) / 8 * 8;
    return text;
  }

  std::string text_of(const abi::RecordHeader& record, const char* at) {
    if (record.kind == abi::kPrintf) return printed(code().formats.at(record.id), at);
    if (record.kind == abi::kErrorText) return "ERROR: " + take_string(at) + "\n";
    if (record.kind == abi::kWarning) return "WARNING: " + take_string(at) + "\n";
    if (record.kind == abi::kHistogram) {
      abi::Aggregate aggregate;
      std::memcpy(&aggregate, at, sizeof aggregate);
      return fmt::format("histogram of {}\n", aggregate.count);
    }
    if (record.kind == abi::kError) {
      std::string text = code().errors.at(record.id).text;
      if (size_t spot = text.find("%d"); spot != std::string::npos) text.replace(spot, 2, std::to_string(take_long(at)));
      if (size_t spot = text.find("%p"); spot != std::string::npos) text.replace(spot, 2, fmt::format("{:#x}", take_long(at)));
      for (size_t spot = text.find("%%"); spot != std::string::npos; spot = text.find("%%", spot + 1)) text.erase(spot, 1);
      return "ERROR: " + text + "\n";
    }
    return record.kind == abi::kPad ? "" : "?\n";
  }

  static std::string printed(const OutputFormat& format, const char* at) {
    using Kind = syntax::FormatPart::Kind;
    std::string text;
    for (const syntax::FormatPart& part : format.parts) {
      if (part.kind == Kind::kLiteral) text += part.literal;
      else if (part.kind == Kind::kString) text += take_string(at);
      else if (part.kind == Kind::kHex) text += fmt::format("{:x}", static_cast<uint64_t>(take_long(at)));
      else if (part.kind == Kind::kChar) text += static_cast<char>(take_long(at));
      else if (part.width_argument) {
        int64_t width = take_long(at);
        text += fmt::format("{:{}}", take_long(at), width);
      } else text += std::to_string(take_long(at));
    }
    return text;
  }

  sema::Elaborated script_;
  Compiled compiled_;
  std::string error_;
  char* arena_ = nullptr;
  abi::ImageCells cells_{};
  std::vector<uint64_t> table_;  // a ProcessTable, and what lies behind it
  std::unique_ptr<PlacedImage> controller_, target_;
};

// What a script of begin probes prints. The level is by default the one at which everything is optimized.
inline std::string output_of(const std::string& text, sema::Program options = {}, int level = 3) {
  ScriptRunner runner(text, std::move(options), 1 << 20, level);
  if (!runner.error().empty()) return "refused: " + runner.error();
  runner.run(sema::ProbeKind::kBegin);
  return runner.output();
}

}  // namespace spile::codegen
