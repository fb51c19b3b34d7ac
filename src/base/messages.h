#pragma once
// What spile says to its user beside its results: warnings, errors and notes, with their parts. They go to standard error, or to
// a sink: a program that runs spile through libspile gets them as they are (docs/library-api.md). On standard error a message is
// one line: names in it, of symbols, files and processes, are shown with their newlines and control characters escaped, so that
// they forge no other message. While a sink is set,
// print_text(stderr, ...) hands it each text as a note. Never throws and never ends the program. Thread rule: sink and
// show_warnings() are set once, before other threads print; the rest from any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace spile {

struct Diagnostic;
struct Error;

// ORDER: numbers of docs/run-format.md.
enum class MessageKind : uint8_t {
  kNote = 0,  // what -v prints, and other lines
  kWarning = 1,
  kScriptError = 2,   // the script is wrong
  kSystemError = 3,   // the world refused: nothing is done of what was asked, or something failed while a script ran
  kHandlerError = 4,  // a handler raised it
};

struct Message {
  Message() = default;
  Message(MessageKind its_kind, std::string its_text) : kind(its_kind), text(std::move(its_text)) {}

  MessageKind kind = MessageKind::kNote;
  bool is_of_run = false;     // of a kSystemError: it came while a script ran
  bool is_of_script = false;  // the text is the script's own, and has the lines that the script has written
  std::string text;           // without "WARNING: " and "error: "
  std::string hint;           // what to do; "": none
  std::string file;           // of the script, as spile names it; "": the message is about no place
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

// With false (-w), nothing is said of kind kWarning from here on.
void show_warnings(bool shown);
bool shows_warnings();

// Says a message: prints what it is by its first word, its excerpt and its hint, or hands it to the sink.
void say(Message message);
// "WARNING: text", a line "  hint: ..." where there is one; nothing with -w. To go on is right, but something is missing.
void warn(std::string text, std::string hint = {});
// "ERROR: text": something has failed in a run that goes on to its end, whose status becomes 1.
void fail(std::string text, std::string hint = {});
void fail(const Error& error);
// "spile: text": nothing is done of what was asked. Returns the exit status for it, 1.
int refuse(std::string text, std::string hint = {});
int refuse(const Error& error);
// The text as a line: what -v tells, and answers to what the user does.
void note(std::string text);

// Returns the message that a diagnostic is.
Message message_of(const Diagnostic& diagnostic);

}  // namespace spile
