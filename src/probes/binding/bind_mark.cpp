// Arguments of SDT marks: "-4@%eax 8@-8(%rbp) 4@$3 8@4+sym(%rip)", a size in bytes (negative: signed) and an operand in the
// assembler's syntax, as the compiler put it into the note.
// https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "base/diagnostics.h"
#include "probes/binding/bind_function.h"
#include "probes/binding/mark_arguments.h"

namespace spile::probes {

namespace {

using sema::Binding;
using sema::ResolvedPoint;

struct Register {
  int number;         // in DWARF
  uint8_t size;       // bytes
  bool high = false;  // %ah: bits 8 to 15
};

const std::map<std::string, Register, std::less<>>& registers() {
  static const auto all = [] {
    std::map<std::string, Register, std::less<>> names;
    constexpr const char* kLetters[] = {"ax", "dx", "cx", "bx", "si", "di", "bp", "sp"};
    for (int n = 0; n < 8; ++n) {
      std::string name = kLetters[n];
      names["r" + name] = {n, 8};
      names["e" + name] = {n, 4};
      names[name] = {n, 2};
      names[name[1] == 'x' ? name.substr(0, 1) + "l" : name + "l"] = {n, 1};
      if (name[1] == 'x') names[name.substr(0, 1) + "h"] = {n, 1, true};
    }
    for (int n = 8; n < 16; ++n) {
      names[fmt::format("r{}", n)] = {n, 8};
      names[fmt::format("r{}d", n)] = {n, 4};
      names[fmt::format("r{}w", n)] = {n, 2};
      names[fmt::format("r{}b", n)] = {n, 1};
    }
    return names;
  }();
  return all;
}

std::optional<int64_t> read_number(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x")) base = 16, text.remove_prefix(2);
  uint64_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int64_t>(negative ? 0 - number : number);
}

class Operand {
 public:
  // is_float: a floating-point number of `size` bytes, which becomes the bits of a double.
  Operand(debuginfo::Module& module, std::string_view text, uint8_t size, bool is_signed, bool is_float)
      : module_(module), text_(text), size_(size), is_signed_(is_signed), is_float_(is_float) {}

  std::optional<location::Operations> compile() {
    if (!compile_value()) return std::nullopt;
    if (is_float_ && size_ == 4) push(location::Unary::kFloatToDouble);
    return std::move(ops_);
  }

 private:
  bool compile_value() {
    if (text_.starts_with('$')) {
      auto number = read_number(text_.substr(1));
      if (!number) return false;
      push(location::Constant{*number});
    } else if (auto vector = vector_register(text_)) {
      push(location::Register{*vector});
    } else if (text_.starts_with('%') && text_.find_first_of("(:") == std::string_view::npos) {
      auto found = registers().find(text_.substr(1));
      if (found == registers().end()) return false;
      push(location::Register{found->second.number});
      if (found->second.high) {
        push(location::Constant{8});
        push(location::Binary::kShr);
      }
      size_ = std::min(size_, found->second.size);
    } else {
      if (!compile_address()) return false;
      push(location::Deref{size_, is_signed_});
      return true;
    }
    if (size_ < 8) push(location::Convert{size_, is_signed_});
    return true;
  }

  // "%xmm3", of which the low 8 bytes can be read: its number in DWARF.
  static std::optional<int> vector_register(std::string_view name) {
    constexpr int kXmm0 = 17, kLast = 15;
    if (!name.starts_with("%xmm")) return std::nullopt;
    auto number = read_number(name.substr(4));
    if (!number || *number < 0 || *number > kLast) return std::nullopt;
    return kXmm0 + static_cast<int>(*number);
  }

  void push(location::Operation operation) { ops_.push_back(operation); }
  void add() { push(location::Binary::kPlus); }

  // disp(%base, %index, scale); symbol+4(%rip), 4+symbol(%rip); a symbol alone.
  bool compile_address() {
    size_t open = text_.find('(');
    std::string_view displacement = text_.substr(0, open), inside;
    if (open != std::string_view::npos) {
      if (!text_.ends_with(')')) return false;
      inside = text_.substr(open + 1, text_.size() - open - 2);
    }
    if (text_.find(':') != std::string_view::npos) return false;  // %fs:...
    bool by_symbol = inside == "%rip" || inside.empty();
    if (by_symbol) return compile_symbol(displacement);
    if (displacement.empty()) push(location::Constant{0});
    else if (!compile_symbol(displacement)) return false;  // or a number
    size_t comma = inside.find(',');
    std::string_view base = inside.substr(0, comma);
    if (!base.empty()) {
      if (!push_register(base)) return false;
      add();
    }
    if (comma == std::string_view::npos) return true;
    std::string_view index = inside.substr(comma + 1);
    comma = index.find(',');
    auto scale = comma == std::string_view::npos ? std::optional<int64_t>(1) : read_number(index.substr(comma + 1));
    if (!scale || !push_register(index.substr(0, comma))) return false;
    push(location::Constant{*scale});
    push(location::Binary::kMul);
    add();
    return true;
  }

  bool push_register(std::string_view name) {
    if (!name.starts_with('%')) return false;
    auto found = registers().find(name.substr(1));
    if (found == registers().end() || found->second.high) return false;
    push(location::Register{found->second.number});
    if (found->second.size < 8) push(location::Convert{found->second.size});
    return true;
  }

  bool compile_symbol(std::string_view text) {
    if (auto number = read_number(text)) {  // an address
      push(location::Constant{*number});
      return true;
    }
    // A sum: "symbol+4" as clang writes it, "4+symbol" and "-8+symbol" as gcc does.
    uint64_t offset = 0;
    std::string symbol;
    while (!text.empty()) {
      const size_t end = text.find_first_of("+-", 1);
      const std::string_view term = text.substr(0, end);
      if (auto number = read_number(term)) {
        offset += static_cast<uint64_t>(*number);
      } else {
        if (!symbol.empty() || term.starts_with('-')) return false;
        symbol = term.substr(term.starts_with('+') ? 1 : 0);
      }
      text.remove_prefix(std::min(end, text.size()));
    }
    auto address = symbol.empty() ? std::nullopt : module_.data_symbol(symbol);
    if (!address) return false;
    push(location::Address{*address + static_cast<int64_t>(offset)});
    return true;
  }

  debuginfo::Module& module_;
  std::string_view text_;
  uint8_t size_;
  bool is_signed_;
  bool is_float_;
  location::Operations ops_;
};

}  // namespace

std::vector<std::string> mark_arguments(const std::string& text) {
  std::vector<std::string> words;
  int depth = 0;
  std::string word;
  for (char c : text + " ") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if ((c == ' ' || c == '\t') && depth <= 0) {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
    } else {
      word += c;
    }
  }
  return words;
}

Result<location::Operations> read_mark_argument(debuginfo::Module& module, const std::string& name,
                                                const std::string& description) {
  const size_t at = description.find('@');
  std::string_view size_text = at == std::string::npos ? std::string_view("8") : std::string_view(description).substr(0, at);
  const bool is_float = size_text.ends_with('f');
  if (is_float) size_text.remove_suffix(1);
  auto size = read_number(size_text);
  uint64_t bytes = size ? static_cast<uint64_t>(*size < 0 ? -*size : *size) : 0;
  Error unreadable{fmt::format("'{}' can't be read: its location '{}' is not supported", name, description), ""};
  if (is_float && bytes != 4 && bytes != 8)
    unreadable.message = fmt::format("'{}' is a floating-point number of {} bytes", name, bytes);
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) return unreadable;
  std::string_view operand =
      at == std::string::npos ? std::string_view(description) : std::string_view(description).substr(at + 1);
  auto ops = Operand(module, operand, static_cast<uint8_t>(bytes), *size < 0, is_float).compile();
  if (!ops) return unreadable;
  return std::move(*ops);
}

Result<Binding> bind_in_mark(TracedWorld& world, const ResolvedPoint& point, const syntax::TargetVariable& variable) {
  std::vector<std::string> words = mark_arguments(point.site.mark->arguments);
  auto number = variable.name.starts_with("$arg") ? read_number(std::string_view(variable.name).substr(4)) : std::nullopt;
  bool is_plt = point.site.mark->provider.empty();
  if (is_plt)
    return Error{fmt::format("'{}' is not known: debug information does not describe PLT entries", variable.name),
                 "$$name is the entry's name; int_arg(1), pointer_arg(2) ... are arguments"};
  if (!number || *number < 1 || static_cast<size_t>(*number) > words.size()) {
    return Error{fmt::format("no variable '{}' is visible here", variable.name),
                 words.empty() ? fmt::format("mark '{}' has no arguments", point.site.mark->name)
                               : fmt::format("mark '{}' has $arg1{}, and $$name and $$provider", point.site.mark->name,
                                             words.size() > 1 ? fmt::format(" to $arg{}", words.size()) : "")};
  }
  if (!variable.path.empty() || variable.address_of)
    return Error{fmt::format("'{}' is a plain number: the mark's note does not name its type", variable.name),
                 fmt::format("@cast({}, \"struct node\")->next", variable.name)};
  const std::string& word = words[static_cast<size_t>(*number - 1)];
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(point.site.module));
  Binding binding;
  TRY(binding.ops, read_mark_argument(*module, variable.name, word));
  return binding;
}

bool names_variable_at_mark(const ResolvedPoint& point, const std::string& name) {
  const bool is_argument = name.starts_with("$arg") && read_number(std::string_view(name).substr(4)).has_value();
  return !is_argument && !point.site.mark->provider.empty();
}

std::vector<std::string> mark_variables(const ResolvedPoint& point, const std::string& which) {
  std::vector<std::string> names;
  if (which != "$$vars" && which != "$$parms") return names;
  size_t count = mark_arguments(point.site.mark->arguments).size();
  for (size_t i = 1; i <= count; ++i) names.push_back(fmt::format("$arg{}", i));
  return names;
}

Result<std::string> mark_text(const ResolvedPoint& point, const std::string& name) {
  const bool is_plt = point.site.mark && point.site.mark->provider.empty();
  if (point.site.mark && name == "$$name") return point.site.mark->name;
  if (point.site.mark && name == "$$provider" && !is_plt) return point.site.mark->provider;
  return Error{fmt::format("unknown set of variables '{}'", name),
               point.site.mark ? (is_plt ? "a PLT entry has $$name" : "a mark has $$vars, $$parms, $$name and $$provider")
                               : "there are $$vars, $$parms, $$locals and $$return"};
}

}  // namespace spile::probes
