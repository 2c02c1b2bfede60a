// The trace of a long run: what writing it costs, what a killed program leaves, and time and peak memory of every
// reader. This program runs itself, with and without a trace, and plx-trace. `--records N`: of the trace (some 8.4 GB
// for 10^9), `--folder F`: the existing folder in which it makes its own, instead of /tmp; a failure leaves that
// folder, with the log. `--quick`: a small trace.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "probe/record/trace_ring.hpp"
#include "probe/settings.hpp"
#include "report.hpp"
#include "rt/async.hpp"
#include "rt/dataflow.hpp"
#include "rt/runtime.hpp"
#include "timing.hpp"
#include "trace/file/trace_reader.hpp"

namespace {

using plx::bench::lower;
namespace fs = std::filesystem;

constexpr std::uint64_t width = 1000, records_per_task = 2, large = 100'000'000;
constexpr std::uint64_t least_records = records_per_task * width;  // one round

/// Rounds of `width` tasks of some 50 ns, each followed by one that needs all of them and the previous one.
int write_trace(std::uint64_t records, const std::string& folder) {
  auto measured = std::make_shared<plx::probe::settings>();
  measured->trace = !folder.empty();
  measured->output = folder;
  static const auto leaf = plx::probe::register_name("leaf"), sum = plx::probe::register_name("sum");
  plx::runtime rt({.workers = 2, .measure = measured});
  rt.run([&] {
    plx::future<void> last = plx::make_ready_future();
    for (std::uint64_t r = 0; r < records / records_per_task / width; ++r) {
      std::vector<plx::future<void>> leaves;
      leaves.reserve(width);
      for (std::uint64_t i = 0; i < width; ++i)
        leaves.push_back(plx::async(plx::task_info{leaf, r * width + i}, [] {}));
      last = plx::dataflow(
          plx::task_info{sum, r}, [](plx::future<void>, std::vector<plx::future<void>>) {}, std::move(last),
          std::move(leaves));
      if (r % 16 == 15) last.wait();  // limits the number of concurrent rounds
    }
    last.get();
  });
  return 0;
}

struct used {
  double wall_s = 0, core_s = 0, peak_bytes = 0;
  int exit = -1;
};

/// Starts a program with its output in the folder's file `log`; -1: it cannot be started.
pid_t start(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
  execv(argv[0], argv.data());
  _exit(127);
}

used run(const std::vector<std::string>& words, const std::string& log) {
  used u;
  u.wall_s = plx::bench::wall_time_of([&] {
    int status = 0;
    rusage about{};
    const pid_t child = start(words, log);
    if (child < 0 || wait4(child, &status, 0, &about) < 0) return;
    const auto in_s = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    u.core_s = in_s(about.ru_utime) + in_s(about.ru_stime);
    u.peak_bytes = 1024.0 * static_cast<double>(about.ru_maxrss);
    u.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  });
  return u;
}

constexpr double mebibyte = 1 << 20, gibibyte = 1 << 30;

class trace_bench {
 public:
  trace_bench(plx::bench::report& report, std::uint64_t records, std::string folder)
      : report_(report), records_(records), folder_(std::move(folder)) {
    std::string own(4096, '\0');
    own.resize(static_cast<std::size_t>(std::max<ssize_t>(0, readlink("/proc/self/exe", own.data(), own.size()))));
    own_ = own;
    reader_ = own.substr(0, own.rfind('/')) + "/plx-trace";
  }

  bool write() {
    // Without a trace a tenth of a large number of tasks says as much.
    const std::uint64_t part = records_ > large ? 10 : 1;
    const used off = run(writing("", records_ / part), log()), on = run(writing(run_, records_), log());
    if (off.exit != 0 || on.exit != 0) return fail("the writing program", log());
    struct counter final : plx::probe::trace_sink {
    } nothing;
    const auto read = plx::probe::read_trace(trace(), nothing);
    if (!read) return fail(read.error().message, trace());
    const auto n = static_cast<double>(read->records);
    bytes_ = static_cast<double>(read->bytes);
    report_.add("trace/records", n, "in the file", plx::bench::higher);
    report_.add("trace/lost", static_cast<double>(read->totals.lost), "records", lower);
    report_.add("trace/bytes", bytes_ / n, "per record", lower);
    const double off_s = static_cast<double>(part) * off.core_s;
    report_.add("trace/write", 1e9 * (on.core_s - off_s) / n, "ns of core time per record", lower);
    report_.add("trace/write/core", on.core_s, "s of core time", lower);
    report_.add("trace/write/without", off_s, "s of core time without a trace", lower);
    report_.add("trace/write/wall", on.wall_s, "s", lower);
    report_.add("trace/write/memory", on.peak_bytes / mebibyte, "MiB at the peak", lower);
    report_.add("trace/write/memory_without", off.peak_bytes / mebibyte, "MiB without a trace", lower);
    return true;
  }

  /// The newest time in the file of a program that was killed.
  bool kill_writer() {
    const pid_t child = start({own_, "--write", "1000000000000", folder_ + "/killed"}, log());
    if (child < 0) return fail("a program that is killed", log());
    sleep(3);
    const plx::ticks killed = plx::now_ticks();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    struct newest final : plx::probe::trace_sink {
      void records(unsigned row, std::span<const plx::probe::trace_record> some) override {
        if (row >= last.size()) last.resize(row + std::size_t{1});
        for (const auto& r : some)
          if ((r.flags & plx::probe::detail::is_packed) != 0)
            last[row] = std::max(last[row], r.begin);  // the end of a slice
      }
      std::vector<plx::ticks> last;
    } sink;
    const std::string path = folder_ + "/killed/trace.plxt";
    const auto read = plx::probe::read_trace(path, sink);
    if (!read || sink.last.empty()) return fail("the trace of a killed program", path);
    const plx::ticks oldest = *std::min_element(sink.last.begin(), sink.last.end());
    report_.add("trace/killed", 1e3 * plx::seconds(plx::ticks_between(oldest, killed)), "ms missing at the end", lower);
    report_.add("trace/killed/lost", static_cast<double>(read->totals.lost), "records", lower);
    fs::remove_all(folder_ + "/killed");
    return true;
  }

  bool read() {
    const std::string out = folder_ + "/made";
    const struct {
      std::string name;
      std::vector<std::string> words;
    } commands[] = {{"stats", {"stats", run_}},
                    {"histogram", {"histogram", run_}},
                    {"find", {"find", run_, "--rows", "3"}},
                    {"find_part", {"find", run_, "--rows", "3", "--from", "1", "--to", "1.01"}},
                    {"diff", {"diff", run_, run_}},
                    {"concurrency", {"concurrency", run_, "-o", out}},
                    {"perfetto", {"perfetto", run_, "-o", out + ".pftrace"}},
                    {"perfetto_gz", {"perfetto", run_, "-o", out + ".pftrace.gz"}},
                    {"flame", {"flame", run_, "-o", out}},
                    {"critical", {"critical", run_, "-o", out}}};
    for (const auto& c : commands) {
      if (records_ > large && (c.name == "histogram" || c.name == "perfetto")) continue;  // as stats; 33 GB for 10^9
      std::vector<std::string> words{reader_};
      words.insert(words.end(), c.words.begin(), c.words.end());
      const used u = run(words, log());
      const std::string row = "trace/" + c.name;
      if (u.exit == 0) {
        const double files = c.name == "diff" ? 2 : 1;
        report_.add(row, u.core_s / (files * bytes_ / gibibyte), "s of core time per GiB", lower);
        report_.add(row + "/wall", u.wall_s, "s", lower);
      } else {
        std::printf("%s: exit code %d, ", row.c_str(), u.exit), print(log());
        report_.add(row + "/refused", u.wall_s, "s until refused", lower);
      }
      report_.add(row + "/memory", u.peak_bytes / mebibyte, "MiB at the peak", lower);
      for (const char* end : {"", ".pftrace", ".pftrace.gz", ".svg", ".txt", ".csv", ".json"}) fs::remove(out + end);
    }
    return true;
  }

 private:
  [[nodiscard]] std::vector<std::string> writing(const std::string& to, std::uint64_t records) const {
    return {own_, "--write", std::to_string(records), to};
  }
  [[nodiscard]] std::string log() const { return folder_ + "/log"; }
  [[nodiscard]] std::string trace() const { return run_ + "/trace.plxt"; }
  static void print(const std::string& path) {
    std::FILE* const f = std::fopen(path.c_str(), "r");
    char line[4096];
    while (f != nullptr && std::fgets(line, sizeof line, f) != nullptr) std::fputs(line, stdout);
    if (f != nullptr) std::fclose(f);
  }
  static bool fail(const std::string& what, const std::string& log) {
    std::fprintf(stderr, "bench_trace: %s failed; see %s\n", what.c_str(), log.c_str());
    return false;
  }

  plx::bench::report& report_;
  const std::uint64_t records_;
  const std::string folder_, run_ = folder_ + "/run";
  std::string own_, reader_;
  double bytes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--write")
    return write_trace(std::strtoull(argv[2], nullptr, 10), argv[3]);
  plx::bench::report report(argc, argv);
  std::uint64_t records = 30'000'000;
  std::string folder = "/tmp";
  const auto& rest = report.rest();
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == "--quick") records = 1'000'000;
    if (rest[i] == "--records" && i + 1 < rest.size())
      records = static_cast<std::uint64_t>(std::strtod(rest[i + 1].c_str(), nullptr));
    if (rest[i] == "--folder" && i + 1 < rest.size()) folder = rest[i + 1];
  }
  folder += "/plx_bench_trace_XXXXXX";
  if (records < least_records || mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "bench_trace: expected --records of at least %llu, and a folder that can be written\n",
                 static_cast<unsigned long long>(least_records));
    return 2;
  }
  trace_bench b(report, records, folder);
  if (!b.write() || !b.kill_writer() || !b.read()) return 1;
  fs::remove_all(folder);
  return report.finish();
}
