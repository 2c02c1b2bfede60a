// Cost of measuring a program without the runtime: this program runs itself alternately plain and under plx-exec. A row
// is the median over turns of ns of core time; `added` is the median of the differences within a turn.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "attach/zone.hpp"
#include "report.hpp"
#include "timing.hpp"

namespace {

using plx::bench::median;

double ns_per(int n, double seconds) { return 1e9 * seconds / n; }

double lock_ns() {
  constexpr int n = 1'000'000;
  std::mutex m, held;
  held.lock();
  std::thread other([&] {
    held.lock();
    held.unlock();
  });  // a lock costs less in a program without threads
  const double s = plx::bench::core_time_of([&] {
    for (int i = 0; i < n; ++i) {
      m.lock();
      m.unlock();
    }
  });
  held.unlock();
  other.join();
  return ns_per(n, s);
}

double zone_ns() {
  constexpr int n = 200'000;
  static const plx::probe::timer t("zone");
  return ns_per(n, plx::bench::core_time_of([&] {
                  for (int i = 0; i < n; ++i) const plx::probe::zone here(t);
                }));
}

double thread_ns() {
  constexpr int n = 2'000;
  return ns_per(n, plx::bench::core_time_of([&] {
                  for (int i = 0; i < n; ++i) {
                    pthread_t t;
                    if (pthread_create(
                            &t, nullptr, [](void* p) { return p; }, nullptr) != 0)
                      std::abort();
                    pthread_join(t, nullptr);
                  }
                }));
}

constexpr struct {
  const char* name;
  double (*ns)();
} parts[] = {{"lock", &lock_ns}, {"zone", &zone_ns}, {"thread", &thread_ns}};

int child(const std::string& part) {
  for (const auto& p : parts)
    if (part == p.name) return std::printf("%.6f\n", (p.ns(), p.ns())), 0;
  return 1;
}

double run(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  double value = -1;
  const bool read = pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1;
  if (pipe == nullptr || pclose(pipe) != 0 || !read) {
    std::fprintf(stderr, "cannot measure with: %s\n", command.c_str());
    std::exit(1);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--child") return child(argv[2]);
  plx::bench::report report(argc, argv);
  const bool quick = !report.rest().empty() && report.rest().front() == "--quick";
  std::string own(4096, '\0');
  own.resize(static_cast<std::size_t>(std::max<ssize_t>(0, readlink("/proc/self/exe", own.data(), own.size()))));
  const std::string folder = own.substr(0, own.rfind('/'));
  char output[] = "/tmp/plx_bench_exec_XXXXXX";
  if (mkdtemp(output) == nullptr) return 1;
  for (const auto& p : parts) {
    std::vector<double> plain, measured, added;
    for (int turn = 0; turn < (quick ? 1 : 15); ++turn) {
      const std::string line = own + " --child " + p.name;
      plain.push_back(run(line));
      measured.push_back(run(folder + "/plx-exec -q --force -o " + output + " " + line));
      added.push_back(measured.back() - plain.back());
    }
    const std::string row = std::string("exec/") + p.name;
    report.add(row + "/plain", median(plain), "ns", plx::bench::lower);
    report.add(row + "/measured", median(measured), "ns", plx::bench::lower);
    report.add(row + "/added", median(added), "ns", plx::bench::lower);
  }
  if (std::system((std::string("rm -r ") + output).c_str()) != 0) return 1;
  return report.finish();
}
