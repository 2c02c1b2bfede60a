// The order of the runtimes of a simulation, and its runs.
#include "net/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "base/assert.hpp"
#include "net/group/membership.hpp"

namespace plx::net {
namespace {

// A poller that has pending work is polled after this time, and after twice the time at each repetition while nothing
// happens. After the last repetition, 26 s later, tasks that wait for it are considered deadlocked.
constexpr ticks first_asking = 50'000;
constexpr unsigned most_askings = 20;

}  // namespace

struct sim_scheduler::member final : plx::detail::conductor {
  member(sim_scheduler& of, unsigned i) : home(of), index(i) {}

  // Between runs, the runtime behaves as a deterministic runtime alone.
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

  sim_scheduler& home;
  const unsigned index;
  std::condition_variable wakes;
  bool now_on = false;  // takes part in the run
  state is = state::away;
  bool polled = false;
  ticks deadline = never, expected = never;
  ticks asked = never;  // when a poller with pending work is polled although others can run
  ticks stalled_until = 0;
};

sim_scheduler::sim_scheduler(unsigned members, std::uint64_t seed, ticks step_ns, ticks limit_ns)
    : seed_(seed), step_(std::max<ticks>(step_ns, 1)), limit_(limit_ns), choose_(seed) {
  for (unsigned i = 0; i < members; ++i) members_.push_back(std::make_unique<member>(*this, i));
}
sim_scheduler::~sim_scheduler() = default;

plx::detail::conductor* sim_scheduler::conductor_of(unsigned which) noexcept { return members_[which].get(); }
void sim_scheduler::advance(ticks to) noexcept {
  PLX_ASSERT(!running_);
  clock_ = std::max(clock_, to);
}
void sim_scheduler::expect(unsigned which, ticks when) noexcept {
  if (when != never) askings_ = 0;
  members_[which]->expected = when;
}

void sim_scheduler::stall(unsigned which, ticks until) noexcept { members_[which]->stalled_until = until; }

void sim_scheduler::open() noexcept {
  const std::lock_guard guard(lock_);
  PLX_ASSERT(!running_ && "the run before has not ended");
  running_ = true;
  taken_ = 0;
  askings_ = 0;
  whose_ = nullptr;
}

// The last member to arrive chooses the first one to run, so that the order of the system's threads has no influence.
void sim_scheduler::begin(member& s) {
  std::unique_lock guard(lock_);
  s.is = state::ready;
  s.now_on = true;
  if (++taken_ == members_.size()) {
    whose_ = pick();
    whose_->wakes.notify_one();
  }
  s.wakes.wait(guard, [&] { return whose_ == &s; });
}

bool sim_scheduler::can_go_on(const member& s) const noexcept {
  if (s.stalled_until > clock_) return false;
  return s.is == state::ready || (s.is == state::idle && std::min({s.deadline, s.expected, s.asked}) <= clock_);
}

sim_scheduler::member* sim_scheduler::pick() noexcept {
  const auto n = static_cast<std::uint64_t>(
      std::count_if(members_.begin(), members_.end(), [this](const auto& s) { return can_go_on(*s); }));
  if (n == 0) return nullptr;
  std::uint64_t skip = choose_(n);
  for (const auto& s : members_)
    if (can_go_on(*s) && skip-- == 0) return s.get();
  return nullptr;
}

bool sim_scheduler::turn(member& s) {
  clock_ += choose_(step_) + 1;
  askings_ = 0;
  if (out_of_time()) {
    end_run();
    return false;
  }
  if (s.stalled_until <= clock_ && choose_(4) != 0) return true;
  member* other = pick();
  if (other == nullptr) other = next_of_idle();  // this one is stalled
  if (other == nullptr)
    end_run();
  else if (other != &s)
    hand_over(other, s);
  return s.now_on;
}

bool sim_scheduler::idle(member& s, ticks deadline, bool polled) {
  s.is = state::idle;
  s.deadline = deadline;
  s.polled = polled;
  s.asked = polled ? clock_ + first_asking : never;
  member* next = pick();
  if (next == nullptr) next = next_of_idle();
  if (next == nullptr)
    end_run();
  else if (next != &s)
    hand_over(next, s);
  if (s.now_on) s.is = state::ready;
  return s.now_on;
}

// No member can run: the clock advances to the next event.
sim_scheduler::member* sim_scheduler::next_of_idle() noexcept {
  ticks event = never;
  bool polled = false;
  for (const auto& s : members_) {
    const ticks due = s->is == state::ready ? s->stalled_until : std::min(s->deadline, s->expected);
    event = std::min(event, std::max(due, s->stalled_until));
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
    for (const auto& s : members_) s->is = state::ready;
  }
  return pick();
}

void sim_scheduler::hand_over(member* to, member& from) {
  std::unique_lock guard(lock_);
  whose_ = to;
  to->wakes.notify_one();
  from.wakes.wait(guard, [&] { return whose_ == &from || !running_; });
}

void sim_scheduler::end_run() noexcept {
  const std::lock_guard guard(lock_);
  running_ = false;
  for (const auto& s : members_) {
    s->now_on = false;
    s->is = state::away;
    s->deadline = s->asked = never;
    s->wakes.notify_one();
  }
}

// ------------------------------------------------------------------------------------------------------------ the runs

namespace {

runtime_options options_of(const sim_options& o, locality_id which, sim_scheduler& s) {
  runtime_options r;
  r.workers = o.workers;
  r.deterministic = true;
  r.seed = (o.seed + 1) * 0x9e3779b97f4a7c15u + which;
  r.conducted_by = s.conductor_of(which);
  r.shutdown_deadline_s = 0;
  return r;
}

}  // namespace

struct simulation::locality {
  locality(const sim_options& o, locality_id here, sim_scheduler& s, sim_network& n)
      : rt(options_of(o, here, s)), of(rt, n.transport_of(here), here, o.localities, o.spares) {
    constexpr unsigned few_or_many[] = {16384, 64, 2, 8};
    of.port().bound_queued(o.credits != 0 ? o.credits : few_or_many[o.seed % 4]);
  }

  runtime rt;
  node of;
  std::exception_ptr thrown;
};

simulation::simulation(sim_options options)
    : scheduler_(options.localities, options.seed, ns_from(options.step_max_s), ns_from(options.time_limit_s)),
      network_(scheduler_, options) {
  for (locality_id i = 0; i < options.localities; ++i)
    places_.push_back(std::make_unique<locality>(options, i, scheduler_, network_));
}

simulation::~simulation() {
  for (auto& p : places_) p->of.stop(0);
}

node& simulation::at(locality_id which) noexcept { return places_[which]->of; }
runtime& simulation::runtime_at(locality_id which) noexcept { return places_[which]->rt; }

void simulation::run_all(locality_id first, locality_id last, void* body, void (*call)(void*)) {
  scheduler_.open();
  std::vector<std::thread> threads;
  for (locality_id i = 0; i < size(); ++i)
    threads.emplace_back([&, i] {
      locality& p = *places_[i];
      p.thrown = nullptr;
      auto when_taken = [&] {
        try {
          if (p.of.get<membership>().join()) call(body);
          p.of.get<membership>().finish();
        } catch (...) {
          p.thrown = std::current_exception();
        }
      };
      using taken = decltype(when_taken);
      try {
        p.rt.run([&, mine = i >= first && i < last, all = first == 0 && last == size()] {
          auto& members = p.of.get<membership>();
          const bool begins = members.begin_run({{}, &when_taken, [](void* f) { (*static_cast<taken*>(f))(); }});
          if (!begins && all) return;
          if (mine) call(body);
          members.finish();
        });
      } catch (...) {
        p.thrown = std::current_exception();
      }
    });
  for (auto& t : threads) t.join();
  for (locality_id i = 0; i < size(); ++i)
    if (!places_[i]->of.get<membership>().end_run_at_once() && !places_[i]->thrown)
      places_[i]->thrown = std::make_exception_ptr(
          deadlock_error(fmt::format("locality {}: the function of a spare that was taken waits; ", i)));
  std::string waits;
  std::exception_ptr failure;
  for (locality_id i = 0; i < size(); ++i) {
    if (!places_[i]->thrown || !network_.alive(i)) continue;
    try {
      std::rethrow_exception(places_[i]->thrown);
    } catch (const deadlock_error& e) {
      waits += e.what();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  if (!waits.empty()) throw deadlock_error(waits);
}

}  // namespace plx::net
