// A checkpoint on disk: checkpoint-GENERATION-RANK.plx of each member, and the manifest checkpoint.plx, which is
// written last and names the generation and all files.
//
//   file      magic u64, version u32, 0 u32, bytes of the table u64, checksum of the table u64, table, data
//   table     of a member: the entries with the checksums of their data; of the manifest: generation and files, no data
//
// A file is named in the manifest with its size and the checksum of its table, which has those of the data: a file of
// another checkpoint, or one that was changed in any place, is recognized.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/file.hpp"
#include "net/checkpoint.hpp"

namespace plx {
namespace net::checkpoint {
namespace {

constexpr std::uint64_t part_magic = 0x74726170786c70ff;      // "\xffplxpart" in little-endian order
constexpr std::uint64_t manifest_magic = 0x6c6c61786c7001ff;  // "\xff\x01plxall"
constexpr std::uint32_t format_version = 1;
constexpr std::string_view use_shared = "use a folder that all hosts share";

struct file_head {
  std::uint64_t magic = 0;
  std::uint32_t version = format_version, zero = 0;
  std::uint64_t table_bytes = 0, table_checksum = 0;
};
static_assert(sizeof(file_head) == 32);

/// The manifest's entry for a member's file.
struct part_info {
  std::uint64_t entries = 0, size_bytes = 0, table_checksum = 0;
};

struct manifest {
  std::uint64_t generation = 0;  // 0: there is no checkpoint
  std::vector<part_info> parts;
};

}  // namespace
}  // namespace net::checkpoint

template <>
inline constexpr bool is_bitwise<net::checkpoint::part_info> = true;

namespace net::checkpoint {
namespace {

std::string part_path(const std::string& folder, std::uint64_t generation, std::size_t rank) {
  return fmt::format("{}/checkpoint-{}-{}.plx", folder, generation, rank);
}
std::string manifest_path(const std::string& folder) { return folder + "/checkpoint.plx"; }

template <class... T>
std::string bytes_of(const T&... values) {
  const auto write_all = [&](wire_writer& w) { (net::write(w, values), ...); };
  wire_writer counting({});
  write_all(counting);
  std::string bytes(counting.used(), '\0');
  wire_writer w(std::as_writable_bytes(std::span(bytes)));
  write_all(w);
  return bytes;
}
std::span<const std::byte> as_bytes(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

/// A file; all functions throw checkpoint_error.
class input_file {
 public:
  explicit input_file(std::string path) : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw checkpoint_error(fmt::format("{}; {}", file_error("read", path_, errno).message, use_shared));
    const off_t end = ::lseek(file_, 0, SEEK_END);
    if (end < 0) fail(file_error("read", path_, errno).message);
    size_ = static_cast<std::uint64_t>(end);
  }
  ~input_file() {
    if (file_ >= 0) ::close(file_);
  }
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;

  void read(std::uint64_t at, void* to, std::size_t n) const {
    auto* next = static_cast<char*>(to);
    while (n != 0) {
      const ssize_t got = ::pread(file_, next, n, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw checkpoint_error(file_error("read", path_, errno).message);
      if (got == 0) damaged("it ends early");
      next += got, at += static_cast<std::uint64_t>(got), n -= static_cast<std::size_t>(got);
    }
  }
  /// The table, after the checks of everything before the data.
  std::string table(std::uint64_t magic) const {
    file_head head;
    if (size_ < sizeof head) damaged(fmt::format("it has {} bytes only", size_));
    read(0, &head, sizeof head);
    if (head.magic != magic)
      throw checkpoint_error(fmt::format("'{}' is not a file of a checkpoint of this kind", path_));
    if (head.version != format_version)
      throw checkpoint_error(fmt::format("'{}' has version {} of the format; this program reads version {}", path_,
                                         head.version, format_version));
    if (head.table_bytes > size_ - sizeof head) damaged("it is truncated");
    std::string table(head.table_bytes, '\0');
    read(sizeof head, table.data(), table.size());
    if (head.zero != 0 || checksum_of(as_bytes(table)) != head.table_checksum)
      damaged("the checksum of its table is wrong");
    return table;
  }
  [[noreturn]] void damaged(const std::string& how) const {
    throw checkpoint_error(fmt::format("'{}' is damaged: {}; use another checkpoint", path_, how));
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  [[noreturn]] void fail(const std::string& message) {
    ::close(std::exchange(file_, -1));
    throw checkpoint_error(message);
  }
  std::string path_;
  int file_;
  std::uint64_t size_ = 0;
};

manifest read_manifest(const std::string& folder) {
  const input_file file(manifest_path(folder));
  const std::string table = file.table(manifest_magic);
  if (file.size() != sizeof(file_head) + table.size()) file.damaged("it is too long");
  wire_reader r(as_bytes(table));
  manifest m;
  net::read(r, m.generation), net::read(r, m.parts);
  if (!r.complete() || m.generation == 0 || m.parts.empty()) file.damaged("its table cannot be read");
  return m;
}

void check(const result<void>& r) {
  if (!r) throw checkpoint_error(r.error().message);
}

/// A renamed file survives a crash of the machine when its folder is on the disk.
void sync_folder(const std::string& folder) {
  const int f = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // These errors: the file system cannot.
  const bool synced = f >= 0 && (::fsync(f) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS);
  const int number = errno;
  if (f >= 0) ::close(f);
  if (!synced) throw checkpoint_error(file_error("write", folder, number).message);
}

/// Writes a file; its folder may not be on the disk.
void write_sealed(const std::string& path, std::uint64_t magic, const std::string& table,
                  std::span<const std::byte> data) {
  file_head head;
  head.magic = magic, head.table_bytes = table.size(), head.table_checksum = checksum_of(as_bytes(table));
  auto file = atomic_file::create(path);
  if (!file) throw checkpoint_error(file.error().message);
  check(file->write({reinterpret_cast<const char*>(&head), sizeof head}));
  check(file->write(table));
  check(file->write({reinterpret_cast<const char*>(data.data()), data.size()}));
  check(file->commit());
}

part_info write_part(const std::string& folder, std::uint64_t generation, unsigned rank, image& mine) {
  std::size_t at = 0;
  for (entry& e : mine.entries) {
    e.checksum = checksum_of({mine.data.data() + at, e.size_bytes});
    at += e.size_bytes;
  }
  const std::string table = bytes_of(mine.entries);
  write_sealed(part_path(folder, generation, rank), part_magic, table, {mine.data.data(), mine.data.size()});
  sync_folder(folder);
  return {mine.entries.size(), sizeof(file_head) + table.size() + mine.data.size(), checksum_of(as_bytes(table))};
}

/// Entries `first` to `last` of a member's file.
image read_part(const std::string& folder, const manifest& m, std::size_t rank, std::size_t first, std::size_t last) {
  const part_info& expected = m.parts[rank];
  const input_file file(part_path(folder, m.generation, rank));
  if (file.size() != expected.size_bytes)
    file.damaged(fmt::format("it has {} bytes, {} are expected", file.size(), expected.size_bytes));
  const std::string table = file.table(part_magic);
  if (checksum_of(as_bytes(table)) != expected.table_checksum) file.damaged("it belongs to another checkpoint");
  std::vector<entry> entries;
  wire_reader r(as_bytes(table));
  net::read(r, entries);
  std::uint64_t left = file.size() - sizeof(file_head) - table.size(), before = 0, size = 0;
  bool sound = r.complete() && entries.size() == expected.entries && last <= entries.size();
  for (std::size_t i = 0; i < entries.size() && sound; ++i) {
    sound = entries[i].size_bytes <= left;
    left -= sound ? entries[i].size_bytes : 0;
    if (i < first) before += entries[i].size_bytes;
    if (i >= first && i < last) size += entries[i].size_bytes;
  }
  if (!sound || left != 0) file.damaged("the sizes in its table are wrong");
  image part;
  part.origin = fmt::format("'{}'", part_path(folder, m.generation, rank));
  part.data = buffer<std::byte>(size);
  file.read(sizeof(file_head) + table.size() + before, part.data.data(), size);
  std::size_t at = 0;
  for (std::size_t i = first; i < last; ++i) {
    if (checksum_of({part.data.data() + at, entries[i].size_bytes}) != entries[i].checksum)
      file.damaged(fmt::format("the checksum of '{}' is wrong", entries[i].key));
    at += entries[i].size_bytes;
    part.entries.push_back(std::move(entries[i]));
  }
  return part;
}

/// Whether it is the name of a member's file, or of a file that was being written; not of a copy by a user:
/// checkpoint-N-N.plx, the same with .*.part, or checkpoint.plx.*.part.
bool is_removable(std::string_view name) {
  const auto take = [&](std::string_view text) {
    const bool begins = name.starts_with(text);
    if (begins) name.remove_prefix(text.size());
    return begins;
  };
  const auto take_digits = [&] {
    const std::size_t n = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(n);
    return n != 0;
  };
  constexpr std::string_view unfinished = ".part";
  if (!take("checkpoint")) return false;
  const bool of_member = take("-");
  if (of_member && !(take_digits() && take("-") && take_digits())) return false;
  if (!take(".plx")) return false;
  if (name.empty()) return of_member;
  return name.size() > unfinished.size() && name.starts_with('.') && name.ends_with(unfinished);
}

/// Removes the files of other generations, as far as possible.
void remove_others(const std::string& folder, std::uint64_t generation, unsigned ranks) {
  std::vector<std::string> kept;
  for (unsigned r = 0; r < ranks; ++r) kept.push_back(part_path("", generation, r).substr(1));
  std::sort(kept.begin(), kept.end());
  std::error_code failed;
  std::vector<std::filesystem::path> others;
  for (const auto& each : std::filesystem::directory_iterator(folder, failed)) {
    const std::string name = each.path().filename().string();
    if (is_removable(name) && !std::binary_search(kept.begin(), kept.end(), name)) others.push_back(each.path());
  }
  for (const auto& path : others) std::filesystem::remove(path, failed);
}

/// The message of what f throws as checkpoint_error, or another exception; empty if it returns.
template <class F>
std::string problem_of(F f) {
  try {
    f();
    return {};
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

restored_objects restore_files(const communicator& all, const std::string& folder,
                               std::span<const stored_type* const> types) {
  manifest m;
  std::string problem;
  if (all.rank() == 0) problem = problem_of([&] { m = read_manifest(folder); });
  using sent = std::tuple<std::string, std::uint64_t, std::vector<part_info>>;
  std::tie(problem, m.generation, m.parts) = all.broadcast(sent{problem, m.generation, m.parts}).get();
  if (!problem.empty()) throw checkpoint_error(problem);
  std::uint64_t total = 0, begin = 0;
  for (const part_info& p : m.parts) total += p.entries;
  const std::uint64_t n = all.size(), r = all.rank();
  const bool same = m.parts.size() == n;
  const std::uint64_t first = total / n * r + total % n * r / n, last = total / n * (r + 1) + total % n * (r + 1) / n;
  std::vector<image> images;
  problem = problem_of([&] {
    for (std::size_t i = 0; i < m.parts.size(); ++i) {
      const std::uint64_t end = begin + m.parts[i].entries, from = std::max(first, begin), to = std::min(last, end);
      if (same ? i == r : from < to)
        images.push_back(read_part(folder, m, i, same ? 0 : from - begin, same ? m.parts[i].entries : to - begin));
      begin = end;
    }
  });
  return restore(all, std::move(images), types, problem);
}

}  // namespace net::checkpoint

void save_checkpoint(const communicator& all, const std::string& folder, const checkpoint_set& mine) {
  using namespace net::checkpoint;
  image packed;
  std::uint64_t generation = 0;
  agree(all, problem_of([&] {
          packed = pack(mine);
          std::filesystem::create_directories(folder);
          if (all.rank() != 0) return;
          const std::string path = manifest_path(folder);
          if (::access(path.c_str(), F_OK) == 0)
            generation = read_manifest(folder).generation;
          else if (errno != ENOENT)
            throw checkpoint_error(file_error("read", path, errno).message);
        }));
  generation = all.broadcast(generation).get() + 1;
  part_info part;
  std::string problem = problem_of([&] { part = write_part(folder, generation, all.rank(), packed); });
  packed = {};
  const auto parts = all.gather(std::pair(problem, part)).get();
  bool named = true;  // by a manifest, which may not have reached the disk
  if (all.rank() == 0) {
    std::vector<part_info> infos;
    for (const auto& [text, info] : parts) {
      if (problem.empty()) problem = text;
      infos.push_back(info);
    }
    const bool complete = problem.empty();
    if (complete)
      problem =
          problem_of([&] { write_sealed(manifest_path(folder), manifest_magic, bytes_of(generation, infos), {}); });
    named = problem.empty();
    if (named) problem = problem_of([&] { sync_folder(folder); });
  }
  std::tie(problem, named) = all.broadcast(std::pair(problem, named)).get();
  if (!named) ::unlink(part_path(folder, generation, all.rank()).c_str());
  if (!problem.empty()) throw checkpoint_error(problem);
  // The checkpoint is valid, whether or not the others can be removed.
  if (all.rank() == 0) static_cast<void>(problem_of([&] { remove_others(folder, generation, all.size()); }));
}

}  // namespace plx
