#include "net/transport/shm_segment.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "net/start/bootstrap.hpp"

namespace plx::net::detail {

namespace {

constexpr std::size_t line_bytes = sizeof(shm_line);
constexpr std::size_t usual_lines = 128, most_bytes = std::size_t{4} << 20;

error failed(const char* what) { return {fmt::format("{}: {}", what, std::strerror(errno))}; }

// Closes the file descriptor unless keep() is called.
class file {
 public:
  explicit file(int fd) noexcept : fd_(fd) {}
  ~file() {
    if (fd_ >= 0) close(fd_);
  }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }
  int keep() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

#if defined(MFD_ALLOW_SEALING)
// Not executable: systems may require every memfd to declare that. Older kernels reject the flag.
int new_memory() noexcept {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
#if defined(MFD_NOEXEC_SEAL)
  const int fd = memfd_create("plx-shm", flags | MFD_NOEXEC_SEAL);
  if (fd >= 0 || errno != EINVAL) return fd;
#endif
  return memfd_create("plx-shm", flags);
}
#endif

std::optional<int> number_of(std::optional<std::string_view> text) {
  int n = -1;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), n).ec != std::errc{} || n < 0) return {};
  return n;
}

}  // namespace

struct shm_segment::head {
  alignas(line_bytes) job_secret key;
  alignas(line_bytes) std::atomic<std::uint32_t> asleep;
};

std::size_t shm_segment::ring_lines(unsigned senders) noexcept {
  const std::size_t fit = most_bytes / line_bytes / std::max(senders, 1u);
  return std::clamp(std::bit_floor(fit), 2 * most_shm_lines, usual_lines);
}

std::size_t shm_segment::bytes_for(unsigned senders) noexcept {
  return sizeof(head) + senders * line_bytes * (1 + ring_lines(senders));
}

result<bool> shared_memory_wanted() {
  const char* text = std::getenv("PLX_SHARED_MEMORY");
  const std::string_view found = text == nullptr ? "" : text;
  if (found.empty() || found == "on") return true;
  if (found == "off") return false;
  return error{fmt::format("PLX_SHARED_MEMORY: expected on or off, found '{}'", found)};
}

void warn_without_shm(std::string_view why) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true, std::memory_order_relaxed))
    log_warning("not all messages between localities of this host use shared memory: {}", why);
}

shm_segment::head& shm_segment::begin() const noexcept { return *std::launder(reinterpret_cast<head*>(memory_)); }

std::atomic<std::uint32_t>& shm_segment::asleep() const noexcept { return begin().asleep; }

shm_ring shm_segment::ring_of(unsigned sender) const noexcept {
  const std::size_t lines = ring_lines(senders_);
  std::byte* at = memory_ + sizeof(head) + sender * line_bytes * (1 + lines);
  return {std::launder(reinterpret_cast<std::atomic<std::uint64_t>*>(at)),
          {std::launder(reinterpret_cast<shm_line*>(at + line_bytes)), lines}};
}

shm_segment shm_segment::at(std::byte* memory, unsigned senders) noexcept {
  shm_segment s;
  s.memory_ = memory;
  s.senders_ = senders;
  return s;
}

result<std::byte*> shm_segment::map(int file, std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return failed("shared memory cannot be mapped");
#if defined(MADV_DONTFORK)
  (void)madvise(memory, bytes, MADV_DONTFORK);  // a child would write to the rings of its parent
#endif
  return static_cast<std::byte*>(memory);
}

result<shm_segment> shm_segment::make(unsigned senders) {
#if defined(MFD_ALLOW_SEALING) && defined(F_ADD_SEALS)
  const auto key = net::detail::make_secret();
  if (!key) return key.error();
  const std::size_t bytes = bytes_for(senders);
  rlimit most{};  // beyond it, the process gets a signal
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < bytes)
    return error{fmt::format("expected a file size limit of at least {} bytes, found a limit of {}: see ulimit -f",
                             bytes, std::uint64_t{most.rlim_cur})};
  file f(new_memory());
  if (f.get() < 0) return failed("memfd_create");
  // Allocate all of it now: later there would be no way to report a shortage. The size is sealed, so that no process
  // can remove pages that another one has mapped.
  int e = EINTR;
  while (e == EINTR) e = posix_fallocate(f.get(), 0, static_cast<off_t>(bytes));
  if (e != 0) return errno = e, failed("shared memory cannot be allocated");
  if (fcntl(f.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return failed("F_ADD_SEALS");
  auto memory = map(f.get(), bytes);
  if (!memory) return memory.error();
  shm_segment s = at(*memory, senders);
  s.mapped_ = true;
  s.file_ = f.keep();
  s.begin().key = *key;
  append_field(s.description_, std::to_string(getpid()));
  append_field(s.description_, std::to_string(s.file_));
  append_field(s.description_, {reinterpret_cast<const char*>(key->data()), key->size()});
  return s;
#else
  static_cast<void>(senders);
  return error{"this system has no memfd_create"};
#endif
}

result<shm_segment> shm_segment::open(std::string_view description, unsigned senders) {
#if defined(MFD_ALLOW_SEALING) && defined(F_ADD_SEALS)
  const auto process = number_of(take_field(description));
  const auto number = number_of(take_field(description));
  const auto key = take_field(description);
  if (!process || !number || !key || key->size() != sizeof(job_secret))
    return error{"invalid description of a shared memory segment"};
  const std::string path = fmt::format("/proc/{}/fd/{}", *process, *number);
  // In a container the number may be that of another process: the link is checked before it is opened, and the segment
  // must contain the key.
  char link[64] = {};
  if (readlink(path.c_str(), link, sizeof link - 1) < 0) return failed(path.c_str());
  if (!std::string_view(link).starts_with("/memfd:plx-shm")) return error{path + " is not a shared memory segment"};
  file f(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (f.get() < 0) return failed(path.c_str());
  const std::size_t bytes = bytes_for(senders);
  struct stat about {};
  const int seals = fcntl(f.get(), F_GET_SEALS);
  if (fstat(f.get(), &about) != 0 || static_cast<std::size_t>(about.st_size) != bytes || seals < 0 ||
      (seals & F_SEAL_SHRINK) == 0)
    return error{path + " is not a suitable shared memory segment"};
  auto memory = map(f.get(), bytes);
  if (!memory) return memory.error();
  shm_segment s = at(*memory, senders);
  s.mapped_ = true;
  if (std::memcmp(s.begin().key.data(), key->data(), key->size()) != 0) return error{path + " belongs to another job"};
  return s;
#else
  static_cast<void>(description), static_cast<void>(senders);
  return error{"this system has no memfd_create"};
#endif
}

shm_segment::shm_segment(shm_segment&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      senders_(other.senders_),
      file_(std::exchange(other.file_, -1)),
      mapped_(std::exchange(other.mapped_, false)),
      description_(std::move(other.description_)) {}

shm_segment& shm_segment::operator=(shm_segment&& other) noexcept {
  std::swap(memory_, other.memory_), std::swap(senders_, other.senders_), std::swap(file_, other.file_);
  std::swap(mapped_, other.mapped_), std::swap(description_, other.description_);
  return *this;
}

shm_segment::~shm_segment() {
  if (mapped_) munmap(memory_, bytes_for(senders_));
  if (file_ >= 0) close(file_);
}

}  // namespace plx::net::detail
