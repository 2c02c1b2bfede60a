// Over a network that loses, doubles and overtakes, every message arrives once; under many seeds.
#include "net/reliable.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "net/sim/network.hpp"
#include "net/sim/stage.hpp"
#include "rt/detail/scheduler.hpp"
#include "rt/every_schedule_test.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using namespace plx::net;

constexpr std::size_t long_bytes = 5000;

// One side: sends numbers, short ones in the head, every fifth as a piece, and counts what comes.
class side final : private receiver {
 public:
  side(stage& s, sim_network& n, locality_id here, unsigned all, std::uint64_t seed, reliable_options o = {})
      : here_(here),
        rt_(options(s, here, seed)),
        transport_(std::make_unique<reliable_transport>(n.transport_of(here), rt_.get_scheduler(), all, o)) {
    transport_->start(*this);
    poller_ = rt_.add_poller(
        [](void* me) {
          auto& t = *static_cast<side*>(me)->transport_;
          return t.progress() ? poll_result::progressed : t.pending() ? poll_result::pending : poll_result::idle;
        },
        this);
  }
  ~side() override {
    rt_.remove_poller(poller_);
    transport_->stop(0);
  }

  void send(locality_id to, int number) {
    auto& m = letters_.emplace_back();
    m.of = this;
    m.number = number;
    m.head = std::as_bytes(std::span(&m.number, 1));
    if (number % 5 == 0) {
      m.body.assign(long_bytes, static_cast<char>(number));
      m.part = {m.body.data(), m.body.size()};
      m.pieces = {&m.part, 1};
    }
    m.sent = [](outgoing* o, bool ok) noexcept {
      auto& l = *static_cast<letter*>(o);
      ++(ok ? l.of->given_back : l.of->failed);
      l.number = -1;  // the memory is ours again
      if (!l.body.empty()) std::memset(l.body.data(), 'x', l.body.size());
    };
    transport_->send(to, m);
  }

  runtime& rt() { return rt_; }
  reliable_transport& carrier() { return *transport_; }
  std::map<locality_id, std::multiset<int>> got;
  std::map<locality_id, int> told_lost;
  int given_back = 0, failed = 0, incomplete = 0;

 private:
  struct letter : outgoing {
    side* of = nullptr;
    int number = 0;
    std::vector<char> body;
    piece part;
  };
  struct coming {
    int number;
    std::vector<char> body;
  };

  static runtime_options options(stage& s, locality_id here, std::uint64_t seed) {
    runtime_options o;
    o.workers = 1;
    o.deterministic = true;
    o.seed = seed * 16 + here;
    o.conducted_by = s.conductor_of(here);
    o.shutdown_deadline_s = 0;
    return o;
  }
  static int number_in(std::span<const std::byte> head) {
    int n = -2;
    EXPECT_EQ(head.size(), sizeof n);
    if (head.size() == sizeof n) std::memcpy(&n, head.data(), sizeof n);
    return n;
  }
  void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
    got[from].insert(number_in(head));
  }
  void* announced(locality_id, std::span<const std::byte> head, std::span<place> places) noexcept override {
    EXPECT_EQ(places.size(), 1u);
    EXPECT_EQ(places[0].size_bytes, long_bytes);
    auto* c = new coming{number_in(head), std::vector<char>(places[0].size_bytes)};
    places[0].data = c->body.data();
    return c;
  }
  void pieces_lost(locality_id, void*) noexcept override {}
  void pieces_arrived(locality_id from, void* announced, bool ok) noexcept override {
    const std::unique_ptr<coming> c(static_cast<coming*>(announced));
    incomplete += !ok;
    if (!ok) return;
    got[from].insert(c->number);
    EXPECT_EQ(c->body, std::vector<char>(long_bytes, static_cast<char>(c->number)));
  }
  void lost(locality_id peer, std::string_view) noexcept override { ++told_lost[peer]; }

  const locality_id here_;
  runtime rt_;
  std::unique_ptr<reliable_transport> transport_;
  std::uint64_t poller_ = 0;
  std::deque<letter> letters_;
};

// f(side) on each of them, under one seed.
template <class F>
void play(stage& s, std::vector<std::unique_ptr<side>>& sides, F f) {
  s.open();
  std::vector<std::thread> threads;
  for (const auto& each : sides) threads.emplace_back([&] { each->rt().run([&] { f(*each); }); });
  for (auto& t : threads) t.join();
}

struct pair_of_sides {
  explicit pair_of_sides(sim_options o, reliable_options r = {}) : scene(o.localities, o.seed), network(scene, o) {
    for (locality_id i = 0; i < o.localities; ++i)
      sides.push_back(std::make_unique<side>(scene, network, i, o.localities, o.seed, r));
  }
  stage scene;
  sim_network network;
  std::vector<std::unique_ptr<side>> sides;
};

std::multiset<int> numbers(int n) {
  std::multiset<int> all;
  for (int i = 0; i < n; ++i) all.insert(i);
  return all;
}

TEST(Reliable, EveryMessageArrivesOnce) {
  constexpr int n = 150;  // more than the window
  reliable_counts sum;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    pair_of_sides two({.seed = seed, .loss = 0.2, .doubling = 0.1});
    play(two.scene, two.sides, [&](side& s) {
      const locality_id other = &s == two.sides[0].get() ? 1 : 0;
      for (int i = 0; i < n; ++i) {
        s.send(other, i);
        if (two.scene.choose()(16) == 0) this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
    for (locality_id i = 0; i < 2; ++i) {
      EXPECT_EQ(two.sides[i]->got[1 - i], numbers(n));
      EXPECT_EQ(two.sides[i]->given_back, n);
      EXPECT_EQ(two.sides[i]->failed, 0);
      EXPECT_TRUE(two.sides[i]->told_lost.empty());
      const auto c = two.sides[i]->carrier().counts();
      EXPECT_EQ(c.sent, static_cast<std::uint64_t>(n));
      EXPECT_EQ(c.refused, 0u);
      sum.sent += c.sent, sum.sent_again += c.sent_again, sum.doubles += c.doubles, sum.answers += c.answers;
      EXPECT_FALSE(two.sides[i]->carrier().pending());
    }
    ASSERT_FALSE(HasFailure());
  }
  // A fifth is lost, so that at least a fifth is sent again; a tenth comes twice.
  EXPECT_GT(sum.sent_again, sum.sent / 6);
  EXPECT_GT(sum.doubles, sum.sent / 15);
  EXPECT_LT(sum.sent_again, sum.sent);
}

TEST(Reliable, WithoutLossNothingIsSentAgain) {
  pair_of_sides two({.seed = 5});
  play(two.scene, two.sides, [&](side& s) {
    if (&s == two.sides[0].get())
      for (int i = 0; i < 1000; ++i) s.send(1, i);
  });
  EXPECT_EQ(two.sides[1]->got[0], numbers(1000));
  EXPECT_EQ(two.sides[0]->carrier().counts().sent_again, 0u);
  EXPECT_LT(two.sides[1]->carrier().counts().answers, 200u);
}

TEST(Reliable, AfterADeathEverySendEndsAndItIsToldOnce) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    pair_of_sides three({.localities = 3, .seed = seed, .loss = 0.1, .doubling = 0.1, .deaths = {{1, 0, 2e-3}}});
    constexpr int n = 200;
    play(three.scene, three.sides, [&](side& s) {
      for (int i = 0; i < n; ++i) {
        for (locality_id to = 0; to < 3; ++to)
          if (three.sides[to].get() != &s) s.send(to, i);
        if (i % 8 == 0) this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    for (const locality_id alive : {0u, 2u}) {
      side& s = *three.sides[alive];
      EXPECT_EQ(s.got[2 - alive], numbers(n));
      EXPECT_EQ(s.told_lost, (std::map<locality_id, int>{{1, 1}}));
      EXPECT_EQ(s.given_back + s.failed, 2 * n);
      EXPECT_LE(s.failed, n);
      std::set<int> once(s.got[1].begin(), s.got[1].end());
      EXPECT_EQ(once.size(), s.got[1].size());
    }
    EXPECT_EQ(three.sides[1]->told_lost, (std::map<locality_id, int>{{0, 1}, {2, 1}}));
    ASSERT_FALSE(HasFailure());
  }
}

// The transport below does not see the death: who does not answer is given up.
TEST(Reliable, WhoDoesNotAnswerIsLost) {
  sim_options o{.seed = 3, .loss = 0.1, .detection_min_s = 1e3, .detection_max_s = 1e3};
  pair_of_sides two(o, {.give_up_s = 2});
  play(two.scene, two.sides, [&](side& s) {
    if (&s != two.sides[0].get()) return;
    two.network.kill(1);
    s.send(1, 1);
    this_thread::sleep_for(std::chrono::seconds(1));
    EXPECT_TRUE(s.told_lost.empty());
    this_thread::sleep_for(std::chrono::seconds(3));
    EXPECT_EQ(s.told_lost[1], 1);
    EXPECT_EQ(s.failed, 1);
    s.send(1, 2);
    EXPECT_EQ(s.failed, 2);
  });
  EXPECT_EQ(two.sides[0]->told_lost[1], 1);  // when the network tells it, too, nobody hears it again
}

// Noise from below: shorter than a seal, answers to what was never sent, numbers far ahead.
TEST(Reliable, WhatIsNoMessageOfOursIsRefused) {
  stage scene(2, 1);
  sim_network network(scene, {.localities = 2, .late_sent = 0});
  side s(scene, network, 0, 2, 1);
  auto stranger = network.transport_of(1);
  std::array<std::uint64_t, 3> words{};
  const auto sends = [&](std::uint64_t number, std::uint64_t received, std::size_t bytes) {
    words = {number, received, 0};
    outgoing m;
    m.head = std::as_bytes(std::span(words)).first(bytes);
    m.sent = [](outgoing*, bool) noexcept {};
    stranger->send(0, m);
    for (int i = 0; i < 10; ++i) s.carrier().progress();
    return s.carrier().counts().refused;
  };
  EXPECT_EQ(sends(1, 0, 23), 1u);
  EXPECT_EQ(sends(1, 0, 0), 2u);
  EXPECT_EQ(sends(1, 1, 24), 3u);
  EXPECT_EQ(sends(66, 0, 24), 4u);
  EXPECT_EQ(sends(~std::uint64_t{0}, 0, 24), 5u);
  EXPECT_EQ(sends(0, 0, 24), 5u);  // an answer that says nothing
  EXPECT_TRUE(s.got.empty());
}

}  // namespace
