// The transport alone: all localities send to all others concurrently, heads of the size of a row, or chunks of 1 MiB.
// No other part of net is used, so this is an upper bound for the exchange of rows.
#include <sched.h>

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "coalescing_sweep.hpp"
#include "net/start/bootstrap.hpp"
#include "net/transport/transport.hpp"
#include "parts.hpp"

namespace plx::bench {
namespace {

struct counting final : net::receiver {
  std::uint64_t heads = 0, pieces = 0;
  std::vector<std::vector<std::byte>> room;  // by sender
  std::uint64_t bytes = 0, sum = 0;          // of heads; `sum` of their first bytes

  void arrived(locality_id, std::span<const std::byte> head) noexcept override {
    ++heads;
    bytes += head.size();
    sum += std::to_integer<unsigned>(head.front());
  }
  void* announced(locality_id from, std::span<const std::byte>, std::span<net::place> places) noexcept override {
    if (places[0].size_bytes > room[from].size()) return nullptr;
    places[0].data = room[from].data();
    return this;
  }
  void pieces_arrived(locality_id, void*, bool ok) noexcept override { pieces += ok ? 1 : 0; }
  void pieces_lost(locality_id, void*) noexcept override {}
  void lost(locality_id, std::string_view) noexcept override {}
};

// The messages in flight; each is reused when it has been sent.
struct window {
  struct message : net::outgoing {
    window* owner = nullptr;
    message* free = nullptr;
  };
  std::vector<std::byte> head, large;
  net::piece part{};
  std::vector<message> all;
  message* free = nullptr;

  window(std::size_t n, std::size_t head_bytes, std::size_t piece_bytes)
      : head(head_bytes, std::byte{1}), large(piece_bytes), part{large.data(), piece_bytes}, all(n) {
    for (message& m : all) {
      m.owner = this;
      m.head = head;
      if (piece_bytes != 0) m.pieces = {&part, 1};
      m.sent = [](net::outgoing* o, bool) noexcept {
        auto* done = static_cast<message*>(o);
        done->free = std::exchange(done->owner->free, done);
      };
      m.free = std::exchange(free, &m);
    }
  }
  void send(net::transport& t, locality_id to) {
    while (free == nullptr)
      if (!t.progress()) sched_yield();
    message* m = free;
    free = m->free;
    t.send(to, *m);
  }
};

struct load {
  const char* name;
  unsigned size;  // Nc whose rows have the same length; 0: none
  std::size_t head_bytes, piece_bytes;
};

class carrier {
 public:
  carrier(net::bootstrap& job, net::transport& t) : job_(job), transport_(t) {
    counted_.room.assign(job.size(), std::vector<std::byte>(std::size_t{1} << 20));
    t.start(counted_);
  }

  // Seconds until this locality has received `n` messages from each of the others. By then all have been sent, except
  // for a few that the slowest locality still waits for: its time is the result.
  double exchange(const load& l, unsigned n) {
    window w(l.piece_bytes != 0 ? 4 * job_.size() : 64 * job_.size(), l.head_bytes, l.piece_bytes);
    std::uint64_t& came = l.piece_bytes != 0 ? counted_.pieces : counted_.heads;
    const std::uint64_t expected = came_before_[l.piece_bytes != 0] += std::uint64_t{n} * (job_.size() - 1);
    const double begin = monotonic_seconds();
    for (unsigned i = 0; i < n; ++i) {
      for (locality_id to = 0; to < job_.size(); ++to)
        if (to != job_.here()) w.send(transport_, to);
      if (i % 8 == 0) transport_.progress();
    }
    while (came < expected)
      if (!transport_.progress()) sched_yield();
    const double s = monotonic_seconds() - begin;
    while (transport_.pending())
      if (!transport_.progress()) sched_yield();
    return s;
  }
  const counting& counted() const noexcept { return counted_; }

 private:
  net::bootstrap& job_;
  net::transport& transport_;
  counting counted_;
  std::array<std::uint64_t, 2> came_before_{};
};

[[noreturn]] void give_up(const error& e) {
  fmt::print(stderr, "bench_coalescing: {}\n", e.message);
  std::exit(2);
}

void measure(net::bootstrap& job, net::transport& t, const options& o) {
  constexpr std::uint64_t bytes_per_peer = std::uint64_t{64} << 20;
  carrier c(job, t);
  std::vector<load> loads;
  for (const unsigned nc : o.sizes) loads.push_back({"heads", nc, 24 + std::size_t{16} * nc, 0});
  loads.push_back({"pieces", 0, 64, std::size_t{1} << 20});
  auto opened = job.here() == 0 ? open_csv(o.csv) : result<csv_file>(csv_file());
  if (!opened) give_up(opened.error());
  const csv_file out = *std::move(opened);
  for (const load& l : loads) c.exchange(l, 10);
  for (unsigned turn = o.first_turn; turn < o.first_turn + o.turns; ++turn)
    for (const load& l : loads) {
      const std::size_t each = l.piece_bytes != 0 ? l.piece_bytes : l.head_bytes;
      const auto n = static_cast<unsigned>(bytes_per_peer / each);
      const double s = c.exchange(l, n);
      const double messages = double(n) * (job.size() - 1) * job.size();
      if (job.here() == 0)
        fmt::print(out.get(), "carrier,{},{},{},none,0,0,0,0,{:.9f},0,{:.0f},{:.0f},{:.0f}\n", l.name, l.size, turn, s,
                   messages, messages, messages * static_cast<double>(each));
    }
}

}  // namespace

int measure_carrier(const options& o) {
  const auto name = net::choose_transport();
  if (!name) give_up(name.error());
  const auto start = net::find_bootstrap(*name);
  if (!start) give_up(start.error());
  net::bootstrap& job = **start;
  if (job.size() < 2) give_up({"this part needs several localities: mpirun -n 4 bench_coalescing ..."});
  auto transport = net::find_transport(*name, job, 60);
  if (!transport) give_up(transport.error());
  measure(job, **transport, o);
  const bool in_time = (*transport)->stop(20);
  transport->reset();
  job.leave(5);
  return in_time ? 0 : 1;
}

}  // namespace plx::bench
