#include "session/text/stream_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace spile::session {

namespace {

using nlohmann::json;
using Kind = syntax::FormatPart::Kind;

// ORDER FormatPart::Kind, from kSigned on: printf's letters.
constexpr std::string_view kConversions = "duoxXpscbmM";

// JSON strings are Unicode; a script's literals are bytes. Byte 0xNN is written as the character U+00NN.
std::string bytes_to_text(std::string_view bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else {
      text += static_cast<char>(0xc0 | c >> 6);
      text += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  return text;
}

std::string text_to_bytes(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0xc0 && i + 1 < text.size()) {
      auto next = static_cast<unsigned char>(text[++i]);
      bytes += static_cast<char>((c & 3) << 6 | (next & 0x3f));
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

Json part_to_json(const syntax::FormatPart& part) {
  if (part.kind == Kind::kLiteral) return {{"literal", bytes_to_text(part.literal)}};
  std::string flags;
  if (part.left) flags += '-';
  if (part.zero) flags += '0';
  if (part.plus) flags += '+';
  if (part.space) flags += ' ';
  if (part.alternate) flags += '#';
  Json out = {{"conversion", std::string(1, kConversions[static_cast<size_t>(part.kind) - 1])}};
  if (!flags.empty()) out["flags"] = flags;
  if (part.precision_argument) out["precision"] = "*";
  else if (part.precision >= 0) out["precision"] = part.precision;
  if (part.width_argument) out["width"] = "*";
  else if (part.width >= 0) out["width"] = part.width;
  return out;
}

// A file may come from anywhere: its numbers are no larger than a script's may be.
int columns_from_json(const json& in) {
  constexpr int kMostColumns = 1 << 16;
  return std::clamp(in.get<int>(), -kMostColumns, kMostColumns);
}

syntax::FormatPart part_from_json(const json& in) {
  syntax::FormatPart part;
  if (in.contains("literal")) {
    part.literal = text_to_bytes(in["literal"].get<std::string>());
    return part;
  }
  size_t letter = kConversions.find(in.at("conversion").get<std::string>());
  part.kind = letter == std::string_view::npos ? Kind::kSigned : static_cast<Kind>(letter + 1);
  std::string flags = in.value("flags", "");
  part.left = (flags.find('-') != std::string::npos);
  part.zero = (flags.find('0') != std::string::npos);
  part.plus = (flags.find('+') != std::string::npos);
  part.space = (flags.find(' ') != std::string::npos);
  part.alternate = (flags.find('#') != std::string::npos);
  if (in.contains("width")) {
    part.width_argument = in["width"].is_string();
    if (!part.width_argument) part.width = columns_from_json(in["width"]);
  }
  if (in.contains("precision")) {
    part.precision_argument = in["precision"].is_string();
    if (!part.precision_argument) part.precision = columns_from_json(in["precision"]);
  }
  return part;
}

Result<void> write_all(int fd, std::span<const char> bytes, const char* what) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return Error::from_errno(what, errno);
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

Json formats_as_json(std::span<const syntax::OutputFormat> formats) {
  Json out = Json::array();
  for (const syntax::OutputFormat& format : formats) {
    if (format.kind == syntax::OutputFormat::Kind::kHistogram) {
      out.push_back({{"elision", format.elision},
                     {"high", format.high},
                     {"histogram", format.is_log ? "log" : "linear"},
                     {"low", format.low},
                     {"summary", format.has_summary},
                     {"unit", format.unit},
                     {"width", format.width}});
      continue;
    }
    Json parts = Json::array(), arguments = Json::array();
    for (const syntax::FormatPart& part : format.parts) parts.push_back(part_to_json(part));
    for (ValueType type : format.arguments) arguments.push_back(type == ValueType::kString ? "string" : "long");
    out.push_back({{"arguments", std::move(arguments)}, {"printf", std::move(parts)}});
  }
  return out;
}

Result<std::vector<syntax::OutputFormat>> formats_from_json(const std::string& text) {
  std::vector<syntax::OutputFormat> formats;
  try {
    for (const json& in : json::parse(text)) {
      syntax::OutputFormat format{};
      if (in.contains("histogram")) {
        format.kind = syntax::OutputFormat::Kind::kHistogram;
        format.is_log = in["histogram"] == "log";
        format.low = in.at("low");
        format.high = in.at("high");
        format.width = in.at("width");
        if (!format.is_log && (format.width <= 0 || format.low > format.high))
          return Error{"its table of formats is damaged: a histogram without buckets", {}};
        format.elision = in.value("elision", format.elision);
        format.has_summary = in.value("summary", false);
        format.unit = in.value("unit", std::string());
      } else {
        format.kind = syntax::OutputFormat::Kind::kPrintf;
        for (const json& part : in.at("printf")) format.parts.push_back(part_from_json(part));
        for (const json& type : in.at("arguments")) {
          format.arguments.push_back(type == "string" ? ValueType::kString : ValueType::kLong);
        }
      }
      formats.push_back(std::move(format));
    }
  } catch (const json::exception& error) {
    return Error{fmt::format("its table of formats is damaged: {}", error.what()), {}};
  }
  return formats;
}

StreamFiles::StreamFiles(std::string base, const codegen::CompiledScript& script)
    : base_(std::move(base)), json_(formats_as_json(script.formats).dump()) {}

Result<int> StreamFiles::file_of(ArenaView& arena, uint32_t stream) {
  UniqueFd& fd = files_[stream];
  if (fd) return fd.get();
  std::string path = fmt::format("{}_{}", base_, stream);
  fd.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0666));
  if (!fd) return Error::from_errno("open output file " + path, errno);
  const ArenaView::Clock& clock = arena.clock();
  StreamHeader header{
      {'S', 'P', 'I', 'L', 'E', 'S', 'T', 'R'}, kStreamVersion, stream, clock.base_tsc, clock.base_ns, clock.mult, clock.shift,
      static_cast<uint32_t>(json_.size())};
  TRY_DO(write_all(fd.get(), {reinterpret_cast<const char*>(&header), sizeof header}, "write output"));
  TRY_DO(write_all(fd.get(), json_, "write output"));
  return fd.get();
}

Result<void> StreamFiles::append(ArenaView& arena, uint32_t stream, std::span<const char> records) {
  TRY(int fd, file_of(arena, stream));
  return write_all(fd, records, "write output");
}

Result<void> StreamFiles::append_lost(ArenaView& arena, uint32_t stream, uint64_t lost) {
  struct {
    abi::OwnedHeader header;
    uint64_t lost;
  } record{{{sizeof record, kStreamLost, 0, 0, 0, ~0ULL}}, lost};
  return append(arena, stream, {reinterpret_cast<const char*>(&record), sizeof record});
}

}  // namespace spile::session
