#pragma once
// The page of a run: one file that works offline and asks for nothing else (run_page.html): a summary, sortable tables,
// histograms, a heat map for each statistics value over time, a flame graph with search and zoom, the events, the script,
// build-ids. A function of the model alone. Thread rule: any thread.

#include <string>
#include <vector>

#include "runs/run/run_model.h"

namespace spile::runs {

// Names in the page are data: it shows them as text, never as markup.
std::string run_page(const std::vector<RunDocument>& runs);

}  // namespace spile::runs
