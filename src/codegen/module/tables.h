#pragma once
// What records in an output ring refer to by number: print formats and error texts, each once.

#include <map>
#include <string>

#include "codegen/terms/compiled_script.h"

namespace spile::codegen {

class Tables {
 public:
  uint32_t add_format(OutputFormat format);
  // Each returns the number of the entry, which may have been there already. Of an error, its text makes it what it is.
  uint32_t add_error(ErrorText error);

  uint32_t add_command(const std::string& text);

  std::vector<OutputFormat> formats;
  std::vector<ErrorText> errors;

 private:
  std::map<std::string, uint32_t> format_ids_, error_ids_, command_ids_;

 public:
  SystemCommands commands;
  uint32_t target_records = 0;  // as CompiledScript::target_records
};

}  // namespace spile::codegen
