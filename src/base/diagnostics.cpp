#include "base/diagnostics.h"

#include <algorithm>
#include <unordered_set>

#include "base/diagnostic_colors.h"
#include "base/source_excerpt.h"
#include "base/visible_text.h"

namespace spile {

namespace {

struct Colors {
  std::string_view error, warning, note, caret, off;
};
constexpr Colors kColors = {kErrorColor, kWarningColor, kNoteColor, kCaretColor, kNoColor};

void render_place(std::string& out, const SourceRange& range, std::string_view kind, std::string_view message,
                  const Colors& colors) {
  // The user of a verb has not seen its script: the verb's words are the place.
  const std::string_view verb = range ? range.file->verb() : std::string_view();
  if (!verb.empty()) out.append(verb).append(": ");
  else if (range) out += range.to_string() + ": ";
  out.append(kind == "error" ? colors.error : kind == "warning" ? colors.warning : colors.note);
  out.append(kind).append(":").append(colors.off).append(" ").append(visible_text(message)).append("\n");
  if (range && verb.empty()) out += source_excerpt(range, colors.caret, colors.off);
}

// Levenshtein distance with swaps of neighbors counted as one, capped by the caller's interest.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

Diagnostic& Diagnostics::error(SourceRange range, std::string message) {
  ++errors_;
  return all_.emplace_back(Diagnostic{Severity::kError, range, std::move(message), {}, {}});
}

Diagnostic& Diagnostics::warning(SourceRange range, std::string message) {
  return all_.emplace_back(Diagnostic{Severity::kWarning, range, std::move(message), {}, {}});
}

std::string Diagnostics::render(bool with_warnings, bool color) const {
  const Colors colors = color ? kColors : Colors{};
  std::string out;
  std::unordered_set<std::string> shown;
  for (const Diagnostic& diagnostic : all_) {
    if (diagnostic.severity == Severity::kWarning && !with_warnings) continue;
    std::string text;
    render_place(text, diagnostic.range, diagnostic.severity == Severity::kError ? "error" : "warning", diagnostic.message,
                 colors);
    for (const auto& note : diagnostic.notes) render_place(text, note.range, "note", note.message, colors);
    if (!diagnostic.hint_text.empty()) text += "  hint: " + visible_text(diagnostic.hint_text) + "\n";
    // A body that many probes have is looked at for each of them.
    if (shown.insert(text).second) out += text;
  }
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t gap = candidate.size() > name.size() ? candidate.size() - name.size() : name.size() - candidate.size();
    if (gap > best_distance) continue;
    size_t distance = edit_distance(name, candidate);
    // The name itself was not accepted. A name that was not typed to its end is likelier than another letter.
    const bool begins = distance == best_distance && !best.empty() && candidate.starts_with(name) && !best.starts_with(name);
    if (distance > 0 && (distance < best_distance || begins)) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace spile
