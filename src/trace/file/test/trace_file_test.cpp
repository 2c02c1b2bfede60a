// Trace files: what is written is read, also from a file that is cut, damaged, or whose disk is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <tuple>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/wait_log.hpp"
#include "trace/file/trace_chunk.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/file/trace_writer.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;

constexpr task_id far = 0x7fffffffffff;

struct TraceFile : testing::Test {
  TraceFile() { std::filesystem::remove(path); }
  ~TraceFile() override { std::filesystem::remove(path); }

  const std::string path = temporary_path("file.plxt");

  /// Without waiting for the disk.
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }

  std::unique_ptr<trace_writer> writer() {
    auto w = trace_writer::create(path);
    EXPECT_TRUE(w) << w.error().message;
    return *std::move(w);
  }
};

/// Records of every kind: slices with small and large numbers, edges, joins, locks, placements.
void record(recorder& r, unsigned worker, unsigned n, ticks from) {
  static const name_id work = register_name("pf work"), more = register_name("pf, \"more\"");
  std::mt19937_64 random(worker + 1);
  worker_log& log = r.worker(worker);
  ticks now = from;
  for (unsigned i = 0; i < n; ++i) {
    const ticks begin = now + random() % 1000, end = begin + random() % 5000;
    const task_id id = log.next_id(), cause = i % 7 == 0 ? far : i % 5 == 0 ? 0 : id - 1;
    if (i % 11 == 0) log.placed(id, i % 3, i % 3);
    if (i % 13 == 0) log.lock_held(begin, end, &log, unnamed, i % 4);
    log.record({.name = i % 3 == 0 ? more : work,
                .key = i % 17 == 0 ? random() : i,
                .begin = begin,
                .end = end,
                .finished = i % 6 != 0,
                .earlier = i % 6 == 1 ? ticks{3} : ticks{0},
                .id = id,
                .cause = cause,
                .ready = i % 4 == 0 ? 0 : begin - std::min<ticks>(begin, random() % 900)});
    for (unsigned e = 0; e < i % 9; ++e) log.edge(id, id + e * e, end, work);
    if (i % 23 == 0) log.edge(far + i, join_bit | far, end, work);
    now = end;
  }
}

/// Keeps the records, and passes everything on.
struct tee final : trace_sink {
  explicit tee(trace_sink* t = nullptr) : to(t) {}
  void begin(const trace_start& s) override { start = s, to ? to->begin(s) : void(); }
  void row(unsigned row, std::string_view name, std::uint32_t device) override {
    names += std::to_string(row) + " " + std::string(name) + " ";
    if (to != nullptr) to->row(row, name, device);
  }
  void records(unsigned row, std::span<const trace_record> some) override {
    workers.resize(std::max<std::size_t>(workers.size(), row + std::size_t{1}));
    workers[row].insert(workers[row].end(), some.begin(), some.end());
    if (to != nullptr) to->records(row, some);
  }
  void sample(const trace_sample& s) override { samples.push_back(s), to ? to->sample(s) : void(); }
  void mark(const trace_mark& m) override { marks.push_back(m), to ? to->mark(m) : void(); }
  void totals(const trace_totals& t) override { last = t, to ? to->totals(t) : void(); }
  void drained() override { to ? to->drained() : void(); }

  trace_sink* const to;
  trace_start start;
  trace_totals last;
  std::string names;
  std::vector<std::vector<trace_record>> workers;
  std::vector<trace_sample> samples;
  std::vector<trace_mark> marks;
};

TEST_F(TraceFile, IsReadAsItWasRecorded) {
  recorder r(2);
  auto w = writer();
  tee written(w.get()), read;
  name_object(&r.worker(0), "pf lock");
  r.stream_to(&written, 1, 3);
  r.trace(true, 1 << 14);
  for (unsigned round = 0; round < 20; ++round) {
    for (unsigned worker = 0; worker < 2; ++worker) record(r, worker, 2000, 1'000'000'000 * ticks{round + 1});
    r.drain();
  }
  r.name_worker(1, "the other");
  r.trace_counter("/x", 2.5);
  r.mark("mark", "here");
  r.trace(false);
  r.stream_to(nullptr);
  w.reset();
  const auto found = read_trace(path, read);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->warnings(path).empty());
  EXPECT_EQ(found->records, r.traced());
  EXPECT_EQ(std::tie(read.start.origin, read.start.space, read.start.unix_s, read.start.host),
            std::tie(written.start.origin, written.start.space, written.start.unix_s, written.start.host));
  EXPECT_EQ(read.start.locality, 1u);
  EXPECT_EQ(read.start.localities, 3u);
  EXPECT_EQ(read.names, "0  1  1 the other ");
  ASSERT_EQ(read.samples.size(), 1u);
  EXPECT_EQ(std::tie(read.samples[0].when, read.samples[0].name, read.samples[0].value),
            std::tie(written.samples[0].when, written.samples[0].name, written.samples[0].value));
  ASSERT_EQ(read.marks.size(), 1u);
  EXPECT_EQ(std::tie(read.marks[0].when, read.marks[0].category, read.marks[0].text),
            std::tie(written.marks[0].when, written.marks[0].category, written.marks[0].text));
  ASSERT_EQ(read.workers.size(), 2u);
  std::size_t locks = 0;
  for (unsigned worker = 0; worker < 2; ++worker) {
    ASSERT_EQ(read.workers[worker].size(), written.workers[worker].size());
    for (std::size_t i = 0; i < read.workers[worker].size(); ++i) {
      trace_record &a = written.workers[worker][i], &b = read.workers[worker][i];
      if ((a.flags & (trace_record::is_lock | 32)) == trace_record::is_lock && a.key == b.key) {
        EXPECT_EQ(name_of(b.name), worker == 0 ? "pf lock" : name_of(a.name));
        a.name = b.name;
        ++locks;
      }
      ASSERT_EQ(std::memcmp(static_cast<const void*>(&a), &b, sizeof a), 0) << "worker " << worker << ", record " << i;
    }
  }
  EXPECT_GT(locks, 1000u);
}

TEST_F(TraceFile, HoldsOperationsParcelsAndClocks) {
  struct seen final : trace_sink {
    void begin(const trace_start& s) override { start = s; }
    void row(unsigned row, std::string_view name, std::uint32_t device) override {
      rows.push_back(std::to_string(row) + " " + std::string(name) + " " + std::to_string(device));
    }
    void operations(unsigned row, std::span<const device_operation> some) override {
      EXPECT_EQ(row, 3u);
      ops.insert(ops.end(), some.begin(), some.end());
    }
    void parcels(bool sent, std::span<const trace_parcel> some) override {
      all[sent ? 1 : 0].insert(all[sent ? 1 : 0].end(), some.begin(), some.end());
    }
    void clock(unsigned locality, double rate, const clock_point& p) override {
      EXPECT_EQ(locality, 4u);
      EXPECT_EQ(rate, 2e9);
      EXPECT_EQ(std::tie(p.there, p.here, p.uncertainty), std::tuple(10u, 20u, 3u));
      ++clocks;
    }
    void totals(const trace_totals& t) override { last = t; }
    trace_start start;
    trace_totals last;
    std::vector<std::string> rows;
    std::vector<device_operation> ops;
    std::vector<trace_parcel> all[2];
    int clocks = 0;
  } s;
  const name_id kernel = register_name("pf kernel");
  const device_operation o{.begin = 1,
                           .end = ~0ull,
                           .submitted = 1ull << 40,
                           .from = far,
                           .number = 9,
                           .bytes = 1ull << 33,
                           .name = kernel,
                           .items = 7,
                           .kind = device_work::fill,
                           .failed = true,
                           .part = true};
  const trace_parcel p{.when = 5, .task = join_bit | 1, .number = 1ull << 50, .bytes = 77, .peer = 2, .name = kernel};
  {
    auto w = writer();
    w->begin({.origin = 5, .ticks_per_second = 1e9, .unix_s = 1.5, .locality = 2, .localities = 7, .host = "here"});
    w->row(3, "gpu 0, stream 1", 1);
    w->operations(3, std::vector(3000, o));
    w->parcels(true, std::vector(3000, p));
    w->parcels(false, std::vector{p});
    w->clock(4, 2e9, {.there = 10, .here = 20, .uncertainty = 3});
    w->totals({.records = 6001, .lost = 2, .share = 0.5, .ended = true});
  }
  const auto read = read_trace(path, s);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->records, 6001u);
  EXPECT_EQ(s.start.host, "here");
  EXPECT_EQ(std::tie(s.start.origin, s.start.unix_s, s.start.locality, s.start.localities),
            std::tuple(5u, 1.5, 2u, 7u));
  EXPECT_EQ(s.rows, std::vector<std::string>{"3 gpu 0, stream 1 1"});
  ASSERT_EQ(s.ops.size(), 3000u);
  const device_operation& b = s.ops.back();
  EXPECT_EQ(
      std::tie(b.begin, b.end, b.submitted, b.from, b.number, b.bytes, b.name, b.items, b.kind, b.failed, b.part),
      std::tie(o.begin, o.end, o.submitted, o.from, o.number, o.bytes, o.name, o.items, o.kind, o.failed, o.part));
  ASSERT_EQ(s.all[1].size(), 3000u);
  ASSERT_EQ(s.all[0].size(), 1u);
  EXPECT_EQ(std::tie(s.all[1][7].when, s.all[1][7].task, s.all[1][7].number, s.all[1][7].bytes, s.all[1][7].peer,
                     s.all[1][7].name),
            std::tie(p.when, p.task, p.number, p.bytes, p.peer, p.name));
  EXPECT_EQ(s.clocks, 1);
  EXPECT_EQ(s.last.lost, 2u);
  EXPECT_EQ(s.last.share, 0.5);
}

/// Readers of earlier versions skip messages, which they would pair as parcels.
TEST_F(TraceFile, MessagesHaveChunksOfTheirOwn) {
  const auto end = [](std::uint64_t number, std::uint32_t channel) {
    return trace_parcel{.when = 5, .number = number, .bytes = 8, .peer = 1, .channel = channel, .tag = -3};
  };
  {
    auto w = writer();
    w->begin({.ticks_per_second = 1e9, .localities = 2});
    w->parcels(true, std::vector{end(1, 0), end(2, 9), end(3, 9), end(4, 0)});
    w->parcels(false, std::vector{end(5, 9), end(6, 0)});
  }
  struct seen final : trace_sink {
    void parcels(bool sent, std::span<const trace_parcel> some) override {
      for (const trace_parcel& p : some)
        all.emplace_back(sent ? "sent" : "received", static_cast<int>(p.number), p.channel, p.tag);
    }
    std::vector<std::tuple<std::string, int, std::uint32_t, std::int32_t>> all;
  } s;
  ASSERT_TRUE(read_trace(path, s));
  using one = decltype(s.all)::value_type;
  EXPECT_THAT(s.all, testing::UnorderedElementsAre(one{"sent", 1, 0, -3}, one{"sent", 2, 9, -3}, one{"sent", 3, 9, -3},
                                                   one{"sent", 4, 0, -3}, one{"received", 5, 9, -3},
                                                   one{"received", 6, 0, -3}));
  std::map<detail::chunk_kind, std::uint32_t> records;
  const std::string file = read_file(path).value();
  for (std::size_t at = detail::trace_file_begin.size(); at < file.size();) {
    detail::chunk_head head;
    ASSERT_LE(at + sizeof head, file.size());
    std::memcpy(&head, file.data() + at, sizeof head);
    records[head.kind] += head.count;
    at += sizeof head + head.bytes;
  }
  EXPECT_EQ(records[detail::chunk_kind::sent], 2u);
  EXPECT_EQ(records[detail::chunk_kind::received], 1u);
  EXPECT_EQ(records[detail::chunk_kind::messages_sent], 2u);
  EXPECT_EQ(records[detail::chunk_kind::messages_received], 1u);
}

/// A small trace of several chunks.
std::string small_trace(const std::string& path) {
  recorder r(2);
  {
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 10);
    for (int round = 0; round < 3; ++round) {
      for (unsigned worker = 0; worker < 2; ++worker) record(r, worker, 12, 10'000 * (1 + static_cast<ticks>(round)));
      r.drain();
      w->flush();
    }
    r.trace(false);
    r.stream_to(nullptr);
  }
  return read_file(path).value();
}

std::size_t slices_in(const loaded_trace& t) {
  std::size_t n = 0;
  for (const auto& w : t.trace.data.workers) n += w.size();
  return n;
}

TEST_F(TraceFile, IsReadUpToItsLastCompleteChunk) {
  const std::string whole = small_trace(path);
  std::size_t last = 0, readable = 0;
  for (std::size_t n = 0; n <= whole.size(); ++n) {
    write(whole.substr(0, n));
    const auto read = load_trace({path});
    if (!read) {
      EXPECT_EQ(readable, 0u) << "byte " << n;
      EXPECT_THAT(read.error().message,
                  testing::AnyOf(HasSubstr("ends before its first record"), HasSubstr("expected a file that begins")));
      continue;
    }
    ++readable;
    const std::size_t slices = slices_in(*read);
    EXPECT_GE(slices, last) << "byte " << n;
    last = slices;
    EXPECT_EQ(read->warnings.empty(), n == whole.size()) << "byte " << n;
  }
  EXPECT_EQ(last, 72u);
  EXPECT_GT(readable, whole.size() / 2);
}

TEST_F(TraceFile, DamagedChunksAreSkippedAndReported) {
  const std::string whole = small_trace(path);
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const unsigned char flip : {0x10}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(static_cast<unsigned char>(changed[i]) ^ flip);
      write(changed);
      const auto read = load_trace({path});
      if (!read) continue;  // the begin of the file, or its start
      ASSERT_FALSE(read->warnings.empty()) << "byte " << i;
      EXPECT_LE(slices_in(*read), 72u);
      EXPECT_GE(slices_in(*read), 60u - 12u) << "byte " << i << ": more than a chunk is missing";
    }
}

TEST_F(TraceFile, AnythingElseIsAnErrorOfOneLine) {
  const auto error_of = [&](const std::string& text) {
    write(text);
    return load_trace({path}).error().message;
  };
  EXPECT_THAT(error_of("{\"traceEvents\":[]}"), HasSubstr("PLX_TRACE=1"));
  EXPECT_THAT(error_of(""), HasSubstr("PLX_TRACE=1"));
  EXPECT_THAT(error_of("parallax trace 2\n" + std::string(1000, 'x')), HasSubstr("ends before its first record"));
  EXPECT_THAT(load_trace({path + ".none"}).error().message, HasSubstr("file.plxt.none"));
  EXPECT_THAT(load_trace({"/dev/zero"}).error().message, HasSubstr("not a regular file"));
  small_trace(path);
  EXPECT_THAT(load_trace({path, path}).error().message, HasSubstr("both of locality 0"));
}

TEST_F(TraceFile, OnlyTheFirstRecordsAreKeptIfTheyAreLimited) {
  small_trace(path);
  const auto all = load_trace({path}), some = load_trace({path}, 30);
  ASSERT_TRUE(all && some);
  EXPECT_GE(some->trace.data.records, 30u);
  EXPECT_LT(some->trace.data.records, all->trace.data.records / 2);
  EXPECT_LT(slices_in(*some), slices_in(*all) / 2);
  EXPECT_GT(slices_in(*some), 0u);
  EXPECT_THAT(some->warnings, testing::ElementsAre(HasSubstr("only the first")));
}

TEST_F(TraceFile, FilesOfAnEarlierRunAreRefusedOrRemoved) {
  const std::string run = temporary_path("file_run");
  std::filesystem::remove_all(run);
  const auto add = [&](const std::string& folder, unsigned locality, unsigned localities) {
    std::filesystem::create_directories(folder);
    (*trace_writer::create(folder + "/trace.plxt"))->begin({.locality = locality, .localities = localities});
  };
  add(run, 0, 2), add(run + "/localities/1", 1, 2);
  EXPECT_EQ(trace_files(run)->size(), 2u);
  add(run + "/localities/2", 2, 4), add(run + "/localities/3", 3, 4);
  EXPECT_THAT(trace_files(run).error().message, HasSubstr("localities/2/trace.plxt' of one of 4"));
  remove_traces_beyond(run, 2);
  EXPECT_EQ(trace_files(run)->size(), 2u);
  remove_traces_beyond(run, 1);
  EXPECT_EQ(trace_files(run)->size(), 1u);
  for (unsigned i = 1; i < 6; ++i) add(run + "/localities/" + std::to_string(i), i, 6);
  add(run, 0, 6);
  remove_traces_beyond(run, 6, 3);
  const auto left = trace_files(run);
  ASSERT_EQ(left->size(), 2u);
  EXPECT_THAT((*left)[1], HasSubstr("localities/3/trace.plxt"));
  std::filesystem::remove_all(run);
}

TEST_F(TraceFile, AKilledProgramLeavesWhatItRecordedUpToTheLastSecond) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    recorder r(1);
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 12);
    const ticks begin = now_ticks();
    for (bool written = false;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      record(r, 0, 1, now_ticks());  // far from a full chunk
      r.drain();
      if (!written && seconds(now_ticks() - begin) > 1) written = ::write(ready[1], "x", 1) == 1;
    }
  }
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  const ticks at = now_ticks();
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const int d : ready) ::close(d);
  const auto read = load_trace({path});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->warnings, testing::Contains(HasSubstr("was killed")));
  ASSERT_FALSE(read->trace.data.workers.at(0).empty());
  const ticks last = read->trace.data.workers[0].back().end;
  EXPECT_LT(seconds(at - std::min(at, last)), 1);
}

TEST_F(TraceFile, AFullDiskEndsTheTraceAndIsReportedOnce) {
  std::string logged;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &logged,
                  log_level::warning);
  recorder r(1);
  auto w = writer();
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlim_t soft = std::exchange(limit.rlim_cur, rlim_t{100'000});
  ::setrlimit(RLIMIT_FSIZE, &limit);
  r.stream_to(w.get());
  r.trace(true, 1 << 14);
  for (int i = 0; i < 30; ++i) record(r, 0, 1000, now_ticks()), r.drain();
  r.trace(false);
  r.stream_to(nullptr);
  limit.rlim_cur = soft;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, before);
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_THAT(w->error(), HasSubstr("file.plxt': File too large"));
  EXPECT_THAT(logged, HasSubstr("the trace ends here"));
  EXPECT_EQ(logged.find("the trace ends here"), logged.rfind("the trace ends here"));
  EXPECT_GT(w->dropped(), 0u);
  EXPECT_LE(std::filesystem::file_size(path), 100'000u);
  const auto read = load_trace({path});
  ASSERT_TRUE(read);
  EXPECT_GT(slices_in(*read), 1000u);
  EXPECT_EQ(read->trace.data.records + w->dropped(), r.traced());
  EXPECT_THAT(read->warnings, testing::ElementsAre(HasSubstr("has no end")));  // no part of a chunk remains
}

/// A sink that blocks: other functions of the recorder do not wait for it, and its rings drop and count.
TEST_F(TraceFile, ASlowDiskCostsRecordsNotTimeOrMemory) {
  struct slow final : trace_sink {
    void records(unsigned, std::span<const trace_record> some) override {
      n += some.size();
      blocks.store(true);
      while (!let_go.load()) std::this_thread::yield();
    }
    void mark(const trace_mark& m) override { marks += m.text; }
    void totals(const trace_totals& t) override { last = t; }
    std::atomic<bool> blocks{false}, let_go{false};
    std::size_t n = 0;
    std::string marks;
    trace_totals last;
  } disk;
  recorder r(1);
  r.stream_to(&disk);
  r.trace(true, 1 << 10);
  record(r, 0, 10, now_ticks());
  std::thread draining([&] { r.drain(); });
  while (!disk.blocks.load()) std::this_thread::yield();
  record(r, 0, 5000, now_ticks());
  r.mark("mark", "meanwhile");
  r.trace_counter("/x", 1);
  EXPECT_GT(r.trace_lost(), 0u);
  disk.let_go.store(true);
  draining.join();
  r.stream_to(nullptr);
  EXPECT_EQ(disk.marks, "meanwhile");
  EXPECT_EQ(disk.n, r.traced());
  EXPECT_EQ(disk.last.lost, r.trace_lost());
  EXPECT_TRUE(disk.last.ended);
}

}  // namespace
}  // namespace plx::probe
