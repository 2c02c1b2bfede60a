#include "net/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/core/node.hpp"
#include "net/parcels/frame.hpp"
#include "rt/runtime.hpp"

namespace locality_lost_test {

int results = 0;  // number of results alive
struct numbers {
  std::vector<double> all;
  numbers() { ++results; }
  numbers(const numbers& o) : all(o.all) { ++results; }
  numbers(numbers&& o) noexcept : all(std::move(o.all)) { ++results; }
  ~numbers() { --results; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(all);
  }
};
numbers many() { return {}; }

}  // namespace locality_lost_test

namespace {

using namespace plx;
using namespace locality_lost_test;

TEST(LocalityLost, NamesItAndTheReason) {
  const locality_lost e(3, "it closed its connection");
  EXPECT_EQ(e.which(), 3u);
  EXPECT_STREQ(e.what(), "locality 3 is lost: it closed its connection");
}

TEST(LocalityLost, KeepsTheFirstLoss) {
  const locality_lost first(3, "its process has ended"), second(1, first), third(10, second);
  for (const locality_lost& e : {first, second, third}) {
    EXPECT_EQ(e.first().which(), 3u);
    EXPECT_STREQ(e.first().what(), first.what());
    EXPECT_EQ(e.first().why(), "its process has ended");
  }
  EXPECT_EQ(third.which(), 10u);
  EXPECT_STREQ(third.what(), "locality 10 is lost: it failed: locality 3 is lost: its process has ended");
  EXPECT_EQ(third.why(), "it failed: locality 3 is lost: its process has ended");
}

// A transport whose events the test triggers.
struct scripted_transport final : net::transport {
  explicit scripted_transport(scripted_transport*& self) { self = this; }
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  void start(net::receiver& r) override { receiver = &r; }
  void send(locality_id, net::outgoing& m) noexcept override {
    net::frame_reader f(m.head);
    while (f.next()) slot = f.header().reply;
    m.sent(&m, true);
  }
  bool progress() noexcept override { return false; }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

  net::receiver* receiver = nullptr;
  std::uint64_t slot = 0;  // of the last answer
};

// The head of an answer whose piece has not arrived.
std::vector<std::byte> head_of(std::uint64_t slot, const numbers& n) {
  std::vector<std::byte> payload(64);
  std::vector<net::piece> pieces;
  net::wire_writer w(payload, &pieces);
  net::write(w, n);
  EXPECT_EQ(pieces.size(), 1u);
  net::frame_header f;
  f.parcels = 1;
  net::parcel_header h;
  h.reply = slot;
  h.size = static_cast<std::uint32_t>(w.used());
  std::vector<std::byte> head(sizeof f + sizeof h + h.size);
  std::memcpy(head.data(), &f, sizeof f);
  std::memcpy(head.data() + sizeof f, &h, sizeof h);
  std::memcpy(head.data() + sizeof f + sizeof h, payload.data(), h.size);
  return head;
}

// The underlying library may write to the memory after the loss: the waiting call fails at once, and the memory stays
// valid.
TEST(LocalityLost, AnAnswerInFlightFailsAtOnceAndItsMemoryStays) {
  scripted_transport* carrier = nullptr;
  auto rt = std::make_unique<runtime>(runtime_options{.workers = 1});
  net::node n(*rt, std::make_unique<scripted_transport>(carrier), 0, 2);
  numbers sent;
  sent.all.resize(1000);
  rt->run([&] {
    auto answer = async<&many>(1);
    n.port().flush_all();
    const auto head = head_of(carrier->slot, sent);
    std::vector<net::place> places{{nullptr, sent.all.size() * sizeof(double)}};
    void* announced = carrier->receiver->announced(1, head, places);
    ASSERT_NE(announced, nullptr);
    const int here = results;
    carrier->receiver->lost(1, "the test reports it");
    carrier->receiver->pieces_lost(1, announced);
    try {
      answer.get();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_STREQ(e.what(), "locality 1 is lost: the test reports it");
    }
    answer = {};
    EXPECT_EQ(results, here);
    std::memset(places[0].data, 1, places[0].size_bytes);
    carrier->receiver->pieces_arrived(1, announced, false);
    EXPECT_EQ(results, here - 1);
  });
  n.stop(0);
  rt.reset();
}

}  // namespace
