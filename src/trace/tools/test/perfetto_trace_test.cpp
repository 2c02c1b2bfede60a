// Perfetto's protobuf, read by a decoder of its own. tests/traces/test_traces.py has Perfetto's trace processor read
// it.
#include "trace/tools/perfetto_trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "trace/file/trace_writer.hpp"
#include "trace/tools/trace_arrows.hpp"

namespace plx::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The fields of a message: numbers, and texts (or messages), each in order.
struct decoded {
  std::map<unsigned, std::vector<std::uint64_t>> numbers;
  std::map<unsigned, std::vector<std::string>> texts;

  explicit decoded(std::string_view bytes) {
    const auto varint = [&bytes] {
      std::uint64_t n = 0;
      for (unsigned shift = 0;; shift += 7) {
        if (bytes.empty() || shift > 63) throw std::runtime_error("a number that does not end");
        const auto b = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        n |= std::uint64_t{b & 0x7fu} << shift;
        if (b < 0x80) return n;
      }
    };
    while (!bytes.empty()) {
      const std::uint64_t tag = varint();
      const auto field = static_cast<unsigned>(tag >> 3);
      if ((tag & 7) == 0) {
        numbers[field].push_back(varint());
        continue;
      }
      const std::uint64_t size = (tag & 7) == 1 ? 8 : (tag & 7) == 2 ? varint() : ~0ull;
      if (size > bytes.size()) throw std::runtime_error("a field that does not end");
      if ((tag & 7) == 2) {
        texts[field].emplace_back(bytes.substr(0, size));
      } else {
        std::uint64_t n = 0;
        std::memcpy(&n, bytes.data(), 8);
        numbers[field].push_back(n);
      }
      bytes.remove_prefix(size);
    }
  }
  [[nodiscard]] std::uint64_t number(unsigned field) const {
    const auto i = numbers.find(field);
    return i == numbers.end() ? ~0ull : i->second.at(0);
  }
  [[nodiscard]] std::string text(unsigned field) const {
    const auto i = texts.find(field);
    return i == texts.end() ? "" : i->second.at(0);
  }
};

struct event {
  std::uint64_t ns = 0, type = 0, track = 0;
  std::string name;
  std::map<std::string, std::uint64_t> arguments;
  std::vector<std::uint64_t> leaving, entering;
  double value = 0;
};
struct perfetto_file {
  std::map<std::uint64_t, std::string> tracks;
  std::vector<event> events;

  explicit perfetto_file(const std::string& path) {
    std::map<std::uint64_t, std::string> names, keys;
    decoded whole(read_file(path).value());
    for (const std::string& one : whole.texts[1]) {
      const decoded p(one);
      EXPECT_EQ(p.number(10), 1u);
      if (const std::string interned = p.text(12); !interned.empty()) {
        decoded i(interned);
        for (const std::string& n : i.texts[2]) names[decoded(n).number(1)] = decoded(n).text(2);
        for (const std::string& n : i.texts[3]) keys[decoded(n).number(1)] = decoded(n).text(2);
      }
      if (const std::string t = p.text(60); !t.empty()) {
        const decoded track(t);
        tracks[track.number(1)] = track.texts.contains(3) ? decoded(track.text(3)).text(6) : track.text(2);
      }
      if (const std::string t = p.text(11); !t.empty()) {
        decoded e(t);
        event& out = events.emplace_back();
        out.ns = p.number(8), out.type = e.number(9), out.track = e.number(11);
        EXPECT_TRUE(tracks.contains(out.track));
        out.name = e.texts.contains(23) ? e.text(23) : e.numbers.contains(10) ? names.at(e.number(10)) : "";
        for (const std::string& a : e.texts[4]) {
          const decoded d(a);
          out.arguments[keys.at(d.number(1))] = d.numbers.contains(3) ? d.number(3) : d.number(2);
        }
        out.leaving = e.numbers[47], out.entering = e.numbers[48];
        if (e.numbers.contains(44)) out.value = std::bit_cast<double>(e.number(44));
      }
    }
  }
  [[nodiscard]] std::vector<event> of(const std::string& track) const {
    std::vector<event> all;
    for (const event& e : events)
      if (tracks.at(e.track) == track) all.push_back(e);
    return all;
  }
};

struct PerfettoTrace : testing::Test {
  PerfettoTrace() { remove(); }
  ~PerfettoTrace() override { remove(); }
  void remove() const {
    for (const std::string& p : {path, path + ".1", out}) std::filesystem::remove(p);
  }
  const std::string path = temporary_path("perfetto.plxt"), out = temporary_path("perfetto.pftrace");
  const ticks us = ticks_from(1e-6);
};

TEST_F(PerfettoTrace, ContainsSlicesArrowsCountersMarksAndDevices) {
  recorder r(2);
  const name_id make = register_name("pt make"), use = register_name("pt \"use\"");
  task_id a = 0, b = 0, c = 0, d = 0;
  ticks from = 0;
  {
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 10);
    r.trace_counter("/x", 2.5);
    from = now_ticks();
    a = r.worker(0).next_id(), b = r.worker(1).next_id(), c = r.worker(1).next_id(), d = r.worker(1).next_id();
    const task_id join = r.worker(0).next_id() | join_bit;
    r.worker(0).edge(a, join, from + 4 * us, make);
    r.worker(0).record({.name = make, .key = 7, .begin = from, .end = from + 5 * us, .finished = false, .id = a});
    r.worker(0).record({.name = make, .begin = from + 30 * us, .end = from + 40 * us, .earlier = 5 * us, .id = a});
    r.worker(1).record(
        {.name = use, .begin = from + 10 * us, .end = from + 20 * us, .id = b, .cause = join, .ready = from + 9 * us});
    r.worker(1).record(
        {.name = use, .begin = from + 20 * us, .end = from + 20 * us, .id = c, .cause = b, .ready = from + 15 * us});
    r.worker(1).record(
        {.name = use, .begin = from + 45 * us, .end = from + 46 * us, .id = d, .cause = a, .ready = from + 31 * us});
    w->row(2, "gpu 0, stream 1", 1);
    w->operations(
        2,
        std::vector<device_operation>{
            {.begin = from + 9 * us, .end = from + 12 * us, .submitted = from, .number = 2, .bytes = 64, .name = use},
            {.begin = from + 2 * us, .end = from + 10 * us, .submitted = from, .from = a, .number = 1, .name = make}});
    r.mark("mark", "here");
    r.trace(false);
    r.stream_to(nullptr);
  }
  const auto written = write_perfetto_trace({path}, out);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_TRUE(written->warnings.empty());
  EXPECT_EQ(written->slices, 7u);
  EXPECT_EQ(written->arrows, 4u);
  const perfetto_file f(out);
  const auto zero = f.of("worker 0"), one = f.of("worker 1"), gpu = f.of("gpu 0, stream 1");
  ASSERT_EQ(zero.size(), 4u);
  ASSERT_EQ(one.size(), 6u);
  ASSERT_EQ(gpu.size(), 4u);
  for (const auto& row : {zero, one, gpu})
    for (std::size_t i = 0; i < row.size(); ++i) {
      EXPECT_EQ(row[i].type, i % 2 == 0 ? 1u : 2u);
      EXPECT_GE(row[i].ns, row[i - std::min<std::size_t>(i, 1)].ns);
    }
  EXPECT_EQ(zero[0].name, "pt make");
  EXPECT_EQ(zero[0].arguments, (std::map<std::string, std::uint64_t>{{"task", a}, {"key", 7}, {"suspended", 1}}));
  EXPECT_EQ(zero[2].arguments, (std::map<std::string, std::uint64_t>{{"task", a}, {"resumed", 1}}));
  EXPECT_NEAR(static_cast<double>(zero[1].ns - zero[0].ns), 5000, 1);
  EXPECT_EQ(one[0].name, "pt \"use\"");
  EXPECT_NEAR(static_cast<double>(one[0].arguments.at("wait_ns")), 1000, 1);
  EXPECT_FALSE(one[0].arguments.contains("ready_by"));  // a join
  EXPECT_EQ(one[2].arguments.at("ready_by"), b);
  EXPECT_EQ(one[2].ns, one[3].ns);
  EXPECT_EQ(gpu[2].arguments.at("bytes"), 64u);
  EXPECT_EQ(gpu[1].ns, gpu[2].ns);  // operations of a stream do not overlap
  // From the slice of `a` through the join to `b`, from there to `c`; from `a` to the operation, and from its second
  // slice to `d`.
  ASSERT_EQ(zero[0].leaving.size(), 2u);
  EXPECT_EQ(zero[2].leaving, one[4].entering);
  EXPECT_EQ(one[4].entering.size(), 1u);
  ASSERT_EQ(one[0].entering.size(), 1u);
  EXPECT_THAT(zero[0].leaving, testing::Contains(one[0].entering[0]));
  EXPECT_THAT(zero[0].leaving, testing::Contains(gpu[0].entering.at(0)));
  EXPECT_EQ(one[0].leaving, one[2].entering);
  const auto curve = f.of("/x"), marks = f.of("parallax locality 0 on " + start_of_trace(path)->host);
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].value, 2.5);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].name, "here");
}

TEST_F(PerfettoTrace, JoinsParcelsOfLocalitiesWithDifferentClocks) {
  const double rate = ticks_per_second();
  const auto second = static_cast<ticks>(rate);
  const name_id act = register_name("pt act");
  {
    auto w = *trace_writer::create(path);
    w->begin({.origin = 1000, .ticks_per_second = rate, .locality = 0, .localities = 2, .host = "a"});
    w->clock(1, rate, {.there = 7, .here = 1000 + second});
    w->parcels(true,
               std::vector<trace_parcel>{{.when = 1000 + 2 * second, .number = 5, .bytes = 9, .peer = 1, .name = act}});
    w->totals({.ended = true});
    auto v = *trace_writer::create(path + ".1");
    v->begin({.origin = 7, .ticks_per_second = rate, .locality = 1, .localities = 2, .host = "b"});
    v->parcels(false,
               std::vector<trace_parcel>{{.when = 7 + 3 * second, .number = 5, .bytes = 9, .peer = 0, .name = act},
                                         {.when = 7 + 4 * second, .number = 6, .bytes = 9, .peer = 0}});
    v->totals({.ended = true});
  }
  const auto written = write_perfetto_trace({path, path + ".1"}, out);
  ASSERT_TRUE(written) << written.error().message;
  const perfetto_file f(out);
  const auto sent = f.of("parcels sent"), received = f.of("parcels received");
  ASSERT_EQ(sent.size(), 1u);
  ASSERT_EQ(received.size(), 2u);
  EXPECT_NEAR(static_cast<double>(sent[0].ns), 2e9, 2);
  EXPECT_NEAR(static_cast<double>(received[0].ns), 4e9, 2);
  EXPECT_EQ(sent[0].leaving, received[0].entering);
  EXPECT_NE(received[0].entering, received[1].entering);
  EXPECT_EQ(sent[0].name, "pt act");
  EXPECT_EQ(received[1].name, "reply");
  EXPECT_EQ(sent[0].arguments.at("bytes"), 9u);
}

/// Processes of plx-exec have no points of a clock map: on one host they have one clock.
TEST_F(PerfettoTrace, JoinsMessagesOfMpiOfOneHost) {
  const double rate = ticks_per_second();
  const auto second = static_cast<ticks>(rate);
  const name_id send = register_name("MPI_Send"), receive = register_name("MPI_Recv");
  const auto end = [&](ticks s, std::uint32_t peer, std::int32_t tag, std::uint32_t channel, name_id name) {
    return trace_parcel{
        .when = 5000 + s * second, .number = 1, .bytes = 9, .peer = peer, .name = name, .channel = channel, .tag = tag};
  };
  {
    auto w = *trace_writer::create(path);
    w->begin({.origin = 5000, .ticks_per_second = rate, .unix_s = 1e9, .localities = 2, .host = "a"});
    w->parcels(true, std::vector{end(4, 1, 7, 1, send), end(5, 1, 8, 1, send), end(6, 1, 7, 2, send)});
    w->totals({.ended = true});
    auto v = *trace_writer::create(path + ".1");
    // It began 3 s later, and its rate was measured with another error.
    v->begin({.origin = 5000 + 3 * second,
              .ticks_per_second = rate * (1 + 2e-5),
              .unix_s = 1e9 + 3.0003,
              .locality = 1,
              .localities = 2,
              .host = "a"});
    v->parcels(false, std::vector{end(10, 0, 7, 2, receive), end(9, 0, 8, 1, receive), end(8, 0, 7, 1, receive)});
    v->totals({.ended = true});
  }
  const auto written = write_perfetto_trace({path, path + ".1"}, out);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(written->warnings, testing::Not(testing::Contains(HasSubstr("clock"))));
  const perfetto_file f(out);
  const auto sent = f.of("messages sent"), received = f.of("messages received");
  ASSERT_EQ(sent.size(), 3u);
  ASSERT_EQ(received.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {  // the first that was sent arrived last in the file
    EXPECT_EQ(sent[i].leaving, received[2 - i].entering);
    EXPECT_EQ(sent[i].arguments.at("tag"), i == 1 ? 8u : 7u);
    EXPECT_EQ(sent[i].arguments.at("communicator"), i == 2 ? 2u : 1u);
  }
  EXPECT_NE(sent[0].leaving, sent[1].leaving);
  EXPECT_NE(sent[0].leaving, sent[2].leaving);
  EXPECT_NEAR(static_cast<double>(received[0].ns), 10e9, 20);  // 140 us off if the rate were the file's own
  EXPECT_EQ(sent[0].name, "MPI_Send");
  EXPECT_EQ(received[0].name, "MPI_Recv");
}

TEST_F(PerfettoTrace, ACutTraceIsWrittenAsFarAsItGoesAndAnErrorLeavesNoFile) {
  {
    recorder r(1);
    auto w = *trace_writer::create(path);
    r.stream_to(w.get());
    r.trace(true, 1 << 12);
    for (ticks i = 1; i < 4000; ++i)
      r.worker(0).record(
          {.name = register_name("pt"), .begin = r.worker(0).next_id() + i * us, .end = (i + 1) * us << 8});
    r.trace(false);
    r.stream_to(nullptr);
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 2 / 3);
  const auto cut = write_perfetto_trace({path}, out);
  ASSERT_TRUE(cut);
  EXPECT_THAT(cut->warnings, testing::Contains(HasSubstr("has no end")));
  EXPECT_NO_THROW(perfetto_file{out});
  std::filesystem::remove(out);
  std::filesystem::resize_file(path, 40);
  EXPECT_THAT(write_perfetto_trace({path}, out).error().message, HasSubstr("ends before its first record"));
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_THAT(write_perfetto_trace({path + ".none"}, out).error().message, HasSubstr(".none"));
}

/// Chains of arrows: each is found, up to the limit, and through joins at most 8 for a task.
TEST(TraceArrows, AreBounded) {
  trace_arrows some;
  for (task_id i = 1; i < 1000; ++i) some.add({.from = i, .to = i + 1, .when = 10 * i});
  for (task_id i = 1; i <= 20; ++i) some.add({.from = i, .to = join_bit | 1, .when = 10 * i});
  some.add({.from = join_bit | 1, .to = 5000, .when = 20'000});
  some.add({.from = join_bit | 2, .to = join_bit | 3, .when = 5});  // joins in a circle, as of a damaged file
  some.add({.from = join_bit | 3, .to = join_bit | 2, .when = 5});
  some.add({.from = join_bit | 2, .to = 6000, .when = 5});
  some.resolve();
  std::vector<trace_slice> slices;
  for (task_id i = 1; i <= 1000; ++i) slices.push_back({.begin = 10 * i - 9, .end = 10 * i, .id = i});
  slices.push_back({.begin = 20'001, .end = 20'002, .id = 5000});
  for (const trace_slice& s : slices) some.place(s);
  std::size_t enter = 0, leave = 0, of_join = 0;
  for (const trace_slice& s : slices)
    some.arrows_of(s, [&](std::size_t, bool enters) {
      ++(enters ? enter : leave);
      of_join += s.id == 5000 ? 1 : 0;
    });
  EXPECT_EQ(enter, 999u + trace_arrows::most_of_slice);
  EXPECT_EQ(leave, enter);
  EXPECT_EQ(of_join, trace_arrows::most_of_slice);
  EXPECT_FALSE(some.cut());
  trace_arrows many;
  for (task_id i = 0; i < trace_arrows::most + 10; ++i) many.add({.from = 1, .to = i + 2, .when = 1});
  EXPECT_TRUE(many.cut());
  EXPECT_EQ(many.edges(), trace_arrows::most + 10);
}

}  // namespace
}  // namespace plx::probe
