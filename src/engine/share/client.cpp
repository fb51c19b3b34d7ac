#include "engine/share/client.h"

#include <algorithm>

#include "engine/trace/tracer.h"

namespace spile::engine {

Client& ClientTable::add() {
  auto client = std::make_unique<Client>();
  client->id = next_++;
  return *(all_[client->id] = std::move(client));
}

Client* ClientTable::find(ClientId id) const {
  auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second.get();
}

void ClientTable::forget_guests() {
  std::erase_if(all_, [](const auto& client) { return client.first != kOwnClient; });
}

bool ClientTable::follows(const Client& client, const AddressSpace& space) {
  return client.id == kOwnClient ||
         std::ranges::any_of(space.users, [&](const Process* process) { return client.follows.contains(process->pid); });
}

std::vector<Client*> ClientTable::in(const AddressSpace& space) const {
  std::vector<Client*> found;
  for (auto& [id, client] : all_) {
    if (client->can_arm() && follows(*client, space)) found.push_back(client.get());
  }
  return found;
}

SetupContext setup_for(Tracer& tracer, const Client& client) {
  return {tracer, client.image, client.geometry, client.arena_fd.get(), client.shared_fd.get(), client.id};
}

}  // namespace spile::engine
