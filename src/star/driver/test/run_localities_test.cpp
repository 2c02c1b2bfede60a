// Whole runs on several localities, as runtimes of this process: their files read like those of one locality.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

#include "base/file.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "mesh/files/checkpoint.hpp"
#include "net/test/threads_test.hpp"
#include "rt/runtime.hpp"
#include "star/driver/run.hpp"
#include "star/output/run_folder.hpp"
#include "star/state/gas.hpp"

namespace plx::star {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// Calls f after each step, on the root.
class hook final : public run_observer {
 public:
  hook(bool root, const std::function<void(const step_report&)>& f) : root_(root), f_(f) {}
  void stepped(const step_report& r) override {
    if (root_) f_(r);
  }
  bool stop_requested() override { return stop != nullptr && stop->load(); }
  std::atomic<bool>* stop = nullptr;

 private:
  bool root_;
  const std::function<void(const step_report&)>& f_;
};

class RunLocalities : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("plx_") + test->name() + "_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<input> blast(const std::vector<std::string>& more) const {
    std::vector<std::string> sets{"mesh.root_blocks=[2,2,2]", "mesh.lower=[-0.5,-0.5,-0.5]",
                                  "mesh.upper=[0.5,0.5,0.5]", "mesh.max_level=1",
                                  "refinement.interval=2",    "refinement.gradient_of=[\"press\"]",
                                  "run.t_end=0.05",           "run.max_steps=6",
                                  "output.precision=double"};
    sets.insert(sets.end(), more.begin(), more.end());
    auto in = input::from_text("[problem]\nname = \"sedov\"\n", "t", sets);
    if (!in) ADD_FAILURE() << in.error().message;
    return *std::move(in);
  }

  /// The run on n localities, each with its own input as separate processes have; returns the end on each.
  std::vector<run_end> run_on(unsigned n, const std::string& out, const std::vector<std::string>& sets = {},
                              const std::string& checkpoint = "") {
    run_request request;
    request.out = path(out);
    request.resume_checkpoint = checkpoint;
    std::vector<run_end> ends(n);
    net::test::localities job(n, 2);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; ++i)
      threads.emplace_back([&, i] {
        const auto in = blast(sets);
        const setup s = in->prepare().value();
        step::exchange net(job.at(i));
        hook observer(i == 0, after_step);
        if (i + 1 == n) observer.stop = &stop_last;
        ends[i] = run(*in, s, job.at(i).home(), request, observer, net);
      });
    for (auto& t : threads) t.join();
    return ends;
  }

  /// The run on two localities with one device each; that of number 1 is `bad`, and after_step is called there.
  std::vector<run_end> run_beside(gpu::cpu::testing_backend& bad, const std::string& out,
                                  const std::vector<std::string>& sets) {
    run_request request;
    request.out = path(out);
    net::test::localities job(2, 2);
    const gpu::cpu::testing_backend good({});
    std::vector<run_end> ends(2);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        const auto in = blast(sets);
        const setup s = in->prepare().value();
        step::exchange net(job.at(i));
        hook observer(i == 1, after_step);
        run_request mine = request;
        mine.backend = &(i == 1 ? bad : good).get();
        ends[i] = run(*in, s, job.at(i).home(), mine, observer, net);
      });
    for (auto& t : threads) t.join();
    return ends;
  }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string newest(const std::string& out) const { return newest_checkpoint(path(out)).value(); }
  static std::size_t files_in(const fs::path& folder) {
    std::size_t count = 0;
    for (const auto& e : fs::directory_iterator(folder)) count += e.is_regular_file() ? 1 : 0;
    return count;
  }

  fs::path folder_;
  std::function<void(const step_report&)> after_step = [](const step_report&) {};
  std::atomic<bool> stop_last{false};  // requested by the last locality
};

/// The content of a checkpoint except for what is about files, with blocks in the order of the curve.
struct state {
  std::vector<std::pair<std::string, std::vector<double>>> numbers;
  std::vector<mesh::location> leaves;
  std::vector<double> values;
};

state read(const std::string& checkpoint, const setup& s) {
  state all;
  const auto c = mesh::read_checkpoint(checkpoint);
  if (!c) {
    ADD_FAILURE() << c.error().message;
    return all;
  }
  for (const auto& [name, list] : c->state.numbers)
    if (name != "files" && !name.starts_with("last_row_")) all.numbers.emplace_back(name, list);
  for (const mesh::leaf& l : c->leaves) all.leaves.push_back(l.where);
  const auto m = mesh::block_mesh::from_leaves(s.domain, c->leaves).value();
  gas g(s);
  mesh::arena values(g.now.fields(), s.domain.block_size);
  values.resize(m.slot_count());
  const auto read = mesh::read_values(checkpoint, m, values);
  EXPECT_TRUE(read) << read.error().message;
  for (const mesh::slot_id slot : m.blocks()) {
    const double* u = values.block(slot);
    all.values.insert(all.values.end(), u, u + values.variable_count() * values.cells());
  }
  return all;
}

void expect_same(const state& a, const state& b) {
  EXPECT_EQ(a.numbers, b.numbers);
  EXPECT_EQ(a.leaves, b.leaves);
  ASSERT_EQ(a.values.size(), b.values.size());
  EXPECT_EQ(std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)), 0);
}

TEST_F(RunLocalities, ACheckpointOfAnyNumberContinuesOnAnyOther) {
  const auto in = blast({});
  const setup s = in->prepare().value();
  for (const run_end& e : run_on(1, "whole")) EXPECT_EQ(e.status, run_status::finished) << e.message;
  const state whole = read(newest("whole"), s);
  ASSERT_GT(whole.leaves.size(), 8u);
  for (const auto& [first, then] : std::vector<std::pair<unsigned, unsigned>>{{1, 3}, {3, 1}, {2, 4}, {4, 3}}) {
    const std::string out = std::to_string(first) + "-" + std::to_string(then);
    for (const run_end& e : run_on(first, out, {"run.max_steps=3"})) EXPECT_EQ(e.status, run_status::finished);
    const auto ends = run_on(then, out, {}, newest(out));
    for (unsigned i = 0; i < then; ++i) {
      EXPECT_EQ(ends[i].status, run_status::finished) << ends[i].message;
      EXPECT_EQ(ends[i].speaks, i == 0);
    }
    expect_same(read(newest(out), s), whole);
    EXPECT_EQ(files_in(path(out) + "/mesh"), 4u);  // two .athdf, and the .xdmf
  }
}

TEST_F(RunLocalities, ACheckpointOfDevicesContinuesOnTheCpuAndBack) {
  const auto in = blast({});
  const setup s = in->prepare().value();
  ASSERT_EQ(run_on(1, "whole")[0].status, run_status::finished);
  const state whole = read(newest("whole"), s);
  const std::vector<std::string> cpu, devices{"run.device=emulated"};
  const auto until_3 = [](std::vector<std::string> sets) {
    sets.push_back("run.max_steps=3");
    return sets;
  };
  struct way {
    unsigned first, then;
    std::vector<std::string> on_first, on_then;
  };
  int number = 0;
  for (const way& w :
       {way{2, 1, devices, cpu}, {1, 3, cpu, devices}, {1, 2, devices, devices}, {3, 1, devices, devices}}) {
    SCOPED_TRACE(number);
    const std::string out = "out" + std::to_string(number++);
    for (const run_end& e : run_on(w.first, out, until_3(w.on_first)))
      EXPECT_EQ(e.status, run_status::finished) << e.message;
    for (const run_end& e : run_on(w.then, out, w.on_then, newest(out)))
      EXPECT_EQ(e.status, run_status::finished) << e.message;
    expect_same(read(newest(out), s), whole);
    EXPECT_EQ(files_in(path(out) + "/mesh"), 4u);
  }
}

// A state the floors cannot repair, in a block that one locality owns.
TEST_F(RunLocalities, DevicesReportTheBadCellOfTheCpu) {
  const auto in = blast({});
  const setup s = in->prepare().value();
  ASSERT_EQ(run_on(1, "good", {"run.max_steps=3"})[0].status, run_status::finished);
  const auto c = mesh::read_checkpoint(newest("good"));
  const auto m = mesh::block_mesh::from_leaves(s.domain, c->leaves).value();
  gas g(s);
  mesh::arena values(g.now.fields(), s.domain.block_size);
  values.resize(m.slot_count());
  ASSERT_TRUE(mesh::read_values(newest("good"), m, values));
  values.block(m.blocks()[m.block_count() * 2 / 3])[i_energy * 512 + 77] = std::numeric_limits<double>::infinity();
  fs::create_directories(path("spoilt") + "/checkpoint");
  const std::string spoilt = path("spoilt") + "/checkpoint/sedov.00000003.h5";
  ASSERT_TRUE(mesh::write_checkpoint(spoilt, m, values, c->state));

  const run_end cpu = run_on(1, "cpu", {}, spoilt)[0];
  ASSERT_THAT(cpu.message, HasSubstr("a density or pressure that the floors cannot repair"));
  for (const run_end& e : run_on(3, "out", {"run.device=emulated"}, spoilt)) {
    EXPECT_EQ(e.status, run_status::failed);
    EXPECT_EQ(e.message, cpu.message);
  }
}

TEST_F(RunLocalities, ADeviceThatFailsEndsAllAndItsCheckpointContinues) {
  const std::vector<std::string> sets{"run.device=emulated", "run.max_steps=1000", "run.t_end=10",
                                      "output.checkpoint_interval_s=1e-9"};
  gpu::cpu::testing_backend bad({});
  after_step = [&](const step_report& r) {
    if (r.step == 4) bad.lose(0);
  };
  const auto ends = run_beside(bad, "out", sets);
  for (const unsigned i : {0u, 1u}) {
    EXPECT_EQ(ends[i].status, run_status::failed);
    EXPECT_FALSE(ends[i].lost);
    EXPECT_EQ(ends[i].speaks, i == 0);
    EXPECT_THAT(ends[i].message, HasSubstr("locality 1: "));
    EXPECT_THAT(ends[i].message, HasSubstr("plx-star --resume " + path("out")));
  }
  EXPECT_THAT(read_file(path("out") + "/run.json").value(), HasSubstr("\"status\": \"failed\""));
  after_step = [](const step_report&) {};
  for (const run_end& e : run_on(2, "out", {"run.max_steps=6", "run.t_end=10"}, newest("out")))
    EXPECT_EQ(e.status, run_status::finished) << e.message;
}

// The values of step 16 are copied to the host for a checkpoint: if a copy fails, in the step or after it, no locality
// writes anything of that step.
TEST_F(RunLocalities, AfterACopyThatFailedNothingIsWritten) {
  const std::vector<std::string> sets{"mesh.max_level=0", "run.max_steps=18", "run.t_end=10",
                                      "output.checkpoint_interval_s=1e-9", "output.mesh_interval=0"};
  const setup s = blast(sets)->prepare().value();
  std::vector<std::string> cpu = sets;
  cpu.push_back("run.max_steps=15");
  ASSERT_EQ(run_on(1, "cpu", cpu)[0].status, run_status::finished);
  const state at_15 = read(newest("cpu"), s);
  const auto end_of = [&](unsigned after) {
    const std::string out = fmt::format("copy{}", after);
    SCOPED_TRACE(out);
    gpu::cpu::testing_backend bad({});
    after_step = [&](const step_report& r) {
      if (r.step == 15) bad.fail_call("copy", gpu::cpu::device_lost, after, 1000);
    };
    std::vector<std::string> how = sets;
    how.insert(how.end(), {"run.device=emulated", "output.history_interval=100"});
    const auto ends = run_beside(bad, out, how);
    EXPECT_EQ(ends[0].status, run_status::failed);
    EXPECT_EQ(ends[0].message, ends[1].message);
    EXPECT_THAT(ends[0].message, HasSubstr("locality 1: "));
    EXPECT_THAT(ends[0].message, Not(HasSubstr("\n")));
    EXPECT_THAT(newest(out), HasSubstr("00000015.h5"));
    expect_same(read(newest(out), s), at_15);
    EXPECT_EQ(files_in(path(out) + "/mesh"), 2u);  // of the start
    EXPECT_THAT(read_file(path(out) + "/history.csv").value(), Not(HasSubstr("\n16,")));
    return ends[0].message;
  };
  unsigned after = 8;
  std::string message = end_of(after);
  ASSERT_THAT(message, testing::StartsWith("after step 15: ")) << "a step has fewer copies: begin with one of them";
  while (message.find("after step 15: ") == 0 && ++after < 100 && !HasFailure()) message = end_of(after);
  EXPECT_THAT(message, testing::StartsWith("after step 16: "));
}

TEST_F(RunLocalities, ALocalityWithoutADeviceIsNamedBeforeTheRun) {
  net::test::localities job(2, 1);
  const gpu::cpu::testing_backend good({}), none({.count_fails = gpu::cpu::no_driver});
  run_request request;
  request.out = path("out");
  std::vector<run_end> ends(2);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      const auto in = blast({"run.device=emulated"});
      const setup s = in->prepare().value();
      step::exchange net(job.at(i));
      hook observer(false, after_step);
      run_request mine = request;
      mine.backend = &(i == 1 ? none : good).get();
      ends[i] = run(*in, s, job.at(i).home(), mine, observer, net);
    });
  for (auto& t : threads) t.join();
  for (const run_end& e : ends) {
    EXPECT_TRUE(e.output_failed);
    EXPECT_THAT(e.message, testing::StartsWith("locality 1: run.device = \"emulated\": "));
  }
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(RunLocalities, OldCheckpointsAreRemovedWithTheirParts) {
  for (const run_end& e : run_on(3, "out", {"output.checkpoint_interval_s=1e-9", "output.checkpoints_kept=2"}))
    EXPECT_EQ(e.status, run_status::finished) << e.message;
  EXPECT_EQ(files_in(path("out") + "/checkpoint"), 2u);
  EXPECT_EQ(files_in(path("out") + "/checkpoint/parts"), 6u);
}

TEST_F(RunLocalities, AStopRequestOnOneStopsAll) {
  after_step = [this](const step_report& r) {
    if (r.step == 2) stop_last = true;
  };
  const auto ends = run_on(3, "out", {"run.max_steps=1000", "run.t_end=10"});
  for (const run_end& e : ends) EXPECT_EQ(e.status, run_status::interrupted) << e.message;
  EXPECT_THAT(ends[0].message, HasSubstr("plx-star --resume"));
  EXPECT_EQ(run_folder(path("out")).checkpoints().size(), 1u);
  stop_last = false;
  const auto in = blast({});
  for (const run_end& e : run_on(2, "out", {"run.max_steps=10", "run.t_end=10"}, newest("out")))
    EXPECT_EQ(e.status, run_status::finished) << e.message;
}

TEST_F(RunLocalities, AWriteErrorOnOneEndsAll) {
  after_step = [this](const step_report& r) {
    // In one call: locality 1 writes there at the same time.
    if (r.step == 2) fs::rename(path("out") + "/localities/1", path("moved"));
  };
  const auto ends = run_on(3, "out", {"run.max_steps=1000", "run.t_end=10", "output.counters_interval_s=1e-9"});
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(ends[i].status, run_status::failed);
    EXPECT_TRUE(ends[i].output_failed);
    EXPECT_THAT(ends[i].message, HasSubstr("locality 1: cannot write '"));
    EXPECT_THAT(ends[i].message, HasSubstr("localities/1/counters.csv': No such file or directory"));
    EXPECT_EQ(ends[i].speaks, i == 0);
  }
  EXPECT_THAT(read_file(path("out") + "/run.json").value(), HasSubstr("\"status\": \"failed\""));
}

TEST_F(RunLocalities, AFailedCheckpointKeepsThePreviousOne) {
  after_step = [this](const step_report& r) {
    if (r.step != 3) return;
    fs::rename(path("out") + "/checkpoint/parts", path("out") + "/checkpoint/moved");
    std::ofstream(path("out") + "/checkpoint/parts") << "in the way";
  };
  const auto ends = run_on(3, "out", {"output.checkpoint_interval_s=1e-9"});
  for (const run_end& e : ends) {
    EXPECT_EQ(e.status, run_status::failed);
    EXPECT_THAT(e.message, HasSubstr("cannot write '"));
  }
  after_step = [](const step_report&) {};
  fs::remove(path("out") + "/checkpoint/parts");
  fs::rename(path("out") + "/checkpoint/moved", path("out") + "/checkpoint/parts");
  EXPECT_THAT(newest("out"), HasSubstr("00000003.h5"));
  for (const run_end& e : run_on(2, "out", {}, newest("out"))) EXPECT_EQ(e.status, run_status::finished) << e.message;
}

// In a row of blocks the second of two localities alone reads the last of four parts; with devices the error is the
// same.
TEST_F(RunLocalities, APartThatIsDamagedIsRefusedByAll) {
  const std::vector<std::string> row{"mesh.root_blocks=[8,1,1]", "mesh.lower=[-2,-0.25,-0.25]",
                                     "mesh.upper=[2,0.25,0.25]", "mesh.max_level=0", "run.max_steps=3"};
  ASSERT_EQ(run_on(4, "out", row)[0].status, run_status::finished);
  const std::string checkpoint = newest("out");
  for (const auto& e : fs::directory_iterator(path("out") + "/checkpoint/parts"))
    if (e.path().string().ends_with(".3.h5")) fs::resize_file(e.path(), fs::file_size(e.path()) - 100);
  for (const char* device : {"run.device=cpu", "run.device=emulated"}) {
    std::vector<std::string> sets = row;
    sets.emplace_back(device);
    for (const run_end& e : run_on(2, "out", sets, checkpoint)) {
      EXPECT_TRUE(e.output_failed);
      EXPECT_THAT(e.message, testing::StartsWith("locality 1: checkpoint '" + checkpoint +
                                                 "' is damaged: its part 'parts/sedov."));
      EXPECT_THAT(e.message, HasSubstr("it is truncated: expected"));
    }
  }
}

// That includes a locality with a device beside one without.
TEST_F(RunLocalities, DifferingInputIsDetected) {
  run_request request;
  request.out = path("out");
  const auto ends_with = [&](const std::string& of_root, const std::string& of_other) {
    net::test::localities job(2, 1);
    std::vector<run_end> ends(2);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        const auto in = blast({i == 0 ? of_root : of_other});
        const setup s = in->prepare().value();
        step::exchange net(job.at(i));
        hook observer(false, after_step);
        ends[i] = run(*in, s, job.at(i).home(), request, observer, net);
      });
    for (auto& t : threads) t.join();
    return ends;
  };
  for (const auto& [of_root, of_other, difference] : std::vector<std::array<std::string, 3>>{
           {"hydro.cfl=0.3", "hydro.cfl=0.25", "expected \"cfl = 0.3\", found \"cfl = 0.25\""},
           {"run.device=cpu", "run.device=emulated", "expected \"device = \"cpu\"\", found \"device = \"emulated\"\""}})
    for (const run_end& e : ends_with(of_root, of_other)) {
      EXPECT_TRUE(e.output_failed);
      EXPECT_EQ(e.message, "locality 1: its input is not the root's: " + difference +
                               "; start all with the same files and options");
    }
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(RunLocalities, SurvivorsReportTheLossAndTheLastCheckpointContinues) {
  net::test::localities job(3, 2);
  std::vector<run_end> ends(3);
  std::vector<std::thread> threads;
  run_request request;
  request.out = path("out");
  after_step = [&](const step_report& r) {
    if (r.step == 4) job.lose(0);  // the root
  };
  const std::vector<std::string> sets{"run.max_steps=1000", "run.t_end=10", "output.checkpoint_interval_s=1e-9"};
  for (unsigned i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      const auto in = blast(sets);
      const setup s = in->prepare().value();
      step::exchange net(job.at(i));
      hook observer(i == 0, after_step);
      ends[i] = run(*in, s, job.at(i).home(), request, observer, net);
    });
  for (auto& t : threads) t.join();
  for (const unsigned i : {1u, 2u}) {
    EXPECT_TRUE(ends[i].lost);
    EXPECT_EQ(ends[i].speaks, i == 1);
    EXPECT_THAT(ends[i].message, HasSubstr("locality 0 is lost"));
    EXPECT_THAT(ends[i].message, HasSubstr("continue with: plx-star --resume " + request.out));
  }
  after_step = [](const step_report&) {};
  const auto after = run_on(2, "out", {"run.max_steps=10", "run.t_end=10"}, newest("out"));
  for (const run_end& e : after) EXPECT_EQ(e.status, run_status::finished) << e.message;
}

}  // namespace
}  // namespace plx::star
