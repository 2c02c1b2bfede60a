// Tests a transport between processes; started by test_transports.py:
//
//   transport_check pairs             every locality sends every other one heads and pieces of many sizes, and checks
//                                     those that arrive
//   transport_check start             starts and stops
//   transport_check die WHO           locality WHO is killed while all send; the others report their losses
//   transport_check crash WHO         locality WHO crashes while it writes to the memory of the next
//   transport_check last WHO          locality WHO dies before the others poll; they report how many of its heads they
//                                     received before the loss
//   transport_check late WHO SECONDS  locality WHO does not start: the others wait that long
//   transport_check rates             latency and rate between localities 0 and 1
#include "transport_check.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "net/transport/transport.hpp"

namespace {

[[noreturn]] void give_up(const plx::error& e) {
  fmt::print(stderr, "transport_check: {}\n", e.message);
  std::exit(3);
}

double number(const char* text) { return text != nullptr ? std::atof(text) : 0; }

}  // namespace

int main(int argc, char** argv) {
  plx::log_to_stderr(plx::log_level::warning);
  const std::string_view mode = argc > 1 ? argv[1] : "start";
  const char* first = argc > 2 ? argv[2] : nullptr;
  const double deadline_s = mode == "late" ? number(argc > 3 ? argv[3] : nullptr) : 300;
  const auto name = plx::net::choose_transport();
  if (!name) give_up(name.error());
  const auto start = plx::net::find_bootstrap(*name, deadline_s);
  if (!start) give_up(start.error());
  plx::net::bootstrap& job = **start;
  if (mode == "late" && job.here() == number(first)) {
    std::this_thread::sleep_for(std::chrono::minutes(5));  // the launcher ends it when another one has given up
    return 0;
  }
  if (job.size() == 1) {
    fmt::print("alone\n");
    return 0;
  }
  auto carrier = plx::net::find_transport(*name, job, deadline_s);
  if (!carrier) give_up(carrier.error());
  int code = 0;
  if (mode == "pairs") code = check_pairs(job, **carrier);
  if (mode == "die" || mode == "crash")
    code = check_death(job, **carrier, static_cast<plx::locality_id>(number(first)), mode == "crash");
  if (mode == "last") code = check_last_heads(job, **carrier, static_cast<plx::locality_id>(number(first)));
  if (mode == "rates") code = measure_rates(job, **carrier);
  if (mode == "start") code = check_start(job, **carrier);
  if (!(*carrier)->stop(300)) code = 1, fmt::print("locality {} did not stop in time\n", job.here());
  if (code == 0 && *name != "mpi") code = check_given_back(job.here());  // MPI may use memory until the process ends
  carrier->reset();
  job.leave(5);
  return code;
}
