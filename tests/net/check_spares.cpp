// Spares that take the place of killed processes.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "job_check.hpp"
#include "net/error.hpp"
#include "net/group/test/replaced_slabs_test.hpp"
#include "net/locality.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

/// Whether this locality is in a list of numbers "1,3".
bool is_among(std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    unsigned one = ~0u;
    std::from_chars(list.data(), list.data() + end, one);
    if (one == find_here()) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

void replace_killed(const std::string& victims, int kill_after_step) {
  replaced_test::result r;
  run_slabs(r, 40, [&](int step) {
    if (step == kill_after_step && is_among(victims)) kill(getpid(), SIGKILL);
    this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  if (!r.is_complete) throw std::logic_error("the others have ended");
  std::string members;
  for (const locality_id l : r.members) {
    if (!members.empty()) members += ',';
    members += std::to_string(l);
  }
  std::printf("result %u %a members %s slabs %u\n", find_here(), r.sum, members.c_str(), r.most_slabs_restored);
  std::fflush(stdout);
}

void throw_on_spare(locality_id victim) {
  if (joined()) throw std::runtime_error("no such file");
  if (find_here() == victim) kill(getpid(), SIGKILL);
  auto all = replace_lost();
  while (true) {
    all->barrier().get();
    this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int value_with_spares() {
  const communicator all;
  all.barrier().get();
  return all.all_reduce(1, std::plus<>()).get();
}
