#pragma once
// Writes the records that questions to DWARF are answered with as bytes for the cache, and reads them. Reading returns nullopt
// for bytes that can't be right. ORDER RECORDS: changing the fields, or their order, is a new kFormat.

#include <optional>
#include <string>
#include <string_view>

#include "debuginfo/dwarf/dwarf_reader.h"

namespace spile::debuginfo {

std::string to_bytes(const FunctionRecord& record);
std::string to_bytes(const VariableRecord& record);
std::string to_bytes(const TypeNode& node);
std::string to_bytes(const SourcePlace& place);
std::string to_bytes(const CodePlaces& places);
std::string to_bytes(const std::vector<DwarfFunction>& functions);
std::string to_bytes(const std::vector<CodeRange>& ranges);

// function: the one that the record is about. It is not among the bytes, and becomes that of the record's location::EntryValues.
std::optional<FunctionRecord> function_from_bytes(std::string_view bytes, FileAddress function);
std::optional<VariableRecord> variable_from_bytes(std::string_view bytes);
std::optional<TypeNode> type_from_bytes(std::string_view bytes);
std::optional<SourcePlace> place_from_bytes(std::string_view bytes);
std::optional<CodePlaces> places_from_bytes(std::string_view bytes);
std::optional<std::vector<DwarfFunction>> functions_from_bytes(std::string_view bytes);
std::optional<std::vector<CodeRange>> ranges_from_bytes(std::string_view bytes);

}  // namespace spile::debuginfo
