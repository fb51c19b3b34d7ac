#pragma once
// What messages of OpenTelemetry's protocol have in common: fields in the encoding of protobuf, attributes, the resource and the
// scope (opentelemetry/proto/common and resource, v1). protozero stays in the files that include this.

#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runs/text/utf8_text.h"

namespace spile::runs {

// A message of protobuf, field by field.
class Message {
 public:
  Message& number(uint32_t field, uint64_t value) { return writer().add_uint64(field, value), *this; }
  Message& signed_number(uint32_t field, int32_t value) { return writer().add_sint32(field, value), *this; }
  Message& fixed(uint32_t field, uint64_t value) { return writer().add_fixed64(field, value), *this; }
  Message& real(uint32_t field, double value) { return writer().add_double(field, value), *this; }
  Message& text(uint32_t field, std::string_view value) { return writer().add_string(field, valid_utf8(value)), *this; }
  Message& bytes(uint32_t field, std::string_view value) { return writer().add_bytes(field, value.data(), value.size()), *this; }
  Message& message(uint32_t field, const Message& value) { return writer().add_message(field, value.bytes_), *this; }
  Message& numbers(uint32_t field, const std::vector<uint64_t>& values) {
    return writer().add_packed_uint64(field, values.begin(), values.end()), *this;
  }
  Message& fixed_numbers(uint32_t field, const std::vector<uint64_t>& values) {
    return writer().add_packed_fixed64(field, values.begin(), values.end()), *this;
  }
  Message& reals(uint32_t field, const std::vector<double>& values) {
    return writer().add_packed_double(field, values.begin(), values.end()), *this;
  }
  const std::string& get() const { return bytes_; }

 private:
  protozero::pbf_writer writer() { return protozero::pbf_writer(bytes_); }
  std::string bytes_;
};

// common.proto: KeyValue { key = 1, value = 2 }, AnyValue { string_value = 1, int_value = 3 }
inline Message attribute(const std::string& name, const std::string& value) {
  return Message().text(1, name).message(2, Message().text(1, value));
}
inline Message attribute(const std::string& name, int64_t value) {
  return Message().text(1, name).message(2, Message().number(3, static_cast<uint64_t>(value)));
}

// resource.proto: Resource { attributes = 1 }; names of the semantic conventions
inline Message resource_of(const std::string& host, const std::string& script) {
  Message resource;
  resource.message(1, attribute("service.name", "spile"))
      .message(1, attribute("host.name", host))
      .message(1, attribute("spile.script", script));
  return resource;
}

// InstrumentationScope { name = 1, version = 2 }
inline Message scope_of(const std::string& version) {
  Message scope;
  scope.text(1, "spile").text(2, version);
  return scope;
}

}  // namespace spile::runs
