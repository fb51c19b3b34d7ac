// The scripts of tests/golden/refused_by_parser/*.cases, in one process: hundreds of wrong scripts, and all that is said of each.
// `tests/golden/run.py --update tests/golden/refused_by_parser/NAME.cases` rewrites what is expected from what spile says.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "syntax/parser.h"

namespace spile::syntax {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = SPILE_SOURCE_TREE "/tests/golden/refused_by_parser";

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The words after ` :: `, of which those in '' are one.
std::vector<std::string> words_of(const std::string& title) {
  std::vector<std::string> words;
  size_t at = title.find(" :: ");
  if (at == std::string::npos) return words;
  for (at += 4; at < title.size(); ++at) {
    bool quoted = title[at] == '\'';
    size_t end = std::min(title.find(quoted ? '\'' : ' ', at + quoted), title.size());
    words.push_back(title.substr(at + quoted, end - at - quoted));
    at = end;
    if (quoted) ++at;
  }
  return words;
}

// As `spile -p1 -e SCRIPT` says it.
std::string said_of(const std::string& title, const std::string& script) {
  ParseOptions options;
  options.must_declare = true;
  for (const std::string& word : words_of(title)) {
    if (word == "-g") {
      options.guru = true;
    } else {
      options.arguments.push_back(word);
    }
  }
  SourceFile file("<input>", script);
  Diagnostics diagnostics;
  Script parsed = parse(file, options, diagnostics);
  std::string said = diagnostics.has_errors() ? "" : "# parse tree dump\n" + to_source(parsed);
  if (!diagnostics.all().empty()) said += "== stderr\n" + diagnostics.render();
  if (diagnostics.has_errors()) said += "Pass 1: parse failed.\n== status 1\n";
  return title + "\n" + said;
}

TEST(Cases, AreRefusedAsExpected) {
  size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".cases") continue;
    std::string text = read(entry.path()), said, mark = "=== ";
    size_t begin = text.find("\n" + mark);
    while (begin != std::string::npos) {
      size_t title_end = text.find('\n', ++begin);
      size_t next = text.find("\n" + mark, title_end - 1);
      std::string script = text.substr(title_end + 1, next == std::string::npos ? next : next - title_end - 1);
      if (next == std::string::npos && script.ends_with('\n')) script.pop_back();
      if (next + 1 == title_end + 1) script.clear();
      said += said_of(text.substr(begin, title_end - begin), script);
      begin = next;
      ++cases;
    }
    fs::path expected = entry.path();
    EXPECT_EQ(said, read(expected.replace_extension(".expect"))) << entry.path();
  }
  EXPECT_GT(cases, 400u);
}

}  // namespace
}  // namespace spile::syntax
