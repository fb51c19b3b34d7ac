// The print family. What goes to the stream is a record of the arguments with the number of a format, which the
// controller turns into text; the sprint forms make the text on the spot.

#include "abi/record.h"
#include "abi/script_codes.h"
#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

using syntax::FormatPart;

namespace {

FormatPart literal(std::string text) {
  FormatPart part;
  part.literal = std::move(text);
  return part;
}

FormatPart conversion(FormatPart::Kind kind) {
  FormatPart part;
  part.kind = kind;
  return part;
}

std::vector<const syntax::Expression*> pointers_to(const std::vector<syntax::ExpressionPtr>& expressions) {
  std::vector<const syntax::Expression*> pointers;
  for (const auto& expression : expressions) pointers.push_back(expression.get());
  return pointers;
}

}  // namespace

// Parts of any member of the family: print and the like become formats too.
std::vector<FormatPart> Lowering::format_of(const syntax::Print& print) {
  if (print.with_format) return print.parts;
  std::vector<FormatPart> parts;
  for (size_t i = 0; i < print.arguments.size(); ++i) {
    if (i > 0 && print.with_delimiter) parts.push_back(literal(print.delimiter));
    bool is_string = print.arguments[i]->type == ValueType::kString;
    parts.push_back(conversion(print.is_char ? FormatPart::Kind::kChar
                               : is_string   ? FormatPart::Kind::kString
                                             : FormatPart::Kind::kSigned));
  }
  if (print.with_newline) parts.push_back(literal("\n"));
  return parts;
}

// Makes text that the script spells out part of the format: a traced process can't change it there.
void Lowering::fold_constants(std::vector<FormatPart>& parts, std::vector<const syntax::Expression*>& arguments) {
  std::vector<const syntax::Expression*> left;
  size_t next = 0;
  for (FormatPart& part : parts) {
    if (part.kind == FormatPart::Kind::kLiteral) continue;
    const size_t first = next;
    next += 1u + part.width_argument + part.precision_argument;
    if (next > arguments.size()) return;
    const bool is_plain = next - first == 1 && part.kind == FormatPart::Kind::kString && part.width < 0 && part.precision < 0;
    const std::string* text = is_plain ? unit.own_text->constant(*arguments[first]) : nullptr;
    if (text) part = literal(text->substr(0, unit.layout.string_limit - 1));
    else
      left.insert(left.end(), arguments.begin() + static_cast<ptrdiff_t>(first),
                  arguments.begin() + static_cast<ptrdiff_t>(next));
  }
  arguments = std::move(left);
}

llvm::Value* Lowering::lower_print(const syntax::Print& print) {
  if (print.arguments.size() == 1) {
    if (const auto* histogram = syntax::as<syntax::Histogram>(print.arguments[0])) {
      if (!print.to_stream) return histogram_string(*histogram, print.with_newline);
      print_histogram(*histogram);
      if (print.with_newline) write_record(body, abi::kPrintf, unit.tables.add_format(printf_format({literal("\n")}, {})), {});
      return number(0);
    }
  }
  if (!print.to_stream) return lower_sprintf(print);
  std::vector<FormatPart> parts = format_of(print);
  std::vector<const syntax::Expression*> arguments = pointers_to(print.arguments);
  fold_constants(parts, arguments);
  std::vector<ValueType> types;
  std::vector<bool> own;
  for (const syntax::Expression* argument : arguments) {
    types.push_back(argument->type);
    own.push_back(unit.own_text->is_own(*argument));
  }
  std::vector<llvm::Value*> values = lower_operands(arguments);
  std::vector<llvm::Value*> lengths(values.size());
  llvm::Value* mark = read_dumps(print, parts, values, lengths, types);
  write_record(body, abi::kPrintf, unit.tables.add_format(printf_format(std::move(parts), std::move(types), std::move(own))),
               values, lengths);
  if (mark) frame_.release_to(mark);
  return number(0);
}

namespace {
bool is_dump(const FormatPart& part) {
  return part.kind == FormatPart::Kind::kMemory || part.kind == FormatPart::Kind::kMemoryHex;
}
}  // namespace

// %m and %M: puts the memory at their arguments' addresses in place of these; their precision (1: it was left out) is
// how much. Returns what to release scratch memory to when it has been used; null without dumps.
llvm::Value* Lowering::read_dumps(const syntax::Print& print, const std::vector<FormatPart>& parts,
                                  std::vector<llvm::Value*>& values, std::vector<llvm::Value*>& lengths,
                                  std::vector<ValueType>& types) {
  if (std::none_of(parts.begin(), parts.end(), is_dump)) return nullptr;
  if (!unit.place.copies_memory()) {
    unit.refuse(print.format_range, "%m and %M are not available in a handler that runs in the kernel",
                "handlers in processes (-x or -c, without --runtime=bpf) have them");
    return nullptr;
  }
  llvm::Value* mark = frame_.mark();
  size_t next = 0;
  for (const FormatPart& part : parts) {
    if (part.kind == FormatPart::Kind::kLiteral) continue;
    next += part.width_argument + part.precision_argument;
    if (is_dump(part)) {
      llvm::Value* wanted = part.precision_argument ? values[next - 1] : number(part.precision);
      llvm::Value* address = values[next];
      lengths[next] = b.CreateTrunc(b.CreateSelect(b.CreateICmpSLT(wanted, number(0)), number(1), wanted), b.getInt32Ty());
      values[next] = read_dump(address, wanted, lengths[next], print);
      types[next] = ValueType::kString;
    }
    ++next;
  }
  return mark;
}

llvm::Value* Lowering::read_dump(llvm::Value* address, llvm::Value* wanted, llvm::Value* length, const syntax::Print& print) {
  SourceRange range = print.range;
  const char* name = print.to_stream ? "printf" : "sprintf";
  constexpr int64_t kMostBytes = 8192;
  errors_.raise_if(b.CreateICmpSGT(wanted, number(kMostBytes)), range, "can't print %d bytes of memory at once: at most 8192",
                   {wanted});
  llvm::Value* room = b.CreateAnd(b.CreateAdd(length, b.getInt32(15)), b.getInt32(~15u));
  llvm::Value* bytes = call("spile_rt_frame", unit.module.ptr(), {context, room});
  errors_.raise_if(b.CreateIsNull(bytes), range, "no scratch memory is left to print memory");
  llvm::Value* good = call("spile_rt_load_bytes", b.getInt1Ty(), {context, address, bytes, length});
  errors_.raise_if(b.CreateNot(good), range, std::string("read fault at %p near '") + name + "'", {address});
  return bytes;
}

namespace {
uint32_t flags_of(const FormatPart& part) {
  return (part.left ? abi::kFormatLeft : 0u) | (part.zero ? abi::kFormatZero : 0u) | (part.plus ? abi::kFormatPlus : 0u) |
         (part.space ? abi::kFormatSpace : 0u) | (part.alternate ? abi::kFormatAlternate : 0u);
}

// Returns the sprintf of each argument, if that text can be written directly into the text around it, as the text of a variable
// of $$vars$ can; else null. Writing in place changes the order of evaluation, so arguments with side effects are excluded.
std::vector<const syntax::Print*> written_in_place(const std::vector<FormatPart>& parts,
                                                   const std::vector<const syntax::Expression*>& arguments) {
  std::vector<const syntax::Print*> in_place(arguments.size());
  if (std::any_of(arguments.begin(), arguments.end(), [](const auto* argument) { return may_write(*argument); })) return in_place;
  size_t next = 0;
  for (const FormatPart& part : parts) {
    if (part.kind == FormatPart::Kind::kLiteral) continue;
    next += part.width_argument + part.precision_argument;
    const bool is_whole = part.kind == FormatPart::Kind::kString && part.width < 0 && part.precision < 0 &&
                          !part.width_argument && !part.precision_argument;
    const auto* inner = syntax::as<syntax::Print>(*arguments[next]);
    if (is_whole && inner && !inner->if_unreadable.empty()) in_place[next] = inner;
    ++next;
  }
  return in_place;
}
}  // namespace

llvm::Value* Lowering::lower_sprintf(const syntax::Print& print) {
  llvm::Value* out = frame_.temporary_string();
  llvm::Value* end = put_sprintf(print, out, b.getInt32(0));
  call("spile_rt_format_end", unit.module.none(), {out, end});
  return out;
}

llvm::Value* Lowering::put_sprintf(const syntax::Print& print, llvm::Value* out, llvm::Value* at) {
  if (print.if_unreadable.empty()) return put_formatted(print, out, at);
  llvm::BasicBlock *unreadable = block("unreadable"), *done = block("readable.done");
  llvm::Value* text = nullptr;
  errors_.silence(unreadable, [&] { text = put_formatted(print, out, at); });
  llvm::BasicBlock* from_text = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(unreadable);
  llvm::Value* instead = put_literal(print.if_unreadable, out, at);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* end = b.CreatePHI(b.getInt32Ty(), 2);
  end->addIncoming(text, from_text);
  end->addIncoming(instead, unreadable);
  return end;
}

llvm::Value* Lowering::put_literal(const std::string& text, llvm::Value* out, llvm::Value* at) {
  return call("spile_rt_format_literal", b.getInt32Ty(),
              {out, at, unit.module.text(text), b.getInt32(static_cast<uint32_t>(text.size()))});
}

llvm::Value* Lowering::put_formatted(const syntax::Print& print, llvm::Value* out, llvm::Value* at) {
  Frame::Temporaries temporaries(frame_);
  std::vector<FormatPart> parts = format_of(print);
  std::vector<const syntax::Expression*> arguments = pointers_to(print.arguments);
  fold_constants(parts, arguments);
  const std::vector<const syntax::Print*> in_place = written_in_place(parts, arguments);
  std::vector<ValueType> types;
  for (const syntax::Expression* argument : arguments) types.push_back(argument->type);
  std::vector<llvm::Value*> values(arguments.size()), lengths(arguments.size());
  llvm::Value* mark = nullptr;
  // The values of a large structure would not all find room on the stack of eBPF, so each is computed where it is written. Nobody
  // sees the order, unless one of them changes something; the text of a print that fails is dropped.
  const bool one_by_one = std::ranges::none_of(parts, is_dump) &&
                          std::ranges::none_of(arguments, [](auto* argument) { return may_write(*argument); });
  if (!one_by_one) {
    values = lower_operands(arguments);
    mark = read_dumps(print, parts, values, lengths, types);
  }
  size_t next = 0;
  auto next_value = [&] {
    const size_t i = next++;
    return one_by_one ? lower(*arguments[i]) : values[i];
  };
  auto number_or = [&](bool from_argument, int constant) -> llvm::Value* {
    if (from_argument) return b.CreateTrunc(next_value(), b.getInt32Ty());
    return b.getInt32(static_cast<uint32_t>(constant));
  };
  for (const FormatPart& part : parts) {
    if (part.kind == FormatPart::Kind::kLiteral) {
      at = put_literal(part.literal, out, at);
      continue;
    }
    llvm::Value* width = number_or(part.width_argument, part.width);
    llvm::Value* precision = number_or(part.precision_argument, part.precision);
    llvm::Value* flags = b.getInt32(flags_of(part));
    if (in_place[next]) {
      at = put_sprintf(*in_place[next++], out, at);
      continue;
    }
    Frame::Temporaries of_value(frame_);
    llvm::Value* value = next_value();
    if (is_dump(part)) {
      bool hex = part.kind == FormatPart::Kind::kMemoryHex;
      at = call("spile_rt_format_memory", b.getInt32Ty(), {out, at, value, lengths[next - 1], b.getInt1(hex), flags, width});
    } else if (value->getType()->isPointerTy()) {
      at = call("spile_rt_format_string", b.getInt32Ty(), {out, at, value, flags, width, precision});
    } else {
      at = call("spile_rt_format_long", b.getInt32Ty(),
                {out, at, value, b.getInt32(static_cast<uint32_t>(part.kind)), flags, width, precision});
    }
  }
  if (mark) frame_.release_to(mark);
  return at;
}

}  // namespace spile::codegen
