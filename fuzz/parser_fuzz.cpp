// Any bytes as a script: the parser ends, reports only places inside the script, and what it accepts prints as text
// that it accepts again and prints the same way.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "syntax/parser.h"

using namespace spile;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SourceFile file("fuzz.stp", std::string(reinterpret_cast<const char*>(data), size));
  syntax::ParseOptions options;
  options.guru = true;
  options.arguments = {"a + 1", "\"text\""};
  Diagnostics diagnostics;
  syntax::Script script = syntax::parse(file, options, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    CHECK(!diagnostic.range || (diagnostic.range.begin <= diagnostic.range.end && diagnostic.range.end <= size));
  }
  diagnostics.render();
  if (diagnostics.has_errors()) return 0;

  SourceFile printed("printed.stp", syntax::to_source(script));
  Diagnostics again;
  syntax::Script second = syntax::parse(printed, options, again);
  CHECK(!again.has_errors());
  CHECK(syntax::to_source(second) == printed.text());
  return 0;
}
