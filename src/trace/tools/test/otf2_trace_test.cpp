#include "trace/tools/trace_export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class Otf2Trace : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_otf2()) GTEST_SKIP() << "built without OTF2";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static bool can_run(const std::string& command) {
    return std::system(("command -v " + command + " > /dev/null 2>&1").c_str()) == 0;
  }
  /// The output of a command; fails if it ends with an error.
  static std::string output(const std::string& command) {
    std::string text;
    FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
    std::array<char, 4096> piece{};
    for (std::size_t n; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) text.append(piece.data(), n);
    EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << text.substr(0, 2000);
    return text;
  }
  std::string written(const trace_data& d) {
    const auto done = write_otf2_trace(d, trace_graph(d), archive_);
    EXPECT_TRUE(done) << done.error().message;
    if (!can_run("otf2-print")) return {};
    return output("otf2-print -A '" + archive_ + "/traces.otf2'");
  }
  /// Expects only the files that existed before.
  void expect_nothing_left(const std::string& folder) {
    for (const auto& e : std::filesystem::directory_iterator(folder)) ADD_FAILURE() << "left behind: " << e.path();
  }

  const std::string folder_ = temporary_path("otf2_test");
  const std::string archive_ = folder_ + "/otf2";
};

/// `space`: number of recorders that the process had before.
trace_builder program(task_id space = 0) {
  trace_builder b(2);
  b.data.origin = 1000;
  const task_id own = space << 56;
  const task_id first = own | 1ull << 40 | 1, second = own | 1ull << 40 | 2, third = own | 2ull << 40 | 1;
  b.piece(0, first, "o2 first", 2000, 3000).key(42);
  b.piece(0, second, "o2 second", 3000, 4000, false).ready(2500);
  b.piece(1, third, "o2 \"third\"", 3500, 5000).ready(3100);
  b.piece(0, second, "o2 second", 5200, 6000, true, true);
  b.edge(first, third, 2900).edge(second, third, 3100).edge(third, second, 5000);
  b.data.worker_names = {"", "the other"};
  b.data.samples = {{2000, "queue", 1.5}, {4000, "queue", 2.5}, {4000, "idle", 0}};
  b.data.marks = {{3000, "policy", "cap 4 -> 3"}};
  return b;
}

TEST_F(Otf2Trace, PrintShowsAllRecords) {
  const std::string text = written(program().data);
  if (text.empty()) GTEST_SKIP() << "without otf2-print";
  EXPECT_THAT(text, HasSubstr("\"the other\""));
  EXPECT_THAT(text, HasSubstr("\"worker 0\""));
  const auto count = [&](const std::string& what) {
    std::size_t n = 0;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) n += line.starts_with(what + " ");
    return n;
  };
  EXPECT_EQ(count("ENTER"), 4u);
  EXPECT_EQ(count("LEAVE"), 4u);
  EXPECT_EQ(count("THREAD_TASK_SWITCH"), 4u);
  EXPECT_EQ(count("THREAD_TASK_COMPLETE"), 3u);
  EXPECT_EQ(count("METRIC"), 3u);
  EXPECT_THAT(text, HasSubstr("(\"key\" <1>; UINT64; 42)"));
  EXPECT_THAT(text, HasSubstr("(\"parents\" <10>; UINT32; 2)")) << "of the third";
  EXPECT_THAT(text, HasSubstr("(\"parent 0\" <11>; UINT64; 1099511627777)"));
  EXPECT_THAT(text, HasSubstr("(\"parent 1\" <12>; UINT64; 1099511627778)"));
  EXPECT_THAT(text, HasSubstr("(\"parent 0\" <11>; UINT64; 2199023255553)")) << "of the second's other slice";
  EXPECT_THAT(text, HasSubstr("(\"wait\" <2>; UINT64; 500)"));
  EXPECT_THAT(text, HasSubstr("(\"finished\" <3>; UINT8; 0)"));
}

/// n tasks that a join connects with m others.
trace_builder joined(task_id n, task_id m) {
  trace_builder b(1);
  const task_id first = 1ull << 40, join = join_bit | 1;
  for (task_id i = 1; i <= n; ++i) b.task(0, first | i, "o2 in", 10 * i, 10 * i + 5).edge(first | i, join, 10 * i + 5);
  for (task_id i = n + 1; i <= n + m; ++i)
    b.edge(join, first | i, 10 * n + 5).task(0, first | i, "o2 out", 10 * i, 10 * i + 5);
  return b;
}

TEST_F(Otf2Trace, ManyParentsAreListedAndTruncationIsMarked) {
  const std::string all = written(joined(1024, 1).data);
  if (all.empty()) GTEST_SKIP() << "without otf2-print";
  EXPECT_THAT(all, HasSubstr("(\"parents\" <10>; UINT32; 1024)"));
  EXPECT_THAT(all, HasSubstr("(\"parent 1023\" <1034>; UINT64; 1099511628800)"));
  EXPECT_THAT(all, testing::Not(HasSubstr("\"more parents\" <7>; UINT8")));
  const std::string cut = written(joined(50, 50).data);
  EXPECT_THAT(cut, HasSubstr("(\"parents\" <10>; UINT32; 50)"));
  EXPECT_THAT(cut, HasSubstr("(\"parents\" <10>; UINT32; 16)"));
  EXPECT_THAT(cut, HasSubstr("(\"more parents\" <7>; UINT8; 1)"));
}

TEST_F(Otf2Trace, DeviceStreamsAreLocationsOutsideOfTheTeam) {
  trace_builder b(3);
  b.device(1, 0, "gpu 0 (x), stream 1");
  const task_id first = 1ull << 40 | 1, copy = 2ull << 40 | 1, last = 3ull << 40 | 1;
  b.task(0, first, "host", 1000, 2000).task(1, copy, "copy", 2000, 3000).key(640).task(2, last, "host", 3500, 4000);
  b.edge(first, copy, 1500).edge(copy, last, 3200);
  const std::string text = written(b.data);
  if (text.empty()) GTEST_SKIP() << "without otf2-print";
  EXPECT_THAT(text, HasSubstr("(\"bytes\" <6>; UINT64; 640)"));
  EXPECT_THAT(text, HasSubstr("gpu 0 (x), stream 1"));
  std::istringstream in(text);
  std::size_t switches = 0;
  for (std::string line; std::getline(in, line);) switches += line.starts_with("THREAD_TASK_SWITCH");
  EXPECT_EQ(switches, 2u);
  const std::string definitions = output("otf2-print -G '" + archive_ + "/traces.otf2'");
  EXPECT_THAT(definitions, ::testing::ContainsRegex("LOCATION +1 .*(ACCELERATOR_STREAM|GPU)"));
  EXPECT_THAT(definitions, HasSubstr("2 Members: \"worker 0\" <0>, \"worker 2\" <2>"));
}

TEST_F(Otf2Trace, TasksOfALaterRecorderKeepTheirWorker) {
  const auto switches = [this](task_id space) {
    std::istringstream in(written(program(space).data));
    std::string all;
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("THREAD_TASK_")) all += line + '\n';
    return all;
  };
  const std::string first = switches(0);
  if (first.empty()) GTEST_SKIP() << "without otf2-print";
  EXPECT_EQ(switches(1), first);
  EXPECT_EQ(switches(63), first);
}

TEST_F(Otf2Trace, ThePythonReaderFindsTheGraphAndMonotonicTimes) {
  const std::string probe = "/usr/bin/python3 -c 'import otf2'";
  if (std::system((probe + " > /dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "without python3-otf2";
  ASSERT_TRUE(write_otf2_trace(program().data, trace_graph(program().data), archive_));
  const std::string script = folder_ + "/read.py";
  ASSERT_TRUE(write_file(script, R"(
import sys, otf2
from otf2.events import Enter, Leave, Metric, ThreadTaskSwitch, ThreadTaskComplete
with otf2.reader.open(sys.argv[1]) as trace:
    last, stacks, graph = {}, {}, {}
    for location, event in trace.events:
        assert event.time >= last.get(location.name, 0), (location, event)
        last[location.name] = event.time
        if isinstance(event, Enter):
            attributes = {a.name: v for a, v in (event.attributes or {}).items()}
            stacks.setdefault(location.name, []).append(event.region.name)
            parents = [attributes["parent %d" % i] for i in range(attributes.get("parents", 0))]
            graph.setdefault(attributes["task"], set()).update(parents)
        if isinstance(event, Leave):
            assert stacks[location.name].pop() == event.region.name
    assert not any(stacks.values())
    clock = trace.definitions.clock_properties
    print("begin", clock.global_offset, "length", clock.trace_length, "rate", clock.timer_resolution > 1000)
    print("regions", sorted(r.name for r in trace.definitions.regions))
    print("locations", [(l.name, l.number_of_events) for l in trace.definitions.locations])
    print("graph", sorted((t % 2**40 + t // 2**40 * 10, sorted(p % 2**40 + p // 2**40 * 10 for p in ps)) for t, ps in graph.items()))
    print("markers", [(m.text, m.timestamp) for m in trace.markers] if hasattr(trace, "markers") else "")
)"));
  const std::string text = output("/usr/bin/python3 '" + script + "' '" + archive_ + "/traces.otf2'");
  EXPECT_THAT(text, HasSubstr("begin 1000 length 5001 rate True"));
  EXPECT_THAT(text, HasSubstr("regions ['o2 \"third\"', 'o2 first', 'o2 second']"));
  EXPECT_THAT(text, HasSubstr("locations [('worker 0', 11), ('the other', 4), ('counters', 3)]"));
  EXPECT_THAT(text, HasSubstr("graph [(11, []), (12, [21]), (21, [11, 12])]"));
}

TEST_F(Otf2Trace, AMillionEventsAreComplete) {
  trace_builder b(2);
  constexpr task_id n = 250'000;
  for (task_id i = 1; i <= n; ++i) b.task(i % 2 == 0, i, "o2 many", 10 * i, 10 * i + 9);
  ASSERT_TRUE(write_otf2_trace(b.data, trace_graph(b.data), archive_));
  if (!can_run("otf2-print")) GTEST_SKIP() << "without otf2-print";
  const std::string lines = output("otf2-print '" + archive_ + "/traces.otf2' | grep -c -e ^ENTER -e ^LEAVE");
  EXPECT_EQ(std::stoul(lines), 2 * n);
}

TEST_F(Otf2Trace, AnEmptyRunIsAnArchive) { written(trace_builder(3).data); }

TEST_F(Otf2Trace, ReplacesAnArchiveOnlyByACompleteOne) {
  ASSERT_TRUE(write_file(folder_ + "/keep", ""));
  written(program().data);
  written(program().data);
  std::size_t n = 0;
  for (const auto& e : std::filesystem::directory_iterator(folder_)) n += e.exists();
  EXPECT_EQ(n, 2u);
}

TEST_F(Otf2Trace, AFullDiskIsOneLineAndNothingIsLeft) {
  trace_builder b(1);
  for (task_id i = 1; i <= 400'000; ++i) b.task(0, i, "o2 much", 10 * i, 10 * i + 9);
  const trace_graph g(b.data);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1u << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = write_otf2_trace(b.data, g, archive_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, testing::StartsWith("cannot write '" + archive_ + "': "));
  EXPECT_EQ(done.error().message.find('\n'), std::string::npos);
  expect_nothing_left(folder_);
}

TEST_F(Otf2Trace, AMissingFolderIsOneLine) {
  const auto done = write_otf2_trace(program().data, trace_graph(program().data), "/nowhere/otf2");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "cannot write '/nowhere/otf2': No such file or directory");
}

TEST_F(Otf2Trace, AJobHasAGroupPerLocalityAndAllParcels) {
  trace_builder b(3);
  b.data.origin = 90;
  b.piece(0, task_id{1} << 40 | 1, "here", 100, 200).piece(2, task_id{3} << 40 | 1, "there", 300, 400);
  trace_job job;
  job.localities.resize(3);
  job.localities[0] = {.host = "node a", .first_worker = 0, .workers = 1, .missing = ""};
  job.localities[1] = {.host = "node b", .first_worker = 1, .workers = 2, .missing = ""};
  job.localities[2] = {.host = "", .missing = "it is lost"};
  const name_id f = register_name("f");
  job.messages.push_back({.sent = 150, .received = 290, .number = 7, .bytes = 40, .from = 0, .to = 1, .name = f});
  job.messages.push_back({.sent = 160, .received = 280, .number = 8, .bytes = 41, .from = 0, .to = 1, .name = f});
  job.messages.push_back({.sent = 350, .received = 500, .number = 1, .bytes = 30, .from = 1, .to = 0, .name = f});
  const auto done = write_otf2_trace(b.data, trace_graph(b.data), archive_, &job);
  ASSERT_TRUE(done) << done.error().message;
  if (!can_run("otf2-print")) GTEST_SKIP() << "no otf2-print";
  const std::string events = output("otf2-print '" + archive_ + "/traces.otf2'");
  EXPECT_THAT(events, HasSubstr("Receiver: 1 (\"parcels\" <4>), Communicator: \"localities\" <1>, Tag: 7, Length: 40"));
  EXPECT_THAT(events, HasSubstr("Sender: 0 (\"parcels\" <3>), Communicator: \"localities\" <1>, Tag: 8, Length: 41"));
  const std::string definitions = output("otf2-print -G '" + archive_ + "/traces.otf2'");
  EXPECT_THAT(definitions, HasSubstr("\"locality 2 (missing)\""));
  EXPECT_THAT(definitions, HasSubstr("\"node b\""));
  EXPECT_THAT(definitions, HasSubstr("\"localities\""));
}

}  // namespace
}  // namespace plx::probe
