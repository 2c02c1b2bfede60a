// For tests: a path used by this process only, because others may run the same test at the same time. It is removed
// when the program ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

namespace plx::probe {

inline std::string temporary_path(const std::string& name) {
  static struct cleaner {
    std::set<std::string> paths;
    ~cleaner() {
      std::error_code ignored;
      for (const std::string& p : paths) std::filesystem::remove_all(p, ignored);
    }
  } all;
  return *all.paths.insert(::testing::TempDir() + "plx_" + std::to_string(::getpid()) + "_" + name).first;
}

}  // namespace plx::probe
