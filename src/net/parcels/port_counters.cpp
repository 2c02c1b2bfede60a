// The counters of a port.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <string>

#include "base/assert.hpp"
#include "net/parcels/collector.hpp"
#include "net/parcels/network_time.hpp"
#include "net/parcels/port_parts.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net {
namespace {

struct port_counter {
  const char* name;
  const char* unit;
  const char* help;
  std::uint64_t port_counts::*count;
};

constexpr port_counter of_port[] = {
    {"/parcels{{{}/total}}/count/sent", "1", "Parcels sent: calls, posts, replies, and internal ones",
     &port_counts::parcels_sent},
    {"/parcels{{{}/total}}/count/received", "1", "Parcels received", &port_counts::parcels_received},
    {"/messages{{{}/total}}/count/sent", "1", "Messages sent", &port_counts::messages_sent},
    {"/messages{{{}/total}}/count/received", "1", "Messages received", &port_counts::messages_received},
    {"/parcels{{{}/total}}/count/dropped", "1", "Posts to localities that were lost or had ended",
     &port_counts::dropped},
    {"/messages{{{}/total}}/count/refused", "1", "Malformed messages and parcels", &port_counts::refused},
    {"/data{{{}/total}}/sent", "bytes", "Bytes sent", &port_counts::bytes_sent},
    {"/data{{{}/total}}/received", "bytes", "Bytes received", &port_counts::bytes_received},
};

struct near_counter {
  const char* name;
  const char* help;
  std::uint64_t near_counts::*count;
};

constexpr near_counter of_near[] = {
    {"shm-sent", "Messages sent through shared memory, payloads of collective calls included", &near_counts::sent},
    {"shm-received", "Messages received through shared memory, payloads of collective calls included",
     &near_counts::received},
    {"shm-ring-full", "Messages sent over the network because the shared memory was full", &near_counts::full},
    {"shm-wakeups", "Network messages that woke a sleeping locality of this host", &near_counts::wakeups},
};

class adder {
 public:
  adder(probe::counter_registry& r, parcel_port& p) : registry_(r), port_(p), here_(r.locality_name()) {}

  void whole();
  void action(std::uint16_t index, std::string_view name);
  void histograms();
  void network(const probe::recorder& workers);

  std::vector<probe::registration> added;

 private:
  std::string named(const char* name, std::string_view parameters = {}) const {
    return fmt::format("{}{}{}", fmt::format(fmt::runtime(name), here_), parameters.empty() ? "" : "@", parameters);
  }
  probe::counter_registry& registry_;
  parcel_port& port_;
  const std::string here_;
};

void adder::whole() {
  for (const port_counter& c : of_port)
    added.push_back(registry_.add({named(c.name), c.unit, c.help, true},
                                  [&p = port_, count = c.count] { return static_cast<double>(p.counts().*count); }));
  for (const near_counter& c : of_near)
    added.push_back(registry_.add({fmt::format("/messages{{{}/total}}/count/{}", here_, c.name), "1", c.help, true},
                                  [&p = port_, count = c.count] { return static_cast<double>(p.near().*count); }));
  added.push_back(registry_.add({named("/data{{{}/total}}/under-way"), "bytes", "Memory of messages not yet sent"},
                                [&p = port_] { return static_cast<double>(p.under_way_bytes()); }));
}

// `index` 0: all actions.
void adder::action(std::uint16_t index, std::string_view name) {
  const std::string of = index == 0 ? "the program's actions" : std::string(name);
  const auto count = [&](const char* what, std::string help, std::uint64_t action_counts::*c) {
    added.push_back(registry_.add({named(what, name), "1", std::move(help), true},
                                  [&p = port_, index, c] { return static_cast<double>(p.counts_of(index).*c); }));
  };
  count("/coalescing{{{}/total}}/count/parcels", fmt::format("Parcels of {}, calls and replies", of),
        &action_counts::parcels);
  count("/coalescing{{{}/total}}/count/messages", fmt::format("Messages with parcels of {}", of),
        &action_counts::messages);
  added.push_back(registry_.add_ratio({named("/coalescing{{{}/total}}/count/average-parcels-per-message", name), "1",
                                       fmt::format("Parcels per message of {}", of)},
                                      [&p = port_, index] {
                                        const action_counts n = p.counts_of(index);
                                        return std::pair(static_cast<double>(n.parcels),
                                                         static_cast<double>(n.messages));
                                      }));
  added.push_back(
      registry_.add_ratio({named("/coalescing{{{}/total}}/time/average-parcel-arrival", name), "s",
                           fmt::format("Mean time from a parcel of {} to the next one to the same locality", of)},
                          [&p = port_, index] {
                            const action_counts n = p.counts_of(index);
                            return std::pair(n.gaps_s, static_cast<double>(n.gaps));
                          }));
}

// ---------------------------------------------------------------------------------------------------------- histograms

struct histogram_request {
  std::uint16_t action = 0;
  double least_us = 0, most_us = 0;
  unsigned buckets = 0;
};

/// "ACTION,MIN,MAX,BUCKETS"; the action's name may have commas of its own.
result<histogram_request> parse(std::string_view text) {
  constexpr unsigned most_buckets = 10'000;
  histogram_request h;
  std::string_view rest = text;
  const auto take_last = [&rest](auto& number) {
    const std::size_t comma = rest.rfind(',');
    const std::string_view word = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(0, comma);
    const auto done = std::from_chars(word.data(), word.data() + word.size(), number);
    return done.ec == std::errc() && done.ptr == word.data() + word.size();
  };
  const bool good = take_last(h.buckets) && take_last(h.most_us) && take_last(h.least_us) && h.buckets > 0 &&
                    h.buckets <= most_buckets && h.least_us >= 0 && h.most_us > h.least_us && h.most_us <= 1e9;
  if (!good)
    return error{
        fmt::format("parcel-arrival-histogram: expected @ACTION,MIN,MAX,BUCKETS with microseconds and at most "
                    "{} buckets, as in @f,0,100,20; found '{}'",
                    most_buckets, text)};
  if (rest.empty()) return h;
  const auto found = find_action(rest);
  if (!found) return found.error();
  h.action = (*found)->index;
  return h;
}

/// Creates the counters of a histogram on the first query, and keeps them.
class histogram_family {
 public:
  histogram_family(probe::counter_registry& r, parcel_port& p, std::string name)
      : registry_(r), port_(p), name_(std::move(name)) {}

  result<void> operator()(std::string_view parameters) {
    if (made_.contains(parameters)) return {};
    const auto asked = parse(parameters);
    if (!asked) return asked.error();
    const arrival_histogram& h =
        port_.watch_arrivals(asked->action, asked->least_us * 1e-6, asked->most_us * 1e-6, asked->buckets);
    auto& counters = made_[std::string(parameters)];
    const double width_us = (asked->most_us - asked->least_us) / asked->buckets;
    for (unsigned i = 0; i < asked->buckets + 2; ++i) {
      const double from_us = asked->least_us + (i - 1.0) * width_us;
      const std::string which = i == 0 ? "below" : i == asked->buckets + 1 ? "above" : std::to_string(i - 1);
      const std::string range = i == 0 ? fmt::format("under {:.6g}", asked->least_us)
                                : i == asked->buckets + 1
                                    ? fmt::format("from {:.6g} on", asked->most_us)
                                    : fmt::format("{:.6g} to {:.6g}", from_us, from_us + width_us);
      counters.push_back(registry_.add({fmt::format("{}@{},{}", name_, parameters, which), "1",
                                        fmt::format("Gaps between parcels of {} us", range), true},
                                       [&h, i] { return static_cast<double>(h.count(i)); }));
    }
    return {};
  }

 private:
  probe::counter_registry& registry_;
  parcel_port& port_;
  const std::string name_;
  std::map<std::string, std::vector<probe::registration>, std::less<>> made_;
};

void adder::histograms() {
  const std::string name = named("/coalescing{{{}/total}}/time/parcel-arrival-histogram");
  added.push_back(registry_.add_family({name, "1", "@ACTION,MIN,MAX,BUCKETS: gaps between parcels, MIN and MAX in us"},
                                       histogram_family(registry_, port_, name)));
}

// ---------------------------------------------------------------------------------------------------- network overhead

void adder::network(const probe::recorder& workers) {
  added.push_back(registry_.add({named("/network{{{}/total}}/time/polling"), "s",
                                 "Time of polls in which messages arrived or were sent, and of timers", true},
                                [&p = port_] { return p.polling_s(); }));
  added.push_back(registry_.add({named("/network{{{}/total}}/time/sending"), "s",
                                 "Time that tasks spend on messages: memory, sending, timers", true},
                                [&p = port_] { return p.sending_s(); }));
  added.push_back(registry_.add_ratio(
      {named("/network{{{}/total}}/overhead"), "1", "(polling + sending) / (time in tasks + polling)"},
      [&p = port_, &workers] {
        const network_time t = network_time_of(p, workers);
        return std::pair(t.messages_s, t.busy_s);
      }));
}

}  // namespace

std::vector<probe::registration> add_port_counters(probe::counter_registry& r, parcel_port& port,
                                                   const probe::recorder& workers) {
  adder a(r, port);
  a.whole();
  a.action(0, "");
  for (const action_entry* e : all_actions())
    if (e != nullptr && !e->control) a.action(e->index, function_of(*e));
  a.histograms();
  a.network(workers);
  return std::move(a.added);
}

using plx::detail::spin_guard;

// The lock of `c` is held. `alone`: in a message of its own.
void parcel_port::count(collector& c, std::uint16_t action, bool alone, ticks now) noexcept {
  if (watches_arrivals_.load(std::memory_order_relaxed)) [[unlikely]]
    note_arrival(c, action, now);
  if (c.gaps != nullptr && c.n_parcels != 0) [[unlikely]]
    ++(*c.gaps)[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(since(c.last, now))),
                                      c.gaps->size() - 1)];
  if (c.n_parcels++ == 0) c.begun = now;
  c.last = now;
  action_tally& t = c.tally(action);
  if (t.parcels++ == 0) t.first = now;
  t.last = now;
  if (alone) {
    ++c.n_large;
    ++t.messages;
  } else if (t.last_message != c.number) {
    ++t.messages;
    t.last_message = c.number;
  }
}

port_counts parcel_port::counts() const {
  port_counts n;
  each_collector([&n](collector& c, const action_collectors*) {
    spin_guard guard(c.lock);
    n.parcels_sent += c.n_parcels;
    n.messages_sent += c.n_messages;
    n.bytes_sent += c.n_bytes;
  });
  n.parcels_received = parcels_received_.load(std::memory_order_relaxed);
  n.messages_received = messages_received_.load(std::memory_order_relaxed);
  n.bytes_received = bytes_received_.load(std::memory_order_relaxed);
  n.refused = refused_.load(std::memory_order_relaxed);
  n.dropped = dropped_.load(std::memory_order_relaxed);
  return n;
}

action_counts parcel_port::counts_of(std::uint16_t action) const {
  action_counts n;
  const double tick_s = 1 / static_cast<double>(scheduler_.span_of(1));
  const auto add_gaps = [&n, tick_s](std::uint64_t parcels, ticks span) {
    if (parcels == 0) return;
    n.gaps += parcels - 1;
    n.gaps_s += tick_s * static_cast<double>(span);
  };
  each_collector([&](collector& c, const action_collectors* own) {
    spin_guard guard(c.lock);
    if ((own != nullptr && own->action == 0) || c.tallies == nullptr) return;
    if (action == 0) {
      n.parcels += c.n_parcels;
      n.messages += c.number + c.n_large;
      add_gaps(c.n_parcels, c.last - c.begun);
    } else if (own == nullptr || own->action == action) {
      const action_tally& t = c.tally(action);
      n.parcels += t.parcels;
      n.messages += t.messages;
      add_gaps(t.parcels, t.last - t.first);
    }
  });
  return n;
}

collected_counts parcel_port::collected(std::uint16_t action) const {
  collected_counts n;
  each_collector([&](collector& c, const action_collectors* own) {
    if ((own == nullptr ? 0 : own->action) != action || own == control_) return;
    spin_guard guard(c.lock);
    n.parcels += c.n_parcels;
    n.messages += c.number + c.n_large;
    n.bytes += c.n_bytes;
    n.most_bytes = c.bytes;
    for (std::size_t i = 0; c.gaps != nullptr && i < n.gaps.size(); ++i) n.gaps[i] += (*c.gaps)[i];
  });
  return n;
}

std::uint64_t parcel_port::under_way_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& p : peers_) sum += p->unsent_bytes() + p->not_counted.load(std::memory_order_relaxed);
  return sum;
}

const arrival_histogram& parcel_port::watch_arrivals(std::uint16_t action, double least_s, double most_s,
                                                     unsigned buckets) {
  PLX_ASSERT(action < of_action_.size() && least_s < most_s && buckets > 0, action, buckets);
  spin_guard guard(settings_lock_);
  for (const auto& e : watched_->all)
    if (e->action == action && e->least_s == least_s && e->most_s == most_s && e->histogram.buckets() == buckets)
      return e->histogram;
  const ticks least = scheduler_.span_of(least_s);
  const ticks most = std::max(scheduler_.span_of(most_s), least + 1);
  using entry = watched_arrivals::entry;
  watched_->all.push_back(std::unique_ptr<entry>(new entry{action, least_s, most_s, {least, most, buckets}}));
  arrival_histogram& h = watched_->all.back()->histogram;
  auto& first = watched_->first[action];
  h.next = first.load(std::memory_order_relaxed);
  first.store(&h, std::memory_order_release);  // pairs with the acquire in note_arrival()
  watches_arrivals_.store(true, std::memory_order_relaxed);
  return h;
}

// Before the parcel is counted; the lock of `c` is held.
void parcel_port::note_arrival(collector& c, std::uint16_t action, ticks now) const noexcept {
  const auto add = [this](std::uint16_t which, ticks gap) {
    for (auto* h = watched_->first[which].load(std::memory_order_acquire); h != nullptr; h = h->next) h->add(gap);
  };
  const bool own = of_action_[action].load(std::memory_order_relaxed) == control_;
  if (c.n_parcels != 0 && !own) add(0, since(c.last, now));
  if (const action_tally& t = c.tally(action); t.parcels != 0 && action != 0) add(action, since(t.last, now));
}

// Called by the poller, of which only one runs at a time: plain loads and stores suffice.
void parcel_port::note_received(std::uint64_t parcels, std::uint64_t bytes) noexcept {
  const auto add_alone = [](std::atomic<std::uint64_t>& to, std::uint64_t n) {
    to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  };
  add_alone(parcels_received_, parcels);
  add_alone(messages_received_, 1);
  add_alone(bytes_received_, bytes);
}

void parcel_port::note_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }

}  // namespace plx::net
