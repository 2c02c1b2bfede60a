// A multithreaded program that is not linked with Parallax. plx-exec measures it without a rebuild:
//   build/release/bin/plx-exec -d -o run build/release/bin/example_23_plx_exec
//   ./plx diagnose run
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

static std::map<int, int> table;
static std::mutex table_lock;

static void fill(int first) {
  for (int i = 0; i < 40; ++i) {
    const std::lock_guard guard(table_lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // stands for reading a value, which needs no lock
    table[first + i] = i;
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(fill, 100 * t);
  for (std::thread& t : threads) t.join();
  std::printf("%zu entries\n", table.size());
}

// Output:
//   160 entries
