#pragma once
// Reads a run that RunWriter has stored (docs/run-format.md), also one that still runs or whose spile was killed: up to its last
// whole frame. The file may come from anywhere: every number and index in it is checked. Thread rule: any thread.

#include <memory>
#include <string>

#include "base/result.h"
#include "runs/run/run_model.h"

namespace spile::runs {

// What is kept of a document; what is beyond is counted in it.
inline constexpr size_t kMostRunEvents = 30'000'000, kMostRunValues = 200'000'000, kMostRunElements = 10'000'000;

// Makes a document of frames, one after another.
class RunDecoder {
 public:
  RunDecoder();
  ~RunDecoder();
  RunDecoder(const RunDecoder&) = delete;
  RunDecoder& operator=(const RunDecoder&) = delete;

  // Adds a frame. Returns what is wrong with its payload; "": nothing.
  std::string take(uint32_t kind, const std::string& payload);
  // What has come so far: events in the order in which they came, modules not yet among it. The last tick has the state of
  // globals when it came.
  RunDocument& document();
  // Makes the document whole, when all frames have come. Errors: it has no description of the script, in the words that follow.
  std::string finish();
  // Drops the events and ticks that have come, of which the caller has taken what it needs: there is room for as many again.
  // Texts stay.
  void forget_events();

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

// Errors: the file can't be read, is not a run, has another version, or is damaged.
Result<RunDocument> read_run(const std::string& path);

}  // namespace spile::runs
