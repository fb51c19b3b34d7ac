#pragma once
// The text of records that hold addresses: of functions on stacks, of symbols. A handler writes the addresses alone, and spile
// names them when it reads the record. Thread rule: one thread.

#include <span>
#include <string>

#include "session/output/record_sink.h"
#include "session/stacks/kernel_stacks.h"
#include "session/stacks/process_stacks.h"
#include "session/stacks/user_stacks.h"
#include "syntax/output_format.h"

namespace spile::session {

class AddressNames {
 public:
  // Set the objects that name the addresses, which must outlive this. Null: records with addresses of processes print no names,
  // those with addresses of the kernel the addresses alone.
  void name_processes_by(UserStacks* stacks) { user_stacks_ = stacks; }
  void name_kernel_by(KernelStacks* stacks) { kernel_stacks_ = stacks; }
  // Sets the object that walks the stacks of kUserStack records, which must outlive this. Null: they print nothing.
  void walk_stacks_by(ProcessStacks* stacks) { process_stacks_ = stacks; }

  // Returns the text of a record. REQUIRES: has_addresses() of its header.
  std::string text_of(const Record& record) const;

 private:
  UserStacks* user_stacks_ = nullptr;
  KernelStacks* kernel_stacks_ = nullptr;
  ProcessStacks* process_stacks_ = nullptr;
};

// Appends what a record prints, as it is: for readers that no control character can harm. formats: of the script. REQUIRES:
// prints() of its header.
void append_plain_text(std::string& out, const Record& record, std::span<const syntax::OutputFormat> formats,
                       const AddressNames& names);

}  // namespace spile::session
