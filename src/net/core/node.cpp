#include "net/core/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/core/failure.hpp"
#include "net/core/waker.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/parcels/collector.hpp"
#include "net/parcels/message_log.hpp"
#include "net/parcels/parcel_port.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/settings.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net {

namespace detail {
unsigned next_service_slot() noexcept {
  static std::atomic<unsigned> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace detail

struct node::locks {
  std::mutex lost;
  std::vector<loss_cause> causes;     // by locality; guarded by `lost`
  std::recursive_mutex services;      // the constructor of a service may request another service
  std::vector<locality_id> reported;  // peers whose loss the services know; guarded by `services`
};

node::node(runtime& rt, std::unique_ptr<transport> t, locality_id here, unsigned localities, unsigned spares)
    : runtime_(rt),
      transport_(std::move(t)),
      here_(here),
      size_(localities),
      first_spare_(localities - spares),
      actions_(all_actions()),
      port_(rt.get_scheduler(), *transport_, here, localities),
      traffic_(localities),
      locks_(std::make_unique<locks>()) {
  locks_->causes.resize(localities);
  share_memory(1);
  if (auto set = coalesce_as(*this, rt.options().measure->coalesce); !set)
    throw std::invalid_argument(set.error().message);
  rt.when_counted(
      [](void* self, probe::counter_registry& r) {
        auto& n = *static_cast<node*>(self);
        auto added = add_port_counters(r, n.port_, n.runtime_.recorder());
        added.push_back(r.add({fmt::format("/calls{{{}/total}}/time/unanswered", r.locality_name()), "s",
                               "Time in which at least one call to another locality had no answer", true},
                              [&n] { return seconds(n.replies_.time_waited()); }));
        return added;
      },
      this);
  if (size_ > 1) rt.recorder().add_source(port_.shared_messages());
  if (size_ > 1 && rt.options().measure->trace) port_.messages().start();  // before the first message
  rt.get_scheduler().attach(this);
  transport_->start(*this);
  if (const int fd = transport_->wake_fd(); fd >= 0) waker_ = std::make_unique<waker>(runtime_, fd);
  using plx::detail::scheduler;
  if (size_ > 1) poller_ = rt.get_scheduler().add_poller(poll, this, scheduler::poll_clock_use::keeps);
}

node::~node() {
  PLX_ASSERT(stopped_ && "call stop() on a node before its runtime ends");
  if (const std::uint64_t n = port_.counts().dropped; n != 0)
    log_warning("locality {} dropped {}: their localities were lost, or the job had ended", here_, plural(n, "post"));
  while (!owned_.empty()) owned_.pop_back();
}

bool node::stop(double deadline_s) noexcept {
  if (stopped_.exchange(true)) return true;
  expect_leaving();
  if (poller_ != 0) runtime_.remove_poller(poller_);
  waker_.reset();
  port_.end();
  const bool in_time = transport_->stop(deadline_s);
  for (locality_id i = 0; i < size_; ++i) {
    if (i == here_) continue;
    {
      const std::lock_guard guard(locks_->lost);
      if (locks_->causes[i].first == no_locality) locks_->causes[i] = {i, false, "the job has ended"};
    }
    port_.close_peer(i);
    for (reply_target* t : replies_.take_all(i)) t->fail(loss_of(i));
  }
  return in_time;
}

poll_result node::poll(void* self) {
  node& n = *static_cast<node*>(self);
  plx::detail::worker& w = *plx::detail::this_worker();
  if (w.poll_clock == 0) w.poll_clock = now_ticks();
  const ticks begin = w.poll_clock;
  ticks waited = 0;
  bool happened = n.port_.flush(waited);
  happened |= n.transport_->progress();
  if (!happened) happened = n.port_.flush_idle();
  w.poll_clock = happened ? now_ticks() : 0;
  if (!happened) return n.nothing_came(begin);
  n.port_.note_polled(ticks_between(begin + waited, w.poll_clock));
  n.quiet_since_ = 0;
  n.came_since_armed_ = true;
  return poll_result::progressed;
}

// Polling has a lower latency than being woken: workers may sleep only after 200 us without messages.
poll_result node::nothing_came(ticks now) {
  static const ticks quiet = ticks_from(200e-6);
  if (transport_->pending() || port_.pending()) return poll_result::pending;
  if (!transport_->must_be_asked()) return poll_result::idle;
  if (waker_ == nullptr) return poll_result::pending;
  // These messages may have been the wake-ups, which are sent once per sleep: the transport is armed again.
  if (waker_->waiting() && !came_since_armed_) return poll_result::idle;
  if (quiet_since_ == 0) quiet_since_ = now;
  if (ticks_between(quiet_since_, now) < quiet || !transport_->arm()) return poll_result::pending;
  came_since_armed_ = false;
  waker_->armed();
  return poll_result::idle;
}

void node::lost(locality_id peer, std::string_view why) noexcept {
  if (!leaving_.load(std::memory_order_relaxed)) give_up(peer, why);
}

void node::give_up(locality_id peer, std::string_view why) noexcept {
  give_up(peer, {peer, false, why.empty() ? "the reason is unknown" : std::string(why)});
}

void node::give_up(locality_id peer, const loss_cause& why) noexcept {
  {
    const std::lock_guard guard(locks_->lost);
    if (locks_->causes[peer].first != no_locality) return;
    locks_->causes[peer] = why;
  }
  log_warning("locality {} is lost: {}", peer, text_of_loss(peer, why));
  losses_.fetch_add(1, std::memory_order_seq_cst);
  port_.close_peer(peer);
  // As a task, because continuations and services may do anything. The job is not quiescent before it has ended.
  note_sent(here_);
  runtime_.post([this, peer] {
    for (reply_target* t : replies_.take_all(peer)) t->fail(loss_of(peer));
    std::vector<service*> services;
    {
      const std::lock_guard guard(locks_->services);
      for (const auto& s : owned_) services.push_back(s.get());
      locks_->reported.push_back(peer);
    }
    for (service* s : services) s->peer_lost(peer);
    note_done(here_);
  });
}

node::parcel_sums node::parcels_without(std::span<const locality_id> lost) const {
  const auto without = [lost](locality_id i) { return std::find(lost.begin(), lost.end(), i) != lost.end(); };
  parcel_sums s;
  // Once no message is being handled, every parcel that arrived before the loss of its sender has been started.
  if (!lost.empty()) s.of_lost = being_taken_.load(std::memory_order_seq_cst);
  // `done` is read before `sent`: a parcel that has been handled by now may have sent others.
  for (locality_id i = 0; i < size_; ++i) {
    const std::uint64_t done = traffic_[i].done.load(std::memory_order_acquire);
    if (without(i))
      s.of_lost += traffic_[i].started.load(std::memory_order_relaxed) - done;
    else
      s.done += done;
  }
  for (locality_id i = 0; i < size_; ++i)
    if (!without(i)) s.sent += traffic_[i].sent.load(std::memory_order_relaxed);
  return s;
}

loss_cause node::cause_of_loss(locality_id peer) const {
  const std::lock_guard guard(locks_->lost);
  return locks_->causes[peer];
}

std::string node::why_lost(locality_id peer) const {
  const loss_cause c = cause_of_loss(peer);
  return c.first == no_locality ? "" : text_of_loss(peer, c);
}

std::exception_ptr node::loss_of(locality_id peer) const {
  const loss_cause c = cause_of_loss(peer);
  return exception_of_loss(peer, c.first == no_locality ? loss_cause{peer, false, ""} : c);
}

service& node::make(std::atomic<service*>& place, std::unique_ptr<service> (*maker)(node&)) {
  std::vector<locality_id> earlier;
  service* s = nullptr;
  {
    const std::lock_guard guard(locks_->services);
    if (service* made = place.load(std::memory_order_relaxed)) return *made;
    std::unique_ptr<service> made = maker(*this);
    s = made.get();
    owned_.push_back(std::move(made));
    place.store(s, std::memory_order_release);
    earlier = locks_->reported;
  }
  for (const locality_id peer : earlier) {
    note_sent(here_);
    runtime_.post([this, s, peer] {
      s->peer_lost(peer);
      note_done(here_);
    });
  }
  return *s;
}

node* find_node() noexcept {
  plx::detail::scheduler* s = plx::detail::find_current_scheduler();
  return s == nullptr ? nullptr : static_cast<node*>(s->attached());
}

node& node_here() {
  node* n = find_node();
  PLX_ASSERT(n != nullptr && "this function needs a plx::job: no runtime of this process belongs to one");
  return *n;
}

}  // namespace plx::net
