#include "codegen/module/embedded_c.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file.h"
#include "codegen/module/embedded_prelude.h"

extern char** environ;

namespace spile::codegen {

namespace {

// The same options as for the runtime, in src/runtime/CMakeLists.txt.
constexpr const char* kFlags[] = {
    "-x",
    "c",
    "-std=gnu17",
    "-O2",
    "-emit-llvm",
    "-c",
    "-w",
    "-fPIC",
    "-mcmodel=small",
    "-mgeneral-regs-only",
    "-mno-implicit-float",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fvisibility=hidden",
    "-fomit-frame-pointer",
    "-fno-strict-aliasing",
    "-fno-ident",
    "-fno-jump-tables",
    "-fno-unroll-loops",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-color-diagnostics",
    "-fwrapv",
};

class TemporaryFile {
 public:
  explicit TemporaryFile(const char* suffix) {
    const char* folder = getenv("TMPDIR");
    path_ = std::string(folder && *folder ? folder : "/tmp") + "/spile-XXXXXX" + suffix;
    int fd = mkstemps(path_.data(), static_cast<int>(strlen(suffix)));
    made_ = fd >= 0;
    if (made_) close(fd);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (made_) unlink(path_.c_str());
  }
  bool made() const { return made_; }
  const std::string& path() const { return path_; }
  std::string read() const {
    Result<std::string> bytes = read_file(path_);
    return bytes.ok() ? std::move(*bytes) : std::string();
  }

 private:
  std::string path_;
  bool made_;
};

// Exit status of the compiler; -1: the program is missing.
int run_compiler(const std::string& compiler, const std::string& source, const std::string& object, const std::string& messages) {
  std::vector<std::string> words{compiler};
  words.insert(words.end(), std::begin(kFlags), std::end(kFlags));
  for (const std::string& word : {source, std::string("-o"), object}) words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_TRUNC, 0);
  pid_t child = 0;
  int failed = posix_spawnp(&child, compiler.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

Result<std::string> compile_c(const std::string& source) {
  TemporaryFile input(".c"), output(".bc"), messages(".txt");
  if (!input.made() || !output.made() || !messages.made())
    return Error{"compile embedded C: can't make a temporary file", "see TMPDIR"};
  std::ofstream(input.path(), std::ios::binary) << source;
  std::vector<std::string> compilers{"clang-19", "clang"};
  if (const char* chosen = getenv("CLANG"); chosen && *chosen) compilers = {chosen};
  for (const std::string& compiler : compilers) {
    int status = run_compiler(compiler, input.path(), output.path(), messages.path());
    if (status < 0) continue;
    if (status == 0) return output.read();
    std::string said = messages.read();
    if (!said.ends_with('\n')) said += '\n';
    const auto says = [&said](std::string_view what) { return said.find(what) != std::string::npos; };
    // A name STAP_… that is not declared is a parameter that the function does not have.
    const bool lacks = says("file not found") || says("incomplete") || (says("undeclared") && !says("identifier 'STAP_"));
    return Error{
        "embedded C does not compile:",
        lacks ? "it runs in a process, with the headers of programs: those of the kernel, its types and functions are not there"
              : "",
        std::move(said)};
  }
  return Error{fmt::format("embedded C needs a C compiler: {} can't be run", fmt::join(compilers, " or ")),
               "apt-get install clang-19, or set CLANG"};
}

std::string c_type(ValueType type) { return type == ValueType::kString ? "char *" : "int64_t "; }

std::string line_directive(SourceRange range) {
  if (!range) return "\n";
  return fmt::format("\n#line {} \"{}\"\n", range.file->position(range.begin).line, range.file->name());
}

}  // namespace

bool EmbeddedC::add_accessor(Accessor accessor) {
  for (const Accessor& known : accessors_) {
    if (known.global == accessor.global && known.writes == accessor.writes) return false;
  }
  accessors_.push_back(accessor);
  return true;
}

llvm::Function* EmbeddedC::add(ScriptModule& module, Piece piece) {
  auto* type = llvm::FunctionType::get(module.none(), {module.ptr(), module.ptr()}, false);
  std::string name = "spile_c_" + std::to_string(pieces_.size());
  pieces_.push_back(std::move(piece));
  return llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module.module());
}

std::string overflow_text(const syntax::Global& global) {
  return "Array overflow, check " +
         (global.declared_size ? fmt::format("size limit ({})", *global.declared_size) : "MAXMAPENTRIES");
}

std::string EmbeddedC::accessor_source(const Accessor& accessor) const {
  const syntax::Global& global = *accessor.global;
  std::string keys, names, values;
  for (size_t i = 0; i < global.key_types.size(); ++i) {
    keys += ", " + c_type(global.key_types[i]);
    names += fmt::format("{}k{}", i ? ", " : "", i);
    values += fmt::format(", (k{})", i);
  }
  std::string text;
  if (accessor.reads) {
    text += fmt::format("{}spile_get_{}(struct spile_rt *{});\n", c_type(global.type), global.name, keys);
    text += fmt::format("#define STAP_GLOBAL_GET_{0}({1}) spile_get_{0}(CONTEXT->runtime{2})\n", global.name, names, values);
  }
  if (accessor.writes) {
    // 0: an array had no room.
    text += fmt::format("int spile_set_{}(struct spile_rt *{}, {});\n", global.name, keys, c_type(global.type));
    text += fmt::format(
        "#define STAP_GLOBAL_SET_{0}({1}{2}value) ((void)(spile_set_{0}(CONTEXT->runtime{3}, (value)) || (CONTEXT->last_error = "
        "\"{4}\")))\n",
        global.name, names, names.empty() ? "" : ", ", values, overflow_text(global));
  }
  return text;
}

// Arguments go by STAP_ARG_x, and as THIS->x and THIS->l_x.
std::string EmbeddedC::piece_source(size_t index) const {
  const Piece& piece = pieces_[index];
  std::string fields, macros, after;
  for (const Field& field : piece.arguments) {
    fields += fmt::format("  union {{ {0}{1}; {0}l_{1}; }};\n", c_type(field.type), field.name);
    macros += fmt::format("#define STAP_ARG_{0} THIS->{0}\n", field.name);
    after += fmt::format("#undef STAP_ARG_{}\n", field.name);
  }
  fields += fmt::format("  {}__retvalue;\n", c_type(piece.result));
  macros += piece.result == ValueType::kString
                ? "#define STAP_RETURN(value) do { strlcpy(STAP_RETVALUE, (value), MAXSTRINGLEN); return; } while (0)\n"
                : "#define STAP_RETURN(value) do { STAP_RETVALUE = (int64_t)(value); return; } while (0)\n";
  after += "#undef STAP_RETURN\n";
  std::string body = piece.code;
  if (piece.is_expression) {
    body = piece.result == ValueType::kString ? "strlcpy(STAP_RETVALUE, (" + body + "\n), MAXSTRINGLEN);"
                                              : "STAP_RETVALUE = (int64_t)(" + body + "\n);";
  }
  return fmt::format(
      "struct spile_c_{0} {{\n{1}}};\n{2}void spile_c_{0}(struct context *c, struct spile_c_{0} *THIS) {{{3}{4}\n;}}\n{5}", index,
      fields, macros, line_directive(piece.range), body, after);
}

std::string EmbeddedC::source(const std::vector<syntax::TopLevelEmbedded>& top_level,
                              const std::map<std::string, std::string>& definitions, uint32_t string_size) const {
  std::string text = fmt::format("#define MAXSTRINGLEN {}\n{}", string_size, kEmbeddedPrelude);
  // After the prelude: a macro of the user's must not change what that says.
  for (const auto& [name, value] : definitions) {
    if (name != "MAXSTRINGLEN") text += fmt::format("#line 1 \"<-D>\"\n#define {} {}\n", name, value);
  }
  for (const Accessor& accessor : accessors_) text += accessor_source(accessor);
  for (const auto& code : top_level) text += line_directive(code.range) + code.code + "\n";
  for (size_t i = 0; i < pieces_.size(); ++i) text += "#line 1 \"<spile>\"\n" + piece_source(i);
  return text;
}

namespace {

// Rejects C that handlers can't run. module: the script's, in which calls must find their functions.
std::optional<Error> find_impossible(const llvm::Module& c, const llvm::Module& module) {
  for (const llvm::GlobalVariable& variable : c.globals()) {
    std::string name = variable.getName().str();
    if (name == "llvm.global_ctors" || name == "llvm.global_dtors") {
      return Error{"embedded C has a constructor, which nothing would run", ""};
    }
    if (name.starts_with("llvm.")) continue;
    if (variable.isDeclaration() && !variable.use_empty() && !module.getNamedGlobal(name)) {
      return Error{"embedded C uses the variable '" + name + "', which is not defined", ""};
    }
    if (!variable.isDeclaration() && !variable.isConstant()) {
      return Error{"embedded C has the writable variable '" + name + "': handlers can keep data only in the script's globals",
                   "use a global of the script: STAP_GLOBAL_GET_x(), STAP_GLOBAL_SET_x(value), with /* pragma:write:x */"};
    }
  }
  for (const llvm::Function& function : c) {
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty()) continue;
    std::string name = function.getName().str();
    if (!module.getFunction(name)) {
      return Error{
          "embedded C calls '" + name + "()', which is not available in handlers",
          "handlers run without a C library; they have strlen, strlcpy, strcmp, snprintf, memcpy and their like, STAP_PRINTF"};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<void> EmbeddedC::link(ScriptModule& script, const std::vector<syntax::TopLevelEmbedded>& top_level,
                             const std::map<std::string, std::string>& definitions, uint32_t string_size) {
  TRY(std::string bitcode, compile_c(source(top_level, definitions, string_size)));
  auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "embedded C"), script.context());
  if (!parsed) {
    return Error{"the compiler's bitcode can't be read: " + llvm::toString(parsed.takeError()),
                 "embedded C needs clang 19 (set CLANG)"};
  }
  llvm::Module& module = script.module();
  if (auto impossible = find_impossible(**parsed, module)) return *impossible;
  std::vector<std::string> names;
  for (const llvm::Function& function : **parsed) {
    if (!function.isDeclaration() && !function.hasLocalLinkage()) names.push_back(function.getName().str());
  }
  (*parsed)->setDataLayout(module.getDataLayout());
  (*parsed)->setTargetTriple(module.getTargetTriple());
  if (llvm::Linker::linkModules(module, std::move(*parsed))) return Error{"embedded C can't be linked with the script", ""};
  // Some functions of the runtime keep their callers' registers, of which C knows nothing.
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call && call->getCalledFunction()) call->setCallingConv(call->getCalledFunction()->getCallingConv());
      }
    }
  }
  return {};
}

}  // namespace spile::codegen
