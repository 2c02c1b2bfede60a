// The traits through which thread_pool.hpp uses either library.
#pragma once

namespace conformity::PLX_CONFORMITY_PROGRAM {

struct traits {
  template <class T>
  using future_type = names::future<T>;
  template <class Signature>
  using packaged_task_type = names::packaged_task<Signature>;
  using mutex_type = names::mutex;
  using condition_variable_type = names::condition_variable;
  using scoped_lock = names::scoped_lock<mutex_type>;
  using unique_lock = names::unique_lock<mutex_type>;
  using thread_type = names::thread;
};

}  // namespace conformity::PLX_CONFORMITY_PROGRAM
