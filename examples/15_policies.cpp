// A program that adapts to its measurements: a user-defined counter, an actuator that can be set at run time, and a
// policy that sets it. Every decision is recorded with its author and its reason.
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "control/policy.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/runtime.hpp"

int main() {
  plx::runtime rt({.workers = 1});

  std::atomic<int> waiting{100};  // orders not yet served
  const auto counted =
      rt.counters().add({"/shop/queue/length", "1", "Orders not yet served"}, [&] { return waiting.load(); });
  const auto batch = rt.actuators().add<std::int64_t>({"batch", "1", "Orders that one task serves"}, 1, {1, 16},
                                                      [](std::int64_t) {});  // no other action on a change

  static const auto serve = plx::probe::register_name("serve");
  const auto each_end = plx::probe::event_filter::of({plx::probe::task_event_kind::stop}, {serve});
  const auto policy = rt.policies().on_event({.name = "larger batches"}, each_end, [&](auto& me) {
    const auto larger = batch->nearest(2 * batch->get());
    if (waiting > 8 * batch->get() && !me.set(*batch, larger, "the queue is long")) std::puts("refused");
  });

  int tasks = 0;
  rt.run([&] {
    for (; waiting > 0; ++tasks)
      plx::async({serve}, [&] { waiting -= std::min(waiting.load(), static_cast<int>(batch->get())); }).get();
  });

  std::printf("%d tasks; %g orders wait\n", tasks, rt.counters().query("/shop/queue/length").value().at(0).value);
  for (const auto& d : rt.actuators().log()->all())
    std::printf("%s: %s from %s to %s, because %s\n", d.who.c_str(), d.what.c_str(), d.from.c_str(), d.to.c_str(),
                d.why.c_str());
  std::printf("%s\n", batch->set(99, "user", "in a hurry").error().message.c_str());
}

// Output:
//   10 tasks; 0 orders wait
//   larger batches: batch from 1 to 2, because the queue is long
//   larger batches: batch from 2 to 4, because the queue is long
//   larger batches: batch from 4 to 8, because the queue is long
//   larger batches: batch from 8 to 16, because the queue is long
//   actuator 'batch': expected 1 to 16, found 99
