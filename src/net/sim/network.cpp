#include "net/sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <utility>

#include "base/assert.hpp"

namespace plx::net {

ticks ns_from(double s) { return s > 0 ? static_cast<ticks>(std::llround(s * 1e9)) : 0; }

namespace {

std::vector<std::byte> copy_of(const void* data, std::size_t n) {
  const auto* begin = static_cast<const std::byte*>(data);
  return {begin, begin + n};
}

}  // namespace

// A copy of a message at the time it was sent.
struct sim_network::message {
  explicit message(const outgoing& m) : head(copy_of(m.head.data(), m.head.size())) {
    for (const piece& p : m.pieces) pieces.push_back(copy_of(p.data, p.size_bytes));
  }
  [[nodiscard]] bool is_still(const outgoing& m) const noexcept {
    if (m.head.size() != head.size() || m.pieces.size() != pieces.size()) return false;
    if (!head.empty() && std::memcmp(m.head.data(), head.data(), head.size()) != 0) return false;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      if (!pieces[i].empty() && std::memcmp(m.pieces[i].data, pieces[i].data(), pieces[i].size()) != 0) return false;
    return true;
  }
  [[nodiscard]] std::size_t size_bytes() const noexcept {
    std::size_t n = head.size();
    for (const auto& p : pieces) n += p.size();
    return n;
  }
  std::vector<std::byte> head;
  std::vector<std::vector<std::byte>> pieces;
};

// A future event at a locality.
struct sim_network::event {
  enum class kind : std::uint8_t { arrives, pieces_arrive, sent, peer_lost, dies, stalls };
  ticks when = 0;
  ticks span = 0;            // of a stall
  std::uint64_t number = 0;  // orders events of equal time
  kind what = kind::arrives;
  locality_id peer = no_locality;
  bool ok = true;
  std::shared_ptr<message> data{};
  outgoing* handed_over = nullptr;
  void* announced = nullptr;
  std::vector<place> places{};

  friend bool operator>(const event& a, const event& b) noexcept {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
  }
};

struct sim_network::mailbox {
  // Messages to one other locality.
  struct window {
    struct waiting {
      outgoing* handed_over = nullptr;
      std::shared_ptr<message> data;
    };
    std::size_t in_flight_bytes = 0;
    std::deque<waiting> queue;  // they did not fit
  };
  std::vector<window> to_peer;
  ticks free_at = 0;  // when it has received what is in flight to it
  bool alive = true;
  bool stopped = false;
  receiver* to = nullptr;
  std::vector<event> events;                // a heap, the earliest on top
  std::vector<ticks> last_from;             // by sender: arrival time of its last message, to preserve order
  std::vector<std::uint8_t> reported_lost;  // by peer: whether its loss was reported
};

class sim_network::carrier final : public transport {
 public:
  carrier(sim_network& n, locality_id here) : network_(n), here_(here) {}
  ~carrier() override { carrier::stop(0); }

  [[nodiscard]] std::string_view name() const noexcept override { return "sim"; }
  [[nodiscard]] bool must_be_asked() const noexcept override { return false; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return network_.options_.max_head_bytes; }
  void start(receiver& r) override { network_.boxes_[here_]->to = &r; }
  void send(locality_id to, outgoing& m) noexcept override { network_.send(here_, to, m); }
  bool progress() noexcept override { return network_.next_event(here_); }
  [[nodiscard]] bool pending() const noexcept override {
    const auto& events = network_.boxes_[here_]->events;
    for (const auto& w : network_.boxes_[here_]->to_peer)
      if (!w.queue.empty()) return true;
    return std::any_of(events.begin(), events.end(), [](const event& e) {
      return e.what == event::kind::sent || e.what == event::kind::pieces_arrive;
    });
  }
  bool stop(double) noexcept override {
    network_.stop(here_);
    return true;
  }

 private:
  sim_network& network_;
  const locality_id here_;
};

sim_network::sim_network(sim_scheduler& s, sim_options options) : scheduler_(s), options_(std::move(options)) {
  const unsigned localities = options_.localities;
  for (unsigned i = 0; i < localities; ++i) {
    boxes_.push_back(std::make_unique<mailbox>());
    boxes_.back()->last_from.resize(localities);
    boxes_.back()->reported_lost.resize(localities);
    boxes_.back()->to_peer.resize(localities);
  }
  for (const sim_kill& d : options_.kills) {
    PLX_ASSERT(d.locality < localities, d.locality, localities);
    event e;
    e.when = scheduler_.now() + delay(d.earliest_s, d.latest_s);
    e.what = event::kind::dies;
    schedule(d.locality, std::move(e));
  }
  for (const sim_stall& stall : options_.stalls) {
    PLX_ASSERT(stall.locality < localities, stall.locality, localities);
    event e;
    e.when = scheduler_.now() + delay(stall.earliest_s, stall.latest_s);
    e.span = ns_from(stall.lasts_s);
    e.what = event::kind::stalls;
    schedule(stall.locality, std::move(e));
  }
  for (const sim_partition& p : options_.partitions) begin_partition(p);
}
sim_network::~sim_network() = default;

std::unique_ptr<transport> sim_network::transport_of(locality_id here) {
  return std::make_unique<carrier>(*this, here);
}

bool sim_network::alive(locality_id which) const noexcept { return boxes_[which]->alive; }

std::size_t sim_network::under_way() const noexcept {
  std::size_t n = 0;
  for (const auto& box : boxes_) {
    n += static_cast<std::size_t>(std::count_if(box->events.begin(), box->events.end(), [](const event& e) {
      return e.what == event::kind::arrives || e.what == event::kind::pieces_arrive || e.what == event::kind::sent;
    }));
    for (const auto& w : box->to_peer) n += w.queue.size();
  }
  return n;
}

ticks sim_network::delay(double min_s, double max_s) {
  const ticks least = ns_from(min_s), most = std::max(ns_from(max_s), least);
  return least + scheduler_.choose()(most - least + 1);
}

void sim_network::note(const char* what, locality_id from, locality_id to, std::size_t bytes) {
  if (options_.keep_log) log_.push_back(fmt::format("{} {} {} {} {}", scheduler_.now(), what, from, to, bytes));
}

void sim_network::schedule(locality_id at, event e) {
  auto& events = boxes_[at]->events;
  e.number = next_number_++;
  events.push_back(std::move(e));
  std::push_heap(events.begin(), events.end(), std::greater<>());
  expect_next(at);
}

void sim_network::expect_next(locality_id at) noexcept {
  const auto& events = boxes_[at]->events;
  scheduler_.expect(at, events.empty() ? sim_scheduler::never : events.front().when);
}

// ------------------------------------------------------------------------------------------------------- sending

void sim_network::send(locality_id from, locality_id to, outgoing& m) noexcept {
  PLX_ASSERT(to < boxes_.size() && to != from, from, to);
  PLX_ASSERT(m.head.size() <= options_.max_head_bytes, m.head.size(), options_.max_head_bytes);
  ++counts_.sent;
  mailbox& sender = *boxes_[from];
  if (sender.stopped || sender.reported_lost[to] != 0) return m.sent(&m, false);
  const auto data = std::make_shared<message>(m);
  const mailbox::window& w = sender.to_peer[to];
  const bool full = options_.window_bytes != 0 && w.in_flight_bytes != 0 &&
                    w.in_flight_bytes + data->size_bytes() > options_.window_bytes;
  if (full || !w.queue.empty()) return sender.to_peer[to].queue.push_back({&m, data});
  carry(from, to, data);
  if (!scheduler_.choose().happens(options_.late_sent)) return m.sent(&m, true);
  has_left(from, to, m, data, true);
}

// `sent` will be called by the sender's progress().
void sim_network::has_left(locality_id from, locality_id to, outgoing& m, const std::shared_ptr<message>& data,
                           bool late) {
  event e;
  e.when = scheduler_.now() + (late ? delay(0, options_.delay_max_s) : 0);
  e.what = event::kind::sent;
  e.peer = to;
  e.data = data;
  e.handed_over = &m;
  schedule(from, std::move(e));
}

// A message has arrived, and makes room for others.
void sim_network::has_arrived(locality_id from, locality_id to, std::size_t bytes) {
  mailbox::window& w = boxes_[from]->to_peer[to];
  w.in_flight_bytes -= std::min(bytes, w.in_flight_bytes);
  while (!w.queue.empty() &&
         (w.in_flight_bytes == 0 || w.in_flight_bytes + w.queue.front().data->size_bytes() <= options_.window_bytes)) {
    const mailbox::window::waiting next = std::move(w.queue.front());
    w.queue.pop_front();
    carry(from, to, next.data);
    has_left(from, to, *next.handed_over, next.data, false);
  }
}

// Messages that wait will never be carried.
void sim_network::empty_window(locality_id from, locality_id to, ticks when, bool ok) {
  mailbox::window& w = boxes_[from]->to_peer[to];
  w.in_flight_bytes = 0;
  for (const mailbox::window::waiting& each : std::exchange(w.queue, {})) {
    event e;
    e.when = when;
    e.what = event::kind::sent;
    e.peer = to;
    e.ok = ok;
    e.data = each.data;
    e.handed_over = each.handed_over;
    schedule(from, std::move(e));
  }
}

bool sim_network::partition::parts(locality_id a, locality_id b) const noexcept {
  const auto has = [this](locality_id i) { return std::find(side.begin(), side.end(), i) != side.end(); };
  return has(a) != has(b);
}

void sim_network::begin_partition(const sim_partition& p) {
  const ticks begin = scheduler_.now() + delay(p.earliest_s, p.latest_s);
  const ticks end = std::isinf(p.lasts_s) ? sim_scheduler::never : begin + ns_from(p.lasts_s);
  const partition& is = partitions_.emplace_back(partition{begin, end, p.side});
  if (is.end != sim_scheduler::never) return;
  for (locality_id at = 0; at < boxes_.size(); ++at)
    for (locality_id lost = 0; lost < boxes_.size(); ++lost) {
      if (!is.parts(at, lost)) continue;
      event e;
      e.when = is.begin + delay(options_.detection_min_s, options_.detection_max_s);
      e.what = event::kind::peer_lost;
      e.peer = lost;
      schedule(at, std::move(e));
    }
}

// When a message that would arrive at `when` arrives; never: a partition is for ever.
ticks sim_network::when_connected(locality_id from, locality_id to, ticks when) {
  for (bool changed = true; std::exchange(changed, false);)
    for (const partition& p : partitions_) {
      if (!p.parts(from, to) || when < p.begin || when >= p.end) continue;
      if (p.end == sim_scheduler::never) return p.end;
      when = p.end + delay(options_.delay_min_s, options_.delay_max_s);
      changed = true;
    }
  return when;
}

void sim_network::carry(locality_id from, locality_id to, const std::shared_ptr<message>& m) {
  mailbox& box = *boxes_[to];
  event e;
  e.when = sim_scheduler::never;
  if (boxes_[from]->alive && box.alive && !box.stopped)
    e.when = when_connected(from, to, scheduler_.now() + delay(options_.delay_min_s, options_.delay_max_s));
  if (e.when == sim_scheduler::never) {
    ++counts_.dropped;
    return;
  }
  const std::size_t bytes = m->size_bytes();
  if (options_.receive_bytes_per_s > 0)
    e.when = box.free_at =
        std::max(e.when, box.free_at) + ns_from(static_cast<double>(bytes) / options_.receive_bytes_per_s);
  std::size_t& in_flight = boxes_[from]->to_peer[to].in_flight_bytes;
  counts_.most_in_flight_bytes = std::max(counts_.most_in_flight_bytes, in_flight += bytes);
  if (!options_.reorder) e.when = box.last_from[from] = std::max(e.when, box.last_from[from]);
  e.what = event::kind::arrives;
  e.peer = from;
  e.data = m;
  schedule(to, std::move(e));
}

// ------------------------------------------------------------------------------------------------------ arriving

// Executes the next event at a locality, if its time has come. Between runs, the clock is advanced to it.
bool sim_network::next_event(locality_id at) {
  mailbox& box = *boxes_[at];
  if (box.events.empty() || box.to == nullptr) return false;
  const ticks when = box.events.front().when;
  if (when > scheduler_.now()) {
    if (scheduler_.running()) return false;
    scheduler_.advance(when);
  }
  std::pop_heap(box.events.begin(), box.events.end(), std::greater<>());
  event e = std::move(box.events.back());
  box.events.pop_back();
  expect_next(at);
  deliver(at, e);
  return true;
}

void sim_network::deliver(locality_id at, event& e) {
  mailbox& box = *boxes_[at];
  switch (e.what) {
    case event::kind::sent:
      PLX_ASSERT(e.data->is_still(*e.handed_over) && "memory of a message was changed before `sent`", at, e.peer);
      return e.handed_over->sent(e.handed_over, e.ok);
    case event::kind::dies:
      return kill(at);
    case event::kind::stalls:
      note("stalls", at, at, 0);
      return scheduler_.stall(at, scheduler_.now() + e.span);
    case event::kind::peer_lost:
      if (box.reported_lost[e.peer] != 0) return;  // by a death and a partition
      note("peer-lost", e.peer, at, 0);
      box.reported_lost[e.peer] = 1;
      if (box.alive && boxes_[e.peer]->alive) return box.to->lost(e.peer, "the simulated network fell apart");
      return box.to->lost(e.peer, box.alive ? "the simulation killed it" : "the simulation killed this one");
    case event::kind::pieces_arrive:
      note(e.ok ? "pieces" : "no-pieces", e.peer, at, e.data->size_bytes());
      if (e.ok)
        for (std::size_t i = 0; i < e.places.size(); ++i)
          if (e.places[i].size_bytes != 0)
            std::memcpy(e.places[i].data, e.data->pieces[i].data(), e.places[i].size_bytes);
      return box.to->pieces_arrived(e.peer, e.announced, e.ok);
    case event::kind::arrives:
      break;
  }
  if (!e.data->pieces.empty()) {
    std::uint64_t bytes = 0;
    for (const auto& p : e.data->pieces) bytes += p.size();
    if (!box.to->has_room(e.data->head, bytes, false)) {  // it waits in the network
      e.when = scheduler_.now() + 1 + delay(options_.delay_min_s, options_.delay_max_s);
      return schedule(at, std::move(e));
    }
  }
  ++counts_.delivered;
  note("arrives", e.peer, at, e.data->size_bytes());
  has_arrived(e.peer, at, e.data->size_bytes());
  if (e.data->pieces.empty()) return box.to->arrived(e.peer, e.data->head);
  for (const auto& p : e.data->pieces) e.places.push_back({nullptr, p.size()});
  e.announced = box.to->announced(e.peer, e.data->head, e.places);
  if (e.announced == nullptr) return;
  e.what = event::kind::pieces_arrive;
  if (!scheduler_.choose().happens(options_.late_sent)) return deliver(at, e);
  e.when = scheduler_.now() + delay(0, options_.delay_max_s);
  schedule(at, std::move(e));
}

// -------------------------------------------------------------------------------------------------------- the end

void sim_network::kill(locality_id which) {
  mailbox& box = *boxes_[which];
  if (!std::exchange(box.alive, false)) return;
  note("dies", which, which, 0);
  forget_what_comes_to(which);
  for (locality_id p = 0; p < boxes_.size(); ++p) {
    if (p == which) continue;
    for (const auto& [at, lost] : {std::pair(p, which), std::pair(which, p)}) {
      // The loss of a peer that died before is reported to the one that lived longer.
      if (!boxes_[p]->alive || boxes_[at]->stopped) continue;
      event e;
      e.when = scheduler_.now() + delay(options_.detection_min_s, options_.detection_max_s);
      e.what = event::kind::peer_lost;
      e.peer = lost;
      if (at == p) forget_what_comes_from(which, p, e.when);
      empty_window(at, lost, e.when, false);
      schedule(at, std::move(e));
    }
  }
}

// Pieces of a message whose head has arrived never arrive.
void sim_network::forget_what_comes_to(locality_id dead) {
  auto& events = boxes_[dead]->events;
  counts_.dropped += std::erase_if(events, [](const event& e) { return e.what == event::kind::arrives; });
  for (event& e : events)
    if (e.what == event::kind::pieces_arrive) e.ok = false;
  std::make_heap(events.begin(), events.end(), std::greater<>());
  expect_next(dead);
}

// Nothing arrives after `until`; earlier messages are dropped or kept as the seed decides.
void sim_network::forget_what_comes_from(locality_id dead, locality_id at, ticks until) {
  auto& events = boxes_[at]->events;
  counts_.dropped += std::erase_if(events, [&](const event& e) {
    return e.what == event::kind::arrives && e.peer == dead && (e.when > until || scheduler_.choose()(2) == 0);
  });
  for (event& e : events)
    if (e.what == event::kind::pieces_arrive && e.peer == dead) {
      e.ok = e.when <= until && scheduler_.choose()(2) == 0;
      e.when = std::min(e.when, until);
    }
  std::make_heap(events.begin(), events.end(), std::greater<>());
  expect_next(at);
}

void sim_network::stop(locality_id at) noexcept {
  mailbox& box = *boxes_[at];
  if (std::exchange(box.stopped, true)) return;
  for (locality_id p = 0; p < boxes_.size(); ++p) {
    empty_window(at, p, scheduler_.now(), false);
    if (p != at && !boxes_[p]->stopped) empty_window(p, at, scheduler_.now(), true);
  }
  std::vector<event> left;
  left.swap(box.events);
  std::sort(left.begin(), left.end(), [](const event& a, const event& b) { return b > a; });
  for (event& e : left) {
    if (e.what == event::kind::sent) deliver(at, e);
    if (e.what == event::kind::pieces_arrive) box.to->pieces_arrived(e.peer, e.announced, false);
  }
  expect_next(at);
}

}  // namespace plx::net
