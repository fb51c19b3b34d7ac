#include "base/messages.h"

#include <cstdio>

#include "base/diagnostics.h"
#include "base/result.h"
#include "base/source_excerpt.h"
#include "base/visible_text.h"

namespace spile {

namespace {
MessageSink* current_sink = nullptr;

bool warnings_shown = true;

std::string_view head_of(const Message& message) {
  switch (message.kind) {
    case MessageKind::kWarning: return "WARNING: ";
    case MessageKind::kHandlerError: return "ERROR: ";
    case MessageKind::kSystemError: return message.is_of_run ? "ERROR: " : "spile: ";
    case MessageKind::kScriptError:
    case MessageKind::kNote: break;
  }
  return "";
}

Message message_with(MessageKind kind, std::string text, std::string hint) {
  Message message(kind, std::move(text));
  message.hint = std::move(hint);
  return message;
}
}  // namespace

Message message_of(const Error& error) {
  Message message = message_with(MessageKind::kSystemError, error.message, error.hint);
  message.excerpt = error.output;
  return message;
}

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

void show_warnings(bool shown) { warnings_shown = shown; }
bool shows_warnings() { return warnings_shown; }

void say(Message message) {
  if (message.kind == MessageKind::kWarning && !warnings_shown) return;
  if (current_sink) return current_sink->take(std::move(message));
  std::string text(head_of(message));
  text.append(message.is_of_script ? message.text : visible_text(message.text)).append("\n").append(message.excerpt);
  if (!message.hint.empty()) text.append("  hint: ").append(visible_text(message.hint)).append("\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void warn(std::string text, std::string hint) { say(message_with(MessageKind::kWarning, std::move(text), std::move(hint))); }

void fail(std::string text, std::string hint) {
  Message message = message_with(MessageKind::kSystemError, std::move(text), std::move(hint));
  message.is_of_run = true;
  say(std::move(message));
}

void fail(const Error& error) {
  Message message = message_of(error);
  message.is_of_run = true;
  say(std::move(message));
}

int refuse(std::string text, std::string hint) {
  say(message_with(MessageKind::kSystemError, std::move(text), std::move(hint)));
  return 1;
}

int refuse(const Error& error) {
  say(message_of(error));
  return 1;
}

void note(std::string text) { say(Message(MessageKind::kNote, std::move(text))); }

}  // namespace spile
