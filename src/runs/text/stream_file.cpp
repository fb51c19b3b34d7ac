#include "runs/text/stream_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace spile::runs {

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

}  // namespace spile::runs
