#include "net/reliable.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "base/assert.hpp"
#include "rt/detail/scheduler.hpp"
#include "rt/detail/spinlock.hpp"

namespace plx::net {

using plx::detail::spin_guard;

namespace {

// What stands before each head.
struct seal {
  std::uint64_t number = 0;  // 0: only an answer
  std::uint64_t received = 0;
  std::uint64_t more = 0;
};

bool says(const seal& s, std::uint64_t number) noexcept {
  if (number <= s.received) return true;
  const std::uint64_t bit = number - s.received - 2;  // huge for received + 1, which has not arrived
  return bit < 64 && (s.more >> bit & 1) != 0;
}

// What is handed to the transport below and stays where it is until that has no need of it.
struct handed_down : outgoing {
  std::atomic<bool> below{false};
  std::vector<std::byte> bytes;
  handed_down() {
    sent = [](outgoing* m, bool) noexcept {
      // release: pairs with the acquires in look_after() and answer(); what follows may write there again.
      static_cast<handed_down*>(m)->below.store(false, std::memory_order_release);
    };
  }
  void write(const seal& s) noexcept {
    if (bytes.size() < sizeof s) bytes.resize(sizeof s);
    std::memcpy(bytes.data(), &s, sizeof s);
    head = bytes;
  }
};

}  // namespace

// A message that the other side may not have.
struct reliable_transport::kept : handed_down {
  std::uint64_t number = 0;  // 0: this place is free
  outgoing* from_above = nullptr;
  bool done = false;  // the other side has it, or never will
  bool ok = true;
  ticks first = 0, due = 0, interval = 0;
};

// Guarded by its lock, but for `id`.
struct reliable_transport::peer {
  plx::detail::spinlock lock;
  locality_id id = 0;
  bool is_lost = false;
  // What goes there.
  std::uint64_t next = 1;  // number
  std::uint64_t told = 0;  // the latest `received` of the other side
  std::array<kept, window> out;
  unsigned n_out = 0;
  std::deque<outgoing*> queue;
  // What comes from there.
  std::uint64_t received = 0, more = 0;
  ticks heard = 0;
  bool owes = false;        // an answer
  ticks answer_due = 0;     // when it does
  unsigned unanswered = 0;  // messages
  handed_down only_answer;
};

reliable_transport::reliable_transport(std::unique_ptr<transport> below, const plx::detail::scheduler& clock,
                                       unsigned localities, reliable_options o)
    : below_(std::move(below)),
      clock_(clock),
      spans_{clock.span_of(o.retry_s), clock.span_of(o.retry_max_s), clock.span_of(o.answer_s),
             clock.span_of(o.give_up_s)} {
  for (locality_id i = 0; i < localities; ++i) {
    peers_.push_back(std::make_unique<peer>());
    peers_.back()->id = i;
  }
}
reliable_transport::~reliable_transport() { reliable_transport::stop(0); }

std::size_t reliable_transport::max_head_bytes() const noexcept { return below_->max_head_bytes() - sizeof(seal); }

void reliable_transport::start(receiver& r) {
  above_ = &r;
  below_->start(*this);
}

reliable_counts reliable_transport::counts() const noexcept {
  return {n_sent_.load(std::memory_order_relaxed), n_sent_again_.load(std::memory_order_relaxed),
          n_answers_.load(std::memory_order_relaxed), n_doubles_.load(std::memory_order_relaxed),
          n_refused_.load(std::memory_order_relaxed)};
}

// ------------------------------------------------------------------------------------------------------- sending

void reliable_transport::send(locality_id to, outgoing& m) noexcept {
  peer& p = *peers_[to];
  {
    spin_guard guard(p.lock);
    if (!p.is_lost) {
      n_sent_.fetch_add(1, std::memory_order_relaxed);
      if (p.queue.empty() && can_launch(p)) return launch(p, m);
      return p.queue.push_back(&m);
    }
  }
  m.sent(&m, false);
}

bool reliable_transport::can_launch(const peer& p) const noexcept {
  return p.next <= p.told + window && p.out[p.next % window].number == 0;
}

void reliable_transport::launch(peer& p, outgoing& m) noexcept {
  const ticks now = clock_.now();
  kept& k = p.out[p.next % window];
  k.number = p.next++;
  k.from_above = &m;
  k.done = false;
  k.ok = true;
  k.first = now;
  k.interval = spans_.retry;
  k.bytes.resize(sizeof(seal) + m.head.size());
  if (!m.head.empty()) std::memcpy(k.bytes.data() + sizeof(seal), m.head.data(), m.head.size());
  k.pieces = m.pieces;
  ++p.n_out;
  transmit(p, k, now);
}

void reliable_transport::transmit(peer& p, kept& k, ticks now) noexcept {
  k.write({k.number, p.received, p.more});
  k.due = now + k.interval;
  k.below.store(true, std::memory_order_relaxed);
  p.owes = false;
  p.unanswered = 0;
  below_->send(p.id, k);
}

void reliable_transport::answer(peer& p) noexcept {
  handed_down& a = p.only_answer;
  if (a.below.load(std::memory_order_acquire)) return;
  a.write({0, p.received, p.more});
  a.below.store(true, std::memory_order_relaxed);
  p.owes = false;
  p.unanswered = 0;
  n_answers_.fetch_add(1, std::memory_order_relaxed);
  below_->send(p.id, a);
}

// ------------------------------------------------------------------------------------------------------ arriving

void reliable_transport::arrived(locality_id from, std::span<const std::byte> head) noexcept {
  if (open(from, head)) above_->arrived(from, head);
}

void* reliable_transport::announced(locality_id from, std::span<const std::byte> head,
                                    std::span<place> places) noexcept {
  return open(from, head) ? above_->announced(from, head, places) : nullptr;
}

void reliable_transport::pieces_arrived(locality_id from, void* announced, bool ok) noexcept {
  above_->pieces_arrived(from, announced, ok);
}

void reliable_transport::pieces_lost(locality_id from, void* announced) noexcept {
  above_->pieces_lost(from, announced);
}

// Takes the seal off. True when the message is to be given to the receiver above.
bool reliable_transport::open(locality_id from, std::span<const std::byte>& head) noexcept {
  peer& p = *peers_[from];
  spin_guard guard(p.lock);
  if (p.is_lost) return false;
  seal s;
  if (head.size() >= sizeof s) std::memcpy(&s, head.data(), sizeof s);
  if (head.size() < sizeof s || s.received >= p.next || (s.number > p.received && s.number - p.received > window)) {
    n_refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  head = head.subspan(sizeof s);
  p.heard = clock_.now();
  p.told = std::max(p.told, s.received);
  for (kept& k : p.out)
    if (k.number != 0 && says(s, k.number)) k.done = true;
  return s.number != 0 && mark(p, s.number, p.heard);
}

// False when the number has arrived before: then the other side has not seen that it did.
bool reliable_transport::mark(peer& p, std::uint64_t number, ticks now) noexcept {
  if (!p.owes) p.answer_due = now + spans_.answer;
  p.owes = true;
  if (says({0, p.received, p.more}, number)) {
    n_doubles_.fetch_add(1, std::memory_order_relaxed);
    p.answer_due = now;
    return false;
  }
  if (number != p.received + 1) {
    p.more |= std::uint64_t{1} << (number - p.received - 2);
  } else {
    bool the_next_too = false;
    do {
      ++p.received;
      the_next_too = (p.more & 1) != 0;
      p.more >>= 1;
    } while (the_next_too);
  }
  if (++p.unanswered >= window / 4) p.answer_due = now;  // before the sender has to stop
  return true;
}

void reliable_transport::lost(locality_id which, std::string_view why) noexcept { lose(*peers_[which], why); }

// Messages that the transport below still has are given back by look_after().
void reliable_transport::lose(peer& p, std::string_view why) noexcept {
  std::deque<outgoing*> queue;
  {
    spin_guard guard(p.lock);
    if (std::exchange(p.is_lost, true)) return;
    queue.swap(p.queue);
    p.owes = false;
    for (kept& k : p.out)
      if (k.number != 0 && !std::exchange(k.done, true)) k.ok = false;
  }
  for (outgoing* m : queue) m->sent(m, false);
  above_->lost(p.id, why);
}

// ------------------------------------------------------------------------------------------------------- the rest

bool reliable_transport::progress() noexcept {
  bool happened = below_->progress();
  for (const auto& p : peers_) happened |= look_after(*p);
  return happened;
}

// Gives memory back, sends what waits, sends again, answers, gives up.
bool reliable_transport::look_after(peer& p) noexcept {
  struct end {
    outgoing* m;
    bool ok;
  };
  std::array<end, window> ended;
  unsigned n_ended = 0, n_sent = 0;
  bool gives_up = false;
  {
    spin_guard guard(p.lock);
    const ticks now = clock_.now();
    if (p.n_out != 0)
      for (kept& k : p.out) {
        if (k.number == 0 || k.below.load(std::memory_order_acquire)) continue;
        if (k.done) {
          ended[n_ended++] = {k.from_above, k.ok};
          k.number = 0;
          --p.n_out;
        } else if (now >= std::max(k.first, p.heard) + spans_.give_up) {
          gives_up = true;
        } else if (now >= k.due) {
          k.interval = std::min(2 * k.interval, spans_.retry_max);
          transmit(p, k, now);
          ++n_sent;
        }
      }
    n_sent_again_.fetch_add(n_sent, std::memory_order_relaxed);
    for (; !p.queue.empty() && can_launch(p); ++n_sent) {
      outgoing* m = p.queue.front();
      p.queue.pop_front();
      launch(p, *m);
    }
    if (p.owes && now >= p.answer_due) answer(p);
  }
  for (unsigned i = 0; i < n_ended; ++i) ended[i].m->sent(ended[i].m, ended[i].ok);
  if (gives_up) lose(p, "it has not answered for too long");
  return n_ended + n_sent != 0 || gives_up;
}

bool reliable_transport::pending() const noexcept {
  return below_->pending() || std::any_of(peers_.begin(), peers_.end(), [](const auto& p) {
           spin_guard guard(p->lock);
           return p->n_out != 0 || p->owes || !p->queue.empty();
         });
}

bool reliable_transport::stop(double deadline_s) noexcept {
  const double until = monotonic_seconds() + deadline_s;
  while (above_ != nullptr && pending() && monotonic_seconds() < until) progress();
  const bool in_time = above_ == nullptr || !pending();
  const bool below_in_time = below_->stop(std::max(0.0, until - monotonic_seconds()));
  for (const auto& p : peers_) {
    {
      spin_guard guard(p->lock);
      p->is_lost = true;
      for (kept& k : p->out)
        if (k.number != 0 && !std::exchange(k.done, true)) k.ok = false;
    }
    while (!p->queue.empty()) {
      outgoing* m = p->queue.front();
      p->queue.pop_front();
      m->sent(m, false);
    }
    look_after(*p);
  }
  return in_time && below_in_time;
}

}  // namespace plx::net
