#include "attach/preload/mpi_communicators.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>

#include "attach/preload/mpi_messages.hpp"

namespace plx_mpi {

spin_lock guard;

void spin_lock::lock() noexcept {
  for (int i = 0; taken_.test_and_set(std::memory_order_acquire); ++i)
    if (i % 64 == 63) sched_yield();
}

namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) noexcept {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

std::uint64_t hash_of(const std::vector<int>& ranks) noexcept {
  std::uint64_t hash = ranks.size() + 1;
  for (const int r : ranks) hash = mixed(hash, static_cast<std::uint32_t>(r));
  return hash;
}

int forget_channel(MPI_Comm, int, void* kept, void*) {
  delete static_cast<std::shared_ptr<channel>*>(kept);
  return MPI_SUCCESS;
}

int attribute() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget_channel, &made, nullptr);
    return made;
  }();
  return key;
}

/// Its processes as ranks of MPI_COMM_WORLD.
std::vector<int> ranks_of(MPI_Group g) {
  static const MPI_Group world = [] {
    MPI_Group all = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    return all;
  }();
  int n = 0;
  if (PMPI_Group_size(g, &n) != MPI_SUCCESS || n <= 0) return {};
  std::vector<int> own(static_cast<std::size_t>(n)), there(own.size(), MPI_UNDEFINED);
  for (int i = 0; i < n; ++i) own[static_cast<std::size_t>(i)] = i;
  PMPI_Group_translate_ranks(g, n, own.data(), world, there.data());
  return there;
}

struct members {
  std::vector<int> peers;  // that messages are exchanged with
  std::uint64_t hash = 0;  // the same on both sides of an intercommunicator
};

members members_of(MPI_Comm c) {
  members m;
  MPI_Group g = MPI_GROUP_NULL;
  if (PMPI_Comm_group(c, &g) != MPI_SUCCESS) return m;
  m.peers = ranks_of(g);
  m.hash = hash_of(m.peers);
  PMPI_Group_free(&g);
  int inter = 0;
  if (PMPI_Comm_test_inter(c, &inter) != MPI_SUCCESS || inter == 0) return m;
  if (PMPI_Comm_remote_group(c, &g) != MPI_SUCCESS) return m;
  m.peers = ranks_of(g);
  const std::uint64_t remote = hash_of(m.peers);
  PMPI_Group_free(&g);
  m.hash = mixed(std::min(m.hash, remote), std::max(m.hash, remote));
  return m;
}

std::shared_ptr<channel> keep(MPI_Comm c, std::uint32_t id, std::vector<int> ranks) {
  auto made = std::make_shared<channel>();
  made->id = id;
  int all = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &all);
  made->shared_order = static_cast<int>(ranks.size()) == all;
  for (std::size_t i = 0; made->shared_order && i < ranks.size(); ++i)
    made->shared_order = ranks[i] == static_cast<int>(i);
  if (!made->shared_order) made->ranks = std::move(ranks);
  if (PMPI_Comm_set_attr(c, attribute(), new std::shared_ptr<channel>(made)) != MPI_SUCCESS) return nullptr;
  note_channel(made.get());
  return made;
}

void keep_as(MPI_Comm c, std::uint64_t hash, std::vector<int> ranks) {
  hash = mixed(hash, hash >> 32);
  keep(c, std::max<std::uint32_t>(static_cast<std::uint32_t>(hash >> 32), 3), std::move(ranks));
}

}  // namespace

channel::~channel() { forget_channel_now(this); }

std::shared_ptr<channel> channel_of(MPI_Comm c) {
  if (c == MPI_COMM_NULL) return nullptr;
  void* kept = nullptr;
  int found = 0;
  if (PMPI_Comm_get_attr(c, attribute(), static_cast<void*>(&kept), &found) == MPI_SUCCESS && found != 0)
    return *static_cast<std::shared_ptr<channel>*>(kept);
  if (c != MPI_COMM_WORLD && c != MPI_COMM_SELF) return nullptr;
  static spin_lock one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (PMPI_Comm_get_attr(c, attribute(), static_cast<void*>(&kept), &found) == MPI_SUCCESS && found != 0)
    return *static_cast<std::shared_ptr<channel>*>(kept);
  return keep(c, c == MPI_COMM_WORLD ? 1 : 2, members_of(c).peers);
}

void made_by_all(int done, MPI_Comm parent, MPI_Comm child) {
  if (!recording()) return;
  const std::shared_ptr<channel> from = channel_of(parent);
  if (from == nullptr) return;
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(guard);
    number = ++from->made;
  }
  if (done != MPI_SUCCESS || child == MPI_COMM_NULL) return;
  members m = members_of(child);
  keep_as(child, mixed(mixed(from->id, number), m.hash), std::move(m.peers));
}

void made_by_group(int done, MPI_Comm child, int tag) {
  if (!recording() || done != MPI_SUCCESS || child == MPI_COMM_NULL) return;
  const std::shared_ptr<channel> world = channel_of(MPI_COMM_WORLD);
  if (world == nullptr) return;
  members m = members_of(child);
  const std::uint64_t hash = mixed(m.hash, static_cast<std::uint32_t>(tag));
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(guard);
    number = ++world->made_by_group[hash];
  }
  keep_as(child, mixed(hash, number), std::move(m.peers));
}

}  // namespace plx_mpi
