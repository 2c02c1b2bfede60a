// A locality dies while all send each other heads and large pieces. Each of the others prints one line of JSON: the
// localities that it lost, the reasons, after how many seconds, the number of heads received from each afterwards, and
// whether any operation remained unfinished.
//
// All survivors report, however slow a busy machine is: a head carries its sender's progress, and a locality that has
// heard from all others after the loss continues until it knows that they have as well.
//
// All memory stays valid until the transport has stopped, as long as operations with the dead locality may be
// unfinished.
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "transport_check.hpp"

namespace {

using plx::locality_id;

constexpr int in_flight = 32;  // messages to each peer: two with a piece, the others heads
constexpr double timeout_s = 300;

/// The progress of a locality.
enum class progress_of_one : unsigned char { nothing, loss_seen, all_heard };

struct taking final : plx::net::receiver {
  struct loss {
    locality_id who;
    std::string why;
    double at_s;
    std::uint64_t heads;  // received from it before
  };
  std::vector<loss> losses;
  std::vector<std::uint64_t> heads;   // from each
  std::vector<progress_of_one> come;  // of each locality, from its last head
  unsigned announcements = 0, ends = 0;
  std::set<void*> given_up;  // announcements whose memory may still be written to

  void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
    ++heads[from];
    come[from] = std::max(come[from], static_cast<progress_of_one>(head[0]));
  }
  void* announced(locality_id, std::span<const std::byte>, std::span<plx::net::place> places) noexcept override {
    auto memory = std::make_unique<std::vector<std::byte>>(places[0].size_bytes);
    places[0].data = memory->data();
    ++announcements;
    return memory.release();
  }
  void pieces_arrived(locality_id, void* announced, bool) noexcept override {
    given_up.erase(announced);
    delete static_cast<std::vector<std::byte>*>(announced);
    ++ends;
  }
  void pieces_lost(locality_id, void* announced) noexcept override { given_up.insert(announced); }
  void lost(locality_id peer, std::string_view why) noexcept override {
    losses.push_back({peer, std::string(why), plx::monotonic_seconds(), peer < heads.size() ? heads[peer] : 0});
  }
  bool has_lost(locality_id peer) const {
    return std::any_of(losses.begin(), losses.end(), [peer](const loss& l) { return l.who == peer; });
  }
};

unsigned under_way_in_all = 0;  // messages of this locality whose `sent` was not called

struct repeated : plx::net::outgoing {
  bool under_way = false;
  progress_of_one reported = progress_of_one::nothing;  // in the last head that was sent
  plx::net::piece part{};
  std::vector<std::byte> bytes;

  repeated(locality_id to, std::size_t piece_bytes) : bytes(std::max<std::size_t>(piece_bytes, 8)) {
    destination = to;
    head = std::span(bytes).first(8);
    part = {bytes.data(), piece_bytes};
    if (piece_bytes != 0) pieces = {&part, 1};
    sent = [](plx::net::outgoing* o, bool ok) noexcept {
      auto* m = static_cast<repeated*>(o);
      m->under_way = false;
      --under_way_in_all;
      if (ok) m->reported = static_cast<progress_of_one>(m->bytes[0]);
    };
  }
};

struct traffic {
  plx::net::transport& carrier;
  std::vector<std::unique_ptr<repeated>> out;
  progress_of_one come = progress_of_one::nothing;

  traffic(plx::net::bootstrap& job, plx::net::transport& t) : carrier(t) {
    for (locality_id i = 0; i < job.size(); ++i)
      for (int n = 0; n < in_flight && i != job.here(); ++n)
        out.push_back(std::make_unique<repeated>(i, n == 0 ? 10'000 : n == 1 ? 1 << 20 : 0));
  }
  void go_on() {
    for (const auto& m : out) {
      if (std::exchange(m->under_way, true)) continue;
      m->bytes[0] = static_cast<std::byte>(come);
      ++under_way_in_all;
      carrier.send(m->destination, *m);
    }
    carrier.progress();
  }
  /// Whether this locality's progress was sent to that one.
  bool has_reported(locality_id who) const {
    return std::any_of(out.begin(), out.end(), [&](const auto& m) {
      return m->destination == who && m->pieces.empty() && m->reported == come;
    });
  }
};

// From another thread, so that the signal arrives at an arbitrary point.
void kill_in_a_second() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    kill(getpid(), SIGKILL);
  }).detach();
}

// Crashes while it writes to the next locality's shared memory, which leaves the queue there unusable for all senders.
[[noreturn]] void crash_while_writing(plx::net::bootstrap& job, plx::net::transport& carrier) {
  signal(SIGSEGV, SIG_DFL);
  void* nothing = mmap(nullptr, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  plx::net::outgoing m;
  m.head = {static_cast<const std::byte*>(nothing), 1000};
  m.sent = [](plx::net::outgoing*, bool) noexcept {};
  carrier.send((job.here() + 1) % job.size(), m);
  while (true) carrier.progress();  // until the queue has room
}

void report(plx::net::bootstrap& job, const taking& t, double died, const std::vector<std::uint64_t>& before,
            bool left) {
  std::string losses, heard;
  for (const auto& l : t.losses)
    losses += fmt::format("{}[{}, \"{}\", {:.2f}]", losses.empty() ? "" : ", ", l.who, l.why, l.at_s - died);
  for (std::size_t i = 0; i < before.size(); ++i)
    heard += fmt::format("{}{}", i == 0 ? "" : ", ", t.heads[i] - before[i]);
  fmt::print("{{\"here\": {}, \"lost\": [{}], \"heard\": [{}], \"left\": {}}}\n", job.here(), losses, heard, left);
}

taking& takes() {
  static taking t;
  return t;
}

}  // namespace

int check_start(plx::net::bootstrap&, plx::net::transport& carrier) {
  carrier.start(takes());
  return 0;
}

int check_death(plx::net::bootstrap& job, plx::net::transport& carrier, locality_id who, bool while_writing) {
  taking& t = takes();
  t.heads.assign(job.size(), 0);
  t.come.assign(job.size(), progress_of_one::nothing);
  carrier.start(t);
  static traffic all(job, carrier);
  double died = std::numeric_limits<double>::infinity();
  const auto go_on_until = [&](auto done, double limit_s) {
    const double until = plx::monotonic_seconds() + limit_s;
    while (!done() && plx::monotonic_seconds() < until) {
      if (job.here() == who && while_writing && plx::monotonic_seconds() > died) crash_while_writing(job, carrier);
      all.go_on();
    }
  };
  // The victim dies a second after all others have connected to each other.
  if (job.here() == who) go_on_until([&] { return std::count(t.heads.begin(), t.heads.end(), 0u) == 1; }, timeout_s);
  died = plx::monotonic_seconds() + 1;
  if (job.here() == who && !while_writing) kill_in_a_second();
  // A locality that crashes while it writes also ends the next one, which then loses all others.
  const std::size_t losses = !while_writing ? 1 : job.here() == (who + 1) % job.size() ? job.size() - 1 : 2;
  go_on_until([&] { return t.losses.size() >= losses; }, timeout_s);
  const auto before = t.heads;
  const auto of_all_others = [&](auto f) {
    for (locality_id i = 0; i < job.size(); ++i)
      if (i != job.here() && !t.has_lost(i) && !f(i)) return false;
    return true;
  };
  all.come = progress_of_one::loss_seen;
  go_on_until([&] { return of_all_others([&](locality_id i) { return t.heads[i] > before[i]; }); }, timeout_s);
  all.come = progress_of_one::all_heard;
  go_on_until(
      [&] {
        return of_all_others(
            [&](locality_id i) { return t.come[i] == progress_of_one::all_heard && all.has_reported(i); });
      },
      timeout_s);
  const double until = plx::monotonic_seconds() + timeout_s;
  while (carrier.pending() && plx::monotonic_seconds() < until) carrier.progress();
  report(job, t, died, before, carrier.pending() || t.announcements != t.ends + t.given_up.size());
  return 0;
}

// The others poll only after the death: they must receive all heads before they learn of the loss.
int check_last_heads(plx::net::bootstrap& job, plx::net::transport& carrier, locality_id who) {
  constexpr int last_heads = 40;
  taking& t = takes();
  t.heads.assign(job.size(), 0);
  t.come.assign(job.size(), progress_of_one::nothing);
  carrier.start(t);
  static std::vector<std::unique_ptr<repeated>> out;
  const auto send = [&](locality_id to) {
    ++under_way_in_all;
    carrier.send(to, *out.emplace_back(std::make_unique<repeated>(to, 0)));
  };
  const auto progress_until = [&](auto done) {
    const double until = plx::monotonic_seconds() + timeout_s;
    while (!done() && plx::monotonic_seconds() < until) carrier.progress();
  };
  if (job.here() == who) {
    progress_until([&] { return std::count(t.heads.begin(), t.heads.end(), 0u) == 1; });  // all others have started
    for (locality_id to = 0; to < job.size(); ++to)
      for (int n = 0; n < last_heads && to != who; ++n) send(to);
    kill(getpid(), SIGKILL);
  }
  send(who);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  progress_until([&] { return t.has_lost(who); });
  const auto l = std::find_if(t.losses.begin(), t.losses.end(), [&](const auto& x) { return x.who == who; });
  const std::uint64_t before = l == t.losses.end() ? 0 : l->heads;
  fmt::print("locality {}: {} of {} heads before the loss\n", job.here(), before, last_heads);
  return before == last_heads ? 0 : 1;
}

int check_given_back(locality_id here) {
  const taking& t = takes();
  if (t.announcements == t.ends && under_way_in_all == 0) return 0;
  fmt::print("locality {}: memory of {} announcements and {} messages was not returned\n", here,
             t.announcements - t.ends, under_way_in_all);
  return 1;
}
