#pragma once
// Splits texts. The parts are views of the text, which must outlive them: a text that nobody keeps is rejected by the compiler.
// Thread rule: any thread.

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace spile {

// Returns the parts between separators, empty ones too: "a,,b" has three, and "" has one.
std::vector<std::string_view> split(std::string_view text, char separator);
// Returns the lines, without their ends, as getline(3) has them: "a\n\nb" has three, "a\n" has one, "" has none.
std::vector<std::string_view> lines_of(std::string_view text);
// Returns the words, which are separated by blanks, tabs and ends of lines: none is empty.
std::vector<std::string_view> words_of(std::string_view text);

template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> lines_of(Temporary&& text) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> words_of(Temporary&& text) = delete;

}  // namespace spile
