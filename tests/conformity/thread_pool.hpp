// A thread pool with a queue, written against traits: with std it uses operating-system threads, with plx its threads
// are tasks.
//
// Thread safety: enqueue() from any thread. Example: walkers.hpp.
#pragma once

#include <deque>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace conformity {

template <class Traits>
class thread_pool {
 public:
  explicit thread_pool(unsigned size) {
    for (unsigned i = 0; i < size; ++i) threads_.emplace_back([this] { work(); });
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  /// Completes the queued work, then ends the threads.
  ~thread_pool() {
    {
      typename Traits::scoped_lock lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
    for (auto& t : threads_) t.join();
  }

  template <class F>
  auto enqueue(F&& f) -> typename Traits::template future_type<std::invoke_result_t<std::decay_t<F>&>> {
    using R = std::invoke_result_t<std::decay_t<F>&>;
    auto made = std::make_unique<packaged_job<R>>(std::forward<F>(f));
    auto result = made->task.get_future();
    {
      typename Traits::scoped_lock lock(mutex_);
      queue_.push_back(std::move(made));
    }
    filled_.notify_one();
    return result;
  }

 private:
  struct job {
    virtual ~job() = default;
    virtual void run() = 0;
  };
  template <class R>
  struct packaged_job final : job {
    template <class F>
    explicit packaged_job(F&& f) : task(std::forward<F>(f)) {}
    void run() override { task(); }
    typename Traits::template packaged_task_type<R()> task;
  };

  void work() {
    for (;;) {
      std::unique_ptr<job> next;
      {
        typename Traits::unique_lock lock(mutex_);
        filled_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        if (queue_.empty()) return;
        next = std::move(queue_.front());
        queue_.pop_front();
      }
      next->run();
    }
  }

  typename Traits::mutex_type mutex_;
  typename Traits::condition_variable_type filled_;
  std::deque<std::unique_ptr<job>> queue_;
  bool closed_ = false;
  std::vector<typename Traits::thread_type> threads_;
};

}  // namespace conformity
