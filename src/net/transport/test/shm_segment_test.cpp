#include "net/transport/shm_segment.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "net/start/bootstrap.hpp"

namespace {

using namespace plx::net::detail;

std::string description(std::string_view process, std::string_view file, std::string_view key) {
  std::string t;
  append_field(t, process), append_field(t, file), append_field(t, key);
  return t;
}

class ShmSegment : public testing::Test {
 protected:
  void SetUp() override {
    auto made = shm_segment::make(3);
    if (!made) GTEST_SKIP() << made.error().message;
    mine = std::move(made).value();
    std::string_view fields = mine.description();
    process = *take_field(fields), file = *take_field(fields), key = *take_field(fields);
  }
  std::string why_not(std::string_view name, unsigned senders = 3) {
    auto opened = shm_segment::open(name, senders);
    return opened ? "" : opened.error().message;
  }
  shm_segment mine;
  std::string process, file, key;
};

TEST_F(ShmSegment, WrittenMessagesAreRead) {
  auto theirs = shm_segment::open(mine.description(), 3);
  ASSERT_TRUE(theirs) << theirs.error().message;
  for (unsigned sender = 0; sender < 3; ++sender) {
    shm_writer w(theirs->ring_of(sender));
    shm_reader r(mine.ring_of(sender));
    const std::array<std::byte, 5> message{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                           static_cast<std::byte>(sender)};
    ASSERT_TRUE(w.put(message, {}));
    for (unsigned other = 0; other < 3; ++other)
      EXPECT_EQ(shm_reader(mine.ring_of(other)).any(), other <= sender) << other;
    std::array<std::byte, most_shm_bytes> into;
    std::size_t bytes = 0;
    ASSERT_EQ(r.next(into, bytes), shm_reader::found::message);
    EXPECT_TRUE(std::equal(message.begin(), message.end(), into.begin()) && bytes == message.size());
  }
  theirs->asleep() = 1;
  EXPECT_EQ(mine.asleep(), 1u);
}

// It would write to the rings of its parent.
TEST_F(ShmSegment, AForkedChildHasNoAccess) {
  const auto begin = reinterpret_cast<std::uintptr_t>(&mine.asleep()) & ~std::uintptr_t{4095};
  const auto is_mapped = [begin] { return msync(reinterpret_cast<void*>(begin), 1, MS_ASYNC) == 0; };
  EXPECT_TRUE(is_mapped());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(is_mapped() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(ShmSegment, WrongKeyIsRejected) {
  EXPECT_NE(why_not(description(process, file, std::string(16, 'x'))).find("belongs to another job"),
            std::string::npos);
  EXPECT_EQ(why_not(description(process, file, "short")), "invalid description of a shared memory segment");
  EXPECT_EQ(why_not(""), "invalid description of a shared memory segment");
  EXPECT_EQ(why_not(description("-1", file, key)), "invalid description of a shared memory segment");
  EXPECT_EQ(why_not(description("a", file, key)), "invalid description of a shared memory segment");
}

TEST_F(ShmSegment, OtherFilesAreRejected) {
  EXPECT_NE(why_not(mine.description(), 2).find("is not a suitable shared memory segment"),
            std::string::npos);  // another size
  EXPECT_NE(why_not(description(process, "0", key)), "");
  EXPECT_NE(why_not(description(process, "999999", key)), "");
  EXPECT_NE(why_not(description("999999999", file, key)), "");
  const int unsealed = memfd_create("plx-shm", MFD_CLOEXEC);  // could shrink while it is mapped
  ASSERT_EQ(ftruncate(unsealed, static_cast<off_t>(shm_segment::bytes_for(3))), 0);
  EXPECT_NE(
      why_not(description(process, std::to_string(unsealed), key)).find("is not a suitable shared memory segment"),
      std::string::npos);
  close(unsealed);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  EXPECT_NE(why_not(description(process, std::to_string(pipe_ends[0]), key)), "");  // open() must not wait for a writer
  close(pipe_ends[0]), close(pipe_ends[1]);
}

TEST(ShmSegmentSize, FileSizeLimitIsReported) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit few{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  const auto made = shm_segment::make(2);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("found a limit of 1024"), std::string::npos) << made.error().message;
}

TEST(ShmSegmentSize, IsBounded) {
  for (const unsigned n : {1u, 2u, 3u, 16u, 100u, 1000u}) {
    EXPECT_LE(shm_segment::bytes_for(n), (std::size_t{4} << 20) + n * 2048 + 4096) << n;
    EXPECT_GE(shm_segment::ring_lines(n), 2 * most_shm_lines);
    EXPECT_EQ(shm_segment::ring_lines(n) & (shm_segment::ring_lines(n) - 1), 0u);
  }
}

}  // namespace
