// What the fuzzer found worth keeping is taken by a node again, with every compiler and under every sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "messages.hpp"

namespace {

std::vector<std::uint8_t> contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(FuzzCorpus, EveryInputIsTaken) {
  std::vector<std::filesystem::path> files;
  for (const auto& f : std::filesystem::directory_iterator(PLX_FUZZ_CORPUS)) files.push_back(f.path());
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 20u);
  fuzz::message_target target;
  std::uint64_t refused = 0, taken = 0;
  for (const auto& f : files) {
    const auto before = target.refused();
    const auto bytes = contents(f);
    target.take(bytes.data(), bytes.size());
    ++(target.refused() == before ? taken : refused);
  }
  EXPECT_GT(taken, 10u);
  EXPECT_GT(refused, 10u);
}

// A bool that is neither, and a parcel that says another sender than it has.
TEST(FuzzCorpus, WhatCannotBeIsRefused) {
  for (const auto& [name, refused] :
       {std::pair("signals", 0u), std::pair("signals_neither", 1u), std::pair("signals_of_another", 1u)}) {
    SCOPED_TRACE(name);
    const auto bytes = contents(std::filesystem::path(PLX_FUZZ_CORPUS) / name);
    ASSERT_GT(bytes.size(), 8u);
    fuzz::message_target target;
    target.take(bytes.data(), bytes.size());
    EXPECT_EQ(target.refused(), refused);
  }
}

// Well-formed ones, cut off at every place: none but the whole is taken.
TEST(FuzzCorpus, WhatIsCutOffIsRefused) {
  for (const char* name : {"add", "again", "nested", "shifted", "answer_orbit", "two_parcels", "signals"}) {
    SCOPED_TRACE(name);
    const auto whole = contents(std::filesystem::path(PLX_FUZZ_CORPUS) / name);
    ASSERT_GT(whole.size(), 8u);
    fuzz::message_target target;
    target.take(whole.data(), whole.size());
    EXPECT_EQ(target.refused(), 0u);
    for (std::size_t n = 1; n < whole.size(); ++n) {
      const auto before = target.refused();
      target.take(whole.data(), n);
      EXPECT_GT(target.refused(), before) << n << " of " << whole.size() << " bytes";
    }
  }
}

}  // namespace
