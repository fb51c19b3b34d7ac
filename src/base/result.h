#pragma once
// Result<T>: a value, or the Error with which the world refused (the second of the three kinds of error, see CONTRIBUTING.md).
// An Error says what was tried on what and why it failed; its hint says what to do next.

#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace spile {

struct Error {
  std::string message;      // "attach 4711: Operation not permitted (owned by uid 0)"
  std::string hint;         // "run as root, or start the program with -c"; may be empty
  std::string output = {};  // lines that another program has said about it, shown below the message as they are; may be empty

  // Makes an error with the message "what: strerror(errnum)".
  static Error from_errno(std::string what, int errnum, std::string hint = {});
  // Returns the error with "context: " in front of its message.
  Error within(const std::string& context) &&;
};

// Made from a T or an Error. A false condition of a REQUIRES ends the program (CHECK).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& value() & {
    CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    CHECK(ok());
    return *value_;
  }
  T&& value() && {
    CHECK(ok());
    return *std::move(value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

  // REQUIRES: !ok().
  const Error& error() const& {
    CHECK(!ok());
    return error_;
  }
  Error&& error() && {
    CHECK(!ok());
    return std::move(error_);
  }

 private:
  // Not a std::variant: its instances are a tenth of what compiling a file costs.
  std::optional<T> value_;
  Error error_;  // empty where there is a value
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  // REQUIRES: !ok().
  const Error& error() const& {
    CHECK(!ok_);
    return error_;
  }
  Error&& error() && {
    CHECK(!ok_);
    return std::move(error_);
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace spile

// TRY(auto x, expression): x is the value, or the enclosing function returns the error. It is several statements, so not the body
// of an `if` without braces.
#define SPILE_CONCAT_(a, b) a##b
#define SPILE_CONCAT(a, b) SPILE_CONCAT_(a, b)
#define TRY(declaration, expression) TRY_IMPL_(SPILE_CONCAT(result_, __COUNTER__), declaration, expression)
#define TRY_IMPL_(temporary, declaration, expression)       \
  auto temporary = (expression);                            \
  if (!temporary.ok()) return std::move(temporary).error(); \
  declaration = std::move(temporary).value()
// TRY_DO(expression): for Result<void>.
#define TRY_DO(expression) \
  if (auto result_void = (expression); !result_void.ok()) return std::move(result_void).error()
