#include "session/live/event_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace spile::session {
namespace {

class EventLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    for (auto& [reader, writer] : pipes_) {
      int ends[2];
      ASSERT_EQ(pipe(ends), 0);
      reader.reset(ends[0]);
      writer.reset(ends[1]);
    }
  }
  void write(size_t pipe) { ASSERT_EQ(::write(pipes_[pipe].second.get(), "x", 1), 1); }
  std::function<int()> reader(size_t pipe) {
    return [this, pipe] { return pipes_[pipe].first.get(); };
  }

  std::pair<UniqueFd, UniqueFd> pipes_[2];
  EventLoop loop_;
  std::string served_;
};

TEST_F(EventLoopTest, ServesWhatIsReadableInTheOrderOfItsSources) {
  loop_.on_readable(reader(0), [&] { served_ += "a"; });
  loop_.on_readable([] { return -1; }, [&] { served_ += "never"; });
  loop_.on_readable(reader(1), [&] { served_ += "b"; });
  write(1);
  loop_.wait();
  EXPECT_TRUE(loop_.serve().ok());
  EXPECT_EQ(served_, "b");
  write(0);
  loop_.wait();
  EXPECT_TRUE(loop_.serve().ok());
  EXPECT_EQ(served_, "bab");
}

TEST_F(EventLoopTest, EndsServingWithTheFirstError) {
  loop_.on_readable(reader(0), [&]() -> Result<void> { return Error{"no", ""}; });
  loop_.on_readable(reader(1), [&] { served_ += "b"; });
  write(0);
  write(1);
  loop_.wait();
  EXPECT_FALSE(loop_.serve().ok());
  EXPECT_EQ(served_, "");
}

TEST_F(EventLoopTest, SleepsUntilTheFirstMoment) {
  constexpr int64_t kMomentNs = 5'000'000;
  const int64_t begun = monotonic_ns();
  loop_.on_readable(reader(0), [&] { served_ += "a"; });
  loop_.wake_by([](int64_t) { return INT64_MAX; });
  loop_.wake_by([begun](int64_t) { return begun + kMomentNs; });
  loop_.wait();
  EXPECT_GE(monotonic_ns(), begun + kMomentNs);
  EXPECT_TRUE(loop_.serve().ok());
  EXPECT_EQ(served_, "");
}

}  // namespace
}  // namespace spile::session
