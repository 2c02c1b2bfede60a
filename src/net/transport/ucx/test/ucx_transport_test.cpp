#include "net/transport/ucx/ucx_transport.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/transport/transport.hpp"
#include "net/transport/ucx/test/ucx_transport_test.hpp"

namespace {

using namespace plx;
using namespace plx::net;
using test::keeper, test::message, test::parts_of, test::pattern, test::progress_until, test::with_transports,
    test::UcxTransport;

TEST_F(UcxTransport, HeadsArriveCompleteAndOnce) {
  test::table t(3);
  std::vector<std::size_t> sizes{0, 1, 7, 8, 100, 1000, 8000, 8192, 9000, 65536, 256 << 10};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    EXPECT_EQ(carrier.max_head_bytes(), sizes.back());
    std::deque<message> out;
    for (const std::size_t n : sizes)
      for (locality_id to = 0; to < 3; ++to)
        if (to != b.here()) carrier.send(to, out.emplace_back(pattern(n, b.here())));
    EXPECT_TRUE(progress_until(carrier, [&] { return k.heads.size() == 2 * sizes.size() && !carrier.pending(); }));
    for (const auto& m : out) EXPECT_EQ(m.good, 1);
    EXPECT_EQ(carrier.near().sent, 2 * 4) << "of 1, 7, 8 and 100 bytes";
    EXPECT_EQ(carrier.near().received, 2 * 4);
    for (locality_id from = 0; from < 3; ++from) {
      std::multiset<std::vector<std::byte>> expected, found;
      if (from != b.here())
        for (const std::size_t n : sizes) expected.insert(pattern(n, from));
      for (auto [i, end] = k.heads.equal_range(from); i != end; ++i) found.insert(i->second);
      EXPECT_TRUE(expected == found) << from;
    }
  });
}

TEST_F(UcxTransport, PiecesArriveInTheReceiversMemory) {
  test::table t(2);
  const std::vector<std::vector<std::size_t>> messages{
      {4096}, {1}, {0}, {1 << 20}, {5 << 20, 3}, {4096, 0, 100'000, 1, 2 << 20}, std::vector<std::size_t>(100, 5000)};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    std::deque<message> out;
    for (const auto& sizes : messages)
      for (const std::size_t head : {std::size_t{8}, carrier.max_head_bytes()})
        carrier.send(1 - b.here(), out.emplace_back(pattern(head, 77), parts_of(sizes)));
    EXPECT_TRUE(progress_until(carrier, [&] { return k.whole.size() == out.size() && !carrier.pending(); }));
    EXPECT_TRUE(k.failed.empty());
    std::multiset<std::pair<std::vector<std::byte>, std::vector<std::vector<std::byte>>>> expected, found;
    for (const auto& m : out) {
      EXPECT_EQ(m.good, 1);
      expected.emplace(m.bytes, m.parts);
    }
    for (const auto& c : k.whole) found.emplace(c->head, c->pieces);
    EXPECT_TRUE(expected == found);
  });
}

TEST_F(UcxTransport, RefusedMessagesCountAsSent) {
  test::table t(2);
  std::atomic<int> done{0};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    k.refuses = true;
    std::deque<message> out;
    if (b.here() == 0)
      for (const std::size_t n : {std::size_t{4096}, std::size_t{3} << 20}) {
        carrier.send(1, out.emplace_back(pattern(8, 0), parts_of({n})));
        carrier.send(1, out.emplace_back(pattern(8, 0), parts_of({n, n})));
      }
    EXPECT_TRUE(progress_until(carrier, [&] { return b.here() == 0 ? !carrier.pending() : k.refusals == 4; }));
    for (const auto& m : out) EXPECT_EQ(m.good, 1);
    ++done;
    EXPECT_TRUE(progress_until(carrier, [&] { return done == 2; }));
    EXPECT_TRUE(k.whole.empty() && k.failed.empty());
  });
}

TEST_F(UcxTransport, MessagesWaitUntilTheReceiverHasRoom) {
  test::table t(2);
  const std::vector<std::vector<std::size_t>> messages{{3 << 20}, {5000, 2 << 20}, {4096}, {1 << 20}};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    std::deque<message> out;
    k.has_space = false;
    for (const auto& sizes : messages)
      carrier.send(1 - b.here(), out.emplace_back(pattern(100, static_cast<unsigned>(out.size())), parts_of(sizes)));
    message head(pattern(100, 77));
    carrier.send(1 - b.here(), head);
    EXPECT_TRUE(progress_until(carrier, [&] { return k.questions > 100 && !k.heads.empty(); }));
    EXPECT_TRUE(carrier.pending());
    EXPECT_TRUE(k.whole.empty());
    k.has_space = true;
    EXPECT_TRUE(progress_until(carrier, [&] { return k.whole.size() == out.size() && !carrier.pending(); }));
    std::multiset<std::vector<std::vector<std::byte>>> expected, found;
    for (const auto& m : out) expected.insert(m.parts);
    for (const auto& c : k.whole) found.insert(c->pieces);
    EXPECT_TRUE(expected == found);
  });
}

TEST_F(UcxTransport, ManyThreadsMaySend) {
  test::table t(2);
  constexpr unsigned threads = 3, each = 2000;
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    std::vector<std::deque<message>> out(threads);
    std::vector<std::thread> senders;
    for (unsigned i = 0; i < threads; ++i)
      senders.emplace_back([&, i] {
        for (unsigned n = 0; n < each; ++n) carrier.send(1 - b.here(), out[i].emplace_back(pattern(24, i * each + n)));
      });
    EXPECT_TRUE(progress_until(carrier, [&] { return k.heads.size() == threads * each; }));
    for (auto& s : senders) s.join();
    EXPECT_TRUE(progress_until(carrier, [&] { return !carrier.pending(); }));
    std::multiset<std::vector<std::byte>> expected, found;
    for (const auto& mine : out)
      for (const auto& m : mine) {
        EXPECT_EQ(m.good, 1);
        expected.insert(m.bytes);
      }
    for (const auto& [from, head] : k.heads) found.insert(head);
    EXPECT_TRUE(expected == found);
  });
}

TEST_F(UcxTransport, TheReceiverMaySend) {
  test::table t(2);
  struct answering final : test::heads_only {
    transport* carrier = nullptr;
    std::deque<message> out;
    unsigned left = 1000;
    void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
      if (left == 0) return;
      --left;
      carrier->send(from, out.emplace_back(std::vector(head.begin(), head.end())));
    }
  };
  test::as_localities(t, [&](bootstrap& b) {
    auto carrier = find_transport("ucx", b, 300).value();
    answering a;
    a.carrier = carrier.get();
    carrier->start(a);
    message first(pattern(16, 1));
    if (b.here() == 0) carrier->send(1, first);
    EXPECT_TRUE(progress_until(*carrier, [&] { return a.left == 0; }));
    EXPECT_TRUE(carrier->stop(300));
    for (const auto& m : a.out) EXPECT_EQ(m.good, 1);
  });
}

// A message that drops the last reference to a window arrives while this thread holds the lock of the transport.
TEST_F(UcxTransport, TheReceiverMayReleaseMemory) {
  test::table t(2);
  struct releasing final : test::heads_only {
    remote_memory* memory = nullptr;
    void *exported = nullptr, *key = nullptr;
    bool done = false;
    void arrived(locality_id, std::span<const std::byte>) noexcept override {
      if (key != nullptr) memory->detach(key);
      memory->destroy(exported);
      done = true;
    }
  };
  test::as_localities(t, [&](bootstrap& b) {
    auto carrier = find_transport("ucx", b, 300).value();
    releasing r;
    r.memory = carrier->memory();
    ASSERT_NE(r.memory, nullptr);
    const auto made = r.memory->create(100'000);
    ASSERT_TRUE(made) << made.error().message;
    const auto* bytes = static_cast<const unsigned char*>(made->data);
    EXPECT_TRUE(std::all_of(bytes, bytes + 100'000, [](unsigned char x) { return x == 0; }));
    r.exported = made->handle;
    if (const auto here = r.memory->attach(b.here(), made->key)) r.key = here->key;  // if UCX has direct access
    carrier->start(r);
    message m(pattern(16, 1));
    carrier->send(1 - b.here(), m);
    EXPECT_TRUE(progress_until(*carrier, [&] { return r.done; }));
    EXPECT_TRUE(carrier->stop(300));
    EXPECT_EQ(m.good, 1);
  });
}

TEST_F(UcxTransport, NothingIsSentAfterStop) {
  test::table t(2);
  test::as_localities(t, [&](bootstrap& b) {
    auto carrier = find_transport("ucx", b, 300).value();
    keeper k;
    carrier->start(k);
    EXPECT_TRUE(carrier->stop(300));
    message late(pattern(8, 0), parts_of({10'000}));
    carrier->send(1 - b.here(), late);
    EXPECT_EQ(late.bad, 1);
    EXPECT_FALSE(carrier->pending());
  });
}

// The descriptor becomes readable when a message arrives and when a loss is detected.
TEST_F(UcxTransport, WakesASleepingThread) {
  test::table t(2);
  std::atomic<int> asleep{0};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    ASSERT_GE(carrier.wake_fd(), 0);
    message m(pattern(16, 1));
    if (b.here() == 1) {
      while (asleep == 0) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      carrier.send(0, m);
      return;
    }
    for (const double until = monotonic_seconds() + 300; k.heads.empty() && monotonic_seconds() < until;) {
      while (carrier.progress()) {
      }
      if (!carrier.arm()) continue;
      ++asleep;
      pollfd fd{carrier.wake_fd(), POLLIN, 0};
      EXPECT_EQ(poll(&fd, 1, 300'000), 1);
    }
    EXPECT_EQ(k.heads.size(), 1u);
    EXPECT_LT(asleep, 50);  // few spurious wake-ups
  });
}

/// A UCX worker that belongs to no job.
class stranger {
 public:
  explicit stranger(const std::string& address) : ucx_(**net::detail::load_ucx()) {
    ucp_params_t context{};
    context.field_mask = UCP_PARAM_FIELD_FEATURES;
    context.features = UCP_FEATURE_AM;
    EXPECT_EQ(ucx_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &context, nullptr, &context_), UCS_OK);
    ucp_worker_params_t worker{};
    EXPECT_EQ(ucx_.worker_create(context_, &worker, &worker_), UCS_OK);
    ucp_ep_params_t how{};
    how.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    how.address = reinterpret_cast<const ucp_address_t*>(address.data());
    EXPECT_EQ(ucx_.ep_create(worker_, &how, &endpoint_), UCS_OK);
  }
  ~stranger() {
    ucx_.worker_destroy(worker_);
    ucx_.cleanup(context_);
  }
  void send(unsigned id, std::span<const std::byte> header, std::span<const std::byte> data) {
    ucp_request_param_t how{};
    const auto request = ucx_.am_send_nbx(endpoint_, id, header.data(), header.size(), data.data(), data.size(), &how);
    ASSERT_FALSE(UCS_PTR_IS_ERR(request));
    while (UCS_PTR_IS_PTR(request) && ucx_.request_check_status(request) == UCS_INPROGRESS)
      ucx_.worker_progress(worker_);
    if (UCS_PTR_IS_PTR(request)) ucx_.request_free(request);
  }

 private:
  const net::detail::ucx_library& ucx_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
};

TEST_F(UcxTransport, UnsignedMessagesAreRefusedAndCounted) {
  test::table t(2);
  std::atomic<bool> strange{false};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    if (b.here() == 1) {
      std::string_view line = t.sent[1][0];  // of locality 0, in the second exchange
      stranger s(std::string(*net::detail::take_field(line)));
      for (unsigned id = net::detail::ucx_head; id <= net::detail::ucx_probe; ++id) {
        s.send(id, {}, {});
        s.send(id, pattern(3, id), pattern(8, id));
        s.send(id, pattern(100, id), pattern(5000, id));
        net::detail::ucx_signature forged{0x1234, 1, 0};
        s.send(id, std::as_bytes(std::span(&forged, 1)), pattern(16, id));
      }
      strange = true;
    }
    EXPECT_TRUE(progress_until(carrier, [&] { return strange && (b.here() == 1 || carrier.refused() >= 20); }));
    EXPECT_EQ(carrier.refused(), b.here() == 0 ? 20u : 0u);
    message m(pattern(16, 1));
    carrier.send(1 - b.here(), m);
    EXPECT_TRUE(progress_until(carrier, [&] { return k.heads.size() == 1 && m.good == 1; }));
    EXPECT_TRUE(k.whole.empty() && k.failed.empty() && k.losses.empty());
  });
}

}  // namespace
