#include "base/text/json.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace spile {

struct Json::Members {
  std::vector<std::string> names;
  std::vector<Json> values;
};

Json::Json(std::string value) : kind_(Kind::kText) { text_ = new std::string(std::move(value)); }

Json::Json(std::initializer_list<Element> list) : Json(array()) {
  bool is_object = true;
  for (const Element& element : list) is_object &= element.is_member();
  if (!is_object) {
    for (const Element& element : list) push_back(element.take());
    return;
  }
  *this = object();
  for (const Element& element : list) {
    std::vector<Json>& pair = *element.value_.elements_;
    (*this)[*pair[0].text_] = std::move(pair[1]);
  }
}

Json::Json(const Json& other) : kind_(other.kind_) {
  switch (kind_) {
    case Kind::kText: text_ = new std::string(*other.text_); break;
    case Kind::kArray: elements_ = new std::vector<Json>(*other.elements_); break;
    case Kind::kObject: members_ = new Members(*other.members_); break;
    default: unsigned_ = other.unsigned_;
  }
}

Json::Json(Json&& other) noexcept : kind_(other.kind_) {
  unsigned_ = other.unsigned_;
  other.kind_ = Kind::kNull;
}

Json& Json::operator=(Json other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(unsigned_, other.unsigned_);
  return *this;
}

Json::~Json() {
  if (kind_ == Kind::kText) delete text_;
  else if (kind_ == Kind::kArray) delete elements_;
  else if (kind_ == Kind::kObject) delete members_;
}

Json Json::array() {
  Json out;
  out.elements_ = new std::vector<Json>;
  out.kind_ = Kind::kArray;
  return out;
}

Json Json::array(std::initializer_list<Element> list) {
  Json out = array();
  out.elements_->reserve(list.size());
  for (const Element& element : list) out.elements_->push_back(element.take());
  return out;
}

Json Json::object() {
  Json out;
  out.members_ = new Members;
  out.kind_ = Kind::kObject;
  return out;
}

bool Json::boolean() const {
  CHECK(is_boolean());
  return boolean_;
}

int64_t Json::number() const {
  CHECK(is_integer());
  return signed_;
}

const std::string& Json::text() const {
  CHECK(is_text());
  return *text_;
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  CHECK(is_array());
  elements_->push_back(std::move(value));
}

Json& Json::operator[](size_t index) { return const_cast<Json&>(std::as_const(*this)[index]); }

const Json& Json::operator[](size_t index) const {
  CHECK(is_array() && index < elements_->size());
  return (*elements_)[index];
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = object();
  CHECK(is_object());
  if (const Json* found = find(name)) return const_cast<Json&>(*found);
  members_->names.emplace_back(name);
  return members_->values.emplace_back();
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  for (size_t i = 0; i < members_->names.size(); ++i) {
    if (members_->names[i] == name) return &members_->values[i];
  }
  return nullptr;
}

void Json::update(const Json& other) {
  CHECK(other.is_object());
  for (size_t i = 0; i < other.members_->names.size(); ++i) (*this)[other.members_->names[i]] = other.members_->values[i];
}

size_t Json::size() const { return is_array() ? elements_->size() : is_object() ? members_->values.size() : 0; }

const Json* Json::begin() const { return is_array() ? elements_->data() : is_object() ? members_->values.data() : nullptr; }

namespace {

void append_text(std::string& out, const std::string& text) {
  bool is_plain = true;
  for (const char c : text) is_plain &= c >= ' ' && c < 0x7f && c != '"' && c != '\\';
  if (!is_plain) {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

template <typename T>
void append_integer(std::string& out, T value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

}  // namespace

void Json::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::kNull: out += "null"; return;
    case Kind::kBoolean: out += boolean_ ? "true" : "false"; return;
    case Kind::kSigned: return append_integer(out, signed_);
    case Kind::kUnsigned: return append_integer(out, unsigned_);
    case Kind::kFloat: {
      char digits[64];
      if (std::isfinite(float_)) out.append(digits, nlohmann::detail::to_chars(digits, std::end(digits), float_));
      else out += "null";
      return;
    }
    case Kind::kText: return append_text(out, *text_);
    case Kind::kArray:
      out += '[';
      for (const Json& element : *elements_) {
        if (&element != elements_->data()) out += ',';
        element.append_to(out);
      }
      out += ']';
      return;
    case Kind::kObject:
      out += '{';
      for (size_t i = 0; i < members_->names.size(); ++i) {
        if (i > 0) out += ',';
        append_text(out, members_->names[i]);
        out += ':';
        members_->values[i].append_to(out);
      }
      out += '}';
      return;
  }
}

std::string Json::dump() const {
  std::string out;
  append_to(out);
  return out;
}

namespace {

// Deeper documents are none of ours: the stack must hold one frame a level, here and where a value ends.
constexpr int kMostLevels = 200;

// Converts `from`; false: it is nested too deep.
bool convert(const nlohmann::ordered_json& from, Json& to, int level = 0) {
  using Value = nlohmann::ordered_json::value_t;
  if (level > kMostLevels) return false;
  switch (from.type()) {
    case Value::boolean: to = from.get<bool>(); return true;
    case Value::number_integer: to = from.get<int64_t>(); return true;
    case Value::number_unsigned: to = from.get<uint64_t>(); return true;
    case Value::number_float: to = from.get<double>(); return true;
    case Value::string: to = from.get_ref<const std::string&>(); return true;
    case Value::array:
      to = Json::array();
      for (const auto& element : from) {
        Json converted;
        if (!convert(element, converted, level + 1)) return false;
        to.push_back(std::move(converted));
      }
      return true;
    case Value::object:
      to = Json::object();
      for (const auto& [name, value] : from.items()) {
        if (!convert(value, to[name], level + 1)) return false;
      }
      return true;
    default: return true;
  }
}

}  // namespace

std::optional<Json> Json::parse(std::string_view document) {
  const auto read = nlohmann::ordered_json::parse(document, nullptr, false);
  Json out;
  if (read.is_discarded() || !convert(read, out)) return std::nullopt;
  return out;
}

}  // namespace spile
