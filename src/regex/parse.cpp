// Recursive descent over the pattern:   choice: sequence ('|' sequence)*   sequence: (atom repeat*)*

#include <algorithm>
#include <cctype>

#include "regex/program.h"
#include "regex/syntax.h"

namespace spile::regex {

namespace {

constexpr int kMaxNesting = 200;
constexpr int kMaxRepeat = 255;  // POSIX's RE_DUP_MAX

struct NamedClass {
  std::string_view name;
  int (*contains)(int);
};
constexpr NamedClass kClasses[] = {
    {"alpha", isalpha}, {"digit", isdigit}, {"alnum", isalnum}, {"upper", isupper}, {"lower", islower}, {"space", isspace},
    {"blank", isblank}, {"punct", ispunct}, {"print", isprint}, {"graph", isgraph}, {"cntrl", iscntrl}, {"xdigit", isxdigit},
};

// Of the C locale whatever the process's own is.
bool is_in(const NamedClass& named, int byte) { return byte < 128 && named.contains(byte) != 0; }

class Parser {
 public:
  Parser(std::string_view pattern, Tree& tree, Mistake& mistake) : text_(pattern), tree_(tree), mistake_(mistake) {}

  bool run() {
    tree_.root = choice(0);
    if (failed_) return false;
    if (at_ < text_.size()) return fail(at_, 1, "there is no '(' for this ')'", "write \\\\) for a parenthesis itself"), false;
    return true;
  }

 private:
  int fail(size_t offset, size_t length, std::string message, std::string hint = {}) {
    if (!failed_) mistake_ = {offset, std::max<size_t>(length, 1), std::move(message), std::move(hint)};
    failed_ = true;
    return 0;
  }
  int add(Node node) {
    tree_.nodes.push_back(std::move(node));
    return static_cast<int>(tree_.nodes.size()) - 1;
  }
  bool more() const { return at_ < text_.size() && !failed_; }
  bool next_is(char c) const { return more() && text_[at_] == c; }
  bool accept(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  int choice(int depth) {
    if (depth > kMaxNesting) return fail(at_, 1, "the pattern nests too deeply");
    Node node{.kind = Node::Kind::kChoice};
    do {
      node.children.push_back(sequence(depth));
    } while (accept('|'));
    return node.children.size() == 1 ? node.children[0] : add(std::move(node));
  }

  int sequence(int depth) {
    Node node{.kind = Node::Kind::kSequence};
    while (more() && text_[at_] != '|' && text_[at_] != ')') node.children.push_back(repeated(depth));
    if (node.children.empty()) return add({});
    return node.children.size() == 1 ? node.children[0] : add(std::move(node));
  }

  int repeated(int depth) {
    int operand = atom(depth);
    while (more()) {
      Node node{.kind = Node::Kind::kRepeat, .children = {operand}};
      if (accept('*')) node.least = 0;
      else if (accept('+')) node.least = 1;
      else if (accept('?')) node.most = 1;
      else if (next_is('{')) braces(node);
      else break;
      operand = add(std::move(node));
    }
    return operand;
  }

  int number() {
    int value = -1;
    while (more() && isdigit(static_cast<unsigned char>(text_[at_]))) {
      value = std::min(std::max(value, 0) * 10 + (text_[at_++] - '0'), 100000);
    }
    return value;
  }

  void braces(Node& node) {
    size_t open = at_++;
    node.least = number();
    node.most = node.least;
    if (accept(',')) {
      node.most = number();
      if (node.least < 0) fail(open, at_ - open, "expected a number after '{'", "{n}, {n,} or {n,m}");
    }
    if (node.least < 0) fail(open, 1, "expected a number after '{'", "{n}, {n,} or {n,m}; write \\\\{ for a brace itself");
    else if (!accept('}')) fail(open, at_ - open, "'{' is never closed", "write \\\\{ for a brace itself");
    else if (node.most >= 0 && node.most < node.least) fail(open, at_ - open, "the first number is larger than the second");
    else if (std::max(node.least, node.most) > kMaxRepeat) fail(open, at_ - open, "more than 255 repetitions");
  }

  int atom(int depth) {
    size_t begin = at_;
    char c = text_[at_++];
    switch (c) {
      case '(': {
        if (tree_.groups >= static_cast<int>(kMaxGroups)) return fail(begin, 1, "too many groups");
        Node node{.kind = Node::Kind::kGroup, .group = ++tree_.groups};
        node.children.push_back(choice(depth + 1));
        if (!accept(')')) return fail(begin, 1, "'(' is never closed", "write \\\\( for a parenthesis itself");
        return add(std::move(node));
      }
      case '[': return bracket(begin);
      case '.': return set(ByteSet().set());
      case '^': return add({.kind = Node::Kind::kBegin});
      case '$': return add({.kind = Node::Kind::kEnd});
      case '\\': return escape(begin);
      case '*':
      case '+':
      case '?':
      case '{':
        return fail(begin, 1, std::string("'") + c + "' has nothing to repeat",
                    std::string("write \\\\") + c + " for the character itself");
      default: return one(static_cast<unsigned char>(c));
    }
  }

  int set(ByteSet bytes) {
    bytes.reset(0);  // strings end there
    return add({.kind = Node::Kind::kSet, .set = bytes});
  }
  int one(unsigned char byte) { return set(ByteSet().set(byte)); }

  int escape(size_t begin) {
    if (!more()) return fail(begin, 1, "the pattern ends in a backslash");
    char c = text_[at_++];
    if (c >= '1' && c <= '9') return fail(begin, 2, "back-references are not supported");
    ByteSet bytes;
    for (int i = 1; i < 256; ++i) {
      bool word = i < 128 && (isalnum(i) || i == '_');
      bool in = c == 'w' || c == 'W' ? word : c == 's' || c == 'S' ? i < 128 && isspace(i) : i < 128 && isdigit(i);
      bytes.set(static_cast<size_t>(i), in);
    }
    switch (c) {
      case 'w':
      case 's':
      case 'd': return set(bytes);
      case 'W':
      case 'S':
      case 'D': return set(~bytes);
      case 'n': return one('\n');
      case 't': return one('\t');
      case 'r': return one('\r');
      default: return one(static_cast<unsigned char>(c));
    }
  }

  int bracket(size_t begin) {
    ByteSet bytes;
    bool negated = accept('^');
    bool first = true;
    for (;; first = false) {
      if (!more()) return fail(begin, 1, "'[' is never closed", "write \\\\[ for a bracket itself");
      if (!first && accept(']')) break;
      if (next_is('[') && at_ + 1 < text_.size() && text_[at_ + 1] == ':') {
        if (!named_class(bytes)) return 0;
        continue;
      }
      size_t from_at = at_;
      int from = bracket_byte(begin);
      int to = from;
      if (next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        to = bracket_byte(begin);
      }
      if (failed_) return 0;
      if (to < from) return fail(from_at, at_ - from_at, "the range ends before it starts");
      for (int i = from; i <= to; ++i) bytes.set(static_cast<size_t>(i));
    }
    return set(negated ? ~bytes : bytes);
  }

  // One end of a range: a byte, or [.x.] or [=x=].
  int bracket_byte(size_t begin) {
    if (!more()) return fail(begin, 1, "'[' is never closed", "write \\\\[ for a bracket itself");
    if (next_is('[') && at_ + 1 < text_.size() && (text_[at_ + 1] == '.' || text_[at_ + 1] == '=')) {
      char mark = text_[at_ + 1];
      if (at_ + 4 >= text_.size() || text_[at_ + 3] != mark || text_[at_ + 4] != ']') {
        return fail(at_, 2, "a collating symbol must be a single character");
      }
      at_ += 5;
      return static_cast<unsigned char>(text_[at_ - 3]);
    }
    return static_cast<unsigned char>(text_[at_++]);
  }

  bool named_class(ByteSet& bytes) {
    size_t begin = at_;
    size_t close = text_.find(":]", at_ + 2);
    if (close == text_.npos) return fail(begin, 2, "'[:' is never closed by ':]'"), false;
    std::string_view name = text_.substr(begin + 2, close - begin - 2);
    at_ = close + 2;
    auto found = std::ranges::find(kClasses, name, &NamedClass::name);
    if (found == std::end(kClasses)) {
      return fail(begin, at_ - begin, "unknown character class '" + std::string(name) + "'",
                  "alpha digit alnum upper lower space blank punct print graph cntrl xdigit"),
             false;
    }
    for (int i = 1; i < 256; ++i) {
      if (is_in(*found, i)) bytes.set(static_cast<size_t>(i));
    }
    return true;
  }

  std::string_view text_;
  Tree& tree_;
  Mistake& mistake_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

bool parse(std::string_view pattern, Tree& tree, Mistake& mistake) { return Parser(pattern, tree, mistake).run(); }

}  // namespace spile::regex
