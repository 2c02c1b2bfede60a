// Localities as threads of one process with a bootstrap by a shared table, for tests of code that needs a bootstrap.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/start/bootstrap.hpp"

namespace plx::net::test {

/// The bytes of all localities, by turn and number.
struct table {
  explicit table(unsigned n) : size(n) {}
  const unsigned size;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<std::string>> sent;
  std::vector<unsigned> came;
  unsigned dead = 0;  // localities that will not come any more

  void die() {
    const std::lock_guard lock(mutex);
    ++dead;
    changed.notify_all();
  }
};

class table_bootstrap final : public bootstrap {
 public:
  table_bootstrap(table& t, locality_id here) : table_(t), here_(here) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "table"; }
  [[nodiscard]] locality_id here() const noexcept override { return here_; }
  [[nodiscard]] unsigned size() const noexcept override { return table_.size; }
  void leave(double) noexcept override {}

 private:
  result<std::vector<std::string>> exchange_bytes(std::string_view mine, double deadline_s) override {
    std::unique_lock lock(table_.mutex);
    const std::size_t turn = turn_++;
    if (table_.sent.size() <= turn) {
      table_.sent.resize(turn + 1, std::vector<std::string>(table_.size));
      table_.came.resize(turn + 1);
    }
    table_.sent[turn][here_] = mine;
    ++table_.came[turn];
    table_.changed.notify_all();
    table_.changed.wait_for(lock, std::chrono::duration<double>(deadline_s),
                            [&] { return table_.came[turn] + table_.dead >= table_.size; });
    if (table_.came[turn] < table_.size) return error{"a locality is missing"};
    return table_.sent[turn];
  }

  table& table_;
  const locality_id here_;
  std::size_t turn_ = 0;
};

/// Runs f(bootstrap) on each of n localities, each in a thread.
inline void as_localities(table& t, const std::function<void(bootstrap&)>& f) {
  std::vector<std::thread> threads;
  for (locality_id i = 0; i < t.size; ++i)
    threads.emplace_back([&, i] {
      table_bootstrap b(t, i);
      f(b);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace plx::net::test
