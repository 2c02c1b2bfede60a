#include "step/exchange.hpp"
#include "step/round_end.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "net/action.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/thread.hpp"

namespace plx::step {

/// The local state of a simulation's exchange; messages may arrive before the exchange is constructed.
struct exchange::state {
  std::mutex lock;
  std::uint32_t round = 0;
  message_handler* handler = nullptr;  // while a round is open
  int calls = 0;                       // of the handler that are running
  std::vector<message> early;
  std::exception_ptr loss;  // the first one here

  // Calls f(handler) outside of the lock; close() waits for it.
  template <class F>
  void call(std::unique_lock<std::mutex>& held, F&& f) {
    message_handler* h = handler;
    ++calls;
    held.unlock();
    try {
      f(*h);
    } catch (...) {
      held.lock();
      --calls;
      throw;
    }
    held.lock();
    --calls;
  }
  void arrived(message&& m) {
    std::unique_lock held(lock);
    if (handler != nullptr && m.tag.round == round)
      call(held, [&](message_handler& h) { h.arrived(m); });
    else if (m.tag.round > round)
      early.push_back(std::move(m));
  }
  void lose(const std::exception_ptr& e) {
    std::unique_lock held(lock);
    if (loss != nullptr) return;
    loss = e;
    if (handler != nullptr) call(held, [&](message_handler& h) { h.lost(loss); });
  }
};

namespace {

/// The exchanges of a locality in the order of their construction.
class exchange_service final : public net::service {
 public:
  explicit exchange_service(net::node& n) : node_(n) {}

  std::shared_ptr<exchange::state> next(std::uint32_t& number) {
    const std::lock_guard held(lock_);
    number = made_++;
    return at(number);
  }
  std::shared_ptr<exchange::state> find(std::uint32_t number) {
    const std::lock_guard held(lock_);
    return number < made_ && !all_.contains(number) ? nullptr : at(number);
  }
  void forget(std::uint32_t number) {
    const std::lock_guard held(lock_);
    all_.erase(number);
  }
  void peer_lost(locality_id peer) override {
    const std::exception_ptr loss = node_.loss_of(peer);
    std::unique_lock held(lock_);
    loss_ = loss;
    const auto all = all_;
    held.unlock();
    for (const auto& [number, state] : all) state->lose(loss);
  }

 private:
  std::shared_ptr<exchange::state>& at(std::uint32_t number) {
    auto& s = all_[number];
    if (s == nullptr) {
      s = std::make_shared<exchange::state>();
      if (loss_ != nullptr) s->lose(loss_);
    }
    return s;
  }

  net::node& node_;
  std::mutex lock_;
  std::uint32_t made_ = 0;
  std::map<std::uint32_t, std::shared_ptr<exchange::state>> all_;
  std::exception_ptr loss_;  // the last one
};

}  // namespace

/// The action: a message has arrived. Messages of a simulation that has ended are dropped.
void exchange_arrived(message_tag tag, buffer<double> values) {
  if (const auto s = net::node_here().get<exchange_service>().find(tag.simulation))
    s->arrived({tag, std::move(values)});
}

exchange::exchange() = default;

exchange& exchange::alone() {
  static exchange one;
  return one;
}

exchange::exchange(net::node& node)
    : here_(static_cast<int>(node.here())), count_(static_cast<int>(node.size())), node_(&node) {
  state_ = node.get<exchange_service>().next(number_);
}

exchange::~exchange() {
  if (node_ != nullptr) node_->get<exchange_service>().forget(number_);
}

void exchange::open(message_handler& h) {
  if (is_alone()) return;
  std::unique_lock held(state_->lock);
  PLX_ASSERT(state_->handler == nullptr);
  state_->handler = &h;
  round_ = ++state_->round;
  std::vector<message> now;
  const auto later = std::stable_partition(state_->early.begin(), state_->early.end(),
                                           [&](const message& m) { return m.tag.round != round_; });
  std::move(later, state_->early.end(), std::back_inserter(now));
  state_->early.erase(later, state_->early.end());
  for (const message& m : now) state_->call(held, [&](message_handler& to) { to.arrived(m); });
  if (state_->loss != nullptr) state_->call(held, [&](message_handler& to) { to.lost(state_->loss); });
}

void exchange::close() {
  if (is_alone()) return;
  std::unique_lock held(state_->lock);
  while (state_->calls > 0) {  // about to return: the event this task waited for has occurred
    held.unlock();
    round_end::let_others_run();
    held.lock();
  }
  state_->handler = nullptr;
}

void exchange::send(int to, message_tag tag, buffer<double> values) {
  tag.simulation = number_;
  tag.round = round_;
  tag.from = static_cast<std::uint32_t>(here_);
  post<&exchange_arrived>(static_cast<locality_id>(to), tag, std::move(values));
}

communicator& exchange::all() {
  if (all_ == nullptr) all_ = std::make_unique<communicator>("star." + std::to_string(number_));
  return *all_;
}

std::vector<std::vector<double>> exchange::all_gather(std::vector<double> mine) {
  if (is_alone()) return {std::move(mine)};
  return all().all_gather(std::move(mine)).get();
}

std::vector<std::vector<double>> exchange::gather(std::vector<double> mine) {
  if (is_alone()) return {std::move(mine)};
  return all().gather(std::move(mine)).get();
}

std::vector<double> exchange::all_reduce(std::vector<double> mine, combine f) {
  if (is_alone()) return mine;
  return all().all_reduce(std::move(mine), f).get();
}

round_end::round_end(int things) : missing_(things) {
  if (things == 0) end();
}

void round_end::end() {
  if (!ended_.exchange(true, std::memory_order_acq_rel)) end_.count_down();
}

void round_end::lost(const std::exception_ptr& loss) {
  loss_ = loss;
  lost_.store(true, std::memory_order_release);  // pairs with wait()
  end();
}

static bool has_stack_to_wait() {
  detail::worker* const w = detail::this_worker();
  return w == nullptr || w->home.reserve_loop_fiber(*w);
}

void round_end::let_others_run() { has_stack_to_wait() ? this_thread::yield() : detail::let_another_run(); }

bool round_end::wait() {
  while (!end_.try_wait() && !has_stack_to_wait()) detail::let_another_run();
  end_.wait();
  return !lost_.load(std::memory_order_acquire);  // pairs with lost()
}

void round_end::fail() const { std::rethrow_exception(loss_); }

}  // namespace plx::step
