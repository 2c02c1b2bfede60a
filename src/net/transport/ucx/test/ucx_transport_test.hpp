// Localities as threads of one process, each with a UCX worker, for tests of the transport. tests/net/ tests separate
// processes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/test/table_bootstrap_test.hpp"
#include "net/transport/transport.hpp"
#include "net/transport/ucx/ucx_transport.hpp"

namespace plx::net::test {

class UcxTransport : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto l = net::detail::load_ucx(); !l) GTEST_SKIP() << l.error().message;
#ifdef PLX_TSAN
    GTEST_SKIP() << "ThreadSanitizer does not see the synchronization in UCX's queues";
#endif
  }
};

inline std::vector<std::byte> pattern(std::size_t n, unsigned seed) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>((i * 2654435761u + seed) >> 7);
  return bytes;
}

inline std::vector<std::vector<std::byte>> parts_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<std::byte>> parts;
  for (const std::size_t n : sizes) parts.push_back(pattern(n, static_cast<unsigned>(parts.size())));
  return parts;
}

/// Stores all messages that arrive.
struct keeper final : receiver {
  struct coming {
    std::vector<std::byte> head;
    std::vector<std::vector<std::byte>> pieces;
  };
  std::multimap<locality_id, std::vector<std::byte>> heads;
  std::vector<std::unique_ptr<coming>> whole, failed;
  std::vector<void*> given_up;  // their memory stays valid
  std::vector<std::pair<locality_id, std::string>> losses;
  bool refuses = false, has_space = true;
  unsigned refusals = 0, questions = 0;
  std::size_t heads_before_loss = 0, raw = 0;

  void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
    heads.emplace(from, std::vector(head.begin(), head.end()));
  }
  void raw_arrived(locality_id, std::span<const std::byte>) noexcept override { ++raw; }
  bool has_room(std::span<const std::byte>, std::uint64_t, bool others_wait) noexcept override {
    ++questions;
    return has_space && !others_wait;
  }
  void* announced(locality_id, std::span<const std::byte> head, std::span<place> places) noexcept override {
    if (refuses) return ++refusals, nullptr;
    auto c = std::make_unique<coming>();
    c->head.assign(head.begin(), head.end());
    for (place& p : places) c->pieces.emplace_back(p.size_bytes);
    for (std::size_t i = 0; i < places.size(); ++i) places[i].data = c->pieces[i].data();
    return c.release();
  }
  void pieces_arrived(locality_id, void* announced, bool ok) noexcept override {
    (ok ? whole : failed).emplace_back(static_cast<coming*>(announced));
  }
  void pieces_lost(locality_id, void* announced) noexcept override { given_up.push_back(announced); }
  void lost(locality_id peer, std::string_view why) noexcept override {
    losses.emplace_back(peer, why);
    heads_before_loss = heads.size();
  }
};

/// Refuses messages with pieces, and ignores losses.
struct heads_only : receiver {
  void* announced(locality_id, std::span<const std::byte>, std::span<place>) noexcept override { return nullptr; }
  void pieces_arrived(locality_id, void*, bool) noexcept override {}
  void pieces_lost(locality_id, void*) noexcept override {}
  void lost(locality_id, std::string_view) noexcept override {}
};

struct message : outgoing {
  std::vector<std::byte> bytes;
  std::vector<std::vector<std::byte>> parts;
  std::vector<piece> names;
  std::atomic<int> good{0}, bad{0};

  explicit message(std::vector<std::byte> head_bytes, std::vector<std::vector<std::byte>> all = {})
      : bytes(std::move(head_bytes)), parts(std::move(all)) {
    head = bytes;
    for (const auto& p : parts) names.push_back({p.data(), p.size()});
    pieces = names;
    sent = [](outgoing* o, bool ok) noexcept {
      ++(ok ? static_cast<message*>(o)->good : static_cast<message*>(o)->bad);
    };
  }
};

template <class F>
bool progress_until(transport& t, F done, double limit_s = 300) {
  for (const double until = monotonic_seconds() + limit_s; !done();) {
    if (!t.progress()) std::this_thread::yield();
    if (monotonic_seconds() > until) return false;
  }
  return true;
}

/// Calls f(transport, bootstrap, keeper) on each of n localities; then all stop.
template <class F>
void with_transports(table& t, F f) {
  as_localities(t, [&](bootstrap& b) {
    auto made = find_transport("ucx", b, 300);
    ASSERT_TRUE(made) << made.error().message;
    keeper k;
    (*made)->start(k);
    f(**made, b, k);
    EXPECT_TRUE((*made)->stop(300));
    EXPECT_FALSE((*made)->pending());
    made->reset();
  });
}

}  // namespace plx::net::test
