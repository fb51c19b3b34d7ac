#include "base/message_sink.h"

#include <gmock/gmock.h>

#include <vector>

#include "base/diagnostics.h"
#include "base/print.h"

namespace spile {
namespace {

struct Kept : MessageSink {
  Kept() { set_message_sink(this); }
  ~Kept() override { set_message_sink(nullptr); }
  void take(Message message) override { messages.push_back(std::move(message)); }
  std::vector<Message> messages;
};

TEST(MessageSink, SplitsPrintedLinesIntoMessages) {
  Kept kept;
  print_to(stderr, "WARNING: a\nWARNING: b\n  hint: do c\n");
  print_to(stderr, "spile: no\nwhere\n");
  print_to(stderr, "  hint: alone\n");
  print_to(stderr, "");
  ASSERT_EQ(kept.messages.size(), 4u);
  EXPECT_EQ(kept.messages[0].text, "a");
  EXPECT_EQ(kept.messages[1].hint, "do c");
  EXPECT_EQ(kept.messages[1].kind, MessageKind::kWarning);
  EXPECT_EQ(kept.messages[2].kind, MessageKind::kSystemError);
  EXPECT_EQ(kept.messages[2].text, "no\nwhere");
  EXPECT_EQ(kept.messages[3].text, "");
  EXPECT_EQ(kept.messages[3].hint, "alone");
}

TEST(MessageSink, GivesRangeOfDiagnostic) {
  SourceFiles files;
  const SourceFile& file = files.add("a.stp", "probe end {\n  prnt()\n}\n");
  Diagnostics diagnostics;
  diagnostics.error({&file, 14, 18}, "unresolved").hint("print?");
  const Message message = message_of(diagnostics.all().front());
  EXPECT_EQ(message.kind, MessageKind::kScriptError);
  EXPECT_EQ(message.file, "a.stp");
  EXPECT_EQ((std::vector{message.line, message.column, message.end_line, message.end_column}),
            (std::vector<uint32_t>{2, 3, 2, 7}));
  EXPECT_THAT(message.excerpt, testing::HasSubstr("^~~~"));
  EXPECT_EQ(message.hint, "print?");
}

}  // namespace
}  // namespace spile
