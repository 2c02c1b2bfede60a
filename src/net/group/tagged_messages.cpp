#include "net/group/tagged_messages.hpp"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "net/action.hpp"
#include "net/error.hpp"
#include "net/group/groups.hpp"
#include "probe/record/names.hpp"
#include "rt/async.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/core/worker.hpp"

namespace plx::net {
namespace collective {

using plx::detail::spin_guard;

/// The action: a message has arrived.
future<void> tagged_arrived(sender s, const tagged_head& h, payload contents) {
  return node_here().get<tagged_messages>().arrived(s.who, h, std::move(contents));
}
/// The action: a message does not come.
void tagged_missing(sender s, const tagged_head& h) { node_here().get<tagged_messages>().missing(s.who, h); }

}  // namespace collective

// Direct: a task could run after the one that reports the loss of the sender.
template <>
inline constexpr bool is_direct<&collective::tagged_arrived> = true;
template <>
inline constexpr bool is_direct<&collective::tagged_missing> = true;

namespace collective {

namespace {

void check_rank(const group& g, unsigned rank, const char* what) {
  if (rank >= g.size())
    throw std::invalid_argument(
        fmt::format("{} rank {} of the communicator \"{}\": expected a rank below {}", what, rank, g.name(), g.size()));
}

future<void> failed(std::exception_ptr e) {
  promise<void> p;
  p.set_exception(std::move(e));
  return p.get_future();
}

// "double" of "... spelled() [with T = double; ...]".
std::string_view name_in(std::string_view spelled) {
  const std::size_t at = spelled.find("T = ");
  if (at == std::string_view::npos) return spelled;
  spelled.remove_prefix(at + 4);
  return spelled.substr(0, spelled.find_first_of(";]"));
}

std::exception_ptr mismatch(const tagged_head& h, std::size_t bytes, const expected_values& e, locality_id from) {
  const std::size_t each = e.type.each_bytes;
  std::string what;
  if (h.type != e.type)
    what = fmt::format("a value of another type than {}, which recv() expects", name_in(e.type_name));
  else if (each != 0 && (bytes % each != 0 || (e.count != any_count && bytes != e.count * each)))
    what = fmt::format("{} elements of {}: recv() expects {}", bytes / each, name_in(e.type_name), e.count);
  if (what.empty()) return nullptr;
  return std::make_exception_ptr(std::logic_error(
      fmt::format("message {} with tag {} from locality {} contains {}", h.number, h.tag, from, what)));
}

}  // namespace

future<void> send_tagged(const group& g, unsigned to, std::uint32_t tag, value_type type, payload contents) {
  return node_here().get<tagged_messages>().send(g, to, tag, type, std::move(contents));
}
void receive_tagged(const group& g, unsigned from, std::uint32_t tag, std::unique_ptr<tagged_reception> r) {
  node_here().get<tagged_messages>().receive(g, from, tag, std::move(r));
}

tagged_messages::~tagged_messages() {
  const auto left = std::make_exception_ptr(
      std::runtime_error("the job ended before this message was received: each send() needs a recv()"));
  const auto missing = std::make_exception_ptr(
      std::runtime_error("the job ended before this message arrived: each recv() needs a send()"));
  for (auto& [key, b] : boxes_) {
    for (auto& [number, m] : b.early) m.taken.set_exception(left);
    for (auto& [number, r] : b.waiting) r->fail(missing);
  }
}

// A poller cannot wait.
void tagged_messages::wait_for_turn(window& w, std::uint64_t bytes, locality_id to, lock& guard) {
  const auto has_room = [&] { return w.bytes == 0 || w.bytes + bytes <= most_.load(std::memory_order_relaxed); };
  if (w.turns.empty() && has_room()) return;
  const plx::detail::worker* here = plx::detail::this_worker();
  if (here != nullptr && !here->in_task) return;
  const auto mine = w.turns.emplace(w.turns.end());
  while (!node_.is_lost(to) && (mine != w.turns.begin() || !has_room())) {
    guard.release();
    try {
      plx::detail::wait_on(*mine, lock_, "room for messages at their receiver", &w);
    } catch (const std::bad_alloc&) {  // it cannot wait
      guard = lock(lock_);
      w.turns.erase(mine);
      plx::detail::waiter* const after = first_waiting(w);
      guard.unlock();
      plx::detail::notify_all(after);
      throw;
    }
    guard = lock(lock_);
  }
  w.turns.erase(mine);
}

// The lock is held. The caller notifies it.
plx::detail::waiter* tagged_messages::first_waiting(window& w) noexcept {
  return w.turns.empty() ? nullptr : w.turns.front().take_all();
}

future<void> tagged_messages::send(const group& g, unsigned to, std::uint32_t tag, value_type type, payload contents) {
  check_rank(g, to, "send() to");
  const locality_id there = g.members()[to];
  const std::uint64_t bytes = contents.size() + bytes_of_head;
  tagged_head h{g.id(), 0, type, tag, 0};
  lock guard(lock_);
  window& w = windows_[{g.id(), there}];
  std::uint64_t& next = w.next[tag];
  wait_for_turn(w, bytes, there, guard);
  w.bytes += bytes;
  h.number = next++;
  plx::detail::waiter* const after = first_waiting(w);  // it may have room as well
  guard.unlock();
  plx::detail::notify_all(after);
  bool is_sent = false;
  try {
    auto taken = async<&tagged_arrived>(there, sender{node_.here()}, h, std::move(contents));
    is_sent = true;
    return taken.then(launch::sync, [this, &w, bytes, there, h](future<void> f) {
      give_back(w, bytes);
      try {
        f.get();
      } catch (const locality_lost&) {
        throw;
      } catch (...) {
        report_missing(there, h);  // without effect if recv() has got the error
        throw;
      }
    });
  } catch (...) {
    give_back(w, bytes);
    if (!is_sent) report_missing(there, h);
    throw;
  }
}

// The first of the waiting tasks checks again whether there is room.
void tagged_messages::give_back(window& w, std::uint64_t bytes) noexcept {
  plx::detail::waiter* first = nullptr;
  {
    const spin_guard guard(lock_);
    w.bytes -= bytes;
    first = first_waiting(w);
  }
  plx::detail::notify_all(first);
}

void tagged_messages::report_missing(locality_id to, const tagged_head& h) noexcept {
  if (node_.stopped()) return;
  try {
    post<&tagged_missing>(to, sender{node_.here()}, h);
  } catch (const std::exception& e) {
    log_error("locality {} does not learn that message {} with tag {} is missing: {}", to, h.number, h.tag, e.what());
  }
}

void tagged_messages::match(message&& m, tagged_reception& r, locality_id from) noexcept {
  std::exception_ptr wrong;
  try {
    if (m.is_missing)
      throw std::runtime_error(
          fmt::format("message {} with tag {} from locality {} could not be delivered: its send() "
                      "has the reason",
                      m.head.number, m.head.tag, from));
    wrong = mismatch(m.head, m.contents.size(), r.expected, from);
    if (wrong == nullptr) r.take(m.contents);
  } catch (...) {
    wrong = std::current_exception();
  }
  m.contents = {};  // before the sender may send another one
  if (wrong == nullptr) return m.taken.set_value();
  r.fail(wrong);
  m.taken.set_exception(wrong);
}

// A poller does not run the serialization of a program. The job is not quiescent before the task has ended.
void tagged_messages::match_in_task(message&& m, std::unique_ptr<tagged_reception> r, locality_id from) {
  static const probe::name_id name = probe::register_name("tagged message");
  const locality_id here = node_.here();
  node_.note_sent(here);
  try {
    auto run = [this, m = std::move(m), r = std::move(r), from, here]() mutable {
      match(std::move(m), *r, from);
      r.reset();
      node_.note_done(here);
    };
    node_.home().get_scheduler().submit(plx::detail::make_posted({name}, std::move(run)));
  } catch (...) {
    node_.note_done(here);
    throw;
  }
}

void tagged_messages::receive(const group& g, unsigned from, std::uint32_t tag, std::unique_ptr<tagged_reception> r) {
  check_rank(g, from, "recv() from");
  const locality_id there = g.members()[from];
  lock guard(lock_);
  box& b = boxes_[{g.id(), there, tag}];
  if (auto found = b.early.extract(b.next)) {
    ++b.next;
    kept_[there] -= found.mapped().contents.size() + bytes_of_head;
    guard.unlock();
    return match(std::move(found.mapped()), *r, there);
  }
  if (node_.is_lost(there)) {
    const auto dropped = end(b, there);
    guard.unlock();
    return r->fail(node_.loss_of(there));
  }
  b.waiting.emplace(b.next, std::move(r));
  ++b.next;
}

// Members of communicators that are not defined here yet are unknown.
bool tagged_messages::is_refused(locality_id from, const tagged_head& h) {
  if (!node_.get<groups>().excludes(h.group, from)) return false;
  node_.refuse(from, "a tagged message in a communicator of which it is no member");
  return true;
}

// The lock is held.
bool tagged_messages::may_keep(locality_id from, std::uint64_t bytes, std::uint64_t most) const noexcept {
  return kept_[from] == 0 || kept_[from] + bytes <= most;
}

// The lock is held.
void tagged_messages::keep(box& b, locality_id from, message&& m) {
  const std::uint64_t number = m.head.number, bytes = m.contents.size() + bytes_of_head;
  b.early.emplace(number, std::move(m));
  kept_[from] += bytes;
}

future<void> tagged_messages::arrived(locality_id from, const tagged_head& h, payload&& contents) {
  if (is_refused(from, h))
    return failed(std::make_exception_ptr(std::logic_error("the sender is no member of the communicator")));
  message m{h, std::move(contents), {}};
  auto taken = m.taken.get_future();
  lock guard(lock_);
  const auto at = boxes_.find({h.group, from, h.tag});
  if (at != boxes_.end() && at->second.ended) {
    guard.unlock();
    return failed(node_.loss_of(from));
  }
  if (at != boxes_.end()) {
    box& b = at->second;
    if (auto found = b.waiting.extract(h.number)) {
      guard.unlock();
      match_in_task(std::move(m), std::move(found.mapped()), from);
      return taken;
    }
    if (h.number < b.next || b.early.contains(h.number)) {
      guard.unlock();
      node_.refuse(from, "a tagged message whose number was used before");
      return failed(std::make_exception_ptr(std::logic_error("a message of this number has arrived before")));
    }
  }
  const std::uint64_t most = most_kept_.load(std::memory_order_relaxed);
  if (!may_keep(from, m.contents.size() + bytes_of_head, most)) {
    guard.unlock();
    node_.refuse(from, "too many bytes of tagged messages wait for their recv()");
    return failed(std::make_exception_ptr(std::runtime_error(
        fmt::format("more than {} bytes of tagged messages of this sender wait for their recv()", most))));
  }
  keep(boxes_[{h.group, from, h.tag}], from, std::move(m));
  return taken;
}

void tagged_messages::missing(locality_id from, const tagged_head& h) {
  if (is_refused(from, h)) return;
  message m{h, {}, {}, true};
  lock guard(lock_);
  const auto at = boxes_.find({h.group, from, h.tag});
  if (at != boxes_.end()) {
    box& b = at->second;
    if (auto found = b.waiting.extract(h.number)) {
      guard.unlock();
      return match_in_task(std::move(m), std::move(found.mapped()), from);
    }
    if (b.ended || h.number < b.next || b.early.contains(h.number)) return;
  }
  // More than of messages, so that those which were refused for their bytes can be reported.
  const std::uint64_t most = most_kept_.load(std::memory_order_relaxed);
  if (may_keep(from, bytes_of_head, most + most / 4)) return keep(boxes_[{h.group, from, h.tag}], from, std::move(m));
  guard.unlock();
  node_.refuse(from, "too many tagged messages are missing");
}

tagged_messages::counts tagged_messages::waiting() {
  counts c;
  const spin_guard guard(lock_);
  for (const auto& [key, b] : boxes_)
    for (const auto& [number, m] : b.early) ++c.messages, c.bytes += m.contents.size();
  return c;
}

// The lock is held. Later messages would follow a missing one. They are destroyed after the lock is released.
std::map<std::uint64_t, tagged_messages::message> tagged_messages::end(box& b, locality_id from) {
  b.ended = true;
  for (const auto& [number, m] : b.early) kept_[from] -= m.contents.size() + bytes_of_head;
  return std::exchange(b.early, {});
}

// Messages that have arrived can still be received, up to the first one that is missing.
void tagged_messages::peer_lost(locality_id which) {
  const std::exception_ptr loss = node_.loss_of(which);
  std::vector<std::unique_ptr<tagged_reception>> failing;
  std::vector<std::map<std::uint64_t, message>> dropped;
  {
    const spin_guard guard(lock_);
    for (auto& [key, b] : boxes_) {
      if (std::get<1>(key) != which || b.waiting.empty()) continue;
      dropped.push_back(end(b, which));
      for (auto& [number, r] : b.waiting) failing.push_back(std::move(r));
      b.waiting.clear();
    }
  }
  for (const auto& r : failing) r->fail(loss);
}

}  // namespace collective
}  // namespace plx::net
