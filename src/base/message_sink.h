#pragma once
// Takes the messages of this program in place of standard error: a program that runs spile through libspile gets them with their
// parts (docs/library-api.md). While one is set, print_text(stderr, ...) hands it every text. Thread rule: set once, before other
// threads print; take() from any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace spile {

struct Diagnostic;

// ORDER: numbers of docs/run-format.md.
enum class MessageKind : uint8_t {
  kNote = 0,  // what -v prints, and other lines
  kWarning = 1,
  kScriptError = 2,   // the script is wrong
  kSystemError = 3,   // the world refused
  kHandlerError = 4,  // a handler raised it
};

struct Message {
  Message() = default;
  Message(MessageKind its_kind, std::string its_text) : kind(its_kind), text(std::move(its_text)) {}

  MessageKind kind = MessageKind::kNote;
  std::string text;  // without "WARNING: " and "error: "
  std::string hint;  // what to do; "": none
  std::string file;  // of the script, as spile names it; "": the message is about no place
  // from 1, columns in bytes; the end is behind the last byte; 0: not known
  uint32_t line = 0, column = 0, end_line = 0, end_column = 0;
  std::string excerpt;  // the line of the script with a caret; "": none
};

class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void take(Message message) = 0;
};

// Sets the sink, which must outlive all printing; null: standard error again.
void set_message_sink(MessageSink* sink);
MessageSink* message_sink();

// Returns the message that a diagnostic is.
Message message_of(const Diagnostic& diagnostic);
// Hands the sink what would be printed: lines that begin with "WARNING: ", "ERROR: " or "spile: " begin a message, "  hint: "
// ends it. REQUIRES: there is a sink.
void hand_over(std::string_view printed);

}  // namespace spile
