// A mutation fuzzer for passes 1 and 2, quick enough to run with every `./dev test`: scripts of the tests, the examples
// and the library are changed by words and bytes, spliced, nested and cut off. What says something new (a message never
// seen, a tree of another make) joins the corpus and is changed further; so it finds its way without instrumented code.
// What must hold: parser and elaborator come back, every place in a message lies in the script, and what is accepted
// prints as text that is accepted again and prints the same.
//
//   script_fuzz SECONDS CORPUS-FOLDER...     with the same seed each time
//   script_fuzz --seed N SECONDS FOLDER...   with another, or as a failure printed it
//
// A crash prints the seed and leaves the script in fuzz-crash.stp. fuzz/parser_fuzz.cpp does the same with libFuzzer.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "base/check.h"
#include "sema/fake_target_test.h"
#include "syntax/lexer.h"

using namespace spile;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kLongest = 20'000;
constexpr clock_t kSlow = 10 * CLOCKS_PER_SEC;  // of the processor, sanitizers included

std::string current;  // the script being tried, for the handler of crashes
unsigned current_seed;

void on_crash(int signal) {
  char text[128];
  int length =
      snprintf(text, sizeof text, "script_fuzz: signal %d, seed %u; the script is in fuzz-crash.stp\n", signal, current_seed);
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(2);
  int fd = open("fuzz-crash.stp", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || write(fd, current.data(), current.size()) < 0) _exit(2);
  _exit(2);
}

// ---------------------------------------------------------------- corpus

void read_corpus(const fs::path& path, std::vector<std::string>& corpus) {
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (path.extension() != ".cases") return corpus.push_back(text.substr(0, kLongest));
  for (size_t begin = text.find("\n=== "); begin != std::string::npos;) {
    begin = text.find('\n', begin + 1);
    size_t end = text.find("\n=== ", begin);
    corpus.push_back(text.substr(begin + 1, end == std::string::npos ? end : end - begin - 1));
    begin = end;
  }
}

std::vector<std::string> words_of(const std::string& text) {
  SourceFile file("", text);
  syntax::Lexer lexer(file);
  std::vector<std::string> words;
  for (syntax::Token token = lexer.next(); token.kind != syntax::TokenKind::kEnd; token = lexer.next())
    words.emplace_back(token.text);
  return words;
}

// ---------------------------------------------------------------- mutation

class Mutator {
 public:
  Mutator(unsigned seed, const std::vector<std::string>& pool) : random_(seed), pool_(pool) {}

  std::string mutate(const std::string& script, const std::string& other) {
    if (below(8) == 0) return change_bytes(script);
    std::vector<std::string> words = words_of(script);
    for (size_t changes = 1 + below(3); changes > 0; --changes) change_words(words, other);
    std::string text;
    for (const std::string& word : words) text += word + (below(40) ? " " : "");
    return text.substr(0, kLongest);
  }
  size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  void change_words(std::vector<std::string>& words, const std::string& other) {
    auto at = words.begin() + static_cast<long>(below(words.size() + 1));
    auto end = at + static_cast<long>(below(std::min<size_t>(8, static_cast<size_t>(words.end() - at)) + 1));
    switch (below(8)) {
      case 0: words.erase(at, end); return;
      case 1:
        if (at != words.end()) *at = pool_[below(pool_.size())];
        return;
      case 2:
      case 3: words.insert(at, pool_[below(pool_.size())]); return;
      case 4: {  // once more
        std::vector<std::string> copy(at, end);
        words.insert(end, copy.begin(), copy.end());
        return;
      }
      case 5: {  // a piece of another script
        std::vector<std::string> from = words_of(other);
        size_t first = below(from.size() + 1), last = first + below(from.size() - first + 1);
        words.insert(at, from.begin() + static_cast<long>(first), from.begin() + static_cast<long>(last));
        return;
      }
      case 6: {  // deep nesting
        static const char* const kOpeners[] = {"(",  "{",  "[",   "%( 1 == 1 %?", "if (1)", "-",  "!",
                                               "f(", "a[", "x ?", "@m(",          "1 . ",   "{a,"};
        const char* opener = kOpeners[below(std::size(kOpeners))];
        words.insert(at, below(below(10) ? 20 : 2000), opener);
        return;
      }
      default: words.erase(at, words.end());  // cut off
    }
  }

  std::string change_bytes(std::string text) {
    for (size_t changes = 1 + below(5); changes > 0 && !text.empty(); --changes) {
      size_t at = below(text.size());
      if (below(3) == 0) text.erase(at, 1 + below(5));
      else if (below(2)) text[at] = static_cast<char>(below(256));
      else text.insert(at, 1, static_cast<char>(below(256)));
    }
    return text;
  }

  std::mt19937 random_;
  const std::vector<std::string>& pool_;
};

// ---------------------------------------------------------------- what must hold

// What was said, without names and numbers, so that it repeats.
using Said = std::set<std::string>;

void add_said(const Diagnostics& diagnostics, Said& said) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    std::string bare;
    bool quoted = false;
    for (char c : diagnostic.message) {
      if (c == '\'' || c == '"') quoted = !quoted;
      if (!quoted && !(c >= '0' && c <= '9')) bare += c;
    }
    said.insert(std::move(bare));
  }
}

struct Outcome {
  Said said;
  bool parsed = false, elaborated = false;
};

Outcome try_script(const std::string& script) {
  Outcome outcome;
  current = script;
  clock_t began = clock();
  SourceFile file("fuzz.stp", script);
  syntax::ParseOptions options;
  options.guru = true;
  options.arguments = {"a + 1", "\"text\""};
  Diagnostics diagnostics;
  syntax::Script parsed = syntax::parse(file, options, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const SourceRange& range = diagnostic.range;
    CHECK(!range || (range.begin <= range.end && range.end <= script.size()));
  }
  diagnostics.render();
  add_said(diagnostics, outcome.said);
  outcome.parsed = !diagnostics.has_errors();
  if (outcome.parsed) {
    SourceFile printed("printed.stp", to_source(parsed));
    Diagnostics again;
    syntax::Script second = syntax::parse(printed, options, again);
    // Parentheses that the printer adds, !(!x), nest too.
    bool too_deep = again.has_errors() && again.all().front().message.starts_with("the script nests deeper");
    CHECK(too_deep || !again.has_errors());
    CHECK(too_deep || to_source(second) == printed.text());
    std::vector<syntax::Script> scripts;
    scripts.push_back(std::move(parsed));
    sema::Program program;
    program.scripts = std::move(scripts);
    sema::FakeTarget target;
    Diagnostics findings;
    sema::elaborate(program, target, findings);
    findings.render();
    outcome.elaborated = !findings.has_errors();
    if (outcome.elaborated) sema::to_text(program);
    add_said(findings, outcome.said);
  }
  CHECK(clock() - began < kSlow);
  return outcome;
}

struct Totals {
  size_t tried = 0, parsed = 0, elaborated = 0, found = 0;
};

void fuzz(unsigned seed, Clock::duration time, const std::vector<std::string>& corpus, const std::vector<std::string>& pool,
          Totals& totals) {
  current_seed = seed;
  Mutator mutator(seed, pool);
  Said seen;
  std::vector<std::string> right, wrong;  // wrong ones are most, and lead to fewer places
  auto keep = [&](const std::string& script, const Outcome& outcome) {
    (outcome.parsed ? right : wrong).push_back(script);
    seen.insert(outcome.said.begin(), outcome.said.end());
  };
  for (const std::string& script : corpus) keep(script, try_script(script));
  for (auto end = Clock::now() + time; Clock::now() < end; ++totals.tried) {
    const auto& from = wrong.empty() || mutator.below(4) ? right : wrong;
    std::string changed = mutator.mutate(from[mutator.below(from.size())], right[mutator.below(right.size())]);
    Outcome outcome = try_script(changed);
    totals.parsed += outcome.parsed;
    totals.elaborated += outcome.elaborated;
    bool is_new = std::any_of(outcome.said.begin(), outcome.said.end(), [&](const auto& s) { return !seen.count(s); });
    totals.found += is_new;
    if (is_new || (outcome.elaborated && mutator.below(20) == 0)) keep(changed, outcome);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  unsigned seed = 20261120;
  if (words.size() > 1 && words[0] == "--seed") {
    seed = static_cast<unsigned>(std::stoul(words[1]));
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() < 2) return fprintf(stderr, "script_fuzz [--seed N] SECONDS CORPUS-FOLDER...\n"), 1;
  std::vector<std::string> corpus = {"probe begin { }"};
  for (size_t i = 1; i < words.size(); ++i) {
    std::error_code error;
    std::vector<fs::path> paths;
    for (const auto& entry : fs::recursive_directory_iterator(words[i], error)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) {
      if (path.extension() == ".stp" || path.extension() == ".stpm" || path.extension() == ".cases") read_corpus(path, corpus);
    }
  }
  std::vector<std::string> pool = {
      "0",  "-1", "0xffffffffffffffff", "\"\"", "*", "@hist_log", "@defined", "@entry", "$x", "$$vars", "next", "%{ C %}",
      "$1", "@#"};
  for (const std::string& script : corpus) {
    for (std::string& word : words_of(script)) pool.push_back(std::move(word));
  }
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE}) ::signal(signal, on_crash);
  // A stack that overflowed has no room for the handler.
  static char stack[65536];
  stack_t other = {stack, 0, sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction on_stack = {};
  on_stack.sa_handler = on_crash;
  on_stack.sa_flags = SA_ONSTACK;
  sigaction(SIGSEGV, &on_stack, nullptr);

  Totals totals;
  printf("seed %u\n", seed);
  fflush(stdout);
  std::chrono::duration<double> seconds(std::stod(words[0]));
  fuzz(seed, std::chrono::duration_cast<Clock::duration>(seconds), corpus, pool, totals);
  printf("%zu scripts tried, %zu parsed, %zu elaborated, %zu said something new\n", totals.tried, totals.parsed,
         totals.elaborated, totals.found);
  return totals.parsed > 0 ? 0 : 1;
}
