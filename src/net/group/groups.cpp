#include "net/group/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "net/core/failure.hpp"

namespace plx::net::collective {

using plx::detail::spin_guard;

namespace {

std::uint64_t hash_of(const std::string& name, const std::vector<locality_id>& members) {
  std::string key = name;
  for (const locality_id m : members) key += fmt::format(" {}", m);
  return fnv1a(key);
}

// A named group is not counted.
std::shared_ptr<group> uncounted(group& g) { return {std::shared_ptr<group>(), &g}; }

}  // namespace

/// Lives as long as any handle of the part. It outlives the node if a handle does.
struct groups::part_handle {
  std::shared_ptr<group> of;
  std::shared_ptr<group> parent;  // a handle
  ~part_handle() {
    // release: pairs with is_unused().
    if (of != nullptr) of->has_handles_.store(false, std::memory_order_release);
  }
};

groups::~groups() {
  for (const auto& [id, g] : all_)
    g->end(std::make_exception_ptr(std::runtime_error("the job ended before this collective call did")));
}

// The lock is held.
std::shared_ptr<group> groups::make(std::uint64_t id) {
  auto& g = all_[id];
  if (g == nullptr) g = std::make_shared<group>(*this, node_, id), ++unknown_;
  if ((id & part_bit) == 0) last_.store(g.get(), std::memory_order_release);
  return g;
}

group& groups::named(const std::string& name, std::vector<locality_id> members) {
  const std::uint64_t id = hash_of(name, members) & ~part_bit;
  // acquire: pairs with the release in make(); named groups stay.
  group* g = last_.load(std::memory_order_acquire);
  if (g == nullptr || g->id() != id) {
    const spin_guard guard(lock_);
    g = make(id).get();
  }
  g->become(name, std::move(members));
  return *g;
}

std::shared_ptr<group> groups::make_part(std::shared_ptr<group> parent, std::uint64_t call, std::uint64_t colour,
                                         std::vector<locality_id> members) {
  std::string name = fmt::format("{}/{}:{}", parent->name(), call, colour);
  auto handle = std::make_shared<part_handle>();
  group& of = *parent;
  {
    const spin_guard guard(lock_);
    handle->of = make(hash_of(name, members) | part_bit);
    handle->of->made_by_ = {of.id(), call};
    of.parts_.push_back({handle->of});
  }
  handle->parent = std::move(parent);
  handle->of->become(std::move(name), std::move(members));
  group* const g = handle->of.get();
  return {std::move(handle), g};
}

// The lock is held. acquire: pairs with ~part_handle().
bool groups::is_unused(group& part) {
  return !part.has_handles_.load(std::memory_order_acquire) && part.is_idle() &&
         std::all_of(part.parts_.begin(), part.parts_.end(), [](const group::part& p) { return is_unused(*p.of); });
}

std::vector<std::uint64_t> groups::take_unused(group& parent) {
  std::vector<std::uint64_t> unused;
  const spin_guard guard(lock_);
  for (group::part& p : parent.parts_)
    if (!p.is_reported && is_unused(*p.of)) p.is_reported = true, unused.push_back(p.of->made_by_.call);
  return unused;
}

void groups::drop_unused(group& parent, const std::vector<std::vector<std::uint64_t>>& unused) {
  std::vector<std::shared_ptr<group>> dropped;  // destroyed without the lock
  const spin_guard guard(lock_);
  for (std::size_t rank = 0; rank < unused.size(); ++rank)
    for (group::part& p : parent.parts_)
      if (p.of->has(parent.members()[rank]) &&
          std::find(unused[rank].begin(), unused[rank].end(), p.of->made_by_.call) != unused[rank].end())
        ++p.unused_at;
  std::erase_if(parent.parts_, [&](const group::part& p) {
    const bool everywhere = p.unused_at == p.of->size();
    if (everywhere) drop(*p.of, dropped);
    return everywhere;
  });
}

// The lock is held.
void groups::drop(group& g, std::vector<std::shared_ptr<group>>& dropped) {
  for (const group::part& p : g.parts_) drop(*p.of, dropped);
  if (auto at = all_.extract(g.id())) dropped.push_back(std::move(at.mapped()));
}

groups::found groups::make_unless_too_many(std::uint64_t id) {
  if (unknown_ >= most_unknown && !all_.contains(id)) {
    refused_any_ = true;
    return {nullptr, true};
  }
  return {make(id), false};
}

groups::found groups::of_arrival(std::uint64_t id) {
  if (group* g = last_.load(std::memory_order_acquire); g != nullptr && g->id() == id) return {uncounted(*g), false};
  const spin_guard guard(lock_);
  if ((id & part_bit) == 0) return make_unless_too_many(id);
  const auto at = all_.find(id);
  return {at == all_.end() ? nullptr : at->second, false};
}

// A part that does not exist here was dropped if split() has got further than making it: it makes the part between two
// calls. Its parent exists until the part is dropped, as this locality has called split().
groups::found groups::of_ending(std::uint64_t id, const origin_of_part& made_by) {
  if ((id & part_bit) == 0) return of_arrival(id);
  const spin_guard guard(lock_);
  const auto parent = all_.find(made_by.parent);
  if (!all_.contains(id) && (parent == all_.end() || parent->second->calls() >= made_by.call + 2)) return {};
  return make_unless_too_many(id);
}

bool groups::excludes(std::uint64_t id, locality_id l) {
  std::shared_ptr<group> g;
  {
    const spin_guard guard(lock_);
    const auto at = all_.find(id);
    if (at != all_.end()) g = at->second;
  }
  return g != nullptr && g->excludes(l);
}

bool groups::known() {
  const spin_guard guard(lock_);
  --unknown_;
  return !refused_any_;
}

bool groups::take(std::size_t bytes) noexcept {
  if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_unknown_bytes) return true;
  give_back(bytes);
  return false;
}

std::size_t groups::size() {
  const spin_guard guard(lock_);
  return all_.size();
}

void groups::peer_lost(locality_id which) {
  // All messages that arrived before the transport reported the loss have been delivered; if the locality was given up
  // otherwise, some are still to be received.
  node_.carrier().receive_of(which);
  std::vector<std::shared_ptr<group>> hit;
  {
    const spin_guard guard(lock_);
    for (const auto& [id, g] : all_) hit.push_back(g);
  }
  // A locality that has failed because of another loss may be given up before that one: the first loss is reported.
  const locality_id first = node_.cause_of_loss(which).first;
  for (const auto& g : hit) {
    if (!g->has(which)) continue;
    g->fail(node_.loss_of(first < node_.size() && g->has(first) && node_.is_lost(first) ? first : which));
  }
}

}  // namespace plx::net::collective
