#include "base/message_sink.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/source_excerpt.h"

namespace spile {

namespace {
MessageSink* current_sink = nullptr;

struct Head {
  std::string_view text;
  MessageKind kind;
};
constexpr Head kHeads[] = {
    {"WARNING: ", MessageKind::kWarning}, {"ERROR: ", MessageKind::kSystemError}, {"spile: ", MessageKind::kSystemError}};
constexpr std::string_view kHint = "  hint: ";
}  // namespace

void set_message_sink(MessageSink* sink) { current_sink = sink; }
MessageSink* message_sink() { return current_sink; }

Message message_of(const Diagnostic& diagnostic) {
  Message message(diagnostic.severity == Severity::kError ? MessageKind::kScriptError : MessageKind::kWarning,
                  diagnostic.message);
  message.hint = diagnostic.hint_text;
  const SourceRange& range = diagnostic.range;
  if (!range) return message;
  const SourceFile::Position begin = range.file->position(range.begin), end = range.file->position(range.end);
  message.file = range.file->name();
  message.line = begin.line;
  message.column = begin.column;
  message.end_line = end.line;
  message.end_column = end.column;
  message.excerpt = source_excerpt(range);
  for (const Diagnostic::Note& note : diagnostic.notes) {
    message.excerpt += (note.range ? note.range.to_string() + ": " : std::string()) + "note: " + note.message + "\n";
    if (note.range) message.excerpt += source_excerpt(note.range);
  }
  return message;
}

// A hint that is printed by itself comes without the message that it belongs to: it is a message of its own kind, which has only
// a hint.
void hand_over(std::string_view printed) {
  Message message;
  bool has_message = false;
  const auto finish = [&] {
    if (has_message) current_sink->take(std::move(message));
    message = {};
    has_message = false;
  };
  while (!printed.empty()) {
    const size_t end = std::min(printed.find('\n'), printed.size());
    std::string_view line = printed.substr(0, end);
    printed.remove_prefix(std::min(end + 1, printed.size()));
    if (line.starts_with(kHint)) {
      message.hint = line.substr(kHint.size());
      has_message = true;
      continue;
    }
    const Head* head = nullptr;
    for (const Head& known : kHeads) {
      if (line.starts_with(known.text)) head = &known;
    }
    if (head || !has_message) {
      finish();
      if (line.empty()) continue;
      message.kind = head ? head->kind : MessageKind::kNote;
      message.text = head ? line.substr(head->text.size()) : line;
      has_message = true;
    } else {
      message.text.append("\n").append(line);
    }
  }
  finish();
}

}  // namespace spile
