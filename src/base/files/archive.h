#pragma once
// A structure's members, named once for writing and reading:
//
//   template <class A>
//   void fields(A& a, Like<Place> auto& p) {
//     a(p.file, p.line, p.kind);
//   }
//   ArchiveWriter<MyFormat> out;       ArchiveReader<MyFormat> in(bytes);
//   out(place);                        Place place;
//   send(out.take());                  if (!in(place)) return damaged();
//
// The archive calls fields() with each structure that it meets: a constant one when it writes. For what a list of members can't
// say, fields() may look at A::kReads, and has fail() of the reader then. It lies in the namespace of the structure or of the
// format.
//
// A format is a type that says:
//
//   static constexpr Numbers kNumbers        how numbers are written
//   static constexpr E last(E)               for each enumeration that it meets: the last value. Enumerations begin at 0.
//
// Numbers and enumerations are written as kNumbers says, truth values as a number 0 or 1; addresses as their number; texts, lists
// and sets behind their length, a number of 64 bits; optional and shared values behind the truth that they are there. A structure
// has nothing in front and nothing behind, so the bytes can be read only with the same fields(): whoever changes them changes the
// version that stands in front of the bytes.
//
// Reading believes nothing: a value that its type can't have, an enumeration beyond its last value, a list that is longer than
// the rest of the bytes fails. What can't be read stays as it was made; a list has the elements before it. Memory is taken as
// elements are read, never for what a length says. Thread rule: one thread for each archive.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/files/bytes.h"

namespace spile {

// A structure, for writing (constant) or for reading.
template <class T, class Wanted>
concept Like = std::same_as<std::remove_const_t<T>, Wanted>;

enum class Numbers {
  kShort,     // LEB128, signed ones zigzag: as ByteWriter writes them
  kEight,     // of 8 bytes each, little-endian, sign-extended
  kAsMemory,  // of as many bytes as their type has, little-endian; for one build of spile on one machine
};

template <class T>
concept NumberOrEnum = std::integral<T> || std::is_enum_v<T>;

template <class Format>
class ArchiveWriter {
 public:
  static constexpr bool kReads = false;

  ArchiveWriter() = default;
  explicit ArchiveWriter(Format format) : format_(std::move(format)) {}
  // Appends values, in the order given.
  template <class... Ts>
  void operator()(const Ts&... values) {
    (put(values), ...);
  }
  // Appends a value as it is in memory.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void as_memory(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const Format& format() const { return format_; }
  const std::string& bytes() const { return bytes_; }
  // Returns the bytes, and empties the archive.
  std::string take() { return std::move(bytes_); }

 private:
  template <NumberOrEnum T>
  void put(const T& value) {
    if constexpr (Format::kNumbers == Numbers::kAsMemory) {
      as_memory(value);
    } else if constexpr (Format::kNumbers == Numbers::kEight) {
      as_memory(static_cast<uint64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      const auto number = static_cast<int64_t>(value);
      append_uleb(bytes_, static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63));
    } else {
      append_uleb(bytes_, static_cast<uint64_t>(value));
    }
  }
  void put(const std::string& text) {
    put(uint64_t{text.size()});
    bytes_ += text;
  }
  template <class Tag>
  void put(StrongAddress<Tag> address) {
    put(address.value);
  }
  template <class Clock, class Duration>
  void put(std::chrono::time_point<Clock, Duration> time) {
    put(time.time_since_epoch().count());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(uint64_t{values.size()});
    if constexpr (std::same_as<T, uint8_t>) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size());
    else
      for (const auto& value : values) put(static_cast<const T&>(value));  // of vector<bool>, a reference is another type
  }
  template <class T>
  void put(const std::set<T, std::less<>>& values) {
    put(uint64_t{values.size()});
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::shared_ptr<const T>& value) {
    put(value != nullptr);
    if (value) put(*value);
  }
  template <class T>
    requires std::is_class_v<T>
  void put(const T& value) {
    fields(*this, value);
  }

  [[no_unique_address]] Format format_;
  std::string bytes_;
};

template <class Format>
class ArchiveReader {
 public:
  static constexpr bool kReads = true;

  // bytes: outlive the archive. format: may have what fields() needs to know, in members.
  explicit ArchiveReader(std::string_view bytes, Format format = {}) : format_(std::move(format)), bytes_(bytes) {}
  // Reads the next values, in the order in which they were written. Returns whether this and all before could be read.
  template <class... Ts>
  bool operator()(Ts&... values) {
    (get(values), ...);
    return !failed();
  }
  // Reads a value as it is in memory. REQUIRES: any bytes make a T.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void as_memory(T& value) {
    const T read = bytes_.fixed<T>();
    if (!failed()) value = read;
  }
  const Format& format() const { return format_; }
  bool failed() const { return bytes_.failed(); }
  // Whether all was read, and nothing is left.
  bool at_end() const { return !failed() && bytes_.at_end(); }
  // Declares the bytes wrong: drops the rest of them.
  void fail() { bytes_.fail(); }

 private:
  // Returns the next number of a type; 0 and fails, if there is none of that type.
  template <class T>
  T number() {
    if constexpr (Format::kNumbers == Numbers::kAsMemory) {
      return bytes_.fixed<T>();
    } else if constexpr (Format::kNumbers == Numbers::kEight) {
      const auto read = bytes_.fixed<uint64_t>();
      const T value = static_cast<T>(read);
      return static_cast<uint64_t>(value) == read ? value : (fail(), T{});
    } else {
      const uint64_t read = bytes_.uleb();
      if constexpr (std::is_signed_v<T>) {
        const auto value = static_cast<int64_t>(read >> 1 ^ (0 - (read & 1)));
        return std::in_range<T>(value) ? static_cast<T>(value) : (fail(), T{});
      } else {
        return std::in_range<T>(read) ? static_cast<T>(read) : (fail(), T{});
      }
    }
  }
  // Returns the next value of an enumeration, checked by nothing. A negative one is large.
  template <class Enum>
  uint64_t enumerator() {
    if constexpr (Format::kNumbers == Numbers::kAsMemory) return static_cast<uint64_t>(number<std::underlying_type_t<Enum>>());
    else return number<uint64_t>();
  }
  // Each element takes a byte at least, so a length is never beyond what is left.
  uint64_t length() {
    const auto size = number<uint64_t>();
    return size > bytes_.left() ? (fail(), 0) : size;
  }

  template <NumberOrEnum T>
  void get(T& value) {
    if constexpr (std::same_as<T, bool>) {
      const auto read = number<uint8_t>();
      if (read > 1) return fail();
      if (!failed()) value = read != 0;
    } else if constexpr (std::is_enum_v<T>) {
      const uint64_t read = enumerator<T>();
      if (read > static_cast<uint64_t>(Format::last(T{}))) return fail();
      if (!failed()) value = static_cast<T>(read);
    } else {
      const T read = number<T>();
      if (!failed()) value = read;
    }
  }
  void get(std::string& text) { text = bytes_.take(number<uint64_t>()); }
  template <class Tag>
  void get(StrongAddress<Tag>& address) {
    get(address.value);
  }
  template <class Clock, class Duration>
  void get(std::chrono::time_point<Clock, Duration>& time) {
    time = std::chrono::time_point<Clock, Duration>(Duration(number<typename Duration::rep>()));
  }
  template <class T>
  void get(std::vector<T>& values) {
    const uint64_t size = length();
    values.clear();
    if constexpr (std::same_as<T, uint8_t>) {
      const std::string_view read = bytes_.take(size);
      values.assign(read.begin(), read.end());
    } else {
      for (uint64_t i = 0; i < size && !failed(); ++i) {
        T value{};
        get(value);
        if (!failed()) values.push_back(std::move(value));
      }
    }
  }
  template <class T>
  void get(std::set<T, std::less<>>& values) {
    std::vector<T> read;
    get(read);
    values.clear();
    values.insert(read.begin(), read.end());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    if (there) get(value.emplace());
  }
  template <class T>
  void get(std::shared_ptr<const T>& value) {
    bool there = false;
    get(there);
    if (!there) return;
    auto made = std::make_shared<std::remove_const_t<T>>();
    get(*made);
    value = std::move(made);
  }
  template <class T>
    requires std::is_class_v<T>
  void get(T& value) {
    fields(*this, value);
  }

  [[no_unique_address]] Format format_;
  ByteCursor bytes_;
};

}  // namespace spile
