#pragma once
// Files of samples, for people and for other programs. Each is a text, made of the model alone. Names from traced processes are
// escaped as the file's form asks.

#include <string>

#include "base/text/json.h"
#include "runs/stacks/samples.h"

namespace spile::runs {

// What stands beside the samples in files that have room for it.
struct SampleFacts {
  std::string title;  // as the user wrote the command
  std::string script;
  std::string host;
};

// Returns a line for each stack of each thread's name, "NAME;OUTERMOST;...;INNERMOST COUNT", as flamegraph.pl and others read it,
// in the order of the text. A ';' or control character within a name becomes '_'.
std::string folded_stacks(const Samples& samples);
// Returns JSON for https://www.speedscope.app: a profile for each thread, with its samples in order of time. A sample weighs 1.
std::string speedscope_file(const Samples& samples, const SampleFacts& facts);
// Returns a profile for pprof: a value for each stack of each thread.
std::string pprof_file(const Samples& samples, const SampleFacts& facts);
// Returns a picture of a flame graph, 1,200 wide, the outermost functions on top; a box has its numbers as a title. Boxes under
// 0.3 wide are left out.
std::string svg_picture(const Samples& samples, const SampleFacts& facts);
// Returns a page that works offline and asks for nothing else: a flame graph with search and zoom, a table of functions, the
// script.
std::string html_page(const Samples& samples, const SampleFacts& facts);

// What pages of samples have in common: the members "frames", [function, module] each, and "stacks", [caller, frame, samples]
// each.
Json stacks_json(const Samples& samples);
// Returns data as text that may stand in a script element of a page.
std::string page_json(const Json& data);

}  // namespace spile::runs
