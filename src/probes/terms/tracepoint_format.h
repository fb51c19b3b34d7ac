#pragma once
// The record of a kernel tracepoint, as events/SYSTEM/EVENT/format of tracefs describes it:
//
//   name: sched_switch
//   format:
//           field:unsigned short common_type;       offset:0;       size:2; signed:0;
//           field:char prev_comm[16];       offset:8;       size:16;        signed:0;
//           field:__data_loc char[] name;   offset:8;       size:4; signed:0;
//   print fmt: ...
//
// https://docs.kernel.org/trace/events.html, "Event formats". Offsets and sizes in bytes.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spile::probes {

struct TracepointField {
  enum class Kind : uint8_t {
    kNumber,            // of 1, 2, 4 or 8 bytes; pointers too
    kCharacters,        // a char array in the record: a string
    kDataLocation,      // a u32: the low 16 bits are the offset of a string in the record
    kRelativeLocation,  // as above, but relative to the end of this field
    kArray,             // of numbers
    kOther,             // of a type that scripts do not have
  };
  std::string name;  // without $
  std::string type;  // as C writes it: "unsigned short", "char[16]"
  Kind kind = Kind::kOther;
  uint32_t offset = 0;
  uint32_t size = 0;
  bool is_signed = false;
  uint32_t element_size = 0;  // kArray
  bool common = false;        // of every tracepoint: common_pid ...
};

// Parses the text of a format file; fields in its order, without those whose declaration is of another form. Errors: the text is
// not of this form.
Result<std::vector<TracepointField>> parse_tracepoint_format(std::string_view text);

}  // namespace spile::probes
