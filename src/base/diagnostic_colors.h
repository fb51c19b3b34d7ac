#pragma once
// The escapes of a terminal that diagnostics use, as compilers do: errors in red, warnings in magenta, notes in cyan, carets in
// green, all bold; kNoColor ends each. TerminalGuard lets exactly these through.

#include <string_view>

namespace spile {

inline constexpr std::string_view kErrorColor = "\x1b[01;31m", kWarningColor = "\x1b[01;35m", kNoteColor = "\x1b[01;36m",
                                  kCaretColor = "\x1b[01;32m", kNoColor = "\x1b[m";
inline constexpr std::string_view kDiagnosticColors[] = {kErrorColor, kWarningColor, kNoteColor, kCaretColor, kNoColor};

}  // namespace spile
