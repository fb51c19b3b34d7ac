#include "editor/completion.h"

#include <algorithm>
#include <set>

#include "syntax/lexer.h"

namespace spile::editor {

namespace {

using syntax::op;
using syntax::Token;
using syntax::TokenKind;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// Reads the tokens before a place, and remembers the constructs that they open.
class Scan {
 public:
  explicit Scan(std::string_view text) : file_("", std::string(text)) {
    syntax::Lexer lexer(file_);
    for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) read(token);
  }

  bool in_points() const { return braces_ == 0 && state_ == State::kPoints; }
  bool in_code() const { return braces_ > 0; }
  // The last token is a string or comment that is still open.
  bool ends_open() const { return ends_open_; }
  bool ends_in_string() const { return ends_open_ && last_ == TokenKind::kString; }
  bool is_open() const { return braces_ > 0 || others_ > 0 || hidden_ || state_ == State::kHead || in_points(); }
  size_t point_begin() const { return point_begin_; }
  std::string probe_point() const { return probe_point_; }
  const SourceFile& file() const { return file_; }

 private:
  enum class State : uint8_t { kOutside, kHead, kPoints, kBody };

  void read(const Token& token) {
    last_ = token.kind;
    ends_open_ =
        token.problem && !token.problem->is_warning && (token.problem->hides_rest || token.range.end == file_.text().size());
    hidden_ |= token.problem && token.problem->hides_rest;
    if (token.kind == TokenKind::kKeyword && braces_ == 0) return read_keyword(token);
    if (token.kind == TokenKind::kEmbedded && state_ == State::kHead) state_ = State::kOutside;
    if (token.is(op("(")) || token.is(op("[")) || token.is(op("%("))) ++others_;
    if ((token.is(op(")")) || token.is(op("]")) || token.is(op("%)"))) && others_ > 0) --others_;
    if (state_ == State::kPoints && braces_ == 0) return read_in_points(token);
    if (token.is(op("{"))) open_body();
    if (token.is(op("}")) && braces_ > 0 && --braces_ == 0) state_ = State::kOutside;
  }

  void read_keyword(const Token& token) {
    expects_name_ = false;
    if (token.text == "probe") {
      state_ = State::kPoints;
      point_begin_ = token.range.end;
      probe_point_.clear();
      alternatives_ = 0;
    } else if (token.text == "function" && (state_ != State::kPoints || token.line_start)) {
      state_ = State::kHead;
      probe_point_.clear();
    } else if (token.text == "global" || token.text == "private") {
      state_ = State::kOutside;
    }
  }

  // A '{' after '.' '{' ',' or the keyword opens alternatives, any other one the body.
  void read_in_points(const Token& token) {
    bool alternatives = expects_name_;
    expects_name_ = token.is(op(".")) || token.is(op(",")) || token.is(op("="));
    if (token.is(op("{"))) {
      if (alternatives || point_is_empty(token)) {
        ++alternatives_;
        expects_name_ = true;
        return;
      }
      if (probe_point_.empty()) keep_point(token.range.begin);
      open_body();
    } else if (token.is(op("}")) && alternatives_ > 0) {
      --alternatives_;
    } else if (others_ == 0 && (token.is(op(",")) || token.is(op("=")) || token.is(op("+=")))) {
      if (token.is(op(",")) && probe_point_.empty()) keep_point(token.range.begin);
      if (!token.is(op(","))) probe_point_.clear();
      point_begin_ = token.range.end;
    }
  }

  bool point_is_empty(const Token& token) const {
    std::string_view between = file_.text().substr(point_begin_, token.range.begin - point_begin_);
    return between.find_first_not_of(" \t\r\n") == std::string_view::npos;
  }

  void keep_point(size_t end) {
    std::string_view point = file_.text().substr(point_begin_, end - point_begin_);
    size_t first = point.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return;
    point.remove_prefix(first);
    probe_point_ = point.substr(0, point.find_last_not_of(" \t\r\n?!") + 1);
  }

  void open_body() {
    ++braces_;
    state_ = State::kBody;
  }

  SourceFile file_;
  State state_ = State::kOutside;
  int braces_ = 0, others_ = 0, alternatives_ = 0;
  bool expects_name_ = false, ends_open_ = false, hidden_ = false;
  TokenKind last_ = TokenKind::kEnd;
  size_t point_begin_ = 0;
  std::string probe_point_;
};

// A point's name without its parameters: process("x").function -> process.function
std::string without_parameters(std::string_view point) {
  std::string name;
  int depth = 0;
  for (char c : point) {
    if (c == '(') ++depth;
    if (depth == 0) name += c;
    if (c == ')') --depth;
  }
  return name;
}

// Whether the place is in a // or # comment of its line.
bool in_line_comment(std::string_view text) {
  size_t line = text.rfind('\n');
  std::string_view last = text.substr(line == std::string_view::npos ? 0 : line + 1);
  bool in_string = false;
  for (size_t i = 0; i < last.size(); ++i) {
    if (last[i] == '\\' && in_string) {
      ++i;
    } else if (last[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      bool argument_count = i > 0 && (last[i - 1] == '$' || last[i - 1] == '@');
      if ((last[i] == '#' && !argument_count) || last.substr(i, 2) == "//") return true;
    }
  }
  return false;
}

// Components of points: only the next one is offered, `timer.` gives ms, not ms(N).return.
void complete_point(const Context& context, const std::vector<const Catalogue*>& catalogues, const WorldQueries& world,
                    std::vector<Candidate>& found) {
  std::string bare = without_parameters(context.word);
  bool in_parameter = std::count(context.word.begin(), context.word.end(), '"') % 2 == 1;
  if (!in_parameter) {
    for (const Catalogue* catalogue : catalogues) {
      for (const Entry* entry : catalogue->beginning_with(bare)) {
        if (entry->kind != Entry::Kind::kAlias && entry->kind != Entry::Kind::kPoint) continue;
        std::string rest = entry->name.substr(bare.size());
        found.push_back({context.word + rest, entry->signature, entry->documentation, entry->kind});
      }
    }
  }
  bool has_world_names = bare.starts_with("process") || bare.starts_with("kernel") || bare.starts_with("module");
  if (!in_parameter || !world.points || !has_world_names) return;
  for (const std::string& point : world.points(context.word + "*\")")) {
    found.push_back({point, "", "", Entry::Kind::kPoint});
  }
}

void complete_word(const Context& context, const std::vector<const Catalogue*>& catalogues, const WorldQueries& world,
                   std::vector<Candidate>& found) {
  if (context.word.starts_with("$")) {
    if (context.probe_point.empty()) return;
    std::vector<std::string> variables = {"$$vars", "$$parms", "$$locals", "$$name"};
    if (context.probe_point.ends_with(".return")) variables.insert(variables.end(), {"$return", "$$return"});
    if (world.variables) {
      for (std::string& variable : world.variables(context.probe_point)) variables.push_back(std::move(variable));
    }
    for (const std::string& variable : variables) {
      size_t colon = variable.find(':');
      std::string name = variable.substr(0, colon);
      std::string type = colon == std::string::npos ? "" : variable.substr(colon + 1);
      if (name.starts_with(context.word)) found.push_back({name, type, "", Entry::Kind::kGlobal});
    }
    return;
  }
  bool outside = context.kind == Context::Kind::kDeclaration;
  for (const Catalogue* catalogue : catalogues) {
    for (const Entry* entry : catalogue->beginning_with(context.word)) {
      if (entry->kind == Entry::Kind::kAlias || entry->kind == Entry::Kind::kPoint) continue;
      static const std::set<std::string_view> kDeclarations = {"probe", "global", "private", "function"};
      if (outside != (kDeclarations.count(entry->name) > 0)) continue;
      found.push_back({entry->name, entry->signature, entry->documentation, entry->kind});
    }
  }
}

}  // namespace

Context context_at(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  std::string_view before = text.substr(0, offset);
  Context context;
  if (in_line_comment(before)) {
    context.kind = Context::Kind::kNothing;
    context.begin = offset;
    return context;
  }
  Scan scan(before);
  context.begin = offset;
  if (scan.in_points() && (!scan.ends_open() || scan.ends_in_string())) {
    context.kind = Context::Kind::kPoint;
    context.begin = std::min(before.find_first_not_of(" \t\r\n{", scan.point_begin()), offset);
  } else if (scan.ends_open() && !before.ends_with("@")) {
    context.kind = Context::Kind::kNothing;
  } else {
    context.kind = scan.in_code() ? Context::Kind::kCode : Context::Kind::kDeclaration;
    if (scan.in_code()) context.probe_point = scan.probe_point();
    while (context.begin > 0 && is_name(before[context.begin - 1])) --context.begin;
    if (context.begin > 0 && before[context.begin - 1] == '@') --context.begin;
  }
  context.word = before.substr(context.begin);
  return context;
}

NameAt name_at(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  NameAt name{offset, offset, {}};
  while (name.end < text.size() && is_name(text[name.end])) ++name.end;
  while (name.begin > 0 && is_name(text[name.begin - 1])) --name.begin;
  if (name.begin > 0 && text[name.begin - 1] == '@') --name.begin;
  Context context = context_at(text, name.end);
  if (context.kind == Context::Kind::kNothing || name.begin == name.end) return {offset, offset, {}};
  if (context.kind == Context::Kind::kPoint) {
    name.begin = context.begin;
    name.name = without_parameters(context.word);
  } else {
    name.name = text.substr(name.begin, name.end - name.begin);
  }
  return name;
}

std::vector<Candidate> complete(std::string_view text, size_t offset, const std::vector<const Catalogue*>& catalogues,
                                const WorldQueries& world) {
  Context context = context_at(text, offset);
  std::vector<Candidate> found;
  if (context.kind == Context::Kind::kPoint) complete_point(context, catalogues, world, found);
  if (context.kind == Context::Kind::kCode || context.kind == Context::Kind::kDeclaration)
    complete_word(context, catalogues, world, found);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
  auto same = [](const Candidate& a, const Candidate& b) { return a.text == b.text; };
  found.erase(std::unique(found.begin(), found.end(), same), found.end());
  return found;
}

bool is_incomplete(std::string_view text) { return Scan(text).is_open(); }

}  // namespace spile::editor
