// Localities that end while messages to or from them are in progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "net/start/job_info.hpp"
#include "net/transport/ucx/test/ucx_transport_test.hpp"

namespace {

using namespace plx;
using namespace plx::net;
using test::keeper, test::message, test::parts_of, test::pattern, test::progress_until, test::UcxTransport;
using testing::ElementsAre;

TEST_F(UcxTransport, MessagesThatWaitAreDroppedWithTheirSender) {
  test::table t(2);
  std::atomic<bool> waits{false};
  test::as_localities(t, [&](bootstrap& b) {
    auto carrier = find_transport("ucx", b, 300).value();
    keeper k;
    k.has_space = false;
    carrier->start(k);
    message one(pattern(16, 1), parts_of({3 << 20})), many(pattern(16, 1), parts_of({5000, 2 << 20}));
    if (b.here() == 1) {
      carrier->send(0, one);
      carrier->send(0, many);
      EXPECT_TRUE(progress_until(*carrier, [&] { return waits.load(); }));
      return;
    }
    EXPECT_TRUE(progress_until(*carrier, [&] { return k.questions > 100; }));
    waits = true;
    EXPECT_TRUE(progress_until(*carrier, [&] { return !k.losses.empty(); }));
    k.has_space = true;
    EXPECT_TRUE(progress_until(*carrier, [&] { return !carrier->pending(); }));
    EXPECT_TRUE(carrier->stop(300));
    EXPECT_TRUE(k.whole.empty() && k.failed.empty());
  });
}

TEST_F(UcxTransport, AProcessThatEndsSilentlyIsLostToAll) {
  test::table t(3);
  test::as_localities(t, [&](bootstrap& b) {
    auto carrier = find_transport("ucx", b, 300).value();
    keeper k;
    carrier->start(k);
    static_cast<void>(b.exchange("", 300));  // all have started
    message before(pattern(16, 1)), after(pattern(16, 1));
    carrier->send((b.here() + 1) % 3, before);
    EXPECT_TRUE(progress_until(*carrier, [&] { return k.heads.size() == 1 && before.good == 1; }));
    if (b.here() == 1) return;
    EXPECT_TRUE(progress_until(*carrier, [&] { return !k.losses.empty(); }));
    carrier->send(1, after);
    EXPECT_EQ(after.bad, 1);
    EXPECT_TRUE(carrier->stop(300));
    EXPECT_THAT(k.losses, ElementsAre(testing::Pair(1u, "its process has ended")));
  });
}

/// A UCX whose sends and receives of pieces complete only when end_all() is called.
class slow_ucx {
 public:
  slow_ucx() : library(**net::detail::load_ucx()) {
    real_ = library;
    now_ = this;
    library.am_recv_data_nbx = [](ucp_worker_h, void*, void*, std::size_t, const ucp_request_param_t* how) {
      now_->receives_.push_back({how->cb.recv_am, how->user_data});
      return static_cast<ucs_status_ptr_t>(now_);
    };
    library.am_send_nbx = [](ucp_ep_h endpoint, unsigned id, const void* header, std::size_t header_bytes,
                             const void* data, std::size_t bytes, const ucp_request_param_t* how) {
      if (!now_->holds_sends || bytes < 4096)
        return now_->real_.am_send_nbx(endpoint, id, header, header_bytes, data, bytes, how);
      now_->sends_.push_back({how->cb.send, how->user_data});
      return static_cast<ucs_status_ptr_t>(now_);
    };
    library.request_free = [](void* request) {
      if (request != now_) now_->real_.request_free(request);
    };
  }
  void end_all() {
    for (const auto& r : std::exchange(receives_, {})) r.call(this, UCS_ERR_CANCELED, 0, r.of);
    for (const auto& s : std::exchange(sends_, {})) s.call(this, UCS_ERR_CANCELED, s.of);
  }
  std::size_t receives() const { return receives_.size(); }
  std::size_t sends() const { return sends_.size(); }

  net::detail::ucx_library library;
  bool holds_sends = false;

 private:
  struct receive {
    ucp_am_recv_data_nbx_callback_t call;
    void* of;
  };
  struct sending {
    ucp_send_nbx_callback_t call;
    void* of;
  };
  static inline slow_ucx* now_ = nullptr;
  net::detail::ucx_library real_;
  std::vector<receive> receives_;
  std::vector<sending> sends_;
};

/// Locality 1 dies during the transfer of a large piece from it or to it. `at_end` is called on locality 0 when it has
/// detected the loss.
template <class F>
void while_a_piece_is_under_way(bool to_the_dead, F at_end) {
  slow_ucx slow;  // at locality 0
  slow.holds_sends = to_the_dead;
  test::table t(2);
  std::atomic<bool> under_way{false};
  test::as_localities(t, [&](bootstrap& b) {
    keeper k;
    message m(pattern(16, 1), parts_of({3 << 20}));
    net::detail::ucx_transport carrier(b.here() == 0 ? slow.library : **net::detail::load_ucx(), 2);
    ASSERT_TRUE(carrier.open(b, net::detail::exchange_job_info(b, "", 300).value(), 300));
    carrier.start(k);
    message hello(pattern(16, 1));
    carrier.send(1 - b.here(), hello);
    EXPECT_TRUE(progress_until(carrier, [&] { return k.heads.size() == 1 && hello.good == 1; }));
    if ((b.here() == 0) == to_the_dead) carrier.send(1 - b.here(), m);
    if (b.here() == 0) {
      EXPECT_TRUE(progress_until(carrier, [&] { return slow.receives() + slow.sends() == 1; }));
      under_way = true;
      EXPECT_TRUE(progress_until(carrier, [&] { return !k.losses.empty(); }));
      EXPECT_FALSE(carrier.pending());
      at_end(carrier, k, m, slow);
    } else {
      EXPECT_TRUE(progress_until(carrier, [&] { return under_way.load(); }));
    }
  });
}

TEST_F(UcxTransport, ReceiveMemoryIsKeptUntilUcxHasFinished) {
  for (const bool stops : {false, true})
    while_a_piece_is_under_way(false, [&](transport& carrier, keeper& k, message&, slow_ucx& slow) {
      EXPECT_EQ(k.given_up.size(), 1u);
      EXPECT_TRUE(k.failed.empty());
      if (!stops) slow.end_all();
      EXPECT_TRUE(!stops || carrier.stop(300));
      EXPECT_EQ(k.failed.size(), 1u);
      EXPECT_TRUE(k.whole.empty());
      EXPECT_TRUE(stops || carrier.stop(300));
      EXPECT_EQ(k.failed.size(), 1u);
    });
}

TEST_F(UcxTransport, SendMemoryIsKeptUntilUcxHasFinished) {
  for (const bool stops : {false, true})
    while_a_piece_is_under_way(true, [&](transport& carrier, keeper&, message& m, slow_ucx& slow) {
      EXPECT_EQ(m.good + m.bad, 0);
      if (!stops) slow.end_all();
      EXPECT_TRUE(!stops || carrier.stop(300));
      EXPECT_EQ(m.bad, 1);
      EXPECT_TRUE(stops || carrier.stop(300));
      EXPECT_EQ(m.good + m.bad, 1);
    });
}

}  // namespace
