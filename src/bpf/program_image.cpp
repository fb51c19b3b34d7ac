#include "bpf/program_image.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/btf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "abi/kernel.h"
#include "bpf/library.h"

namespace spile::bpf {

namespace {

constexpr uint32_t kMostArguments = 5;

// "fn.3.name", "body.name", "callback.name" (what bpf_for_each_map_elem(2) calls) or the program.
ProgramImage::Function describe(const std::string& section) {
  ProgramImage::Function function;
  function.name = section;
  if (section.starts_with(abi::kKernelFunctionPrefix)) {
    size_t at = std::strlen(abi::kKernelFunctionPrefix);
    function.arguments = std::min<uint32_t>(static_cast<uint32_t>(section[at] - '0'), kMostArguments);
    function.is_checked_apart = true;
  } else {
    const bool is_callback = section.starts_with(abi::kKernelCallbackPrefix);
    function.arguments = is_callback ? 4 : section.starts_with(abi::kKernelBodyPrefix) ? 2 : 1;
  }
  return function;
}

class Linker {
 public:
  Linker(const Object& object, const ResolveData& resolve) : object_(object), resolve_(resolve) {}

  Result<ProgramImage> link(const Section& program) {
    add(program);
    // Functions that are found on the way are appended, and looked through in their turn.
    for (size_t i = 0; i < sections_.size(); ++i) TRY_DO(resolve_all(*sections_[i], starts_.at(sections_[i])));
    for (const auto& [call, callee] : calls_) {
      const bool is_call = image_.code[call].code == (BPF_JMP | BPF_CALL);
      image_.code[call].src_reg = is_call ? BPF_PSEUDO_CALL : BPF_PSEUDO_FUNC;  // else the address is an argument of a helper
      image_.code[call].imm = static_cast<int32_t>(starts_.at(callee)) - static_cast<int32_t>(call) - 1;
    }
    return std::move(image_);
  }

 private:
  void add(const Section& section) {
    auto begin = static_cast<uint32_t>(image_.code.size());
    if (!starts_.emplace(&section, begin).second) return;
    sections_.push_back(&section);
    image_.code.resize(begin + section.bytes.size() / sizeof(bpf_insn));
    std::memcpy(image_.code.data() + begin, section.bytes.data(), section.bytes.size() / sizeof(bpf_insn) * sizeof(bpf_insn));
    ProgramImage::Function function = describe(section.name);
    function.begin = begin;
    image_.functions.push_back(std::move(function));
    for (const ScriptLine& line : section.lines) {
      image_.lines.push_back(line);
      image_.lines.back().instruction += begin;
    }
  }

  Result<void> resolve_all(const Section& section, uint32_t begin) {
    for (const Relocation& relocation : section.relocations) {
      size_t at = begin + relocation.offset / sizeof(bpf_insn);
      if (at >= image_.code.size()) return Error{"kernel object: a relocation outside of " + section.name, ""};
      const Symbol& symbol = object_.symbols[relocation.symbol];
      const Section* callee = symbol.section ? &object_.sections[symbol.section] : nullptr;
      if (relocation.type != kRelocationCall && !(callee && callee->code)) {
        TRY_DO(resolve_(section, relocation, image_.code, at));
        continue;
      }
      if (!callee || !callee->code || symbol.value != 0)
        return Error{fmt::format("kernel object: {} calls {}, which is not a function of the object", section.name, symbol.name),
                     ""};
      add(*callee);
      calls_.emplace_back(at, callee);
    }
    return {};
  }

  const Object& object_;
  const ResolveData& resolve_;
  ProgramImage image_;
  std::vector<const Section*> sections_;
  std::map<const Section*, uint32_t> starts_;
  std::vector<std::pair<size_t, const Section*>> calls_;
};

// BTF with one type of number, and a prototype for each count of arguments.
class FunctionTypes {
 public:
  FunctionTypes() {
    strings_.push_back('\0');
    constexpr uint32_t kSigned64 = static_cast<uint32_t>(BTF_INT_SIGNED) << 24 | 64;
    put({name("long"), BTF_KIND_INT << 24, 8, kSigned64});
    for (uint32_t count = 0; count <= kMostArguments; ++count) {
      put({0, BTF_KIND_FUNC_PROTO << 24 | count, kLong});
      for (uint32_t i = 0; i < count; ++i) words_.insert(words_.end(), {name("a"), kLong});
    }
  }
  uint32_t add(const ProgramImage::Function& function) {
    uint32_t linkage = function.is_checked_apart ? BTF_FUNC_GLOBAL : BTF_FUNC_STATIC;
    return put({name(identifier(function.name)), BTF_KIND_FUNC << 24 | linkage, kLong + 1 + function.arguments});
  }
  // Returns the offset of a string; equal strings are kept once.
  uint32_t text(const std::string& string) {
    auto [known, is_new] = texts_.try_emplace(string, 0);
    if (is_new && !string.empty()) known->second = name(string);
    return known->second;
  }
  std::vector<uint8_t> bytes() const {
    btf_header header{};
    header.magic = BTF_MAGIC;
    header.version = BTF_VERSION;
    header.hdr_len = sizeof header;
    header.type_len = static_cast<uint32_t>(words_.size() * 4);
    header.str_off = header.type_len;
    header.str_len = static_cast<uint32_t>(strings_.size());
    std::vector<uint8_t> all(sizeof header + header.type_len + header.str_len);
    std::memcpy(all.data(), &header, sizeof header);
    std::memcpy(all.data() + sizeof header, words_.data(), header.type_len);
    std::memcpy(all.data() + sizeof header + header.type_len, strings_.data(), header.str_len);
    return all;
  }

 private:
  static constexpr uint32_t kLong = 1;

  uint32_t put(std::initializer_list<uint32_t> words) {
    words_.insert(words_.end(), words);
    return ++count_;
  }
  uint32_t name(const std::string& text) {
    auto at = static_cast<uint32_t>(strings_.size());
    strings_.insert(strings_.end(), text.c_str(), text.c_str() + text.size() + 1);
    return at;
  }
  static std::string identifier(std::string text) {
    for (char& c : text) {
      if (!isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    return text.substr(0, 127);
  }

  std::vector<uint32_t> words_;
  std::vector<char> strings_;
  std::map<std::string, uint32_t> texts_;
  uint32_t count_ = 0;
};

// Puts a line at the begin of each function that has none there: the function's first, or its name.
std::vector<ScriptLine> lines_for_kernel(const ProgramImage& image) {
  std::vector<ScriptLine> all = image.lines;
  for (const ProgramImage::Function& function : image.functions) {
    auto first = std::ranges::lower_bound(image.lines, function.begin, {}, &ScriptLine::instruction);
    if (first != image.lines.end() && first->instruction == function.begin) continue;
    ScriptLine line{function.begin, "", function.name, 0, 0};
    if (first != image.lines.end() && function_at(image, first->instruction) == &function) line = *first;
    line.instruction = function.begin;
    all.push_back(std::move(line));
  }
  std::ranges::sort(all, {}, &ScriptLine::instruction);
  return all;
}

}  // namespace

Result<ProgramImage> link_program(const Object& object, const Section& program, const ResolveData& resolve) {
  return Linker(object, resolve).link(program);
}

const ProgramImage::Function* function_at(const ProgramImage& image, uint32_t instruction) {
  const ProgramImage::Function* found = nullptr;
  for (const ProgramImage::Function& function : image.functions) {
    if (function.begin <= instruction && (!found || function.begin >= found->begin)) found = &function;
  }
  return found;
}

const ScriptLine* line_at(const ProgramImage& image, uint32_t instruction) {
  auto after = std::ranges::upper_bound(image.lines, instruction, {}, &ScriptLine::instruction);
  if (after == image.lines.begin()) return nullptr;
  const ScriptLine& line = *std::prev(after);
  const ProgramImage::Function* function = function_at(image, instruction);
  return function && line.instruction >= function->begin ? &line : nullptr;
}

Result<ProgramTypes> load_types(const ProgramImage& image) {
  FunctionTypes types;
  ProgramTypes made;
  for (const ProgramImage::Function& function : image.functions) made.functions.push_back({function.begin, types.add(function)});
  if (!image.lines.empty()) {
    for (const ScriptLine& line : lines_for_kernel(image)) {
      constexpr uint32_t kMostLines = (1 << 22) - 1, kMostColumns = (1 << 10) - 1;
      const uint32_t place = std::min(line.line, kMostLines) << 10 | std::min(line.column, kMostColumns);
      made.lines.push_back({line.instruction, types.text(line.file), types.text(line.text), place});
    }
  }
  std::vector<uint8_t> bytes = types.bytes();
  made.btf.reset(bpf_btf_load(bytes.data(), bytes.size(), nullptr));
  if (!made.btf) return Error::from_errno("describe a handler's functions to the kernel", errno);
  return made;
}

}  // namespace spile::bpf
