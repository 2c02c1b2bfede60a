#include "job_check.hpp"

#include <csignal>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/window.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

void expect(bool right, const char* what) {
  if (!right) throw std::logic_error(std::string(what) + " is wrong");
}

// Every rank writes a block of each size to every other one, at odd offsets, and reads it back.
void exchange_blocks(const communicator& all) {
  constexpr std::size_t most = (std::size_t{1} << 20) + 1, room = most + 3;
  const unsigned n = all.size();
  const window<std::uint8_t> w(all, n * room);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{5000}, most}) {
    std::vector<std::vector<std::uint8_t>> blocks, back(n, std::vector<std::uint8_t>(size));
    std::vector<future<void>> done;
    for (unsigned to = 0; to < n; ++to) {
      auto& b = blocks.emplace_back(size);
      for (std::size_t i = 0; i < size; ++i) b[i] = static_cast<std::uint8_t>(i * 13 + w.rank() * n + to);
      done.push_back(w.put(to, w.rank() * room + 3, b));
    }
    for (auto& f : done) f.get();
    done.clear();
    for (unsigned to = 0; to < n; ++to) done.push_back(w.get(to, w.rank() * room + 3, back[to]));
    for (auto& f : done) f.get();
    expect(back == blocks, "what get() returns");
    all.barrier().get();
    for (unsigned from = 0; from < n; ++from)
      for (std::size_t i = 0; i < size; ++i)
        expect(w.local()[from * room + 3 + i] == static_cast<std::uint8_t>(i * 13 + from * n + w.rank()),
               "what put() wrote");
    all.barrier().get();
  }
}

template <class T>
void count(const communicator& all) {
  constexpr unsigned each = 2000;
  const window<T> w(all, 2);
  std::vector<future<T>> before;
  for (unsigned i = 0; i < each; ++i) before.push_back(w.fetch_add(i % w.ranks(), 0, static_cast<T>(i + 1)));
  for (auto& f : before) f.get();
  for (unsigned i = 0; i < 100; ++i) {  // a lock on rank 0 around a counter that is not atomic
    while (w.compare_exchange(0, 1, 0, static_cast<T>(w.rank() + 1)).get() != 0) this_thread::yield();
    const unsigned last = w.ranks() - 1;
    w.put(last, 1, static_cast<T>(w.get(last, 1).get() + (last == 0 ? 0 : 1))).get();
    expect(w.exchange(0, 1, 0).get() == static_cast<T>(w.rank() + 1), "the owner of the lock");
  }
  all.barrier().get();
  const T sum = all.all_reduce(w.local()[0], std::plus<>()).get();
  expect(sum == static_cast<T>(w.ranks()) * static_cast<T>(each) * static_cast<T>(each + 1) / 2,
         "a sum of fetch_add()");
  expect(w.rank() + 1 != w.ranks() || w.rank() == 0 || w.local()[1] == static_cast<T>(100 * w.ranks()),
         "the counter with a lock");
  all.barrier().get();
}

// The data of a signal and of those before it are visible when the signal is.
void signal_around(const communicator& all) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{500}, std::size_t{100'000}}) {
    const window<std::uint64_t> w(all, size, 2);
    const unsigned right = (w.rank() + 1) % w.ranks();
    std::vector<std::uint64_t> mine(size);
    for (std::uint64_t turn = 1; turn <= 30; ++turn) {
      std::iota(mine.begin(), mine.end(), turn << 32);
      auto sent = w.put_signal(right, 0, mine, 1);
      w.wait_signal(1, turn).get();
      for (std::size_t i = 0; i < size; ++i) expect(w.local()[i] == (turn << 32) + i, "the data of a signal");
      sent.get();
      all.barrier().get();
    }
  }
}

}  // namespace

void check_windows() {
  const communicator all;
  exchange_blocks(all);
  count<std::uint64_t>(all);
  count<std::int32_t>(all);
  signal_around(all);
}

const char* way_of_windows() {
  const communicator all;
  const auto r = net::region::make(all, 8, 8, 0);
  const char* way = r->is_mapped((all.rank() + 1) % all.size()) ? "memory" : r->is_direct() ? "direct" : "messages";
  r->end(false);
  return way;
}

void access_until_killed(locality_id who) {
  const communicator all;
  const window<std::uint64_t> w(all, 200'000);
  if (find_here() == who)  // dies when every rank accesses it
    static_cast<void>(w.wait_signal(0, w.ranks()).then(launch::sync, [](future<void>) { std::raise(SIGKILL); }));
  buffer<std::uint64_t> data(200'000);
  for (auto& x : data) x = w.rank();
  std::vector<locality_id> others;
  for (const locality_id m : all.members())
    if (m != who) others.push_back(m);
  try {
    while (true) {
      std::vector<future<void>> done;
      std::vector<future<std::uint64_t>> counted;
      for (unsigned to = 0; to < w.ranks(); ++to) {
        done.push_back(w.put(to, 0, data));
        done.push_back(w.put_signal(to, 0, data));
        counted.push_back(w.fetch_add(to, 7, 1));
      }
      for (auto& f : done) f.get();
      for (auto& f : counted) f.get();
    }
  } catch (const locality_lost& e) {
    expect(e.which() == who, "the lost locality");
  }
  const auto fails = [](auto f) {
    try {
      f.get();
    } catch (const locality_lost&) {
      return true;
    }
    return false;
  };
  expect(fails(w.put(who, 0, data)) && fails(w.fetch_add(who, 7, 1)) && fails(w.wait_signal(0, ~std::uint64_t{0})),
         "an operation on the lost locality");
  static_cast<void>(fails(w.flush()));  // of the operations above
  static_cast<void>(w.put(who, 0, data));
  expect(fails(w.flush()), "flush() after a put to the lost locality");
  const communicator rest("rest", others);
  const window<std::uint64_t> again(rest, 1);
  again.fetch_add(0, 0, 1).get();
  rest.barrier().get();
  if (rest.rank() == 0) expect(again.local()[0] == rest.size(), "the sum of the survivors");
  rest.barrier().get();
}
