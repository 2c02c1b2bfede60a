// Messages that no correct locality sends: with nonexistent localities or calls, or with the identity of another
// locality. Each is refused, counted and logged with its sender, and the job continues.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/test/timeout_test.hpp"
#include "base/text.hpp"
#include "net/agas/agas_tables.hpp"
#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/component.hpp"
#include "net/distributed.hpp"
#include "net/error.hpp"
#include "net/group/call.hpp"
#include "net/group/groups.hpp"
#include "net/group/tagged_messages.hpp"
#include "net/locality.hpp"
#include "net/names.hpp"
#include "net/start/termination.hpp"
#include "net/test/threads_test.hpp"
#include "rt/thread.hpp"

namespace unsound_values {

using namespace plx;
using net::sender;

constexpr locality_id none_such = 4'000'000'000;

struct thing {
  int value = 5;
  int get() { return value; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
std::atomic<int> believed{0};
void believes(sender) { ++believed; }
int answers(int x, sender) { return x; }
void takes_flags(const std::array<bool, 4>&) { ++believed; }
enum class colour : std::int16_t { red, green, blue };
void takes_colours(colour, const std::vector<colour>&) { ++believed; }
void throws_loss_of(locality_id who) { throw locality_lost(who, "it was never there"); }

// Sends a parcel for the action of that name with arbitrary values, as another program could.
template <class... V>
void send_raw(const std::string& function, std::uint64_t reply, V... values) {
  net::node& n = net::node_here();
  const std::string plain = function.substr(0, function.find('<'));  // Clang's names have no template arguments
  const auto is_named = [](const net::action_entry& e, const std::string& name) {
    return net::function_of(e) == name || net::function_of(e).ends_with("::" + name);
  };
  for (const net::action_entry* e : net::all_actions())
    if (e != nullptr && (is_named(*e, function) || is_named(*e, plain))) {
      if (!e->control) n.note_sent(0);
      net::parcel_header h;
      h.action = e->index;
      h.reply = reply;
      return net::detail::send_values(n, 0, e->index, h, values...);
    }
  FAIL() << "no action is called " << function;
}

}  // namespace unsound_values

template <>
inline constexpr auto plx::last_enumerator<unsound_values::colour> = unsound_values::colour::blue;

namespace {

using namespace unsound_values;

void wait_for_refused(net::test::localities& all, unsigned times) {
  const auto refused = [&all] { return all.at(0).port().counts().refused; };
  (void)plx::comes_true([&] { return refused() >= times; });
  EXPECT_EQ(refused(), times);
}

// Locality 1 runs `sends`; locality 0 must refuse `times` messages.
template <class F>
void expect_refused(unsigned times, F sends, unsigned localities = 2) {
  net::test::localities all(localities);
  all.run(0, [] {  // state that an invalid message could corrupt
    const auto c = new_<thing>(0).get();
    EXPECT_EQ(async<&thing::get>(c).get(), 5);
  });
  wait_for_refused(all, 0);
  all.run(1, sends);
  wait_for_refused(all, times);
  all.run(0, [localities] {
    for (locality_id i = 0; i < localities; ++i) EXPECT_EQ((async<&answers>(i, 3, sender{0}).get()), 3);
    auto c = new_<thing>(1).get();
    migrate(c, 0).get();
    EXPECT_EQ(async<&thing::get>(c).get(), 5);
  });
}

TEST(UnsoundValues, AFalseSenderIsRefused) {
  believed = 0;
  expect_refused(
      3,
      [] {
        post<&believes>(0, sender{0});
        post<&believes>(0, sender{none_such});
        post<&believes>(0, sender{1});  // correct
        EXPECT_THROW(async<&answers>(0, 1, sender{2}).get(), remote_error);
      },
      3);
  EXPECT_EQ(believed, 1);
}

TEST(UnsoundValues, InvalidBools) {
  believed = 0;
  expect_refused(2, [] {
    send_raw("takes_flags", 0, std::array<std::uint8_t, 4>{0, 1, 7, 1});
    send_raw("takes_flags", 0, std::array<std::uint8_t, 4>{0, 1, 255, 1});
    send_raw("takes_flags", 0, std::array<std::uint8_t, 4>{0, 1, 0, 1});
    EXPECT_NO_THROW(async<&takes_flags>(0, std::array<bool, 4>{true, false, true, true}).get());
  });
  EXPECT_EQ(believed, 2);
}

TEST(UnsoundValues, ValuesThatTheEnumerationDoesNotHave) {
  using std::int16_t, std::uint64_t;
  believed = 0;
  expect_refused(3, [] {
    send_raw("takes_colours", 0, int16_t{3}, uint64_t{0});
    send_raw("takes_colours", 0, int16_t{-1}, uint64_t{0});
    send_raw("takes_colours", 0, int16_t{2}, uint64_t{2}, int16_t{0}, int16_t{3});
    send_raw("takes_colours", 0, int16_t{2}, uint64_t{2}, int16_t{0}, int16_t{2});
    EXPECT_NO_THROW(async<&takes_colours>(0, colour::blue, std::vector<colour>(100, colour::green)).get());
  });
  EXPECT_EQ(believed, 2);
}

TEST(UnsoundValues, Termination) {
  using lost = net::named_losses;
  using round = net::termination::round_of;
  net::test::localities all(2);
  all.run_all([] { net::node_here().get<net::termination>().wait_for_all(); });
  all.run(1, [] {
    const net::termination::counts none;
    const round first{{0, 0}, 1}, far{{0, 1000}, 2}, of_one{{1, 1}, 2};
    send_raw("termination_counts", 0, sender{none_such}, first, none);
    send_raw("termination_counts", 0, sender{1}, far, none);               // a round that has not begun
    send_raw("termination_counts", 0, sender{1}, round{{0, 0}, 3}, none);  // an end that is not due
    send_raw("termination_counts", 0, sender{1}, round{{0, 0}, 0}, none);
    send_raw("termination_counts", 0, sender{1}, first, none);                          // late: without effect
    send_raw("termination_request", 0, sender{1}, far, lost{});                         // in the name of the root
    send_raw("termination_request", 0, sender{1}, of_one, lost{{0, {0, false, "x"}}});  // without its receiver
    send_raw("termination_request", 0, sender{1}, of_one, lost{{7, {7, false, "x"}}});
    send_raw("termination_request", 0, sender{1}, of_one, lost{{1, {1, false, "x"}}, {0, {0, false, "x"}}});
    send_raw("termination_ended", 0, sender{1}, std::uint64_t{2});
    send_raw("termination_query", 0, sender{1}, std::uint64_t{3});
    send_raw("termination_query", 0, sender{1}, std::uint64_t{0});
    const net::loss_cause why{1, false, "x"};
    send_raw("termination_failed", 0, sender{none_such}, none_such, why);
    send_raw("termination_failed", 0, sender{1}, none_such, why);
    send_raw("termination_failed", 0, sender{1}, locality_id{0}, why);  // of its receiver
    send_raw("termination_failed", 0, sender{1}, locality_id{1}, net::loss_cause{none_such, false, "x"});
  });
  wait_for_refused(all, 15);
  all.run_all([] { net::node_here().get<net::termination>().wait_for_all(); });  // as before
  EXPECT_EQ(all.at(0).port().counts().refused, 15u);
}

TEST(UnsoundValues, CreditsThatWereNotGiven) {
  expect_refused(2, [] {
    send_raw("credits_returned", 0, sender{1}, std::uint64_t{1'000'000});
    send_raw("credits_returned", 0, sender{none_such}, std::uint64_t{0});
    send_raw("credits_returned", 0, sender{1}, std::uint64_t{0});  // without effect
  });
}

TEST(UnsoundValues, References) {
  expect_refused(7, [] {
    const gid ours{0, 1, 123'456}, theirs{1, 1, 123'456}, impossible{none_such, 1, 1};  // of no object
    using namespace net::detail;
    const auto send_update = [](auto fill) {
      reference_updates l;
      fill(l);
      post<&agas_updates>(0, sender{1}, l);
    };
    send_update([](reference_updates& l) {
      l.losses = 1'000'000, l.releases = {}, l.acknowledged = {{gid{0, 1, 1}, 7}};
    });
    send_update([&](reference_updates& l) { l.claims = {{impossible, 1}}; });
    send_update([&](reference_updates& l) { l.releases = {{impossible, 1}}; });
    send_update([&](reference_updates& l) { l.registrations = {{impossible, 1}}; });
    send_update([&](reference_updates& l) { l.destroys = {ours}; });
    send_update([&](reference_updates& l) { l.claim_results = {{ours, 1, 1}}; });
    send_update([&](reference_updates& l) { l.places = {{ours, {none_such, 1}}}; });
    // A message without effect is not refused.
    send_update([&](reference_updates& l) {
      l.acknowledged = {{ours, ~std::uint64_t{0}}}, l.releases = {{ours, 9}}, l.destroys = {theirs};
      l.registrations = {{ours, 9}}, l.registered = {ours, impossible};
    });
    EXPECT_FALSE(async<&agas_moved>(0, sender{1}, ours, 1u).get());
    EXPECT_FALSE(async<&agas_reclaim>(0, sender{1}, ours, 0u).get());
    EXPECT_FALSE(async<&agas_moved>(0, sender{1}, impossible, 1u).get());
    EXPECT_FALSE(async<&agas_reclaim>(0, sender{1}, impossible, 0u).get());
  });
}

TEST(UnsoundValues, Losses) {
  expect_refused(8, [] {
    using namespace net::detail;
    const net::round_number first{0, 0}, none{0, 7}, of_one{1, 1};
    post<&agas_settlement_request>(0, sender{1}, std::uint64_t{2});  // of all localities
    send_raw("agas_settlement_request", 0, sender{none_such}, std::uint64_t{1});
    post<&agas_settle>(0, sender{1}, none, net::named_losses{});                        // in the name of the root
    post<&agas_settle>(0, sender{1}, of_one, net::named_losses{{0, {0, false, "x"}}});  // without its receiver
    post<&agas_settle>(0, sender{1}, of_one, net::named_losses{{none_such, {none_such, false, "x"}}});
    post<&agas_subtree_settled>(0, sender{1}, none);
    post<&agas_settled>(0, sender{1}, none);
    post<&agas_settled>(0, sender{1}, first);
    post<&agas_settlement_request>(0, sender{1}, std::uint64_t{1});  // of a loss that is not known here: waits
  });
  net::test::localities all(2);
  all.run(0, [] {
    EXPECT_THROW(async<&throws_loss_of>(1, locality_id{1}).get(), locality_lost);
    EXPECT_THROW(async<&throws_loss_of>(1, none_such).get(), remote_error);  // names no locality of the job
  });
}

TEST(UnsoundValues, ChannelsLatchesAndBarriers) {
  const auto there = [](const char* kind) {  // a name whose home is locality 0
    for (int i = 0;; ++i)
      if (distributed::detail::find(kind, std::to_string(i)).home == 0) return std::to_string(i);
  };
  expect_refused(6, [there] {
    using namespace distributed::detail;
    EXPECT_THROW(distributed::latch(there("latch"), -1).count_down().get(), remote_error);
    EXPECT_THROW(distributed::latch(there("latch"), -1).wait().get(), remote_error);
    EXPECT_THROW(distributed::barrier(there("barrier"), std::numeric_limits<std::ptrdiff_t>::min()).arrive().get(),
                 remote_error);
    EXPECT_THROW(receive(find("channel", there("channel")), 0).get(), remote_error);
    const distributed::channel<int> c(there("channel"));
    c.send(1).get();
    const std::uint64_t id = find("channel", there("channel")).id;
    const std::uint64_t capacity = c.unbounded, far = 7;
    using element = std::optional<net::payload>;
    send_raw("put_into", 0, sender{1}, id, capacity, std::uint64_t{0},
             element());  // an earlier position: it would close the channel
    send_raw("put_into", 0, sender{1}, id, capacity, far, element());
    send_raw("put_into", 0, sender{1}, id, capacity, far, element());
    EXPECT_TRUE(c.send(2).get());
    EXPECT_EQ(c.receive().get(), 1);
    EXPECT_EQ(c.receive().get(), 2);
  });
}

TEST(UnsoundValues, CollectiveCalls) {
  net::test::localities all(3);
  const auto sums = [&all] {
    all.run_all([] {
      communicator c("sums");
      EXPECT_EQ(c.all_reduce(1, std::plus<>()).get(), 3);
    });
  };
  sums();
  all.run(1, [] {
    using namespace net::collective;
    group& g = net::node_here().get<groups>().named("sums", {0, 1, 2});
    const auto send_call = [&](std::uint32_t rank, kind what) {
      send_raw("deliver", 0, sender{1}, address{g.id(), 1, rank, 0, what}, net::payload(std::size_t{100}));
    };
    send_call(2, kind::all_reduce);  // with the rank of another member
    send_call(none_such, kind::all_reduce);
    send_call(1, kind::none);
    send_call(1, static_cast<kind>(60'000));
    using net::detail::failure;
    send_raw("group_ended", 0, sender{1}, g.id(), origin_of_part{},
             failure{failure::lost, none_such, 1, "it was never there"});
    send_raw("group_ended", 0, sender{1}, g.id(), origin_of_part{},
             failure{failure::lost, 1, none_such, "it was never there"});
  });
  EXPECT_EQ(all.at(0).port().counts().refused, 6u);
  sums();
}

TEST(UnsoundValues, TaggedMessages) {
  expect_refused(3, [] {
    using namespace net::collective;
    const communicator c("tagged");
    const group& g = net::node_here().get<groups>().named("tagged", {0, 1});
    const auto send_number = [&](std::uint64_t number, locality_id from) {
      send_raw("tagged_arrived", 0, sender{from}, tagged_head{g.id(), number, carried<int>::type, 0, 0},
               net::payload::of(7));
    };
    send_number(5, 1);
    send_number(5, 1);          // a number that was used
    send_number(6, none_such);  // in the name of another locality
    auto unread = c.send(0, 1, 1);
    send_number(5, 0);
  });
}

// Locality 1 is no member of a communicator of locality 0, and sends more than may wait there in others.
TEST(UnsoundValues, TaggedMessagesOfOthers) {
  using namespace net::collective;
  net::test::localities all(2);
  std::uint64_t id = 0;
  all.run(0, [&id] {
    const communicator alone("alone", {0});
    id = net::node_here().get<groups>().named("alone", {0}).id();
    net::node_here().get<tagged_messages>().bound_kept(1000);
  });
  all.run(1, [id] {
    const auto send_in = [](std::uint64_t group, std::uint32_t tag) {
      send_raw("tagged_arrived", 0, sender{1}, tagged_head{group, 0, carried<int>::type, tag, 0}, net::payload::of(7));
    };
    const auto lose_in = [](std::uint64_t group, std::uint32_t tag) {
      send_raw("tagged_missing", 0, sender{1}, tagged_head{group, 0, carried<int>::type, tag, 0});
    };
    send_in(id, 0), lose_in(id, 0);
    for (std::uint32_t i = 0; i < 10; ++i) send_in(1000 + i, i);   // 3 have room
    for (std::uint32_t i = 10; i < 20; ++i) lose_in(1000 + i, i);  // 1 more
    lose_in(1000, 0);                                              // has arrived: without effect
  });
  wait_for_refused(all, 2 + 7 + 9);
  EXPECT_EQ(all.at(0).get<tagged_messages>().waiting().messages, 4u);
}

TEST(UnsoundValues, Names) {
  net::test::localities all(2);
  all.run(1, [] {
    std::string name = "a";
    while (fnv1a(name) % 2 != 0) name += "a";
    send_raw("names_set", 0, name, gid{});  // an empty handle
    EXPECT_FALSE(find<thing>(name).get());
    EXPECT_TRUE(names_with(name).empty());
    EXPECT_TRUE(register_as(name, new_<thing>(0).get()).get());
    EXPECT_TRUE(unregister(name).get());
  });
}

// A transport whose events the test triggers.
class scripted_transport final : public net::transport {
 public:
  explicit scripted_transport(net::receiver*& r) : receiver_(r) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "test"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  void start(net::receiver& r) override { receiver_ = &r; }
  void send(locality_id, net::outgoing& m) noexcept override { m.sent(&m, true); }
  bool progress() noexcept override { return false; }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

 private:
  net::receiver*& receiver_;
};

TEST(UnsoundValues, PiecesAboveTheMachinesMemory) {
  net::receiver* receiver = nullptr;
  runtime_options options;
  options.workers = 1;
  auto rt = std::make_unique<runtime>(options);
  net::node n(*rt, std::make_unique<scripted_transport>(receiver), 0, 2);
  net::frame_header f;
  f.parcels = 1;
  net::parcel_header h;
  h.action = 1;
  h.flags = net::in_piece;
  std::vector<std::byte> head(sizeof f + sizeof h);
  std::memcpy(head.data(), &f, sizeof f);
  std::memcpy(head.data() + sizeof f, &h, sizeof h);
  for (const std::uint64_t size_bytes : {std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
    std::vector<net::place> places{{nullptr, size_bytes}};
    EXPECT_EQ(receiver->announced(1, head, places), nullptr);
  }
  std::vector<net::place> places(3, {nullptr, ~std::uint64_t{0} / 2});  // whose sum overflows
  EXPECT_EQ(receiver->announced(1, head, places), nullptr);
  EXPECT_EQ(n.port().counts().refused, 3u);
  n.stop(0);
  rt.reset();
}

// An exception in a posted call of the program ends the process on purpose; one in a call internal to net does not.
TEST(UnsoundValues, FailedInternalCallsWithoutACallerAreRefused) {
  static_assert(net::detail::is_of_net("constexpr auto f() [with T = int (*)(); T F = plx::net::{anonymous}::g]"));
  static_assert(net::detail::is_of_net("auto f() [T = int (*)(), F = &plx::net::detail::g<int>]"));
  static_assert(!net::detail::is_of_net("auto f() [with T = void (*)(plx::net::sender); T F = mine::g]"));
  expect_refused(1, [] {
    const std::uint64_t id = 0, first = 1, n = 2;
    send_raw("read_part<int>", 0, id, first, n);
  });
}

}  // namespace
