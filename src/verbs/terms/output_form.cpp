#include "verbs/terms/output_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <strings.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace spile::verbs {

namespace {

constexpr std::string_view kJsonLines[] = {".json", ".jsonl", ".ndjson"};
constexpr std::string_view kPages[] = {".html", ".htm"};
constexpr std::string_view kOfFlame[] = {".svg", ".folded", ".pb", ".pb.gz", ".collapsed"};
constexpr std::string_view kTimelines[] = {".pftrace", ".perfetto", ".perfetto-trace"};
constexpr std::string_view kDocument = ".spile-run";
constexpr std::string_view kOfNobody[] = {".png", ".pdf", ".xml", ".xlsx", ".gz", ".zip", ".xz", ".zst", ".parquet", ".data"};

// Whether the name ends with it, in capitals or not.
bool has_ending(const std::string& file, std::string_view ending) {
  return file.size() > ending.size() &&
         ::strncasecmp(file.data() + file.size() - ending.size(), ending.data(), ending.size()) == 0;
}

bool has_one(const std::string& file, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return has_ending(file, ending); });
}

// What writes a file of this name instead; "": nothing does. Null: the ending says nothing about a form.
std::optional<std::string> other_way(const OutputForms& forms, const std::string& file) {
  const bool is_document = forms.verb == "record" || forms.verb == "report";
  const auto reported = [&](const char* option) -> std::string {
    if (!is_document && !forms.files.empty()) return "";  // its own files are better than a page of what its script prints
    const std::string report = fmt::format("spile report FILE.spile-run {} {}", option, file);
    if (forms.verb == "report") return report;
    return fmt::format("spile record {}... -o FILE.spile-run, then {}", is_document ? "" : forms.verb + " ", report);
  };
  if (has_one(file, kPages)) return reported("--html");
  if (has_one(file, kTimelines)) return reported("--perfetto");
  if (has_ending(file, ".csv")) return reported("--csv -o");
  if (has_one(file, kJsonLines)) return forms.has_json ? "with --json it writes JSON Lines" : reported("--json -o");
  if (has_one(file, kOfFlame))
    return is_document ? "" : fmt::format("spile flame writes such files: spile flame -x PID -T 10 -o {}", file);
  if (has_ending(file, kDocument))
    return forms.files.empty() || forms.verb == "trace" ? fmt::format("spile record {} ... -o {}", forms.verb, file) : "";
  if (has_one(file, kOfNobody)) return "";
  return std::nullopt;
}

}  // namespace

bool is_page(const std::string& file) { return has_one(file, kPages); }

Result<void> check_output_form(const OutputForms& forms, const std::string& file) {
  if (forms.json && has_one(file, kJsonLines)) return {};
  const bool is_own = std::ranges::any_of(forms.files, [&](std::string_view ending) { return file.ends_with(ending); });
  if (!forms.json && (is_own || (forms.has_page && is_page(file)))) return {};
  const std::optional<std::string> other = other_way(forms, file);
  if (!other) return {};
  if (forms.json) return Error{fmt::format("-o {}: --json writes JSON Lines", file), "leave out --json, or name the file .json"};
  std::string hint = *other;
  if (hint.empty()) {
    std::vector<std::string> names;
    if (forms.verb != "record") names.emplace_back("x.txt");
    for (std::string_view ending : forms.files) names.push_back(fmt::format("x{}", ending));
    if (forms.has_page) names.emplace_back("x.html");
    hint = fmt::format("use a name such as {}", fmt::join(names, " or "));
  }
  return Error{fmt::format("-o {}: spile {} writes {} there", file, forms.verb, forms.otherwise), hint};
}

}  // namespace spile::verbs
