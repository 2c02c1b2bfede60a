// Replays the fuzzers' corpora on a node, with every compiler and under every sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "messages.hpp"
#include "rings.hpp"
#include "shm.hpp"

namespace {

std::vector<std::uint8_t> contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::filesystem::path messages = std::filesystem::path(PLX_FUZZ_CORPUS) / "messages",
                            shm_inputs = std::filesystem::path(PLX_FUZZ_CORPUS) / "shm";

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& f : std::filesystem::recursive_directory_iterator(folder))
    if (f.is_regular_file()) files.push_back(f.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST(FuzzCorpus, EveryMessageIsHandled) {
  const auto files = files_in(messages);
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

// An invalid bool, and a parcel that names a false sender.
TEST(FuzzCorpus, InvalidValuesAreRefused) {
  for (const auto& [name, refused] :
       {std::pair("signals", 0u), std::pair("signals_neither", 1u), std::pair("signals_of_another", 1u)}) {
    SCOPED_TRACE(name);
    const auto bytes = contents(messages / "seeds" / name);
    ASSERT_GT(bytes.size(), 8u);
    fuzz::message_target target;
    target.take(bytes.data(), bytes.size());
    EXPECT_EQ(target.refused(), refused);
  }
}

// Well-formed messages, truncated at every byte: only the complete ones are accepted.
TEST(FuzzCorpus, TruncatedMessagesAreRefused) {
  for (const char* name : {"add", "again", "nested", "shifted", "answer_orbit", "two_parcels", "signals"}) {
    SCOPED_TRACE(name);
    const auto whole = contents(messages / "seeds" / name);
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

// The decoder alone also accepts some inputs and rejects others.
TEST(FuzzCorpus, EveryInputIsDecoded) {
  unsigned sound = 0, unsound = 0;
  for (const auto& f : files_in(messages)) {
    const auto bytes = contents(f);
    ++(fuzz::decode_message(bytes.data(), bytes.size()) ? sound : unsound);
  }
  EXPECT_GT(sound, 10u);
  EXPECT_GT(unsound, 10u);
}

TEST(FuzzCorpus, EveryRingIsRead) {
  const auto files = files_in(std::filesystem::path(PLX_FUZZ_CORPUS) / "ring");
  ASSERT_GT(files.size(), 20u);
  unsigned read = 0;
  for (const auto& f : files) {
    const auto bytes = contents(f);
    read += fuzz::play_ring(bytes.data(), bytes.size());
  }
  EXPECT_GT(read, 20u);
}

TEST(FuzzCorpus, EveryInputOfTheRingsOfATransportIsPlayed) {
  const auto files = files_in(std::filesystem::path(PLX_FUZZ_CORPUS) / "rings");
  ASSERT_GT(files.size(), 20u);
  fuzz::rings_outcome all;
  for (const auto& f : files) {
    SCOPED_TRACE(f.filename().string());
    const auto bytes = contents(f);
    const fuzz::rings_outcome one = fuzz::play_rings(bytes.data(), bytes.size());
    all.received += one.received, all.invalid += one.invalid, all.sent += one.sent, all.wake_ups += one.wake_ups;
    all.raw += one.raw, all.awaited += one.awaited;
  }
  EXPECT_GT(all.received, 20u);
  EXPECT_GT(all.raw, 5u);
  EXPECT_GT(all.awaited, 0u);
  EXPECT_GT(all.invalid, 3u);
  EXPECT_GT(all.sent, 5u);
  EXPECT_GT(all.wake_ups, 1u);
}

TEST(FuzzCorpus, InvalidSizesInARingEndIt) {
  const auto play = [](const char* name) {
    const auto bytes = contents(std::filesystem::path(PLX_FUZZ_CORPUS) / "rings" / "seeds" / name);
    EXPECT_GT(bytes.size(), 4u) << name;
    return fuzz::play_rings(bytes.data(), bytes.size());
  };
  EXPECT_EQ(play("messages").received, 2u);
  EXPECT_EQ(play("long_message").received, 1u);
  EXPECT_EQ(play("no_bytes").invalid, 1u);
  EXPECT_EQ(play("no_bytes").received, 1u) << "of the other neighbour";
  EXPECT_EQ(play("too_many_bytes").invalid, 1u);
  EXPECT_EQ(play("sent").sent, 3u);
  EXPECT_EQ(play("asleep").wake_ups, 1u);
  EXPECT_EQ(play("lost").received, 1u);
  EXPECT_EQ(play("for_ever").received, 32u);
}

TEST(FuzzCorpus, RawMessagesInARingKeepTheirKind) {
  const auto play = [](const char* name) {
    const auto bytes = contents(std::filesystem::path(PLX_FUZZ_CORPUS) / "rings" / "seeds" / name);
    EXPECT_GT(bytes.size(), 4u) << name;
    return fuzz::play_rings(bytes.data(), bytes.size());
  };
  EXPECT_EQ(play("raw").raw, 1u);
  EXPECT_EQ(play("raw").sent, 2u);
  EXPECT_EQ(play("asleep_raw").sent, 2u);
  EXPECT_EQ(play("asleep_raw").wake_ups, 1u);
  EXPECT_EQ(play("awaited").awaited, 1u);
  EXPECT_EQ(play("awaited").received, 2u) << "the head is left";
  EXPECT_EQ(play("of_one").received, 2u + 128u);
  EXPECT_EQ(play("two_invalid").received, 1u) << "while a report is pending";
  EXPECT_EQ(play("two_invalid").invalid, 2u);
}

// Data written by neighbours: calls complete or fail.
TEST(FuzzCorpus, EveryCollectiveMessageIsHandled) {
  const auto files = files_in(shm_inputs);
  ASSERT_GT(files.size(), 20u);
  fuzz::shm_target target;
  unsigned refused = 0, ended = 0, completed = 0;
  for (const auto& f : files) {
    const auto bytes = contents(f);
    target.take(bytes.data(), bytes.size());
    refused += target.last().refused != 0;
    ended += target.last().ended_it;
    completed += target.last().completed != 0;
  }
  EXPECT_GT(refused, 10u);
  EXPECT_GT(ended, 2u);
  EXPECT_GT(completed, 5u);
}

TEST(FuzzCorpus, InvalidFramingLosesTheNeighbourAndInvalidCallsDoNot) {
  struct expected {
    const char* name;
    unsigned refused;
    bool ended;
    unsigned completed;
  };
  for (const auto& e :
       {expected{"barrier", 0, false, 1}, expected{"all_reduce", 0, false, 1}, expected{"early", 0, false, 1},
        expected{"of_another", 1, false, 0}, expected{"no_call", 1, false, 0}, expected{"no_bytes", 0, true, 0},
        expected{"too_many_bytes", 0, true, 0}, expected{"another_call", 0, false, 0}}) {
    SCOPED_TRACE(e.name);
    const auto bytes = contents(shm_inputs / "seeds" / e.name);
    ASSERT_GT(bytes.size(), 4u);
    fuzz::shm_target target;
    target.take(bytes.data(), bytes.size());
    EXPECT_EQ(target.last().refused, e.refused);
    EXPECT_EQ(target.last().ended_it, e.ended);
    EXPECT_EQ(target.last().completed, e.completed);
  }
}

}  // namespace
