#include "net/transport/shm_segment.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace {

using namespace plx::net::detail;

struct memory {
  explicit memory(std::size_t n) : lines(n) {}
  shm_ring ring() { return {&taken, lines}; }
  std::atomic<std::uint64_t> taken{0};
  std::vector<shm_line> lines;
};

std::vector<std::byte> text(std::size_t n, std::uint64_t seed) {
  std::vector<std::byte> t(n);
  for (std::size_t i = 0; i < n; ++i) t[i] = static_cast<std::byte>(seed * 31 + i * 7);
  return t;
}
bool put(shm_writer& w, const std::vector<std::byte>& t) {
  const auto all = std::span<const std::byte>(t);
  const std::size_t first = std::min<std::size_t>(t.size(), 24);
  return w.put(all.first(first), all.subspan(first));
}
std::vector<std::byte> get(shm_reader& r) {
  std::array<std::byte, most_shm_bytes> into;
  std::size_t bytes = 0;
  return r.next(into, bytes) == shm_reader::found::message
             ? std::vector<std::byte>(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(bytes))
             : std::vector<std::byte>();
}

TEST(ShmRing, MessagesOfAllSizesArriveIntactAndInOrder) {
  memory m(16);
  shm_writer w(m.ring());
  shm_reader r(m.ring());
  EXPECT_FALSE(r.any());
  for (std::size_t turn = 0; turn < 3; ++turn)  // many laps of the 16 lines
    for (std::size_t n = 1; n <= most_shm_bytes; ++n) {
      ASSERT_TRUE(put(w, text(n, n))) << n;
      EXPECT_TRUE(r.any());
      ASSERT_EQ(get(r), text(n, n)) << n;
      ASSERT_FALSE(r.any());
      ASSERT_TRUE(get(r).empty());
    }
}

TEST(ShmRing, PutFailsWhenFull) {
  memory m(16);
  shm_writer w(m.ring());
  shm_reader r(m.ring());
  std::mt19937_64 random(1);
  std::uint64_t written = 0, read = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 3 != 0) {
      put(w, text(1 + written % most_shm_bytes, written)) ? ++written : ++refused;
    } else if (read < written) {
      ASSERT_EQ(get(r), text(1 + read % most_shm_bytes, read));
      ++read;
    } else {
      ASSERT_FALSE(r.any());
    }
  }
  for (; read < written; ++read) ASSERT_EQ(get(r), text(1 + read % most_shm_bytes, read));
  EXPECT_FALSE(r.any());
  EXPECT_GT(refused, 100u);
  EXPECT_GT(written, 1000u);
}

TEST(ShmRing, LinesWhoseNumberExceedsAStampAreFound) {
  memory m(16);
  const std::uint64_t first = (std::uint64_t{1} << (64 - shm_ring::size_bits)) - 20;
  shm_writer w(m.ring(), first);
  shm_reader r(m.ring(), first);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_FALSE(r.any()) << i;
    ASSERT_TRUE(put(w, text(8, i))) << i;
    EXPECT_TRUE(r.any()) << i;
    ASSERT_EQ(get(r), text(8, i)) << i;
  }
}

TEST(ShmRing, OnlyRawMessagesAreTakenOnRequest) {
  memory m(16);
  shm_writer w(m.ring());
  shm_reader r(m.ring());
  std::array<std::byte, most_shm_bytes> into;
  std::size_t n = 0;
  const std::vector<std::byte> t = text(60, 1);
  for (const bool raw : {true, false, true}) ASSERT_TRUE(w.put(std::span(t).first(8), std::span(t).subspan(8), raw));
  EXPECT_EQ(r.next(into, n, true), shm_reader::found::raw_message);
  EXPECT_EQ(n, t.size());
  EXPECT_EQ(r.next(into, n, true), shm_reader::found::nothing);
  EXPECT_TRUE(r.any());
  EXPECT_EQ(r.next(into, n), shm_reader::found::message);
  EXPECT_EQ(r.next(into, n, true), shm_reader::found::raw_message);
  EXPECT_FALSE(r.any());
}

TEST(ShmRing, TwoThreadsNeedNoLock) {
  memory m(32);
  constexpr std::uint64_t all = 30'000;
  std::thread writer([&] {
    shm_writer w(m.ring());
    for (std::uint64_t i = 0; i < all;) put(w, text(1 + i % 200, i)) ? ++i : (std::this_thread::yield(), i);
  });
  shm_reader r(m.ring());
  for (std::uint64_t i = 0; i < all;) {
    const auto t = get(r);
    if (t.empty()) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(t, text(1 + i % 200, i)) << i;
    ++i;
  }
  writer.join();
}

// Data from the other process are checked before use.
TEST(ShmRing, InvalidSizesAreDetected) {
  for (const std::size_t bytes : {std::size_t{0}, most_shm_bytes + 1, std::size_t{65'535}}) {
    memory m(16);
    shm_reader r(m.ring());
    m.lines[0].stamp = shm_ring::stamp(0, bytes);
    std::array<std::byte, most_shm_bytes> into;
    std::size_t n = 0;
    EXPECT_EQ(r.next(into, n), shm_reader::found::invalid) << bytes;
  }
  memory m(16);
  shm_reader r(m.ring());
  m.lines[0].stamp = shm_ring::stamp(16, 8);  // from another lap
  EXPECT_FALSE(r.any());
}

TEST(ShmRing, InvalidReaderPositionGivesNoRoom) {
  memory m(16);
  shm_writer w(m.ring());
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(put(w, text(8, 1)));
  for (const std::uint64_t claim : {std::uint64_t{0}, std::uint64_t{17}, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    m.taken = claim;
    EXPECT_FALSE(put(w, text(8, 1))) << claim;
  }
  m.taken = 16;
  EXPECT_TRUE(put(w, text(8, 1)));
  m.taken = 3;  // and backwards
  for (int i = 0; i < 15; ++i) ASSERT_TRUE(put(w, text(8, 1)));
  EXPECT_FALSE(put(w, text(8, 1)));
}

}  // namespace
