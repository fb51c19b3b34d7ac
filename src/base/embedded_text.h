#pragma once
// Text of another language (HTML, JavaScript, scripts) lives in files of its own, which spile_embed() of cmake/Embed.cmake puts
// into the program: it needs none of them where it runs.

#include <string_view>

// Defines `name`, a function that returns the text of the file that spile_embed(TARGET name FILE) embeds. Outside of namespaces.
#define SPILE_EMBEDDED_TEXT(name)                                                           \
  extern "C" __attribute__((visibility("hidden"))) const char name##_begin[], name##_end[]; \
  static std::string_view name() { return {name##_begin, static_cast<size_t>(name##_end - name##_begin)}; }
