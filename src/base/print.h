#pragma once
// Printing of messages and listings, which never throws and never ends the program: fmt::print throws where the text can't be
// written (a full disk, a reader that has ended), and an unreadable message is not a reason to leave a traced program
// half patched. That standard output could not be written is remembered for finish_standard_output(). Not thread-safe.

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spile {

// Writes `text` to `stream` as far as that is possible; that of `stderr` goes to the message_sink(), if there is one. Only the
// first failure of standard output is remembered.
void print_text(std::FILE* stream, std::string_view text) noexcept;

template <typename... Arguments>
void print_to(std::FILE* stream, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(stream, fmt::format(format, std::forward<Arguments>(arguments)...));
}

// Opens /dev/null in place of those of the descriptors 0 to 2 that are closed, so that no file of ours gets such a number and
// is then read or written as standard input, output or error. Writing to standard output fails then (EBADF). Children find them
// closed, as their caller had them. Ignores SIGPIPE and SIGXFSZ: a write that fails by them is
// an error (EPIPE, EFBIG). The first thing that a program does.
void open_standard_descriptors();

// The signals of these that commands get their default action for, as spile's caller had it. In a program that did not call
// open_standard_descriptors() (a user of libspile, Python's interpreter), both.
sigset_t signals_by_default();

// The error for an output that could not be written. what: "write output"; error: the value of errno after the write.
Error write_error(std::string what, int error);

// Flushes standard output at the end of the program and returns its exit status: `status`, or 1 instead of 0, with a message,
// where standard output could not be written. If the reader has ended (`spile -l ... | head`), it has read what it wanted: prints
// no message, and returns `status`.
int finish_standard_output(int status);

}  // namespace spile
