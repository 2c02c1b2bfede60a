#include "net/distributed.hpp"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "net/action.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::distributed::detail {
namespace {

using net::payload;
using net::sender;
using plx::detail::spin_guard;

using element = std::optional<payload>;

/// Promises that the destructor completes, after the locks are released.
class outcomes {
 public:
  template <class T, class... V>
  void add(promise<T>&& p, V&&... value) {
    outcome<T>& o = of<T>().emplace_back();
    o.to = std::move(p);
    ((std::get<0>(o.value) = std::forward<V>(value)), ...);
  }
  template <class T>
  void fail(promise<T>&& p, std::exception_ptr e) {
    outcome<T>& o = of<T>().emplace_back();
    o.to = std::move(p);
    o.error = std::move(e);
  }
  /// An element that will not be received. Destroyed after the locks are released, as a handle in it may be the last of
  /// its object.
  void discard(element&& e) { discarded_.push_back(std::move(e)); }
  ~outcomes() { keep(of<bool>()), keep(of<element>()), keep(of<void>()); }

 private:
  template <class T>
  struct outcome {
    promise<T> to;
    std::tuple<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
    std::exception_ptr error;
  };
  template <class T>
  using outcomes_of = std::vector<outcome<T>>;

  template <class T>
  outcomes_of<T>& of() {
    return std::get<outcomes_of<T>>(all_);
  }
  template <class T>
  static void keep(outcomes_of<T>& all) {
    for (outcome<T>& o : all) {
      if (o.error != nullptr)
        o.to.set_exception(o.error);
      else if constexpr (std::is_void_v<T>)
        o.to.set_value();
      else
        o.to.set_value(std::move(std::get<0>(o.value)));
    }
  }
  std::tuple<outcomes_of<bool>, outcomes_of<element>, outcomes_of<void>> all_;
  std::vector<element> discarded_;
};

/// The state of a channel.
class queue {
 public:
  explicit queue(std::size_t capacity) : capacity_(capacity) {}
  /// Whether no call with this number has arrived from that locality.
  [[nodiscard]] bool is_new(locality_id from, std::uint64_t number) const {
    const auto s = senders_.find(from);
    return s == senders_.end() || (number >= s->second.next && !s->second.early.contains(number));
  }
  /// Handles call `number` of locality `from`: an element, or none to close the channel. Requires: is_new().
  future<bool> put(locality_id from, std::uint64_t number, element&& e, outcomes& then) {
    promise<bool> p;
    auto result = p.get_future();
    sender& s = senders_[from];
    s.early.emplace(number, offer{from, std::move(e), std::move(p)});
    for (auto next = s.early.find(s.next); next != s.early.end(); next = s.early.find(++s.next)) {
      take_up(std::move(next->second), then);
      s.early.erase(next);
    }
    match(then);
    return result;
  }
  future<element> get(locality_id from, outcomes& then) {
    receivers_.emplace_back(from, promise<element>());
    auto result = receivers_.back().second.get_future();
    match(then);
    return result;
  }
  void lost(locality_id which, const std::exception_ptr& e, outcomes& then) {
    for (auto& [from, p] : receivers_)
      if (from != which) then.fail(std::move(p), e);
    receivers_.clear();
    for (offer& o : offers_) {
      if (o.from != which) then.fail(std::move(o.taken), e);
      then.discard(std::move(o.contents));
    }
    offers_.clear();
    if (const auto s = senders_.find(which); s != senders_.end()) {
      for (auto& [number, o] : s->second.early) then.discard(std::move(o.contents));
      senders_.erase(s);
    }
  }

 private:
  struct offer {
    locality_id from;
    element contents;
    promise<bool> taken;
  };
  struct sender {
    std::uint64_t next = 0;
    std::map<std::uint64_t, offer> early;  // overtook calls sent before them
  };

  void take_up(offer&& o, outcomes& then) {
    if (o.contents && !closed_) return offers_.push_back(std::move(o));
    then.add(std::move(o.taken), !o.contents);
    then.discard(std::move(o.contents));
    closed_ = true;
  }
  void match(outcomes& then) {
    for (;;) {
      if (!offers_.empty() && elements_.size() < capacity_) {
        elements_.push_back(std::move(*offers_.front().contents));
        then.add(std::move(offers_.front().taken), true);
        offers_.pop_front();
      } else if (!elements_.empty() && !receivers_.empty()) {
        then.add(std::move(receivers_.front().second), std::move(elements_.front()));
        elements_.pop_front();
        receivers_.pop_front();
      } else {
        break;
      }
    }
    if (!closed_ || !offers_.empty() || !elements_.empty()) return;
    for (auto& [from, p] : receivers_) then.add(std::move(p));
    receivers_.clear();
  }

  const std::size_t capacity_;
  bool closed_ = false;
  std::deque<payload> elements_;
  std::deque<offer> offers_;  // waiting for room
  std::deque<std::pair<locality_id, promise<element>>> receivers_;
  std::map<locality_id, sender> senders_;
};

/// The state of a latch or a barrier.
struct counter {
  std::ptrdiff_t expected = 0, missing = 0;
  std::exception_ptr broken;
  std::vector<promise<void>> waiting;

  void open(outcomes& then) {
    for (auto& p : waiting) then.add(std::move(p));
    waiting.clear();
  }
  future<void> wait() {
    waiting.emplace_back();
    return waiting.back().get_future();
  }
};

template <class T = void>
future<T> failed(const std::exception_ptr& e) {
  promise<T> p;
  p.set_exception(e);
  return p.get_future();
}
future<void> done() {
  promise<void> p;
  p.set_value();
  return p.get_future();
}

/// The objects stored on this locality, and the sequence numbers of its calls.
class objects final : public net::service {
 public:
  explicit objects(net::node& n) : node_(n) {}

  std::uint64_t next_number(std::uint64_t id) {
    const spin_guard guard(lock_);
    return numbers_[id]++;
  }
  future<bool> put(std::uint64_t id, std::size_t capacity, locality_id from, std::uint64_t number, element&& e) {
    if (capacity == 0) return unsound<bool>(from);
    {
      outcomes then;
      const spin_guard guard(lock_);
      queue& q = queue_of(id, capacity);
      if (q.is_new(from, number)) return q.put(from, number, std::move(e), then);
    }
    return unsound<bool>(from);
  }
  future<element> get(std::uint64_t id, std::size_t capacity, locality_id from) {
    outcomes then;
    if (capacity == 0) return unsound<element>(from);
    const spin_guard guard(lock_);
    return queue_of(id, capacity).get(from, then);
  }
  future<void> count_down(std::uint64_t id, std::ptrdiff_t expected, std::ptrdiff_t n, locality_id from) {
    outcomes then;
    if (expected < 0) return unsound<void>(from);
    const spin_guard guard(lock_);
    counter& c = counter_of(id, expected);
    if (c.broken != nullptr) return failed(c.broken);
    if (n < 0 || n > c.missing)
      return failed(std::make_exception_ptr(
          std::logic_error(fmt::format("a latch with a remaining count of {} was counted down by {}", c.missing, n))));
    c.missing -= n;
    if (c.missing == 0) c.open(then);
    return done();
  }
  future<void> wait(std::uint64_t id, std::ptrdiff_t expected, locality_id from) {
    if (expected < 0) return unsound<void>(from);
    const spin_guard guard(lock_);
    counter& c = counter_of(id, expected);
    if (c.broken != nullptr) return failed(c.broken);
    return c.missing == 0 ? done() : c.wait();
  }
  future<void> arrive(std::uint64_t id, std::ptrdiff_t expected, bool drop, locality_id from) {
    outcomes then;
    if (expected < 0) return unsound<void>(from);
    const spin_guard guard(lock_);
    counter& c = counter_of(id, expected);
    if (c.broken != nullptr) return failed(c.broken);
    if (c.expected == 0)
      return failed(
          std::make_exception_ptr(std::logic_error("arrival at a barrier after all participants dropped out")));
    auto result = drop ? done() : c.wait();
    c.expected -= drop;
    if (--c.missing == 0) {
      c.missing = c.expected;
      c.open(then);
    }
    return result;
  }

  void peer_lost(locality_id which) override {
    const std::exception_ptr e = node_.loss_of(which);
    outcomes then;
    const spin_guard guard(lock_);
    for (auto& [id, q] : queues_) q.lost(which, e, then);
    for (auto& [id, c] : counters_) {
      if (c.missing != 0) c.broken = e;
      for (auto& p : c.waiting) then.fail(std::move(p), e);
      c.waiting.clear();
    }
  }

 private:
  template <class T>
  future<T> unsound(locality_id from) {
    if (from != node_.here()) node_.refuse(from, "an invalid call of a channel, latch or barrier");
    return failed<T>(std::make_exception_ptr(std::invalid_argument(
        "the capacity of a channel is at least 1, the expected count of a latch or barrier at least 0")));
  }
  queue& queue_of(std::uint64_t id, std::size_t capacity) { return queues_.try_emplace(id, capacity).first->second; }
  counter& counter_of(std::uint64_t id, std::ptrdiff_t expected) {
    return counters_.try_emplace(id, counter{expected, expected, {}, {}}).first->second;
  }

  net::node& node_;
  plx::detail::spinlock lock_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  std::unordered_map<std::uint64_t, queue> queues_;
  std::unordered_map<std::uint64_t, counter> counters_;
};

objects& here() { return net::node_here().get<objects>(); }

future<bool> put_into(sender s, std::uint64_t id, std::uint64_t capacity, std::uint64_t number, element contents) {
  return here().put(id, capacity, s.who, number, std::move(contents));
}
future<element> get_from(sender s, std::uint64_t id, std::uint64_t capacity) { return here().get(id, capacity, s.who); }
future<void> count_at(sender s, std::uint64_t id, std::int64_t expected, std::int64_t n) {
  return here().count_down(id, expected, n, s.who);
}
future<void> wait_at(sender s, std::uint64_t id, std::int64_t expected) { return here().wait(id, expected, s.who); }
future<void> arrive_at(sender s, std::uint64_t id, std::int64_t expected, bool drop) {
  return here().arrive(id, expected, drop, s.who);
}
sender myself() { return {net::node_here().here()}; }

}  // namespace
}  // namespace plx::distributed::detail

namespace plx::net {
template <>
inline constexpr bool is_direct<&distributed::detail::put_into> = true;
template <>
inline constexpr bool is_direct<&distributed::detail::get_from> = true;
template <>
inline constexpr bool is_direct<&distributed::detail::count_at> = true;
template <>
inline constexpr bool is_direct<&distributed::detail::wait_at> = true;
template <>
inline constexpr bool is_direct<&distributed::detail::arrive_at> = true;
}  // namespace plx::net

namespace plx::distributed::detail {

object find(std::string_view kind, std::string_view name) {
  const std::uint64_t id = fnv1a(fmt::format("{} {}", kind, name));
  return {id, static_cast<locality_id>(id % net::node_here().first_spare())};
}

future<bool> send(object o, std::size_t capacity, payload value) {
  PLX_ASSERT(capacity > 0 && "a channel needs room for at least one element", capacity);
  return async<&put_into>(o.home, myself(), o.id, capacity, here().next_number(o.id), element(std::move(value)));
}
future<element> receive(object o, std::size_t capacity) { return async<&get_from>(o.home, myself(), o.id, capacity); }
future<void> close(object o, std::size_t capacity) {
  return async<&put_into>(o.home, myself(), o.id, capacity, here().next_number(o.id), element())
      .then(launch::sync, [](future<bool> f) { f.get(); });
}
future<void> count_down(object o, std::ptrdiff_t expected, std::ptrdiff_t n) {
  return async<&count_at>(o.home, myself(), o.id, expected, n);
}
future<void> wait(object o, std::ptrdiff_t expected) { return async<&wait_at>(o.home, myself(), o.id, expected); }
future<void> arrive(object o, std::ptrdiff_t expected, bool drop) {
  return async<&arrive_at>(o.home, myself(), o.id, expected, drop);
}

}  // namespace plx::distributed::detail
