#pragma once

#include <string>
#include <vector>

namespace spile::runs {

// --merge: prints the files of -b (runs/text/stream_file.h) as text, all records in order of time. output_file: as
// OutputFile::open() takes it. Prints its errors, and returns the exit status, 0 or 1. Thread rule: one thread.
int merge_streams(const std::vector<std::string>& files, const std::string& output_file);

}  // namespace spile::runs
