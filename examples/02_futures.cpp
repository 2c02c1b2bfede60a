// Futures join into graphs: continuations, all of several, the first of several, and exceptions that travel along.
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "rt/runtime.hpp"
#include "rt/when.hpp"

namespace {

double area(double width, double height) {
  if (width < 0 || height < 0) throw std::invalid_argument("a side is negative");
  return width * height;
}

}  // namespace

int main() {
  plx::runtime rt;
  rt.run([] {
    // A continuation runs when its input is there; it gets the future, so it sees an exception too.
    auto doubled = plx::async(area, 2.0, 3.0).then([](plx::future<double> a) { return 2 * a.get(); });

    // A dataflow waits for all its futures before it becomes a task.
    auto sum =
        plx::dataflow([](auto a, auto b) { return a.get() + b.get(); }, std::move(doubled), plx::async(area, 1.0, 1.0));
    std::printf("sum of areas: %g\n", sum.get());

    std::vector<plx::future<double>> squares;
    for (int i = 1; i <= 10; ++i) squares.push_back(plx::async(area, i, i));
    double total = 0;
    for (auto& f : plx::when_all(std::move(squares)).get()) total += f.get();
    std::printf("sum of squares: %g\n", total);

    try {
      plx::async(area, -1.0, 1.0).then([](auto a) { return a.get(); }).get();
    } catch (const std::invalid_argument& e) {
      std::printf("caught: %s\n", e.what());
    }
  });
}
