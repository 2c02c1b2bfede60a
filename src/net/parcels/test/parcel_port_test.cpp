// Checks which messages a port sends, and when, in deterministic mode: time is virtual and passes only when nothing
// else can happen, so that messages can be counted exactly.
#include "net/parcels/parcel_port.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "net/action.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace plx::net {
namespace {

using std::chrono::microseconds;

void first_action(int) {}
void second_action(int) {}
void own_bookkeeping(int) {}
void urgent_action(int) {}

}  // namespace

template <>
inline constexpr bool is_control<&own_bookkeeping> = true;
template <>
inline constexpr bool is_direct<&urgent_action> = true;

namespace {

void spin(ticks span) {
  for (const ticks begin = now_ticks(); now_ticks() - begin < span;) {
  }
}

/// Keeps what is sent; calls `sent` immediately, or in finish().
class kept_transport final : public transport {
 public:
  struct message {
    locality_id to;
    std::vector<std::uint16_t> actions;  // of its parcels
    std::size_t bytes;
  };
  [[nodiscard]] std::string_view name() const noexcept override { return "kept"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 65536; }
  void start(receiver&) override {}
  void send(locality_id to, outgoing& m) noexcept override {
    spin(takes);
    message seen{to, {}, m.head.size()};
    frame_reader f(m.head);
    while (f.next()) seen.actions.push_back(f.header().action);
    valid &= f.valid() || !m.pieces.empty();  // the large messages of these tests have empty heads
    messages.push_back(std::move(seen));
    under_way.push_back(&m);
    if (at_once) finish(1);
  }
  void finish(std::size_t n) {
    for (; n > 0 && !under_way.empty(); --n) {
      outgoing* m = under_way.front();
      under_way.erase(under_way.begin());
      m->sent(m, true);
    }
  }
  bool progress() noexcept override { return false; }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

  std::vector<message> messages;
  std::vector<outgoing*> under_way;
  bool at_once = true, valid = true;
  ticks takes = 0;  // real time per message
};

/// A port on a deterministic runtime that polls it.
class a_port : public testing::Test {
 protected:
  explicit a_port(unsigned localities = 3)
      : rt({.workers = 2, .deterministic = true, .seed = 5}), port(rt.get_scheduler(), carrier, 0, localities) {
    poller = rt.add_poller(
        [](void* p) {
          ticks waited = 0;
          return static_cast<parcel_port*>(p)->flush(waited) ? poll_result::progressed : poll_result::idle;
        },
        &port);
  }
  ~a_port() override {
    rt.remove_poller(poller);
    carrier.at_once = true;
    carrier.finish(~std::size_t{0});
    port.end();
    EXPECT_TRUE(carrier.valid);
  }
  void send(locality_id to, std::uint16_t action, unsigned parcels = 1, std::uint32_t bytes = 16) {
    for (unsigned i = 0; i < parcels; ++i) {
      parcel_header h;
      h.action = action;
      h.size = bytes;
      port.wait_for_room(to);
      const open_parcel p = port.open(to, action, h);
      std::memset(p.payload, 7, bytes);
      port.close(p);
    }
  }
  /// The number of parcels in each message.
  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> n;
    for (const auto& m : carrier.messages) n.push_back(m.actions.size());
    return n;
  }
  static constexpr std::size_t bytes_of(std::size_t parcels) { return 8 + parcels * 32; }

  runtime rt;
  kept_transport carrier;
  parcel_port port;
  // Declared after the port, which assigns indices to the actions.
  const std::uint16_t first = detail::entry_of<&first_action>().index;
  const std::uint16_t second = detail::entry_of<&second_action>().index;
  const std::uint16_t control = detail::entry_of<&own_bookkeeping>().index;
  const std::uint16_t urgent = detail::entry_of<&urgent_action>().index;
  std::uint64_t poller = 0;
};

using sizes_t = std::vector<std::size_t>;
using ParcelPort = a_port;

TEST_F(ParcelPort, FirstParcelIsSentImmediatelyLaterOnesTogether) {
  rt.run([&] {
    send(1, first);
    EXPECT_EQ(sizes(), (sizes_t{1}));
    send(1, first, 9);
    send(2, first, 3);  // another locality
    EXPECT_EQ(sizes(), (sizes_t{1, 1}));
    this_thread::sleep_for(microseconds(1));
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 9, 2}));
    this_thread::sleep_for(microseconds(100));
    send(1, second);
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 9, 2, 1}));
  });
  EXPECT_FALSE(port.pending());
}

/// Times are real here, too: each is at least the time spent, and work that is not for messages is not counted.
TEST_F(ParcelPort, TimeForMessagesIsCounted) {
  const ticks each = ticks_from(100e-6);
  const auto count = [&] { return std::pair(port.sending_s() - port.handing_s(), port.handing_s()); };
  const auto write = [&](unsigned stands_for) {
    const open_parcel p = port.open(1, first, {.size = 16, .action = first});
    EXPECT_EQ(p.begun != 0, stands_for != 0);
    if (p.begun != 0) {
      EXPECT_EQ(p.stands_for, stands_for);
      spin(each);
    }
    std::memset(p.payload, 7, 16);
    port.close(p);
  };
  rt.run([&] {
    port.collect(first, {.parcels = 3, .interval_us = 1e6});
    carrier.takes = each;
    write(1);  // the first one is sent immediately; memory is allocated for it
    EXPECT_EQ(sizes(), (sizes_t{1}));
    const auto [prepared, handed] = count();
    EXPECT_GE(prepared, seconds(each));
    EXPECT_GE(handed, seconds(each));
    EXPECT_EQ(port.sendings(), 1u);
    write(0);  // begins a message in the memory of the first one, and sets its timer
    EXPECT_EQ(count().second, handed);
    const double begun = count().first;
    EXPECT_GT(begun, prepared) << "the timer";
    write(0), write(0);
    EXPECT_EQ(sizes(), (sizes_t{1, 3}));
    EXPECT_NEAR(count().first, begun, 1e-9) << "neither starts a message nor sets its timer";
    EXPECT_GE(count().second - handed, seconds(each));
    EXPECT_EQ(port.sendings(), 2u);
  });
  EXPECT_EQ(port.polling_s(), 0) << "the poller sent nothing, and no timer fired";
}

TEST_F(ParcelPort, OneOfSeveralMessagesInReusedMemoryIsMeasuredAndStandsForAll) {
  rt.run([&] {
    port.collect(first, no_coalescing);
    unsigned measured = 0, in_all = 0;
    constexpr unsigned messages = 131;
    for (unsigned i = 0; i < messages; ++i) {
      const open_parcel p = port.open(1, first, {.size = 16, .action = first});
      measured += p.begun != 0 ? 1 : 0;
      in_all += p.begun != 0 ? p.stands_for : 0;
      const double before = port.sending_s() - port.handing_s();
      if (p.begun != 0 && i != 0) spin(ticks_from(100e-6));  // longer than usual: an interruption counts once
      std::memset(p.payload, 7, 16);
      port.close(p);
      const double span = port.sending_s() - port.handing_s() - before;
      const double of_the_others = 12 * 0.3e-6;  // each at most 0.3 us
      EXPECT_GE(span, p.begun != 0 && i != 0 ? 100e-6 + of_the_others - 1e-8 : -1e-9);
      if (p.begun == 0) {
        EXPECT_NEAR(span, 0, 1e-9);
      }
    }
    EXPECT_EQ(measured, 11u);
    EXPECT_EQ(in_all, messages);
    for (unsigned i = 0; i < 20; ++i) {  // a large parcel takes as long as its copy
      const open_parcel p = port.open(1, first, {.size = 4000, .action = first});
      EXPECT_TRUE(p.begun != 0 && p.stands_for == 1);
      std::memset(p.payload, 7, 4000);
      port.close(p);
    }
  });
}

TEST_F(ParcelPort, DirectActionsAreSentImmediately) {
  rt.run([&] {
    send(1, first);
    send(1, urgent, 3);
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1}));
    send(1, first);
    send(1, urgent);  // together with the waiting parcel
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1}));
    this_thread::sleep_for(microseconds(1));
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1, 2}));
    carrier.at_once = false;
    send(1, urgent, 3);
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1, 2, 1}));  // one is in flight
  });
}

TEST_F(ParcelPort, ParcelsCollectWhileAMessageIsInFlight) {
  carrier.at_once = false;
  rt.run([&] {
    for (int i = 0; i < 4; ++i) {
      send(1, first);
      this_thread::sleep_for(microseconds(10));
    }
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1}));  // the poller sent the later ones: four may be in flight
    send(1, first);
    this_thread::sleep_for(microseconds(10));
    send(1, first, 2);
    this_thread::sleep_for(microseconds(10));
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1}));
    carrier.finish(1);
    this_thread::sleep_for(microseconds(10));
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 1, 1, 3}));
  });
}

TEST_F(ParcelPort, FullMessagesAreSentWithinTheLimit) {
  port.collect(0, {.bytes = bytes_of(10), .way = coalescing_way::self_clocking});
  rt.run([&] {
    send(1, first, 26);
    EXPECT_EQ(sizes(), (sizes_t{1, 10, 10}));
    send(1, first, 1, 16 + 4 * 32);  // five times as long: fits, but no second one would
    EXPECT_EQ(sizes(), (sizes_t{1, 10, 10, 6}));
    send(1, first, 8);
    send(1, first, 1, 16 + 2 * 32);  // does not fit
    EXPECT_EQ(sizes(), (sizes_t{1, 10, 10, 6, 8}));
    send(1, first, 1, 2000);  // longer than the limit: sent immediately on its own
    EXPECT_EQ(sizes(), (sizes_t{1, 10, 10, 6, 8, 1, 1}));
  });
  for (const auto& m : carrier.messages) EXPECT_TRUE(m.bytes <= bytes_of(10) || m.actions.size() == 1) << m.bytes;
}

TEST_F(ParcelPort, FixedByNumber) {
  port.collect(0, {.parcels = 4, .interval_us = 100});
  rt.run([&] {
    send(1, first, 11);
    EXPECT_EQ(sizes(), (sizes_t{1, 4, 4}));  // the first one came after a long gap
    this_thread::sleep_for(microseconds(90));
    EXPECT_EQ(sizes(), (sizes_t{1, 4, 4}));
    this_thread::sleep_for(microseconds(20));
    EXPECT_EQ(sizes(), (sizes_t{1, 4, 4, 2}));
  });
}

TEST_F(ParcelPort, FixedByTheIntervalSinceTheFirst) {
  port.collect(0, {.parcels = 1000, .interval_us = 100});
  rt.run([&] {
    send(1, first, 3);  // one immediately, two 100 us later
    this_thread::sleep_for(microseconds(60));
    send(1, first);     // joins them
    send(2, first, 2);  // has an interval of its own
    EXPECT_EQ(sizes(), (sizes_t{1, 1}));
    this_thread::sleep_for(microseconds(60));
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 3}));
    this_thread::sleep_for(microseconds(60));
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 3, 1}));
  });
}

TEST_F(ParcelPort, SparseTrafficNeverWaits) {
  port.collect(0, {.parcels = 1000, .interval_us = 100});
  rt.run([&] {
    for (std::size_t i = 1; i <= 20; ++i) {
      send(1, first);
      EXPECT_EQ(sizes(), sizes_t(i, 1));
      this_thread::sleep_for(microseconds(101));
    }
  });
}

TEST_F(ParcelPort, FixedByBytes) {
  port.collect(0, {.parcels = 1000, .interval_us = 100, .bytes = bytes_of(6)});
  rt.run([&] {
    send(1, first, 15);
    EXPECT_EQ(sizes(), (sizes_t{1, 6, 6}));
  });
}

TEST_F(ParcelPort, OneParcelPerMessageIsNoCoalescing) {
  port.collect(0, {.parcels = 1});
  rt.run([&] {
    send(1, first, 5);
    EXPECT_EQ(sizes(), sizes_t(5, 1));
  });
}

TEST_F(ParcelPort, ActionWithItsOwnSettingCollectsSeparately) {
  port.collect(second, {.parcels = 3, .interval_us = 50});
  rt.run([&] {
    for (int i = 0; i < 4; ++i) send(1, first), send(1, second);
    this_thread::sleep_for(microseconds(100));
  });
  ASSERT_EQ(sizes(), (sizes_t{1, 1, 3, 3}));
  EXPECT_EQ(carrier.messages[2].actions, std::vector<std::uint16_t>(3, second));
  EXPECT_EQ(carrier.messages[3].actions, std::vector<std::uint16_t>(3, first));
  EXPECT_EQ(port.how_collected(second), (coalescing{.parcels = 3, .interval_us = 50}));
  EXPECT_EQ(port.how_collected(first), self_clocking);
}

TEST_F(ParcelPort, InternalParcelsIgnoreTheProgramsIntervals) {
  port.collect(0, {.parcels = 1000, .interval_us = 1e6});
  rt.run([&] {
    send(1, first, 5);
    send(1, control, 5);
    this_thread::sleep_for(microseconds(10));
  });
  EXPECT_EQ(sizes(), (sizes_t{1, 1, 4}));
  EXPECT_EQ(port.counts_of(0).parcels, 5u);
  EXPECT_EQ(port.counts().parcels_sent, 10u);
}

TEST_F(ParcelPort, ParametersChangeWhileParcelsWait) {
  port.collect(0, {.parcels = 1000, .interval_us = 1e6});
  rt.run([&] {
    send(1, first, 6);
    port.collect(0, {.parcels = 2, .interval_us = 100});  // sends what waited
    EXPECT_EQ(sizes(), (sizes_t{1, 5}));
    send(1, first, 5);
    EXPECT_EQ(sizes(), (sizes_t{1, 5, 2, 2}));
    this_thread::sleep_for(microseconds(120));  // the shorter interval applies
    EXPECT_EQ(sizes(), (sizes_t{1, 5, 2, 2, 1}));
    port.collect(0, self_clocking);
    send(1, first, 3);
    this_thread::sleep_for(microseconds(5));
    EXPECT_EQ(sizes(), (sizes_t{1, 5, 2, 2, 1, 1, 2}));
  });
}

TEST_F(ParcelPort, FlushSendsWhatWaits) {
  port.collect(0, {.parcels = 1000, .interval_us = 1e6});
  rt.run([&] {
    send(1, first, 4), send(2, second, 4);
    port.flush_all();
    EXPECT_EQ(sizes(), (sizes_t{1, 1, 3, 3}));
    port.flush_all();
    EXPECT_EQ(sizes().size(), 4u);
  });
}

TEST_F(ParcelPort, CountsAreExact) {
  port.collect(second, {.parcels = 4, .interval_us = 1000});
  rt.run([&] {
    send(1, first);
    send(1, first, 3), this_thread::sleep_for(microseconds(20));
    send(2, first, 1), this_thread::sleep_for(microseconds(80));
    send(1, first, 1);
    send(1, second, 9), this_thread::sleep_for(microseconds(2000));
  });
  const action_counts a = port.counts_of(first), b = port.counts_of(second), all = port.counts_of(0);
  EXPECT_EQ(a.parcels, 6u);
  EXPECT_EQ(a.messages, 4u);
  EXPECT_EQ(a.gaps, 4u);
  EXPECT_NEAR(a.gaps_s, 100e-6, 2e-6);
  EXPECT_EQ(b.parcels, 9u);
  EXPECT_EQ(b.messages, 3u);  // 1, 4, 4
  EXPECT_EQ(all.parcels, 15u);
  EXPECT_EQ(all.messages, 7u);
  const port_counts n = port.counts();
  EXPECT_EQ(n.parcels_sent, 15u);
  EXPECT_EQ(n.messages_sent, carrier.messages.size());
  EXPECT_EQ(n.bytes_sent, 15 * 32u + 7 * 8u);
}

TEST_F(ParcelPort, SendersWaitForRoomAndNothingIsLost) {
  carrier.at_once = false;
  constexpr std::uint32_t bytes = 60000;
  constexpr unsigned tasks = 20, each = 50;  // 60 MB
  constexpr std::uint64_t bound = 5'000'000;
  port.bound_unsent(bound);
  std::uint64_t most = 0;
  rt.run([&] {
    task_group senders;
    for (unsigned t = 0; t < tasks; ++t) senders.run([&] { send(1, first, each, bytes); });
    task_group network;
    network.run([&] {
      std::size_t quiet = 0;
      while (quiet < 100) {
        std::uint64_t now = 0;
        for (const outgoing* m : carrier.under_way) now += m->head.size();
        most = std::max(most, now);
        quiet = carrier.under_way.empty() ? quiet + 1 : 0;
        carrier.finish(5);
        this_thread::sleep_for(microseconds(10));
      }
    });
    senders.wait();
    network.wait();
  });
  EXPECT_EQ(port.counts().parcels_sent, tasks * each);
  EXPECT_EQ(carrier.messages.size(), tasks * each);
  EXPECT_GT(most, bound * 3 / 4);
  EXPECT_LE(most, bound + (tasks + 1) * (bytes + 24));
}

/// Single parcels need more memory than their bytes; the bound applies to the memory.
TEST_F(ParcelPort, MemoryOfSmallMessagesIsBounded) {
  carrier.at_once = false;
  constexpr unsigned parcels = 5000;
  constexpr std::size_t bound = 100'000;
  port.bound_unsent(bound);
  port.collect(0, {.parcels = 1});
  rt.run([&] {
    task_group senders;
    senders.run([&] { send(1, first, parcels, 8); });
    std::size_t most = 0;
    for (unsigned quiet = 0; quiet < 100; quiet = carrier.under_way.empty() ? quiet + 1 : 0) {
      most = std::max(most, carrier.under_way.size());
      EXPECT_LE(port.under_way_bytes(), bound + 512);
      carrier.finish(5);
      this_thread::sleep_for(microseconds(10));
    }
    senders.wait();
    EXPECT_LE(most, bound / message_store::least_bytes);
    EXPECT_GT(most, bound / 512);
  });
  EXPECT_EQ(port.under_way_bytes(), 0u);
  EXPECT_EQ(carrier.messages.size(), parcels);
}

/// A large message is announced while the previous one is in flight, whatever their sizes; a third one waits.
TEST_F(ParcelPort, TwoLargeMessagesMayBeInFlight) {
  struct large final : large_message {
    explicit large(std::size_t size) : data(size) {
      bytes.resize(sizeof(frame_header));
      parts = {{data.data(), size}};
      destroy = [](large_message* m) noexcept { delete static_cast<large*>(m); };
    }
    std::vector<std::byte> data;
  };
  carrier.at_once = false;
  constexpr std::size_t bound = 1000, size = 5000;
  port.bound_unsent(bound);
  rt.run([&] {
    task_group senders;
    senders.run([&] {
      for (int i = 0; i < 4; ++i) {
        port.wait_for_room(1);
        port.send(1, first, *new large(size));
      }
    });
    for (std::size_t sent = 2; sent <= 4; ++sent) {
      this_thread::sleep_for(microseconds(1000));
      EXPECT_EQ(carrier.messages.size(), sent);
      EXPECT_EQ(port.under_way_bytes(), 2 * (size + sizeof(frame_header)));
      carrier.finish(1);
    }
    carrier.finish(1);
    senders.wait();
  });
  EXPECT_EQ(port.under_way_bytes(), 0u);
}

TEST_F(ParcelPort, LossWakesTasksWaitingForRoom) {
  carrier.at_once = false;
  port.bound_unsent(1'000'000);
  rt.run([&] {
    task_group senders;
    senders.run([&] { send(1, first, 2000, 60000); });
    this_thread::sleep_for(microseconds(1000));
    EXPECT_LT(port.counts().parcels_sent, 2000u);
    port.close_peer(1);
    senders.wait();
  });
  EXPECT_EQ(port.counts().parcels_sent, 2000u);
}

TEST_F(ParcelPort, AfterTheEndParcelsAreSentImmediately) {
  port.collect(0, {.parcels = 1000, .interval_us = 1e6});
  rt.run([&] {
    send(1, first, 3);
    port.end();
    EXPECT_EQ(sizes(), (sizes_t{1, 2}));
    send(1, first, 2);
    EXPECT_EQ(sizes(), (sizes_t{1, 2, 1, 1}));
  });
}

}  // namespace
}  // namespace plx::net
