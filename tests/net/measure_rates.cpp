// Latency and rate of a transport between localities 0 and 1, without any layer above it. The values are comparable
// with those of UCX's ucx_perftest (ucp_am_lat, ucp_am_bw): one-way latency, and messages or bytes in one direction.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "transport_check.hpp"

namespace {

struct counting final : plx::net::receiver {
  std::uint64_t heads = 0, pieces = 0;
  std::vector<std::byte> room;
  void arrived(plx::locality_id, std::span<const std::byte>) noexcept override { ++heads; }
  void* announced(plx::locality_id, std::span<const std::byte>, std::span<plx::net::place> places) noexcept override {
    places[0].data = room.data();
    return this;
  }
  void pieces_arrived(plx::locality_id, void*, bool) noexcept override { ++pieces; }
  void pieces_lost(plx::locality_id, void*) noexcept override {}
  void lost(plx::locality_id, std::string_view) noexcept override {}
};

// The messages that may be in flight at once; each is reused when it has been sent.
struct window {
  struct message : plx::net::outgoing {
    window* owner = nullptr;
    message* free = nullptr;
  };
  std::array<std::byte, 8> head{};
  std::vector<std::byte> large;
  plx::net::piece part{};
  std::vector<message> all;
  message* free = nullptr;

  explicit window(std::size_t n, std::size_t piece_bytes = 0)
      : large(piece_bytes), part{large.data(), piece_bytes}, all(n) {
    for (message& m : all) {
      m.owner = this;
      m.head = head;
      if (piece_bytes != 0) m.pieces = {&part, 1};
      m.sent = [](plx::net::outgoing* o, bool) noexcept {
        auto* done = static_cast<message*>(o);
        done->free = std::exchange(done->owner->free, done);
      };
      m.free = std::exchange(free, &m);
    }
  }
  void send(plx::net::transport& t, plx::locality_id to) {
    while (free == nullptr) t.progress();
    message* m = free;
    free = m->free;
    t.send(to, *m);
  }
};

double ping_pong_us(bool first, plx::net::transport& t, counting& c, plx::locality_id other, int n) {
  window w(4);
  const double begin = plx::monotonic_seconds();
  for (int i = 0; i < n; ++i) {
    const std::uint64_t seen = c.heads;
    if (first) w.send(t, other);
    while (c.heads == seen) t.progress();
    if (!first) w.send(t, other);
  }
  return (plx::monotonic_seconds() - begin) / n / 2 * 1e6;
}

// One direction: locality 0 sends, and waits for an answer at the end.
double seconds_of(bool first, plx::net::transport& t, counting& c, plx::locality_id other, int n, std::size_t bytes) {
  window w(bytes > (1 << 20) ? 4 : 256, bytes), answer(1);
  const double begin = plx::monotonic_seconds();
  const std::uint64_t heads = c.heads, pieces = c.pieces;
  if (first) {
    for (int i = 0; i < n; ++i) {
      w.send(t, other);
      if (i % 16 == 0) t.progress();
    }
    while (c.heads == heads) t.progress();
  } else {
    while (bytes == 0 ? c.heads - heads != static_cast<std::uint64_t>(n)
                      : c.pieces - pieces != static_cast<std::uint64_t>(n))
      t.progress();
    answer.send(t, other);
  }
  while (t.pending()) t.progress();
  return plx::monotonic_seconds() - begin;
}

}  // namespace

int measure_rates(plx::net::bootstrap& job, plx::net::transport& carrier) {
  counting c;
  c.room.resize(std::size_t{64} << 20);
  carrier.start(c);
  if (job.here() > 1) return 0;
  const bool first = job.here() == 0;
  const plx::locality_id other = 1 - job.here();
  ping_pong_us(first, carrier, c, other, 1000);
  std::vector<double> us;
  for (int i = 0; i < 2000; ++i) us.push_back(ping_pong_us(first, carrier, c, other, 50));
  std::sort(us.begin(), us.end());
  if (first) fmt::print("one way {:.3f} us (minimum {:.3f}, tenth percentile {:.3f})\n", us[1000], us[0], us[200]);
  std::vector<double> rates;
  for (int i = 0; i < 100; ++i) rates.push_back(10'000 / seconds_of(first, carrier, c, other, 10'000, 0) / 1e6);
  std::sort(rates.begin(), rates.end());
  if (first)
    fmt::print("{:.2f} million messages/s (best {:.2f}, 90th percentile {:.2f})\n", rates[50], rates[99], rates[90]);
  for (const int kib : {4, 64, 1024, 65536}) {
    const int n = std::max(20, 400'000 / kib / 4);
    seconds_of(first, carrier, c, other, 5, std::size_t(kib) << 10);
    const double s = seconds_of(first, carrier, c, other, n, std::size_t(kib) << 10);
    if (first) fmt::print("pieces of {} KiB: {:.0f} MB/s\n", kib, n * (kib * 1024.0) / s / 1e6);
  }
  return 0;
}
