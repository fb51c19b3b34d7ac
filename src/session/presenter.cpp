#include "session/presenter.h"

namespace spile::session {

namespace {
std::shared_ptr<Presenter> chosen;
}

void present_by(std::shared_ptr<Presenter> presenter) { chosen = std::move(presenter); }
const std::shared_ptr<Presenter>& chosen_presenter() { return chosen; }

}  // namespace spile::session
