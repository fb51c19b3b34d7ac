#include "editor/language_server.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "editor/analysis.h"
#include "editor/catalogue.h"
#include "editor/completion.h"

namespace spile::editor {

namespace {

using Json = nlohmann::json;

// JSON-RPC's codes.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kNoSuchMethod = -32601, kInvalidParameters = -32602;
constexpr int kNotInitialized = -32002;
constexpr size_t kLongestMessage = 64u << 20;

// ---------------------------------------------------------------- places: bytes here, UTF-16 units in the protocol

size_t bytes_of(unsigned char first) { return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

Json position_of(const SourceFile& file, uint32_t offset) {
  SourceFile::Position position = file.position(offset);
  std::string_view line = file.line(position.line);
  uint32_t units = 0;
  for (size_t i = 0; i < std::min<size_t>(position.column - 1, line.size());) {
    size_t bytes = bytes_of(static_cast<unsigned char>(line[i]));
    units += bytes == 4 ? 2 : 1;
    i += bytes;
  }
  return {{"line", position.line - 1}, {"character", units}};
}

size_t offset_of(std::string_view text, const Json& position) {
  size_t line = position.at("line").get<size_t>(), units = position.at("character").get<size_t>();
  size_t offset = 0;
  for (; line > 0; --line) {
    size_t end = text.find('\n', offset);
    if (end == std::string_view::npos) return text.size();
    offset = end + 1;
  }
  while (units > 0 && offset < text.size() && text[offset] != '\n') {
    size_t bytes = bytes_of(static_cast<unsigned char>(text[offset]));
    units -= std::min<size_t>(units, bytes == 4 ? 2 : 1);
    offset = std::min(offset + bytes, text.size());
  }
  return offset;
}

Json range_of(const SourceRange& range) {
  if (!range.file) return {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 0}, {"character", 1}}}};
  return {{"start", position_of(*range.file, range.begin)}, {"end", position_of(*range.file, range.end)}};
}

std::string path_of(const std::string& uri) {
  if (!uri.starts_with("file://")) return uri;
  std::string path;
  for (size_t i = 7; i < uri.size(); ++i) {
    bool is_code = uri[i] == '%' && i + 2 < uri.size() && isxdigit(static_cast<unsigned char>(uri[i + 1])) &&
                   isxdigit(static_cast<unsigned char>(uri[i + 2]));
    path += is_code ? static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16)) : uri[i];
    if (is_code) i += 2;
  }
  return path;
}

std::string uri_of(const std::string& path) {
  std::error_code error;
  std::string uri = "file://";
  for (char c : std::filesystem::absolute(path, error).string()) {
    bool plain = isalnum(static_cast<unsigned char>(c)) || std::string_view("/._-~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

int completion_kind(Entry::Kind kind) {  // CompletionItemKind
  switch (kind) {
    case Entry::Kind::kFunction:
    case Entry::Kind::kOperator: return 3;
    case Entry::Kind::kGlobal: return 6;
    case Entry::Kind::kMacro: return 15;
    case Entry::Kind::kKeyword: return 14;
    case Entry::Kind::kAlias:
    case Entry::Kind::kPoint: return 23;
  }
  return 1;
}

int symbol_kind(Entry::Kind kind) {  // SymbolKind
  switch (kind) {
    case Entry::Kind::kFunction: return 12;
    case Entry::Kind::kGlobal: return 13;
    case Entry::Kind::kMacro: return 14;
    default: return 24;  // an alias: Event
  }
}

// ---------------------------------------------------------------- the server

struct Refusal {
  int code;
  std::string message;
};

class Server {
 public:
  Server(const session::Options& options, std::istream& in, std::ostream& out)
      : options_(options), in_(in), out_(out), language_(Catalogue::of_language()), world_(world_queries(options)) {}

  int run() {
    std::string text;
    while (!left_ && read_message(text)) handle(text);
    return shut_down_ ? 0 : 1;
  }

 private:
  // ---- messages
  bool read_message(std::string& text) {
    size_t length = 0;
    for (std::string line; std::getline(in_, line);) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.empty()) {
        if (length == 0) continue;  // no header yet
        if (length > kLongestMessage) return false;
        text.resize(length);
        in_.read(text.data(), static_cast<std::streamsize>(length));
        return static_cast<size_t>(in_.gcount()) == length;
      }
      constexpr std::string_view kHeader = "Content-Length:";
      if (line.starts_with(kHeader)) length = std::strtoull(line.c_str() + kHeader.size(), nullptr, 10);
    }
    return false;
  }

  void send(const Json& message) {
    // Scripts may contain any bytes; those that are not UTF-8 are shown as U+FFFD.
    std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
    out_ << "Content-Length: " << text.size() << "\r\n\r\n" << text << std::flush;
  }

  void refuse(const Json& id, const Refusal& refusal) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", refusal.code}, {"message", refusal.message}}}});
  }

  void handle(const std::string& text) {
    Json message = Json::parse(text, nullptr, false);
    if (message.is_discarded()) return refuse(nullptr, {kParseError, "the message is not JSON"});
    if (!message.is_object() || !message.contains("method") || !message["method"].is_string()) {
      if (message.is_object() && message.contains("result")) return;  // an answer, though we have asked nothing
      return refuse(nullptr, {kInvalidRequest, "the message has no method"});
    }
    std::string method = message["method"];
    bool is_request = message.contains("id");
    Json id = is_request ? message["id"] : Json();
    Json parameters = message.contains("params") ? message["params"] : Json::object();
    try {  // nlohmann-json reports missing parameters by exceptions
      Json result = answer(method, parameters, is_request);
      if (is_request) send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
    } catch (const Refusal& refusal) {
      if (is_request) refuse(id, refusal);
    } catch (const Json::exception& error) {
      if (is_request) refuse(id, {kInvalidParameters, error.what()});
    }
  }

  Json answer(const std::string& method, const Json& parameters, bool is_request) {
    if (method == "exit") {
      left_ = true;
      return nullptr;
    }
    if (method == "initialize") return initialize();
    if (!initialized_) throw Refusal{kNotInitialized, "'initialize' comes first"};
    if (shut_down_) throw Refusal{kInvalidRequest, "the server was shut down"};
    if (method == "shutdown") return shut_down_ = true, nullptr;
    if (method == "textDocument/didOpen") {
      const Json& document = parameters.at("textDocument");
      return change(document.at("uri"), document.at("text")), nullptr;
    }
    if (method == "textDocument/didChange") {
      return change(parameters.at("textDocument").at("uri"), parameters.at("contentChanges").back().at("text")), nullptr;
    }
    if (method == "textDocument/didClose") return close(parameters.at("textDocument").at("uri")), nullptr;
    if (method == "textDocument/completion") return complete_at(parameters);
    if (method == "textDocument/hover") return hover(parameters);
    if (method == "textDocument/definition") return definition(parameters);
    if (method == "textDocument/documentSymbol") return symbols(parameters);
    if (is_request) throw Refusal{kNoSuchMethod, "no method '" + method + "'"};
    return nullptr;
  }

  Json initialize() {
    initialized_ = true;
    Json completion = {{"triggerCharacters", {".", "$", "@", "\""}}};
    Json capabilities = {{"textDocumentSync", 1},  // whole documents
                         {"completionProvider", completion},
                         {"hoverProvider", true},
                         {"definitionProvider", true},
                         {"documentSymbolProvider", true}};
    return {{"capabilities", capabilities}, {"serverInfo", {{"name", "spile"}}}};
  }

  // ---- documents
  void change(const std::string& uri, const std::string& text) {
    Analysis analysis = analyze(options_, path_of(uri), text);
    Json diagnostics = Json::array();
    for (const Diagnostic& found : analysis.diagnostics.all()) {
      diagnostics.push_back(diagnostic(found, *analysis.file, uri));
    }
    documents_.insert_or_assign(uri, std::move(analysis));
    publish(uri, std::move(diagnostics));
  }

  void close(const std::string& uri) {
    documents_.erase(uri);
    publish(uri, Json::array());
  }

  void publish(const std::string& uri, Json diagnostics) {
    send({{"jsonrpc", "2.0"},
          {"method", "textDocument/publishDiagnostics"},
          {"params", {{"uri", uri}, {"diagnostics", std::move(diagnostics)}}}});
  }

  Json diagnostic(const Diagnostic& found, const SourceFile& file, const std::string& uri) {
    bool elsewhere = found.range.file && found.range.file != &file;
    std::string message = elsewhere ? found.range.to_string() + ": " + found.message : found.message;
    if (!found.hint_text.empty()) message += "\n" + found.hint_text;
    Json related = Json::array();
    for (const Diagnostic::Note& note : found.notes) {
      if (!note.range.file) {
        message += "\n" + note.message;
        continue;
      }
      std::string where = note.range.file == &file ? uri : uri_of(note.range.file->name());
      related.push_back({{"location", {{"uri", where}, {"range", range_of(note.range)}}}, {"message", note.message}});
    }
    return {{"range", range_of(elsewhere ? SourceRange() : found.range)},
            {"severity", found.severity == Severity::kError ? 1 : 2},
            {"source", "spile"},
            {"message", message},
            {"relatedInformation", related}};
  }

  const Analysis& document(const Json& parameters) const {
    auto found = documents_.find(parameters.at("textDocument").at("uri").get<std::string>());
    if (found == documents_.end()) throw Refusal{kInvalidParameters, "the document was not opened"};
    return found->second;
  }

  const Catalogue& library() {
    if (!library_) library_ = library_catalogue(options_, library_files_);
    return *library_;
  }

  // ---- questions
  Json complete_at(const Json& parameters) {
    const Analysis& analysis = document(parameters);
    std::string_view text = analysis.file->text();
    size_t offset = offset_of(text, parameters.at("position"));
    size_t begin = context_at(text, offset).begin;
    SourceRange replaced{analysis.file.get(), static_cast<uint32_t>(begin), static_cast<uint32_t>(offset)};
    Json items = Json::array();
    for (const Candidate& candidate : complete(text, offset, {&analysis.declared, &library(), &language_}, world_)) {
      Json item = {{"label", candidate.text},
                   {"kind", completion_kind(candidate.kind)},
                   {"detail", candidate.detail},
                   {"filterText", candidate.text},
                   {"textEdit", {{"range", range_of(replaced)}, {"newText", candidate.text}}}};
      if (!candidate.documentation.empty()) item["documentation"] = candidate.documentation;
      items.push_back(std::move(item));
    }
    return {{"isIncomplete", false}, {"items", items}};
  }

  std::vector<const Entry*> entries_at(const Analysis& analysis, const Json& position, NameAt& name) {
    name = name_at(analysis.file->text(), offset_of(analysis.file->text(), position));
    if (name.name.empty()) return {};
    for (const Catalogue* catalogue : {&analysis.declared, &library(), static_cast<const Catalogue*>(&language_)}) {
      if (auto found = catalogue->find(name.name); !found.empty()) return found;
    }
    return {};
  }

  Json hover(const Json& parameters) {
    const Analysis& analysis = document(parameters);
    NameAt name;
    std::string shown;
    for (const Entry* entry : entries_at(analysis, parameters.at("position"), name)) {
      shown += "```\n" + entry->signature + "\n```\n";
      if (!entry->documentation.empty()) shown += entry->documentation + "\n";
    }
    if (shown.empty()) return nullptr;
    SourceRange range{analysis.file.get(), static_cast<uint32_t>(name.begin), static_cast<uint32_t>(name.end)};
    return {{"contents", {{"kind", "markdown"}, {"value", shown}}}, {"range", range_of(range)}};
  }

  Json definition(const Json& parameters) {
    const Analysis& analysis = document(parameters);
    NameAt name;
    Json places = Json::array();
    for (const Entry* entry : entries_at(analysis, parameters.at("position"), name)) {
      if (!entry->place.file) continue;
      bool here = entry->place.file == analysis.file.get();
      std::string uri = here ? parameters.at("textDocument").at("uri").get<std::string>() : uri_of(entry->place.file->name());
      places.push_back({{"uri", uri}, {"range", range_of(entry->place)}});
    }
    return places;
  }

  // The declarations of the document, in its order: the outline in editors.
  Json symbols(const Json& parameters) {
    const Analysis& analysis = document(parameters);
    std::map<uint32_t, Json> found;
    for (const Entry* entry : analysis.declared.beginning_with("")) {
      if (entry->place.file != analysis.file.get()) continue;
      found[entry->place.begin] = {{"name", entry->name},
                                   {"detail", entry->signature},
                                   {"kind", symbol_kind(entry->kind)},
                                   {"range", range_of(entry->place)},
                                   {"selectionRange", range_of(entry->place)}};
    }
    Json all = Json::array();
    for (auto& [begin, symbol] : found) all.push_back(std::move(symbol));
    return all;
  }

  const session::Options& options_;
  std::istream& in_;
  std::ostream& out_;
  Catalogue language_;
  SourceFiles library_files_;
  std::optional<Catalogue> library_;
  WorldQueries world_;
  std::map<std::string, Analysis> documents_;
  bool initialized_ = false, shut_down_ = false, left_ = false;
};

}  // namespace

int run_language_server(const session::Options& options, std::istream& in, std::ostream& out) {
  return Server(options, in, out).run();
}

}  // namespace spile::editor
