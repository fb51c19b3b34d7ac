#pragma once
// Json: a value of JSON (RFC 8259) that is made, changed and written; reading gives one, too. nlohmann-json does the reading and
// the writing of numbers and of text that isn't ASCII, in json.cpp alone: its header costs each file that includes it some 5 s of
// compilation.
//
// The forms are those of nlohmann::ordered_json: `Json object = {{"name", name}, {"sizes", Json::array({1, 2})}}`. A braced list
// is an object if all of its elements are pairs that begin with a text, else an array. Members keep their order.
//
// A value is 16 bytes, and owns what it contains. One thread at a time.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spile {

class Json {
 public:
  enum class Kind : uint8_t { kNull, kBoolean, kSigned, kUnsigned, kFloat, kText, kArray, kObject };
  class Element;

  Json() {}
  Json(std::nullptr_t) {}
  Json(bool value) : kind_(Kind::kBoolean) { boolean_ = value; }
  template <std::signed_integral T>
  Json(T value) : kind_(Kind::kSigned) {
    signed_ = value;
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  Json(T value) : kind_(Kind::kUnsigned) {
    unsigned_ = value;
  }
  Json(double value) : kind_(Kind::kFloat) { float_ = value; }
  Json(std::string value);
  Json(std::string_view value) : Json(std::string(value)) {}
  Json(const char* value) : Json(std::string(value)) {}
  // An array of what a range has, or an object of a map by texts.
  template <std::ranges::input_range Range>
    requires(!std::convertible_to<const Range&, std::string_view> && !std::same_as<std::remove_cvref_t<Range>, Json>)
  Json(const Range& range) {
    if constexpr (requires { typename Range::mapped_type; }) {
      *this = object();
      for (const auto& [name, value] : range) (*this)[name] = value;
    } else {
      *this = array();
      for (const auto& value : range) push_back(value);
    }
  }
  Json(std::initializer_list<Element> list);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  static Json array();
  static Json array(std::initializer_list<Element> list);
  static Json object();

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_boolean() const { return kind_ == Kind::kBoolean; }
  bool is_integer() const { return kind_ == Kind::kSigned || kind_ == Kind::kUnsigned; }
  bool is_unsigned() const { return kind_ == Kind::kUnsigned; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }

  // REQUIRES: of that kind. An integer of the other signedness is converted as C++ does it.
  bool boolean() const;
  int64_t number() const;
  uint64_t unsigned_number() const { return static_cast<uint64_t>(number()); }
  const std::string& text() const;

  // Elements of an array. A null becomes an empty array first. REQUIRES: an array or a null; the index is below size().
  void push_back(Json value);
  Json& operator[](size_t index);
  const Json& operator[](size_t index) const;

  // The member of an object, added (null) if it is not there. A null becomes an empty object. REQUIRES: an object or a null.
  Json& operator[](std::string_view name);
  // The member, or null: this is not an object, or it has no such member.
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name); }
  // Takes the members of another object, in place of those with their names. REQUIRES: both are objects.
  void update(const Json& other);

  // Elements or members; 0: of others.
  size_t size() const;
  bool empty() const { return size() == 0; }
  // Elements of an array, values of an object; of others none.
  const Json* begin() const;
  const Json* end() const { return begin() + size(); }

  // Returns the text, on one line and without blanks. Bytes that are not UTF-8 become U+FFFD, infinite numbers null.
  std::string dump() const;
  void append_to(std::string& out) const;

  // Reads a document; nothing: it is not one, or nested deeper than 200 levels.
  static std::optional<Json> parse(std::string_view document);

 private:
  struct Members;

  Kind kind_ = Kind::kNull;
  union {
    bool boolean_;
    int64_t signed_ = 0;
    uint64_t unsigned_;
    double float_;
    std::string* text_;
    std::vector<Json>* elements_;
    Members* members_;
  };
};

// What stands in a braced list: anything of which a Json is made, or a list.
class Json::Element {
 public:
  template <typename T>
  Element(T&& value) : value_(std::forward<T>(value)) {}
  Element(std::initializer_list<Element> list) : value_(list) {}
  // The value, which is taken out: elements of an initializer list are const.
  Json take() const { return std::move(value_); }
  // A pair that begins with a text.
  bool is_member() const { return value_.is_array() && value_.size() == 2 && value_[size_t{0}].is_text(); }

 private:
  friend class Json;
  mutable Json value_;
};

}  // namespace spile
