// How a region is made and ends; its signals.
#include "net/window/region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"

namespace plx::net {

using plx::detail::spin_guard;

// ------------------------------------------------------------------------------------------------ operation_epochs

std::uint64_t operation_epochs::begin() {
  const spin_guard guard(lock_);
  ++epochs_.back().open;
  return first_ + epochs_.size() - 1;
}

void operation_epochs::end(std::uint64_t which, const std::exception_ptr& error) noexcept {
  {
    const spin_guard guard(lock_);
    epoch& e = epochs_[which - first_];
    --e.open;
    if (error != nullptr && e.error == nullptr) e.error = error;
  }
  while (auto ended = take_ended()) {
    if (ended->error != nullptr)
      ended->flushed.set_exception(ended->error);
    else
      ended->flushed.set_value();
  }
}

std::optional<operation_epochs::epoch> operation_epochs::take_ended() noexcept {
  const spin_guard guard(lock_);
  if (!epochs_.front().closed || epochs_.front().open != 0) return std::nullopt;
  std::optional<epoch> first(std::move(epochs_.front()));
  epochs_.pop_front();
  ++first_;
  return first;
}

future<void> operation_epochs::flush() {
  std::exception_ptr error;
  {
    const spin_guard guard(lock_);
    epoch& last = epochs_.back();
    if (epochs_.size() > 1 || last.open != 0) {
      last.closed = true;
      auto f = last.flushed.get_future();
      epochs_.emplace_back();
      return f;
    }
    error = std::exchange(last.error, nullptr);
  }
  return error == nullptr ? make_ready_future() : make_exceptional_future<void>(error);
}

// ---------------------------------------------------------------------------------------------------- the regions

namespace {

/// The regions of this locality by id. They stay until they are removed, or until the job ends.
class region_table final : public service {
 public:
  explicit region_table(node&) {}

  std::uint64_t add(std::shared_ptr<region> r) {
    const spin_guard guard(lock_);
    regions_.emplace(++last_id_, std::move(r));
    return last_id_;
  }
  std::shared_ptr<region> remove(std::uint64_t id) noexcept {
    const spin_guard guard(lock_);
    const auto at = regions_.find(id);
    if (at == regions_.end()) return nullptr;
    auto r = std::move(at->second);
    regions_.erase(at);
    return r;
  }
  std::shared_ptr<region> find(std::uint64_t id) noexcept {
    const spin_guard guard(lock_);
    const auto at = regions_.find(id);
    return at == regions_.end() ? nullptr : at->second;
  }
  void peer_lost(locality_id which) override {
    std::vector<std::shared_ptr<region>> all;
    {
      const spin_guard guard(lock_);
      for (const auto& [id, r] : regions_) all.push_back(r);
    }
    for (const auto& r : all) r->member_lost(which);
  }

 private:
  plx::detail::spinlock lock_;
  std::unordered_map<std::uint64_t, std::shared_ptr<region>> regions_;
  std::uint64_t last_id_ = 0;
};

constexpr std::align_val_t alignment{64};

/// The value of PLX_DIRECT_ACCESS. unmapped: accesses of the transport also where loads and stores would do, for tests.
enum class direct_access { on, off, unmapped };
direct_access wanted_access() {
  const char* text = std::getenv("PLX_DIRECT_ACCESS");
  const std::string_view found = text == nullptr ? "" : text;
  if (found.empty() || found == "on") return direct_access::on;
  if (found == "off") return direct_access::off;
  if (found == "unmapped") return direct_access::unmapped;
  throw std::invalid_argument(fmt::format("PLX_DIRECT_ACCESS: expected on, off or unmapped, found '{}'", found));
}

}  // namespace

std::shared_ptr<region> find_region(std::uint64_t id) noexcept {
  node* n = find_node();
  return n == nullptr ? nullptr : n->get<region_table>().find(id);
}

region::region(node* n, std::size_t bytes, std::size_t element_bytes, unsigned signals)
    : node_(n), bytes_(bytes), element_bytes_(element_bytes), signals_(signals) {}

region::~region() {
  detach_all();
  if (made_by_ != nullptr)
    made_by_->destroy(exported_);
  else
    ::operator delete(memory_, alignment);
}

std::shared_ptr<region> region::make_alone(std::size_t bytes, std::size_t element_bytes, unsigned signals) {
  std::shared_ptr<region> r(new region(nullptr, bytes, element_bytes, signals));
  r->allocate(false);
  r->members_ = {{0, 0, bytes, signals, r->memory_, nullptr}};
  return r;
}

std::shared_ptr<region> region::make(const communicator& members, std::size_t bytes, std::size_t element_bytes,
                                     unsigned signals) {
  node& n = node_here();
  const bool direct = wanted_access() != direct_access::off && members.size() > 1;
  std::shared_ptr<region> r(new region(&n, bytes, element_bytes, signals));
  r->all_ = std::make_unique<communicator>(members);
  r->rank_ = members.rank();
  const std::string key = r->allocate(direct);
  r->id_ = n.get<region_table>().add(r);  // before another member can access it
  // If this throws, other members may have succeeded and access the memory: it stays, as in end(abandon).
  r->exchange_keys(key);
  return r;
}

/// Returns the key for direct accesses by others; "": there are none.
std::string region::allocate(bool direct) {
  const std::size_t wanted = std::max<std::size_t>(bytes_, 8);
  if (remote_memory* t = direct ? node_->carrier().memory() : nullptr; t != nullptr) {
    auto made = t->create(wanted);
    if (made) {
      made_by_ = t;
      exported_ = made->handle;
      memory_ = static_cast<std::byte*>(made->data);
      return std::move(made->key);
    }
    log_info("a window uses messages: {}", made.error().message);
  }
  memory_ = static_cast<std::byte*>(::operator new(wanted, alignment));
  std::memset(memory_, 0, wanted);
  return "";
}

void region::exchange_keys(const std::string& key) {
  using description = std::pair<std::array<std::uint64_t, 3>, std::string>;
  const auto all = all_->all_gather(description({id_, bytes_, signals_.size()}, key)).get();
  std::vector<member> members;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [numbers, its_key] = all[i];
    members.push_back({all_->members()[i], numbers[0], numbers[1], numbers[2], nullptr, nullptr});
    keys.push_back(its_key);
  }
  members[rank_].mapped = memory_;
  members_ = std::move(members);
  const std::uint64_t reached = all_->all_reduce(attach_all(keys), minimum()).get();
  maps_all_ = reached == 2;
  if (reached == 0) detach_all();
}

/// 2: the memory of all members is mapped; 1: all have direct access; 0: messages are needed.
std::uint64_t region::attach_all(const std::vector<std::string>& keys) {
  if (std::find(keys.begin(), keys.end(), "") != keys.end()) return 0;
  transport_ = made_by_;
  std::uint64_t reached = 2;
  const bool maps = wanted_access() == direct_access::on;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto a = transport_->attach(members_[i].where, keys[i]);
    if (!a) {
      log_info("a window uses messages: {}", a.error().message);
      return 0;
    }
    members_[i].key = a->key;
    if (a->mapped == nullptr || !maps) reached = 1;
    if (i != rank_ && maps) members_[i].mapped = a->mapped;
  }
  return reached;
}

void region::detach_all() noexcept {
  for (member& m : members_) {
    if (m.key != nullptr) transport_->detach(m.key);
    m.key = nullptr;
    if (m.mapped != memory_) m.mapped = nullptr;
  }
  transport_ = nullptr;
}

void region::end(bool abandon) noexcept {
  // After a loss, messages or direct accesses of members that are alive may still arrive: the memory stays.
  bool keep = abandon;
  if (node_ != nullptr && !abandon) {
    try {
      flush().get();
    } catch (...) {  // reported to the callers of the operations
    }
    try {
      all_->barrier().get();
    } catch (...) {
      keep = true;
    }
  }
  std::vector<waiter> waiting;
  {
    const spin_guard guard(lock_);
    for (signal_state& s : signals_)
      for (waiter& w : s.waiters) waiting.push_back(std::move(w));
    for (signal_state& s : signals_) s.waiters.clear();
  }
  for (waiter& w : waiting)
    w.ready.set_exception(std::make_exception_ptr(std::runtime_error("the window was destroyed")));
  if (node_ != nullptr && !keep) node_->get<region_table>().remove(id_);
}

// ------------------------------------------------------------------------------------------------ checks, signals

std::size_t region::bytes_of(unsigned rank) const {
  if (rank >= members_.size()) refuse(rank, 0, 0, "size");
  return members_[rank].bytes;
}

void region::refuse(unsigned rank, std::size_t first, std::size_t n, const char* what) const {
  if (rank >= members_.size())
    throw std::out_of_range(fmt::format("window::{}: expected a rank below {}, found {}", what, members_.size(), rank));
  throw std::out_of_range(fmt::format("window::{}: expected elements from 0 to {} of rank {}, found {} from {} on",
                                      what, members_[rank].bytes / element_bytes_, rank, n, first));
}

void region::check_signal(unsigned rank, unsigned signal, const char* what) const {
  if (rank >= members_.size()) refuse(rank, 0, 0, what);
  if (signal >= members_[rank].signals)
    throw std::out_of_range(fmt::format("window::{}: expected a signal below {} of rank {}, found {}", what,
                                        members_[rank].signals, rank, signal));
}

void region::raise(std::uint64_t which, std::uint64_t add) noexcept {
  std::vector<promise<void>> ready;
  {
    const spin_guard guard(lock_);
    signal_state& s = signals_[which];
    s.value += add;
    for (std::size_t i = 0; i < s.waiters.size();) {
      if (s.waiters[i].at_least > s.value) {
        ++i;
        continue;
      }
      ready.push_back(std::move(s.waiters[i].ready));
      s.waiters.erase(s.waiters.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (auto& p : ready) p.set_value();
}

future<void> region::wait_signal(unsigned which, std::uint64_t at_least) {
  check_signal(rank_, which, "wait_signal");
  std::exception_ptr lost;
  {
    const spin_guard guard(lock_);
    signal_state& s = signals_[which];
    if (s.value < at_least) {
      if (lost_ == nullptr) return s.waiters.emplace_back(waiter{at_least, {}}).ready.get_future();
      lost = lost_;
    }
  }
  return lost == nullptr ? make_ready_future() : make_exceptional_future<void>(lost);
}

std::uint64_t region::signal(unsigned which) const {
  check_signal(rank_, which, "signal");
  const spin_guard guard(lock_);
  return signals_[which].value;
}

void region::member_lost(locality_id which) noexcept {
  const auto& all = all_->members();
  if (!std::binary_search(all.begin(), all.end(), which)) return;
  std::vector<waiter> waiting;
  const std::exception_ptr loss = node_->loss_of(which);
  {
    const spin_guard guard(lock_);
    if (lost_ == nullptr) lost_ = loss;
    for (signal_state& s : signals_) {
      std::move(s.waiters.begin(), s.waiters.end(), std::back_inserter(waiting));
      s.waiters.clear();
    }
  }
  for (waiter& w : waiting) w.ready.set_exception(loss);
}

}  // namespace plx::net
