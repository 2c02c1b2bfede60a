#include "net/sim/stage.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace plx::net {
namespace {

// A poller that has pending work is polled after this time, and after twice the time at each repetition while nothing
// happens. After the last repetition, 26 s later, tasks that wait for it are considered deadlocked.
constexpr ticks first_asking = 50'000;
constexpr unsigned most_askings = 20;

}  // namespace

struct stage::seat final : plx::detail::conductor {
  seat(stage& of, unsigned i) : home(of), index(i) {}

  // Between runs, the runtime behaves as a deterministic runtime without a stage.
  void begin(ticks& now) override {
    if (home.running_) home.begin(*this);
    now = std::max(now, home.clock_);
  }
  bool turn(ticks& now) override {
    const bool goes_on = now_on ? home.turn(*this) : !home.out_of_time();
    now = std::max(now, home.clock_);
    return goes_on;
  }
  bool idle(ticks until, bool polls, ticks& now) override {
    if (!now_on) {
      if (until == never || home.out_of_time()) return false;
      now = std::max(now, until);
      return true;
    }
    const bool goes_on = home.idle(*this, until, polls);
    now = std::max(now, home.clock_);
    return goes_on;
  }
  [[nodiscard]] std::string title() const override {
    return "simulation, seed " + std::to_string(home.seed_) + ", locality " + std::to_string(index) +
           (home.out_of_time() ? ", out of virtual time" : "");
  }

  stage& home;
  const unsigned index;
  std::condition_variable wakes;
  bool now_on = false;  // takes part in the run
  state is = state::away;
  bool polled = false;
  ticks deadline = never, expected = never;
};

stage::stage(unsigned seats, std::uint64_t seed, ticks step_ns, ticks limit_ns)
    : seed_(seed), step_(std::max<ticks>(step_ns, 1)), limit_(limit_ns), choose_(seed) {
  for (unsigned i = 0; i < seats; ++i) seats_.push_back(std::make_unique<seat>(*this, i));
}
stage::~stage() = default;

plx::detail::conductor* stage::conductor_of(unsigned which) noexcept { return seats_[which].get(); }
void stage::advance(ticks to) noexcept {
  PLX_ASSERT(!running_);
  clock_ = std::max(clock_, to);
}
void stage::expect(unsigned which, ticks when) noexcept {
  if (when != never) askings_ = 0;
  seats_[which]->expected = when;
}

void stage::open() noexcept {
  const std::lock_guard guard(lock_);
  PLX_ASSERT(!running_ && "the run before has not ended");
  running_ = true;
  taken_ = 0;
  askings_ = 0;
  whose_ = nullptr;
}

// The last seat to arrive chooses the first one to run, so that the order of the system's threads has no influence.
void stage::begin(seat& s) {
  std::unique_lock guard(lock_);
  s.is = state::ready;
  s.now_on = true;
  if (++taken_ == seats_.size()) {
    whose_ = pick();
    whose_->wakes.notify_one();
  }
  s.wakes.wait(guard, [&] { return whose_ == &s; });
}

bool stage::can_go_on(const seat& s) const noexcept {
  return s.is == state::ready || (s.is == state::idle && std::min(s.deadline, s.expected) <= clock_);
}

stage::seat* stage::pick() noexcept {
  const auto n = static_cast<std::uint64_t>(
      std::count_if(seats_.begin(), seats_.end(), [this](const auto& s) { return can_go_on(*s); }));
  if (n == 0) return nullptr;
  std::uint64_t skip = choose_(n);
  for (const auto& s : seats_)
    if (can_go_on(*s) && skip-- == 0) return s.get();
  return nullptr;
}

bool stage::turn(seat& s) {
  clock_ += choose_(step_) + 1;
  askings_ = 0;
  if (out_of_time()) {
    end_run();
    return false;
  }
  if (choose_(4) != 0) return true;
  if (seat* other = pick(); other != &s) hand_over(other, s);
  return s.now_on;
}

bool stage::idle(seat& s, ticks deadline, bool polled) {
  s.is = state::idle;
  s.deadline = deadline;
  s.polled = polled;
  seat* next = pick();
  if (next == nullptr) next = next_of_idle();
  if (next == nullptr)
    end_run();
  else if (next != &s)
    hand_over(next, s);
  if (s.now_on) s.is = state::ready;
  return s.now_on;
}

// No seat can run: the clock advances to the next event.
stage::seat* stage::next_of_idle() noexcept {
  ticks event = never;
  bool polled = false;
  for (const auto& s : seats_) {
    event = std::min({event, s->deadline, s->expected});
    polled |= s->polled;
  }
  const ticks asking = polled ? clock_ + (first_asking << askings_) : never;
  if (event < limit_ && event <= asking) {
    clock_ = std::max(clock_, event);
  } else {
    // Even without an event, a locality may have made another one's task ready directly: each is polled once more.
    if (event >= limit_ && askings_ >= (polled ? most_askings : 1)) {
      if (event != never) clock_ = std::max(clock_, limit_);
      return nullptr;
    }
    if (polled) clock_ = asking;
    askings_ = std::min(askings_ + 1, most_askings);
    for (const auto& s : seats_) s->is = state::ready;
  }
  return pick();
}

void stage::hand_over(seat* to, seat& from) {
  std::unique_lock guard(lock_);
  whose_ = to;
  to->wakes.notify_one();
  from.wakes.wait(guard, [&] { return whose_ == &from || !running_; });
}

void stage::end_run() noexcept {
  const std::lock_guard guard(lock_);
  running_ = false;
  for (const auto& s : seats_) {
    s->now_on = false;
    s->is = state::away;
    s->deadline = never;
    s->wakes.notify_one();
  }
}

}  // namespace plx::net
