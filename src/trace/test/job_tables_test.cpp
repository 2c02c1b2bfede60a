#include "trace/task_plots.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "probe/record/test/trace_builder_test.hpp"

namespace plx::probe {
namespace {

TEST(JobTables, PiecesAndParcelsOfTheMiddle) {
  trace_builder b(3);
  const auto ms = [](double n) { return 1'000'000 + ticks_from(n * 1e-3); };
  b.data.origin = 1'000'000;
  b.piece(0, 1, "early", ms(1), ms(2)).piece(0, 2, "a,b", ms(3), ms(5)).key(7);
  b.piece(2, 3, "c", ms(4), ms(6)).piece(2, 4, "late", ms(8), ms(9));
  job_trace_data t{b.data, {}};
  t.job.localities.resize(2);
  t.job.localities[0].workers = 1;
  t.job.localities[1].first_worker = 1;
  t.job.localities[1].workers = 2;
  t.job.messages.push_back({.sent = ms(1.5), .received = ms(4), .number = 1, .bytes = 8, .from = 0, .to = 1});
  t.job.messages.push_back({.sent = ms(3.5), .received = ms(4), .number = 2, .bytes = 9, .from = 0, .to = 1});
  t.job.messages.push_back({.sent = ms(4.5), .received = 0, .number = 3, .bytes = 9, .from = 0, .to = 1});
  const std::string folder = temporary_path("job_tables_test");
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_job_tables(t, folder, 2));
  EXPECT_EQ(read_file(folder + "/job_timeline.csv").value().substr(0, 80),
            "locality,worker,name,key,begin_s,end_s\n0,0,\"a,b\",7,0.003000000,0.005000000\n1,1,c");
  EXPECT_EQ(read_file(folder + "/job_parcels.csv").value(),
            "from,to,name,bytes,sent_s,received_s\n0,1,unnamed,9,0.003500000,0.004000000\n");
  EXPECT_FALSE(write_job_tables(t, folder + "/not/there", 2));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plx::probe
