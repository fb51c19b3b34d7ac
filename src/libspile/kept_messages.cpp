#include "libspile/kept_messages.h"

#include <algorithm>
#include <utility>

#include "base/files/bytes.h"
#include "base/messages.h"

namespace spile::client {

namespace {

constexpr size_t kMostMessages = 10'000;

int code_of(uint64_t kind) {
  switch (static_cast<MessageKind>(kind)) {
    case MessageKind::kWarning: return SPILE_WARNING;
    case MessageKind::kScriptError: return SPILE_ERROR_SCRIPT;
    case MessageKind::kSystemError: return SPILE_ERROR_SYSTEM;
    case MessageKind::kHandlerError: return SPILE_ERROR_HANDLER;
    case MessageKind::kNote: break;
  }
  return SPILE_NOTE;
}

// With pointers into `message`.
spile_message shown_of(const KeptMessage& message) {
  spile_message shown = message.shown;
  shown.text = message.text.c_str();
  shown.hint = message.hint.c_str();
  shown.file = message.file.c_str();
  shown.excerpt = message.excerpt.c_str();
  return shown;
}

}  // namespace

KeptMessage KeptMessage::of(int code, std::string text, std::string hint) {
  KeptMessage message{std::move(text), std::move(hint), {}, {}, {}};
  message.shown.code = code;
  return message;
}

bool KeptMessages::take(const std::string& payload) {
  ByteReader in(payload);
  const int code = code_of(in.number());
  KeptMessage message;
  for (std::string* text : {&message.text, &message.hint, &message.file, &message.excerpt}) *text = in.text();
  uint32_t place[4];
  for (uint32_t& number : place) number = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
  if (!in.ok()) return false;
  message.shown = {code, place[0], place[1], place[2], place[3], 0, nullptr, nullptr, nullptr, nullptr};
  add(std::move(message));
  return true;
}

void KeptMessages::add_warning(std::string text) {
  const bool is_known = std::ranges::any_of(messages_, [&](const KeptMessage& known) { return known.text == text; });
  if (!is_known) add(KeptMessage::of(SPILE_WARNING, std::move(text)));
}

void KeptMessages::add(KeptMessage message) {
  if (messages_.size() < kMostMessages) messages_.push_back(std::move(message));
}

const KeptMessage* KeptMessages::first_error() const {
  const auto error = std::ranges::find_if(messages_, [](const KeptMessage& message) { return message.shown.code < 0; });
  return error == messages_.end() ? nullptr : &*error;
}

int KeptMessages::fail_with(const KeptMessage& message) {
  kept_error_ = message;
  error_ = shown_of(kept_error_);
  has_error_ = true;
  return error_.code;
}

const spile_message* KeptMessages::show(size_t* count) const {
  shown_.clear();
  for (const KeptMessage& message : messages_) shown_.push_back(shown_of(message));
  *count = shown_.size();
  return shown_.data();
}

}  // namespace spile::client
