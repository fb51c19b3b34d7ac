#pragma once
// Which form of a verb's output the name of -o's file asks for.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spile::verbs {

// Whether the name is that of a page, x.html.
bool is_page(const std::string& file);

// What a verb writes.
struct OutputForms {
  std::string verb;                              // "lat"
  std::span<const std::string_view> files = {};  // endings of files of its own, ".pftrace"
  bool has_page = false;                         // ".html" is the page of a run
  bool has_json = false, json = false;           // --json has a meaning for it; is given
  const char* otherwise = "text";
};
// Checks that the file would not have another form than its name says. Endings without a meaning, such as .txt, are for text.
// file: of -o; may be empty. Error: with the option or command that writes such a file.
Result<void> check_output_form(const OutputForms& forms, const std::string& file);

}  // namespace spile::verbs
