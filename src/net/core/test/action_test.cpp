#include "net/action.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>

#include "base/test/timeout_test.hpp"
#include "net/archive.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/start/termination.hpp"
#include "net/test/threads_test.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using namespace plx;

int twice(int x) { return 2 * x; }
locality_id where() { return find_here(); }
std::string joined(const std::vector<std::string>& words, char by) {
  std::string all;
  for (const auto& w : words) all += w + by;
  return all;
}
double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
buffer<int> doubled(buffer<int> b) {
  for (int& i : b) i *= 2;
  return b;
}
std::vector<std::string> many_words(std::size_t n) { return std::vector<std::string>(n, "word"); }
std::vector<double> many_values(std::size_t n) { return std::vector<double>(n, 1); }
void fails(const std::string& text) { throw std::invalid_argument(text); }
void says_nothing() {}
double half(double x) { return x / 2; }
future<int> later(int x) {
  return async([x] { return x + 1; });
}
int there_and_back(locality_id back, int depth) {
  if (depth == 0) return 0;
  return 1 + async<&there_and_back>(back, find_here(), depth - 1).get();
}
std::atomic<int> posted{0};
void count_up(int n) { posted += n; }
int overloaded(int x) { return x; }
int overloaded(double) { return -1; }
void throws_loss(locality_id which) { throw locality_lost(which, "it was here a moment ago"); }
std::atomic<bool> loss_was_seen{false};
int waits_for_the_loss() {
  EXPECT_TRUE(
      comes_true([] { return loss_was_seen.load(); }, [] { this_thread::sleep_for(std::chrono::milliseconds(1)); }));
  return 0;
}

TEST(Action, ReturnsItsResult) {
  net::test::localities all(2);
  all.run(0, [] {
    EXPECT_EQ(find_here(), 0u);
    EXPECT_EQ(async<&twice>(1, 21).get(), 42);
    EXPECT_EQ(async<&where>(1).get(), 1u);
    EXPECT_EQ(async<&where>(0).get(), 0u);
    EXPECT_EQ(async<&half>(1, 3).get(), 1.5);  // the int travels as a double
    async<&says_nothing>(1).get();
    EXPECT_EQ(async<static_cast<int (*)(int)>(overloaded)>(1, 3).get(), 3);
    EXPECT_EQ(async<static_cast<int (*)(double)>(overloaded)>(1, 3).get(), -1);
  });
}

TEST(Action, LargeDataTravelInPieces) {
  net::test::localities all(2);
  all.run(0, [] {
    std::vector<double> values(100'000);
    std::iota(values.begin(), values.end(), 0.0);
    EXPECT_EQ(async<&sum_of>(1, values).get(), 99'999 * 50'000.0);
    buffer<int> b(5000);
    std::iota(b.begin(), b.end(), 0);
    const buffer<int> back = async<&doubled>(1, b).get();
    ASSERT_EQ(back.size(), 5000u);
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(back[i], 2 * i);
    EXPECT_EQ(b[1], 1);  // the receiver changed its own copy
  });
}

TEST(Action, AHeadThatIsTooLongTravelsAsAPiece) {
  net::test::localities all(2);
  all.run(0, [] {
    const std::vector<std::string> words(5000, "abc");
    EXPECT_EQ(async<&joined>(1, words, ' ').get().size(), 20'000u);
    EXPECT_EQ(async<&many_words>(1, 4000).get().size(), 4000u);
  });
}

// The caller learns of data that cannot be received although both localities live, and the job can end.
TEST(Action, ACallOrResultThatCannotBeReceivedFails) {
  using fate = net::test::queue_network::piece_fate;
  for (const fate f : {fate::fail, fate::announced_too_large}) {
    net::test::localities all(2);
    all.run(0, [&] {
      const std::vector<double> values(100'000, 1.0);
      const std::vector<std::string> words(5000, "abc");  // sent as a single piece
      all.network().pieces = f;
      EXPECT_THROW(async<&sum_of>(1, values).get(), remote_error);
      EXPECT_THROW(async<&joined>(1, words, ' ').get(), remote_error);
      if (f == fate::fail) {
        EXPECT_THROW(async<&many_words>(1, 4000).get(), locality_lost);
        EXPECT_THROW(async<&many_values>(1, 4000).get(), locality_lost);
      } else {
        EXPECT_THROW(async<&many_words>(1, 4000).get(), remote_error);
        EXPECT_THROW(async<&many_values>(1, 4000).get(), remote_error);
      }
      post<&sum_of>(1, values);
      post<&joined>(1, words, ' ');
      all.network().pieces = fate::arrive;
      EXPECT_EQ(async<&many_words>(1, 4000).get().size(), 4000u);
    });
    EXPECT_EQ(all.at(0).replies().size(), 0u);
  }
}

TEST(Action, RemoteExceptionsAreRethrown) {
  net::test::localities all(2);
  all.run(0, [] {
    try {
      async<&fails>(1, "no such block").get();
      FAIL();
    } catch (const remote_error& e) {
      EXPECT_EQ(e.where(), 1u);
      EXPECT_STREQ(e.what(), "on locality 1: no such block");
    }
    EXPECT_THROW(async<&fails>(0, "x").get(), std::invalid_argument);
  });
}

TEST(Action, AReturnedFutureIsAwaited) {
  net::test::localities all(2);
  all.run(0, [] {
    EXPECT_EQ(async<&later>(1, 1).get(), 2);
    EXPECT_EQ(async<&later>(0, 1).get(), 2);
  });
}

TEST(Action, CallsCanCallBack) {
  net::test::localities all(2, 1);
  all.run(0, [] { EXPECT_EQ(there_and_back(1, 20), 20); });
}

TEST(Action, ManyConcurrentCallsFromAllLocalities) {
  net::test::localities all(3);
  posted = 0;
  all.run_all([] {
    std::vector<future<int>> results;
    for (int i = 0; i < 2000; ++i)
      for (const locality_id to : find_remote_localities()) {
        results.push_back(async<&twice>(to, i));
        post<&count_up>(to, 1);
      }
    long sum = 0;
    for (auto& r : results) sum += r.get();
    EXPECT_EQ(sum, 2L * 2 * 1999 * 1000);
  });
  EXPECT_EQ(posted, 3 * 2 * 2000);
  const auto counts = all.at(0).port().counts();
  EXPECT_EQ(all.at(0).port().counts_of(0).parcels, 3u * 2 * 2000);  // calls, posts, answers
  EXPECT_EQ(counts.parcels_received, counts.parcels_sent);          // with returned credits
  EXPECT_EQ(counts.refused, 0u);
}

TEST(Action, FuturesOfALostLocalityFail) {
  net::test::localities all(2);
  all.run(0, [&all] {
    loss_was_seen = false;
    auto pending = async<&waits_for_the_loss>(1);
    all.lose(1);
    try {
      pending.get();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_EQ(e.which(), 1u);
    }
    loss_was_seen = true;
    EXPECT_THROW(async<&twice>(1, 1).get(), locality_lost);
    post<&count_up>(1, 1);  // is dropped
    EXPECT_EQ(find_all_localities(), std::vector<locality_id>{0});
    EXPECT_TRUE(find_remote_localities().empty());
    EXPECT_EQ(locality_count(), 2u);
  });
}

/// Counts the losses that it is notified of.
struct loss_counter final : net::service {
  explicit loss_counter(net::node&) {}
  void peer_lost(locality_id which) override {
    EXPECT_EQ(which, 1u);
    ++losses;
  }
  std::atomic<int> losses{0};
};

TEST(Action, AServiceCreatedAfterALossIsNotifiedOfIt) {
  net::test::localities all(3);
  all.lose(1);
  all.settle();
  all.run(0, [] { net::node_here().get<loss_counter>(); });
  EXPECT_EQ(all.at(0).get<loss_counter>().losses, 1);
}

TEST(Action, AServiceCreatedDuringALossIsNotifiedOnce) {
  for (int i = 0; i < 20; ++i) {
    net::test::localities all(3);
    all.run(0, [&all] {
      all.lose(1);
      for (int yields = 0; yields < 3; ++yields) this_thread::yield();
      net::node_here().get<loss_counter>();
    });
    // The reported loss reaches the services one after another, later than the transport's report.
    const auto notified = [&all] { return all.at(0).get<loss_counter>().losses != 0; };
    EXPECT_TRUE(comes_true(notified));
    EXPECT_EQ(all.at(0).get<loss_counter>().losses, 1);
  }
}

// The first loss is passed on with the exception, also over several localities.
void throws_consequence(locality_id which, locality_id first) {
  throw locality_lost(which, locality_lost(first, "its process has ended"));
}
TEST(Action, TheFirstLossIsPassedOn) {
  net::test::localities all(4);
  all.run(0, [] {
    try {
      async<&throws_consequence>(1, 2u, 3u).get();
      FAIL();
    } catch (const locality_lost& e) {
      EXPECT_STREQ(e.what(), "locality 2 is lost: it failed: locality 3 is lost: its process has ended");
      EXPECT_EQ(e.which(), 2u);
      EXPECT_STREQ(e.first().what(), "locality 3 is lost: its process has ended");
    }
  });
}

// A call that failed because of a lost third locality reports that loss to its caller.
TEST(Action, ALossIsPassedOn) {
  net::test::localities all(3);
  all.run(0, [] {
    try {
      async<&throws_loss>(1, 2u).get();
      FAIL();
    } catch (const locality_lost& e) {
      EXPECT_EQ(e.which(), 2u);
      EXPECT_EQ(e.why(), "it was here a moment ago");
    }
  });
}

TEST(Action, NoiseIsRefusedAndCounted) {
  net::test::localities all(2);
  const std::string noise = "not a valid frame, and not part of any protocol";
  const auto* bytes = reinterpret_cast<const std::byte*>(noise.data());
  all.network().put(0, {1, {bytes, bytes + noise.size()}, {}, false});
  all.run(0, [] { EXPECT_EQ(async<&twice>(1, 1).get(), 2); });
  EXPECT_EQ(all.at(0).port().counts().refused, 1u);
}

TEST(Action, AnUnreadableCallFails) {
  net::test::localities all(2);
  all.run(0, [&all] {
    // A parcel that names a nonexistent action, with the form of a call from the root.
    auto* call = plx::detail::make_state<net::detail::waiting_call<int>>();
    auto result = plx::detail::adopt_state<int>(call);
    net::parcel_header h;
    h.action = 60000;
    h.reply = all.at(0).replies().add(*call, 1);
    net::detail::send_values(all.at(0), 1, 0, h, 7);
    EXPECT_THROW(result.get(), remote_error);
  });
  EXPECT_EQ(all.at(1).port().counts().refused, 1u);
}

TEST(ActionList, DifferencesAreReported) {
  const std::string here = "f(int) [with auto F = mine::f]\t4=4\ng [with auto F = g]\t=0\n";
  EXPECT_EQ(net::difference_of_actions(here, here), "");
  EXPECT_EQ(net::difference_of_actions(here, "g [with auto F = g]\t=0\n"), "the action mine::f is missing there");
  EXPECT_EQ(net::difference_of_actions("g [with auto F = g]\t=0\n", here), "the action mine::f is missing here");
  EXPECT_EQ(net::difference_of_actions(here, "f(int) [with auto F = mine::f]\t8=4\ng [with auto F = g]\t=0\n"),
            "the action mine::f has arguments of 4=4 bytes here, 8=4 there");
  const std::string twins = "f [with auto F = f] #1\t=4\tx+0x10\nf [with auto F = f] #2\t=4\tx+0x20\n";
  EXPECT_EQ(net::difference_of_actions(twins, twins), "");
  EXPECT_EQ(net::difference_of_actions(twins, "f [with auto F = f]\t=4\n"), "the action f is missing there");
  EXPECT_EQ(net::difference_of_actions(twins,
                                       "f [with auto F = f] #1\t=4\tx+0x10\nf [with auto F = f] "
                                       "#2\t=4\tx+0x30\n"),
            "several actions are called f; one of them is at x+0x20 here, at x+0x30 there: run the same build "
            "everywhere, or give them different names");
  EXPECT_NE(net::describe_actions().find("twice"), std::string::npos);
}

// A value of `fill` bytes with a save() function that runs code of the program.
template <class Save>
struct written_by {
  std::size_t fill = 0;
  template <class A>
  void save(A& archive) const {
    const std::string half_text(fill / 2, 'x');
    archive(half_text);
    Save()();
    archive(half_text);
  }
  template <class A>
  void load(A& archive) {
    std::string first, second;
    archive(first), archive(second);
    fill = first == second && first == std::string(first.size(), 'x') ? 2 * first.size() : 0;
  }
};
struct throws_when_written {
  void operator()() const { throw std::runtime_error("it cannot be written now"); }
};
struct sends_when_written {
  void operator()() const {
    post<&count_up>(1, 1);
    EXPECT_EQ(async<&joined>(1, std::vector<std::string>{"an", "other"}, ' ').get(), "an other ");
    this_thread::yield();
  }
};
template <class Save>
std::size_t fill_of(written_by<Save> w) {
  return w.fill;
}

TEST(Action, AnArgumentThatCannotBeWrittenIsNotSent) {
  net::test::localities all(2);
  all.run_all([] {
    if (find_here() == 0) {
      for (const std::size_t fill : {0u, 5000u, 50'000u}) {
        EXPECT_THROW(static_cast<void>(async<&fill_of<throws_when_written>>(1, written_by<throws_when_written>{fill})),
                     std::runtime_error);
        EXPECT_THROW(post<&fill_of<throws_when_written>>(1, written_by<throws_when_written>{fill}), std::runtime_error);
      }
      EXPECT_EQ(net::node_here().replies().size(), 0u);
    }
    net::node_here().get<net::termination>().wait_for_all();
  });
}

TEST(Action, WritingAnArgumentMaySendAndSuspend) {
  net::test::localities all(2);
  posted = 0;
  all.run(0, [] {
    std::vector<future<std::size_t>> answers;
    std::vector<std::size_t> expected;
    for (const std::size_t fill : {10u, 600u, 1000u, 1100u, 3000u, 5000u, 20'000u})
      for (int i = 0; i < 10; ++i) {
        expected.push_back(fill);
        answers.push_back(async(
            [fill] { return async<&fill_of<sends_when_written>>(1, written_by<sends_when_written>{fill}).get(); }));
      }
    for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get(), expected[i]);
  });
  EXPECT_GE(posted, 70);
}

}  // namespace
