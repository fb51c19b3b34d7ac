// Scripts broken at random: elaboration refuses them or not, but it always comes back, and what it accepts has a type
// everywhere. Deterministic; each failure prints its script.

#include <gtest/gtest.h>

#include <random>

#include "sema/fake_target_test.h"
#include "syntax/visitor.h"

namespace spile::sema {
namespace {

constexpr const char* kScripts[] = {
    "global c, a, s function f(n) { if (n < 2) return 1; return n * f(n - 1) } "
    "probe process(\"/bin/fake\").function(\"foo\") { c += f($x); a[$s, tid()]++; s <<< $x; if (c > 5) next } "
    "probe end { foreach ([n, t] in a- limit 3) printf(\"%s %d\\n\", n, t); println(@avg(s)); print(@hist_log(s)) }",
    "global t probe process(\"/bin/fake\").function(\"*\").return { t[ppfunc()] <<< gettimeofday_ns() - "
    "@entry(gettimeofday_ns()) } "
    "probe timer.s(1) { foreach (k in t @sum-) printf(\"%s %d\\n\", k, @count(t[k])); delete t }",
    "probe my = begin { who = \"x\" } probe my.more += my { println(who) } probe my.more { println(who . \"y\") } "
    "probe my if (1 == 1) { try { error(who) } catch (m) { println(m) } }",
    "global g = 5, h[10], w% probe begin { for (i = 0; i < 10; i++) { h[i] = i; if (i in h) continue; else break } "
    "while (g-- > 0) { w[g, \"x\"] .= \"y\" } x = g ? h[1] : -1; println(x) delete h[1] delete h }",
    "probe process(\"/bin/fake\").function(\"ba*\") { if (@defined($x)) println($x); else println($$vars) } "
    "probe process(\"/bin/fake\").function(\"foo\").return { printf(\"%d %s %p\\n\", $return, @entry($s), $x) }",
    "private global p function put(v:long, k:string) { p[k] = v; return sprintf(\"%d\", v) } "
    "probe begin, end { println(put(strlen(\"a\") + 1, execname())) ; exit() }",
    "global s probe begin { s <<< 1; s <<< 2; foreach (b in @hist_linear(s, 0, 10, 1)) println(b); "
    "println(@hist_linear(s, 0, 10, 1)[2]) println(@variance(s)) }",
    "probe kernel.trace(\"a:b\") { c[$pid] = 1 } global c probe end { foreach (k+ in c) println(k) if ([1] in c) "
    "log(\"yes\") }",
};

std::vector<std::string> words_of(const std::string& script) {
  std::vector<std::string> words;
  auto is_name = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '@'; };
  for (size_t i = 0; i < script.size();) {
    size_t end = i + 1;
    if (is_name(script[i])) {
      while (end < script.size() && is_name(script[end])) ++end;
    } else if (script[i] == '"') {
      while (end < script.size() && script[end] != '"') end += script[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, script.size());
    }
    words.push_back(script.substr(i, end - i));
    i = end;
  }
  return words;
}

void expect_types(const Elaborated& made, const std::string& script) {
  auto check = [&](const syntax::Expression& x) {
    bool may_lack = x.kind == syntax::ExpressionKind::kCall || x.kind == syntax::ExpressionKind::kPrint ||
                    x.kind == syntax::ExpressionKind::kHistogram;
    EXPECT_TRUE(may_lack || x.type != ValueType::kUnknown) << script << "\n" << x.range.text();
    if (auto* variable = syntax::as<syntax::Variable>(x)) EXPECT_TRUE(variable->global || variable->local) << script;
  };
  for (const Probe& probe : made.program.probes)
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*probe.body), check);
  for (const syntax::Function* function : made.program.functions) {
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*function->body), check);
  }
}

TEST(Mutations, NeverCrashAndTypesAreComplete) {
  std::mt19937 random(20261120);
  std::vector<std::string> pool;
  for (const char* script : kScripts) {
    for (std::string& word : words_of(script)) pool.push_back(std::move(word));
  }
  size_t accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    std::vector<std::string> words = words_of(kScripts[round % std::size(kScripts)]);
    for (unsigned change = random() % 4; change-- > 0;) {
      size_t at = random() % words.size();
      switch (random() % 3) {
        case 0: words.erase(words.begin() + static_cast<long>(at)); break;
        case 1: words[at] = pool[random() % pool.size()]; break;
        case 2: words.insert(words.begin() + static_cast<long>(at), pool[random() % pool.size()]); break;
      }
      if (words.empty()) break;
    }
    std::string script;
    for (const std::string& word : words) script += word;
    Program options;
    options.unoptimized = round % 5 == 0;
    auto made = elaborate_text(script, std::move(options));
    if (!made.ok()) continue;
    ++accepted;
    expect_types(made, script);
    EXPECT_FALSE(to_text(made.program).empty());
    for (const syntax::Global* global : made.program.globals) aggregate_use(made.program, *global);
  }
  EXPECT_GT(accepted, 500u);
}

}  // namespace
}  // namespace spile::sema
