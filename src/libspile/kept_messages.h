#pragma once
// The messages of a session, and its last error, as spile.h shows them. Thread rule: one thread.

#include <deque>
#include <string>
#include <vector>

#include "libspile/spile.h"

namespace spile::client {

struct KeptMessage {
  std::string text, hint, file, excerpt;
  spile_message shown{};  // its pointers are set where it is shown

  // A message of `code` about no place.
  static KeptMessage of(int code, std::string text, std::string hint = {});
};

class KeptMessages {
 public:
  // Reads the payload of a frame of FrameKind::kMessage. Returns false if it can't be read.
  bool take(const std::string& payload);
  // Adds a warning that is not there yet.
  void add_warning(std::string text);
  bool is_empty() const { return messages_.empty(); }
  // The first error; null: there is none. Valid until the next message.
  const KeptMessage* first_error() const;

  // Notes the last error; returns its code.
  int fail_with(const KeptMessage& message);
  const spile_message* last_error() const { return has_error_ ? &error_ : nullptr; }
  // Valid until the next call.
  const spile_message* show(size_t* count) const;

 private:
  void add(KeptMessage message);

  std::deque<KeptMessage> messages_;
  mutable std::vector<spile_message> shown_;
  bool has_error_ = false;
  KeptMessage kept_error_;
  spile_message error_{};
};

}  // namespace spile::client
