#include "net/transport/transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/start/bootstrap.hpp"
#include "net/start/test/table_bootstrap_test.hpp"

namespace {

using namespace plx;
using namespace plx::net;
using testing::HasSubstr;

/// Sets the environment variables of launchers for a test, and restores them afterwards.
class FindTransport : public testing::Test {
 protected:
  FindTransport() {
    for (const char* name :
         {"PLX_TRANSPORT", "PMIX_RANK", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
          "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
          "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"})
      unset(name);
    for (const char* name : servers) unset(name);
  }
  ~FindTransport() override {
    for (const auto& [name, value] : before_) value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  /// Where PMIx finds its server, by the version of the protocol.
  static constexpr const char* servers[] = {"PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3",
                                            "PMIX_SERVER_URI4", "PMIX_SERVER_URI41"};

 private:
  void unset(const char* name) {
    const char* value = std::getenv(name);
    before_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    unsetenv(name);
  }
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(FindTransport, AProcessWithoutALauncherIsAlone) {
  EXPECT_EQ(net::detail::launched_by(), nullptr);
  const auto name = choose_transport();
  EXPECT_EQ(*name, "alone");
  const auto b = find_bootstrap(*name);
  EXPECT_EQ((*b)->name(), "alone");
  EXPECT_EQ((*b)->size(), 1u);
  EXPECT_THAT(*(*b)->exchange("mine", 1), testing::ElementsAre("mine"));
}

TEST_F(FindTransport, OneSlurmTaskIsAlone) {
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_EQ(net::detail::launched_by(), nullptr);
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  EXPECT_STREQ(net::detail::launched_by(), "SLURM_STEP_NUM_TASKS");
}

TEST_F(FindTransport, LaunchersSayHowManyProcessesThereAre) {
  EXPECT_EQ(net::detail::launched().processes, 1u);
  EXPECT_EQ(net::detail::launched().on_host, 1u);
  for (const auto& [processes, on_host] : {std::pair("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
                                           {"PMI_SIZE", "MPI_LOCALNRANKS"},
                                           {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"}}) {
    setenv(processes, "7", 1);
    setenv(on_host, "4(x2),3", 1);
    EXPECT_EQ(net::detail::launched().processes, 7u) << processes;
    EXPECT_EQ(net::detail::launched().on_host, 4u) << on_host;
    setenv(processes, "2", 1);  // on the host are no more than there are
    EXPECT_EQ(net::detail::launched().on_host, 2u) << on_host;
    unsetenv(processes);
    unsetenv(on_host);
  }
}

TEST_F(FindTransport, TheEnvironmentDecides) {
  for (const char* name : {"ucx", "mpi", "alone"}) {
    setenv("PLX_TRANSPORT", name, 1);
    EXPECT_EQ(*choose_transport(), name);
  }
  setenv("PMI_RANK", "3", 1);
  EXPECT_EQ((*find_bootstrap("alone"))->size(), 1u);
}

TEST_F(FindTransport, AnUnknownNameIsAnError) {
  setenv("PLX_TRANSPORT", "ucs", 1);
  EXPECT_EQ(choose_transport().error().message,
            "PLX_TRANSPORT: expected ucx, mpi or alone, found 'ucs'; did you mean 'ucx'?");
  setenv("PLX_TRANSPORT", "sim", 1);  // the simulated network has no processes to choose it
  EXPECT_EQ(choose_transport().error().message, "PLX_TRANSPORT: expected ucx, mpi or alone, found 'sim'");
  test::table t(2);
  test::table_bootstrap b(t, 0);
  EXPECT_EQ(find_transport("ucs", b, 1).error().message,
            "expected a transport between processes, ucx or mpi, found 'ucs'");
}

TEST_F(FindTransport, WithoutPmixTheErrorSaysHowToStart) {
  setenv("PMI_RANK", "3", 1);
  const auto b = find_bootstrap("ucx");
  ASSERT_FALSE(b);
  EXPECT_THAT(b.error().message, HasSubstr("expected a launcher with PMIx, but only PMI_RANK is set"));
  EXPECT_THAT(b.error().message, HasSubstr("srun --mpi=pmix"));
}

// The launcher's process listens, but has been stopped, or has no thread left that answers.
TEST_F(FindTransport, ALauncherThatDoesNotAnswerIsReported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
  setenv("PMIX_RANK", "0", 1);
  setenv("PMIX_NAMESPACE", "stopped", 1);
  const std::string server = "stopped.0;tcp4://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  for (const char* name : servers) setenv(name, server.c_str(), 1);
  EXPECT_EXIT(
      {
        const auto b = find_bootstrap("ucx", 0.1);
        const auto again = find_bootstrap("ucx", 0.1);
        std::fprintf(stderr, "%s\n%s\n", b ? "it answers" : b.error().message.c_str(),
                     again ? "it answers" : again.error().message.c_str());
        std::exit(2);  // also while PMIx_Init has not returned
      },
      testing::ExitedWithCode(2),
      "PMIX_RANK is set, but the launcher that set it has not answered at the start within 0.1 s; start with mpirun.*\n"
      "PMIx cannot be started: an earlier start.*|cannot load PMIx|built without it|PMIx_Init failed");
  close(listener);
}

TEST(Fields, AreReadAsWritten) {
  std::string all;
  for (const std::string& field : std::vector<std::string>{"", "a", std::string(1000, 'x')})
    net::detail::append_field(all, field);
  std::string_view rest = all;
  EXPECT_EQ(net::detail::take_field(rest), "");
  EXPECT_EQ(net::detail::take_field(rest), "a");
  EXPECT_EQ(net::detail::take_field(rest)->size(), 1000u);
  EXPECT_EQ(net::detail::take_field(rest), std::nullopt);
}

TEST(Fields, AnIncompleteFieldIsNotRead) {
  std::string all;
  net::detail::append_field(all, "abc");
  for (std::size_t n = 0; n < all.size(); ++n) {
    std::string_view part = std::string_view(all).substr(0, n);
    EXPECT_EQ(net::detail::take_field(part), std::nullopt) << n;
    EXPECT_EQ(part.size(), n);  // unchanged
  }
}

}  // namespace
