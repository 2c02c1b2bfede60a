// Measurement in a program of threads without a runtime: scoped timers, values, counters. Here the program selects what
// is measured; otherwise PLX_PROFILE=1 does, and with plx-exec no call is needed.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "attach/zone.hpp"

static void relax(int sweeps) {
  PLX_ZONE("relax");
  for (int i = 0; i < sweeps; ++i) {
    PLX_ZONE("sweep");
    plx_probe_sample("residual", 1.0 / (i + 1));
  }
}

int main() {
  const std::string name = "plx_example_16_" + std::to_string(getpid());
  const std::string folder = (std::filesystem::temp_directory_path() / name).string();
  const std::string output = "--plx:output=" + folder, profile = "--plx:profile=csv";
  char* arguments[] = {const_cast<char*>("example"), const_cast<char*>(profile.c_str()),
                       const_cast<char*>(output.c_str()), nullptr};
  int n_arguments = 3;
  std::printf("measured: %s\n", plx_probe_init_arguments(&n_arguments, arguments) != 0 ? "yes" : plx_probe_error());

  std::vector<std::thread> threads;
  for (int sweeps : {3, 5}) threads.emplace_back(relax, sweeps);
  for (auto& thread : threads) thread.join();
  plx_probe_finalize();  // would also happen at exit

  // timers.csv: name,calls,inclusive and exclusive time, ...
  std::ifstream file(folder + "/timers.csv");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("relax") || line.starts_with("sweep"))
      std::printf("%s calls\n", line.substr(0, line.find(',', line.find(',') + 1)).c_str());
  std::filesystem::remove_all(folder);
}

// Output:
//   measured: yes
//   relax,2 calls
//   sweep,8 calls
