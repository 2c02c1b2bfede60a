// Futures: a result that is not available yet can be passed on, combined and waited for; exceptions travel the same
// way.
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/runtime.hpp"
#include "rt/when.hpp"

int main() {
  plx::runtime rt;
  rt.run([] {
    // A function of futures, called when both are ready.
    auto area = plx::dataflow([](auto width, auto height) { return width.get() * height.get(); },
                              plx::async([] { return 3.0; }), plx::async([] { return 4.0; }));
    std::printf("area %g\n", area.get());

    // Many tasks.
    std::vector<plx::future<int>> squares;
    for (int i = 1; i <= 10; ++i) squares.push_back(plx::async([i] { return i * i; }));
    int sum = 0;
    for (auto& square : plx::when_all(std::move(squares)).get()) sum += square.get();
    std::printf("squares sum to %d\n", sum);

    // One writer, several readers.
    plx::promise<int> ticket;
    plx::shared_future<int> number = ticket.get_future().share();
    auto first = plx::async([number] { return number.get() + 1; });
    auto second = plx::async([number] { return number.get() + 2; });
    ticket.set_value(100);
    const int a = first.get(), b = second.get();
    std::printf("readers got %d and %d\n", a, b);

    // get() rethrows the exception of a task.
    auto broken = plx::async([]() -> int { throw std::runtime_error("no such block"); });
    try {
      broken.get();
    } catch (const std::runtime_error& e) {
      std::printf("caught: %s\n", e.what());
    }
  });
}

// Output:
//   area 12
//   squares sum to 385
//   readers got 101 and 102
//   caught: no such block
