#include "net/group/tagged_messages.hpp"

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <utility>

#include "net/action.hpp"
#include "rt/core/worker.hpp"

namespace plx::net::collective {

using plx::detail::spin_guard;

/// The action: a message has arrived.
future<void> tagged_arrived(sender s, const tagged_head& h, payload contents) {
  return node_here().get<tagged_messages>().arrived(s.who, h, std::move(contents));
}

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

future<void> tagged_messages::send(const group& g, unsigned to, std::uint32_t tag, value_type type, payload contents) {
  check_rank(g, to, "send() to");
  const locality_id there = g.members()[to];
  const std::uint64_t bytes = contents.size() + bytes_of_head;
  tagged_head h{g.id(), 0, type, tag, 0};
  lock_.lock();
  window& w = windows_[{g.id(), there}];
  while (w.bytes != 0 && w.bytes + bytes > most_.load(std::memory_order_relaxed) && !node_.is_lost(there)) {
    const plx::detail::worker* here = plx::detail::this_worker();
    if (here != nullptr && !here->in_task) break;  // a poller cannot wait
    plx::detail::wait_on(w.for_room, lock_, "room for messages at their receiver", &w);
    lock_.lock();
  }
  w.bytes += bytes;
  h.number = w.next[tag]++;
  lock_.unlock();
  return async<&tagged_arrived>(there, sender{node_.here()}, h, std::move(contents))
      .then(launch::sync, [this, &w, bytes](future<void> taken) {
        give_back(w, bytes);
        taken.get();
      });
}

// Each of the waiting tasks checks again whether there is room.
void tagged_messages::give_back(window& w, std::uint64_t bytes) noexcept {
  plx::detail::waiter* first = nullptr;
  {
    const spin_guard guard(lock_);
    w.bytes -= bytes;
    first = w.for_room.take_all();
  }
  plx::detail::notify_all(first);
}

void tagged_messages::match(message&& m, tagged_reception& r, locality_id from) {
  std::exception_ptr wrong = mismatch(m.head, m.contents.size(), r.expected, from);
  if (wrong == nullptr) {
    try {
      r.take(m.contents);
    } catch (...) {
      wrong = std::current_exception();
    }
  }
  m.contents = {};  // before the sender may send another one
  if (wrong == nullptr) return m.taken.set_value();
  r.fail(wrong);
  m.taken.set_exception(wrong);
}

void tagged_messages::receive(const group& g, unsigned from, std::uint32_t tag, std::unique_ptr<tagged_reception> r) {
  check_rank(g, from, "recv() from");
  const locality_id there = g.members()[from];
  std::unique_lock guard(lock_);
  box& b = boxes_[{g.id(), there, tag}];
  const std::uint64_t number = b.next;
  if (auto found = b.early.extract(number)) {
    ++b.next;
    guard.unlock();
    return match(std::move(found.mapped()), *r, there);
  }
  if (node_.is_lost(there)) {
    const auto dropped = end(b);
    guard.unlock();
    return r->fail(node_.loss_of(there));
  }
  ++b.next;
  b.waiting.emplace(number, std::move(r));
}

future<void> tagged_messages::arrived(locality_id from, const tagged_head& h, payload&& contents) {
  message m{h, std::move(contents), {}};
  auto taken = m.taken.get_future();
  std::unique_lock guard(lock_);
  box& b = boxes_[{h.group, from, h.tag}];
  if (b.ended) {
    guard.unlock();
    return failed(node_.loss_of(from));
  }
  auto found = b.waiting.extract(h.number);
  if (!found) {
    const bool repeated = h.number < b.next || b.early.contains(h.number);
    if (!repeated) b.early.emplace(h.number, std::move(m));
    guard.unlock();
    if (!repeated) return taken;
    node_.refuse(from, "a tagged message whose number was used before");
    return failed(std::make_exception_ptr(std::logic_error("a message of this number has arrived before")));
  }
  guard.unlock();
  match(std::move(m), *found.mapped(), from);
  return taken;
}

tagged_messages::counts tagged_messages::waiting() {
  counts c;
  const spin_guard guard(lock_);
  for (const auto& [key, b] : boxes_)
    for (const auto& [number, m] : b.early) ++c.messages, c.bytes += m.contents.size();
  return c;
}

// The lock is held. Later messages would follow a missing one. They are destroyed after the lock is released.
std::map<std::uint64_t, tagged_messages::message> tagged_messages::end(box& b) {
  b.ended = true;
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
      dropped.push_back(end(b));
      for (auto& [number, r] : b.waiting) failing.push_back(std::move(r));
      b.waiting.clear();
    }
  }
  for (const auto& r : failing) r->fail(loss);
}

}  // namespace plx::net::collective
