// The print family. What goes to the stream is a record of the arguments with the number of a format, which the
// controller turns into text; the sprint forms make the text on the spot.

#include "abi/record.h"
#include "codegen/lowering.h"
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

// Text that the script spells out becomes part of the format: nobody else can have written it then.
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
    else left.insert(left.end(), arguments.begin() + static_cast<ptrdiff_t>(first), arguments.begin() + static_cast<ptrdiff_t>(next));
  }
  arguments = std::move(left);
}

llvm::Value* Lowering::lower_print(const syntax::Print& print) {
  if (print.arguments.size() == 1) {
    if (const auto* histogram = syntax::as<syntax::Histogram>(print.arguments[0])) {
      if (!print.to_stream) return histogram_string(*histogram, print.with_newline);
      print_histogram(*histogram);
      if (print.with_newline) write_record(abi::kPrintf, unit.tables.add_format(printf_format({literal("\n")}, {})), {});
      return number(0);
    }
  }
  std::vector<FormatPart> parts = format_of(print);
  std::vector<const syntax::Expression*> arguments;
  for (const auto& argument : print.arguments) arguments.push_back(argument.get());
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
  llvm::Value* text = number(0);
  if (!print.to_stream) text = make_string(parts, values, lengths);
  else write_record(abi::kPrintf, unit.tables.add_format(printf_format(std::move(parts), std::move(types), std::move(own))), values, lengths);
  if (mark) call("spile_rt_frame_release", unit.module.none(), {context, mark});
  return text;
}

namespace {
bool is_dump(const FormatPart& part) {
  return part.kind == FormatPart::Kind::kMemory || part.kind == FormatPart::Kind::kMemoryHex;
}
}  // namespace

// %m and %M: puts the memory at their arguments' addresses in place of these; their precision (1 where there is none) is
// how much. Returns what to release scratch memory to when it has been used; null where there are no dumps.
llvm::Value* Lowering::read_dumps(const syntax::Print& print, const std::vector<FormatPart>& parts,
                                  std::vector<llvm::Value*>& values, std::vector<llvm::Value*>& lengths,
                                  std::vector<ValueType>& types) {
  if (std::none_of(parts.begin(), parts.end(), is_dump)) return nullptr;
  if (unit.place.domain() == sema::Domain::kKernel) {
    unit.refuse(print.format_range, "%m and %M are not available in probes that run in the kernel");
    return nullptr;
  }
  needs_mark_ = true;  // an error leaves in the midst of it
  llvm::Value* mark = call("spile_rt_frame_mark", b.getInt64Ty(), {context});
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
  raise_if(b.CreateICmpSGT(wanted, number(kMostBytes)), range, "cannot print %d bytes of memory at once: at most 8192", {wanted});
  llvm::Value* room = b.CreateAnd(b.CreateAdd(length, b.getInt32(15)), b.getInt32(~15u));
  llvm::Value* bytes = call("spile_rt_frame", unit.module.ptr(), {context, room});
  raise_if(b.CreateIsNull(bytes), range, "no scratch memory is left to print memory");
  llvm::Value* good = call("spile_rt_load_bytes", b.getInt1Ty(), {context, address, bytes, length});
  raise_if(b.CreateNot(good), range, std::string("read fault at %p near '") + name + "'", {address});
  return bytes;
}

// A record that doesn't fit is lost; the runtime counts it.
void Lowering::write_record(uint32_t kind, uint32_t id, llvm::ArrayRef<llvm::Value*> values, std::vector<llvm::Value*> lengths) {
  unit.note_record(kind);
  lengths.resize(values.size());
  llvm::Value* size = b.getInt32(0);
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::Value* bytes = b.getInt32(8);
    if (values[i]->getType()->isPointerTy()) {
      if (!lengths[i]) lengths[i] = call("spile_rt_string_length", b.getInt32Ty(), {values[i]});
      bytes = b.CreateAnd(b.CreateAdd(lengths[i], b.getInt32(4 + 7)), b.getInt32(~7u));
    }
    size = b.CreateAdd(size, bytes);
  }
  llvm::Value* record =
      call("spile_rt_record_begin", unit.module.ptr(), {context, b.getInt32(kind), b.getInt32(id), size});
  llvm::BasicBlock *put = block("record.put"), *done = block("record.done");
  b.CreateCondBr(b.CreateIsNull(record), done, put, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 10000));
  b.SetInsertPoint(put);
  llvm::Value* at = record;
  for (size_t i = 0; i < values.size(); ++i) {
    if (lengths[i]) at = call("spile_rt_record_put_string", unit.module.ptr(), {at, values[i], lengths[i]});
    else at = call("spile_rt_record_put_long", unit.module.ptr(), {at, values[i]});
  }
  call("spile_rt_record_end", unit.module.none(), {context, record, at});
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

namespace {
// ORDER FORMAT_FLAGS (runtime/format.h)
uint32_t flags_of(const FormatPart& part) {
  return (part.left ? 1u : 0) | (part.zero ? 2u : 0) | (part.plus ? 4u : 0) | (part.space ? 8u : 0) |
         (part.alternate ? 16u : 0);
}
}  // namespace

llvm::Value* Lowering::make_string(const std::vector<FormatPart>& parts, llvm::ArrayRef<llvm::Value*> values,
                                   llvm::ArrayRef<llvm::Value*> lengths) {
  llvm::Value* out = temporary_string();
  llvm::Value* at = b.getInt32(0);
  size_t next = 0;
  auto number_or = [&](bool from_argument, int constant) -> llvm::Value* {
    if (from_argument) return b.CreateTrunc(values[next++], b.getInt32Ty());
    return b.getInt32(static_cast<uint32_t>(constant));
  };
  for (const FormatPart& part : parts) {
    if (part.kind == FormatPart::Kind::kLiteral) {
      at = call("spile_rt_format_literal", b.getInt32Ty(),
                {out, at, unit.module.text(part.literal), b.getInt32(static_cast<uint32_t>(part.literal.size()))});
      continue;
    }
    llvm::Value* width = number_or(part.width_argument, part.width);
    llvm::Value* precision = number_or(part.precision_argument, part.precision);
    llvm::Value* flags = b.getInt32(flags_of(part));
    llvm::Value* value = values[next++];
    if (is_dump(part) && next <= lengths.size()) {
      bool hex = part.kind == FormatPart::Kind::kMemoryHex;
      at = call("spile_rt_format_memory", b.getInt32Ty(), {out, at, value, lengths[next - 1], b.getInt1(hex), flags, width});
    } else if (value->getType()->isPointerTy()) {
      at = call("spile_rt_format_string", b.getInt32Ty(), {out, at, value, flags, width, precision});
    } else {
      at = call("spile_rt_format_long", b.getInt32Ty(),
                {out, at, value, b.getInt32(static_cast<uint32_t>(part.kind)), flags, width, precision});
    }
  }
  call("spile_rt_format_end", unit.module.none(), {out, at});
  return out;
}

}  // namespace spile::codegen
