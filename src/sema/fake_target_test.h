#pragma once
// A traced world made up for tests, and one call that elaborates a script in it.
//
// process("/bin/fake") has the functions foo(x, s), bar(x) and baz(): every one at its own address; x is in rdi of foo
// and in rsi of bar, s is a string in rsi; kept of baz is what was in rdi when it was entered. `many` more functions f0, f1, ...
// have no variables.
// kernel.trace("sys:event") has the field $pid.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/text/glob.h"
#include "sema/terms/program.h"
#include "syntax/parser.h"

namespace spile::sema {

class FakeTarget : public TargetInfo {
 public:
  int many = 0;
  Domain process_domain = Domain::kTarget;
  int resolve_calls = 0;

  Result<std::vector<ResolvedPoint>> resolve(const syntax::ProbePoint& point) override {
    ++resolve_calls;
    const auto& c = point.components;
    const std::string& family = c[0].name;
    auto simple = [&](ProbeKind kind) {
      ResolvedPoint made;
      made.kind = kind;
      made.text = made.name = syntax::to_source(point);
      made.sequence = c[0].number.value_or(0);
      return std::vector<ResolvedPoint>{made};
    };
    if (family == "begin") return simple(ProbeKind::kBegin);
    if (family == "end") return simple(ProbeKind::kEnd);
    if (family == "timer") return simple(ProbeKind::kTimer);
    if (family == "kernel") {
      auto points = simple(ProbeKind::kTracepoint);
      points[0].domain = Domain::kKernel;
      return points;
    }
    if (family == "process" && c.size() >= 2 && c[1].name == "function" && c[1].text) return functions(*c[1].text, c.size() > 2);
    return Error{"unknown probe point '" + family + "'", ""};
  }

  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::TargetVariable& variable) override {
    if (point.kind == ProbeKind::kTracepoint && variable.name == "$pid") return Binding{{location::RecordField{8, 4, true}}};
    if (variable.name == "$return" && point.kind == ProbeKind::kFunctionReturn && !at_entry)
      return Binding{{location::Register{0}}};
    if (at_entry && point.site.function == "foo" && variable.name == "$x") return Binding{{location::Register{5}}};
    if (at_entry && point.site.function == "bar" && variable.name == "$x") return Binding{{location::Register{4}}};
    if (at_entry && point.site.function == "foo" && variable.name == "$s")
      return Binding{{location::Register{4}}, ValueType::kString};
    if (at_entry && point.site.function == "baz" && variable.name == "$kept")
      return Binding{{location::CallFrameCfa{}, location::EntryValue{5, FileAddress(0x1020)}}};
    return Error{"no variable '" + variable.name + "' in " + point.site.function, "did you mean '$x'?"};
  }
  Result<Binding> bind(const ResolvedPoint&, bool, const syntax::AtOperation& operation) override {
    return Error{"no " + operation.name, ""};
  }
  std::vector<std::string> variables(const ResolvedPoint& point, const std::string& which) override {
    if (which == "$$return") return {"$return"};
    if (point.site.function == "foo") return {"$x", "$gone"};
    if (point.site.function == "baz") return {"$kept"};
    return {};
  }
  std::vector<std::string> known_components(const syntax::ProbePoint&, size_t) override { return {}; }

 private:
  std::vector<ResolvedPoint> functions(const std::string& pattern, bool is_return) const {
    std::vector<std::string> names = {"foo", "bar", "baz"};
    for (int i = 0; i < many; ++i) names.push_back(fmt::format("f{}", i));
    std::vector<ResolvedPoint> points;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!glob_matches(pattern, names[i])) continue;
      ResolvedPoint point;
      point.kind = is_return ? ProbeKind::kFunctionReturn : ProbeKind::kFunctionEntry;
      point.domain = process_domain;
      point.site.module = "/bin/fake";
      point.site.address = FileAddress(0x1000 + 16 * i);
      point.site.function = names[i];
      point.text = fmt::format("process(\"/bin/fake\").function(\"{}\"){}", names[i], is_return ? ".return" : "");
      points.push_back(point);
    }
    return points;
  }
};

struct Elaborated {
  std::unique_ptr<SourceFiles> files = std::make_unique<SourceFiles>();
  Program program;
  Diagnostics diagnostics;
  std::vector<PassTiming> timings;

  bool ok() const { return !diagnostics.has_errors(); }
  std::string messages() const { return diagnostics.render(); }
  const syntax::Global& global(const std::string& name) const {
    for (const syntax::Global* global : program.globals) {
      if (global->name == name) return *global;
    }
    static const syntax::Global none{};
    return none;
  }
  Sharing sharing(const std::string& name) const { return program.sharing.at(global(name).index); }
};

// Parses and elaborates the scripts in `target`; scripts[0] is the user's, the rest are the library. options: limits and flags of
// the program. The result owns everything but the target.
inline Elaborated elaborate_scripts(const std::vector<std::string>& scripts, FakeTarget& target, Program options = {}) {
  Elaborated made;
  made.program = std::move(options);
  for (size_t i = 0; i < scripts.size(); ++i) {
    const SourceFile& file = made.files->add(i == 0 ? "t.stp" : fmt::format("library{}.stp", i), scripts[i]);
    syntax::ParseOptions parse;
    parse.guru = made.program.guru;
    parse.is_library = i > 0;
    made.program.scripts.push_back(syntax::parse(file, parse, made.diagnostics));
  }
  if (made.diagnostics.has_errors()) return made;
  made.timings = elaborate(made.program, target, made.diagnostics);
  return made;
}

inline Elaborated elaborate_text(const std::string& script, Program options = {}) {
  FakeTarget target;
  return elaborate_scripts({script}, target, std::move(options));
}

}  // namespace spile::sema
