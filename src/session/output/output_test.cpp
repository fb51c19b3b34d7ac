#include "session/output/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "abi/time_counter.h"

namespace spile::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

// An output that is kept in memory, over an arena that no process shares.
class OutputOfScript : public testing::Test {
 protected:
  void SetUp() override {
    layout_.slot_count = 4;
    layout_.slots_offset = 4 * abi::kPageSize;
    layout_.ring_offset = abi::kPageSize;
    layout_.ring_size = 2 * abi::kPageSize;
    layout_.slot_stride = layout_.ring_offset + layout_.ring_size;
    layout_.size = layout_.slots_offset + layout_.slot_count * layout_.slot_stride;
    auto arena = ArenaView::create(layout_, {});
    ASSERT_TRUE(arena.ok());
    arena_ = std::move(*arena);
    script_.string_limit = 512;
    open();
  }
  void open() {
    auto output = Output::open({.flight_recorder = true}, messages_, script_);
    ASSERT_TRUE(output.ok());
    output_ = std::move(*output);
  }

  static std::string payload_of(std::string_view text) {
    auto length = static_cast<uint32_t>(text.size());
    std::string payload(reinterpret_cast<const char*>(&length), sizeof length);
    payload += text;
    payload.resize((payload.size() + 7) / 8 * 8);
    return payload;
  }
  void add(uint64_t time, std::string_view text, uint16_t kind = abi::kText) {
    output_->records().add({0, kind, 0, 0, 0, time}, payload_of(text));
  }
  // Puts a record into a slot's ring, as a handler there does.
  void write(uint32_t slot, uint64_t time, std::string_view text, uint16_t kind = abi::kText, uint32_t id = 0) {
    std::string payload = payload_of(text);
    abi::ThreadSlot& thread = arena_->slot(slot);
    thread.owner = 1;
    abi::RecordHeader header{static_cast<uint32_t>(sizeof header + payload.size()), kind, 0, id, 0, time};
    char* at = arena_->ring(slot).data() + thread.ring_head;
    std::memcpy(at, &header, sizeof header);
    std::memcpy(at + sizeof header, payload.data(), payload.size());
    thread.ring_head += header.size;
  }

  codegen::ArenaLayout layout_;
  codegen::CompiledScript script_;
  MessageOptions messages_;
  std::unique_ptr<ArenaView> arena_;
  std::unique_ptr<Output> output_;
};

TEST_F(OutputOfScript, WritesRecordsOfAllThreadsInOrderOfTime) {
  script_.target_records = abi::record_kind_bit(abi::kText);
  write(2, 10, "a");
  write(2, 40, "d");
  write(3, 20, "b");
  write(3, 30, "c");
  write(3, 50, "e");
  EXPECT_TRUE(output_->records().collect(*arena_));
  output_->records().hand_on(true);
  EXPECT_EQ(output_->file().held(), "abcde");
}

TEST_F(OutputOfScript, PutsRecordsOfTheKernelInOrderToo) {
  for (uint64_t time : {30, 10, 20, 15, 40}) add(time, std::to_string(time) + " ");
  output_->records().hand_on(true);
  EXPECT_EQ(output_->file().held(), "10 15 20 30 40 ");
}

TEST_F(OutputOfScript, KeepsTheOrderOfRecordsOfOneTime) {
  for (const char* text : {"a", "b", "c"}) add(7, text);
  output_->records().hand_on(true);
  EXPECT_EQ(output_->file().held(), "abc");
}

TEST_F(OutputOfScript, HoldsARecordBackUntilAWholeCollectionLater) {
  script_.target_records = abi::record_kind_bit(abi::kText);
  write(2, abi::time_counter(), "x");
  output_->records().collect(*arena_);
  output_->records().hand_on(false);
  EXPECT_EQ(output_->file().held(), "") << "another thread may still publish an older record";
  EXPECT_FALSE(output_->records().collect(*arena_));
  output_->records().hand_on(false);
  EXPECT_EQ(output_->file().held(), "x");
}

// Threads 2 and 3 print; 2 is interrupted between reading the clock and publishing its record.
class OutputOfInterrupted : public OutputOfScript {
 protected:
  void SetUp() override {
    OutputOfScript::SetUp();
    script_.target_records = abi::record_kind_bit(abi::kText);
    write(2, 1, "");
    early_ = abi::time_counter();
    arena_->slot(2).busy = 1;
    write(3, abi::time_counter(), "late ");
    collect();
    collect();
    collect();
    EXPECT_EQ(output_->file().held(), "");
  }

  void collect() {
    output_->records().collect(*arena_);
    output_->records().hand_on(false);
  }

  uint64_t early_ = 0;
};

TEST_F(OutputOfInterrupted, WaitsForARecordThatAThreadHasBegun) {
  write(2, early_, "early ");  // and prints more in this handler
  collect();
  EXPECT_EQ(output_->file().held(), "early late ");
}

TEST_F(OutputOfInterrupted, WaitsNoLongerThanTheHandlerRuns) {
  arena_->slot(2).busy = 0;
  collect();
  EXPECT_EQ(output_->file().held(), "late ");
}

TEST_F(OutputOfInterrupted, WaitsOnceForAThreadThatStandsStill) {
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  collect();
  EXPECT_EQ(output_->file().held(), "late ");
  write(3, abi::time_counter(), "later ");
  collect();
  collect();
  EXPECT_EQ(output_->file().held(), "late later ");
  // It goes on, and is waited for again.
  arena_->slot(2).busy = 0;
  collect();
  early_ = abi::time_counter();
  arena_->slot(2).busy = 1;
  write(3, abi::time_counter(), "z ");
  for (int i = 0; i < 3; ++i) collect();
  EXPECT_EQ(output_->file().held(), "late later ");
  write(2, early_, "y ");
  arena_->slot(2).busy = 0;
  for (int i = 0; i < 2; ++i) collect();
  EXPECT_EQ(output_->file().held(), "late later y z ");
}

TEST_F(OutputOfScript, BelievesAProcessNoKindThatItsHandlersCannotWrite) {
  script_.target_records = abi::record_kind_bit(abi::kPrintf);
  write(2, 1, "forged");
  write(2, 2, "", abi::kExit);
  output_->records().collect(*arena_);
  output_->records().hand_on(true);
  EXPECT_EQ(output_->file().held(), "");
  EXPECT_FALSE(output_->actions().exit_requested());
  EXPECT_THAT(output_->errors().refusals(),
              ElementsAre(StartsWith("2 records dropped that no handler of the script can have written")));
}

TEST_F(OutputOfScript, BelievesTheControllersOwnRing) {
  write(abi::kControllerSlot, 1, "mine");
  write(abi::kControllerSlot, 2, "", abi::kExit);
  output_->records().collect_controller(*arena_);
  EXPECT_EQ(output_->file().held(), "mine");
  EXPECT_TRUE(output_->actions().exit_requested());
}

TEST_F(OutputOfScript, RunsNoCommandWhoseTextAProcessMakesWhereTheScriptMakesNone) {
  script_.target_records = abi::record_kind_bit(abi::kSystem);
  write(2, 1, "echo forged >&2", abi::kSystem, abi::kCommandText);
  write(2, 2, "", abi::kSystem, 7);  // no such command in the script
  CaptureStderr();
  output_->records().collect(*arena_);
  output_->records().hand_on(true);
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_THAT(output_->errors().refusals(), ElementsAre(StartsWith("2 records dropped")));
}

TEST_F(OutputOfScript, AsksWhetherProcessesAreTrustedWithACommandsText) {
  script_.target_records = abi::record_kind_bit(abi::kSystem);
  script_.commands.made_at = "a.stp:3:5";
  output_->actions().trust_processes_by([] { return std::string("process 7 belongs to user 33"); });
  write(2, 1, "echo forged >&2", abi::kSystem, abi::kCommandText);
  CaptureStderr();
  output_->records().collect(*arena_);
  output_->records().hand_on(true);
  std::string printed = GetCapturedStderr();
  EXPECT_TRUE(printed.starts_with("ERROR: system() at a.stp:3:5: ")) << printed;
  EXPECT_NE(printed.find("process 7 belongs to user 33"), std::string::npos) << printed;
  EXPECT_EQ(output_->errors().count(), 1u);
}

TEST_F(OutputOfScript, DropsFileSwitchesOfProcessesThatAreTooMany) {
  script_.target_records = abi::record_kind_bit(abi::kSwitchFile);
  for (uint32_t slot : {2u, 3u}) {
    for (int i = 0; i < 200; ++i) write(slot, 1, "", abi::kSwitchFile);
  }
  output_->records().collect(*arena_);
  output_->records().hand_on(true);
  EXPECT_THAT(output_->errors().refusals(),
              ElementsAre(HasSubstr("calls of system() or switch_file() ignored: too many at once")));
}

TEST_F(OutputOfScript, PrintsAWarningAndAnErrorOnce) {
  CaptureStderr();
  for (uint64_t time : {1, 2, 3}) add(time, "odd", abi::kWarning), add(time, "bad", abi::kErrorText);
  output_->records().hand_on(true);
  EXPECT_EQ(GetCapturedStderr(), "WARNING: odd\nERROR: bad\n");
  EXPECT_EQ(output_->errors().count(), 3u);
  EXPECT_EQ(output_->errors().last(), "bad");
  EXPECT_THAT(output_->errors().repeated(), ElementsAre("3 times: ERROR: bad"));
}

TEST_F(OutputOfScript, OnlyCountsErrorsThatAreSuppressed) {
  messages_.suppress_handler_errors = true;
  CaptureStderr();
  add(1, "bad", abi::kErrorText);
  output_->records().hand_on(true);
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_EQ(output_->errors().count(), 0u);
  EXPECT_EQ(output_->errors().suppressed(), 1u);
}

TEST_F(OutputOfScript, ReportsARingThatIsDamaged) {
  arena_->slot(2).owner = 1;
  arena_->slot(2).ring_head = layout_.ring_size + 8;
  CaptureStderr();
  output_->records().collect(*arena_);
  EXPECT_EQ(GetCapturedStderr(), "WARNING: output ring 2 is damaged, its content is lost\n");
}

}  // namespace
}  // namespace spile::session
