#pragma once
// The escapes of a terminal that diagnostics use, as compilers do: bold red errors, magenta warnings, cyan notes, green carets.

#include <string_view>

namespace spile {

inline constexpr std::string_view kErrorColor = "\x1b[01;31m", kWarningColor = "\x1b[01;35m", kNoteColor = "\x1b[01;36m",
                                  kCaretColor = "\x1b[01;32m", kNoColor = "\x1b[m";
inline constexpr std::string_view kDiagnosticColors[] = {kErrorColor, kWarningColor, kNoteColor, kCaretColor, kNoColor};

}  // namespace spile
