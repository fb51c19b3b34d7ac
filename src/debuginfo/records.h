#pragma once
// The records that questions to DWARF are answered with, as bytes for the cache. Reading gives nothing for bytes that
// can't be right. ORDER RECORDS: writer and reader name the fields in the same order; changing it is a new kFormat.

#include <optional>
#include <string>
#include <string_view>

#include "debuginfo/dwarf_reader.h"

namespace spile::debuginfo {

std::string to_bytes(const FunctionRecord& record);
std::string to_bytes(const VariableRecord& record);
std::string to_bytes(const TypeNode& node);
std::string to_bytes(const SourcePlace& place);
std::string to_bytes(const CodePlaces& places);

// function: that the record is about, of which its location::EntryValues are.
std::optional<FunctionRecord> function_from_bytes(std::string_view bytes, FileAddress function);
std::optional<VariableRecord> variable_from_bytes(std::string_view bytes);
std::optional<TypeNode> type_from_bytes(std::string_view bytes);
std::optional<SourcePlace> place_from_bytes(std::string_view bytes);
std::optional<CodePlaces> places_from_bytes(std::string_view bytes);

}  // namespace spile::debuginfo
