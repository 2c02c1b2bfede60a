#include "trace/file/trace_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "base/clock_rate.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "probe/record/names.hpp"
#include "trace/file/trace_chunk.hpp"

namespace plx::probe {

using namespace detail;

namespace {

constexpr std::uint32_t most_rows = 1u << 17;

class file_bytes {
 public:
  static result<file_bytes> open(const std::string& path) {
    file_bytes f(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (f.descriptor_ < 0 || ::fstat(f.descriptor_, &about) != 0) return file_error("open", path, errno);
    if (!S_ISREG(about.st_mode)) return error{fmt::format("'{}' is not a regular file: expected a trace", path)};
    f.size_ = static_cast<std::uint64_t>(about.st_size);
    return f;
  }
  file_bytes(file_bytes&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  file_bytes& operator=(file_bytes&&) = delete;
  ~file_bytes() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// False if the file ends before, or cannot be read.
  bool read(std::uint64_t at, char* to, std::size_t n) const {
    while (n > 0) {
      const ssize_t got = ::pread(descriptor_, to, n, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += static_cast<std::uint64_t>(got), to += got, n -= static_cast<std::size_t>(got);
    }
    return true;
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  explicit file_bytes(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// The names of the recording process, as ids of this one.
class name_map {
 public:
  void add(name_id there, const std::string& text) {
    if (there >= max_names) return;
    if (there >= here_.size()) here_.resize(there + std::size_t{1}, unnamed);
    here_[there] = there == unnamed ? unnamed : register_name(text);
  }
  [[nodiscard]] name_id operator()(name_id there) const noexcept {
    return there < here_.size() ? here_[there] : unnamed;
  }
  void translate(trace_record& r) const noexcept {
    if ((r.flags & is_packed) != 0)
      r.flags = (r.flags & ((1u << name_shift) - 1)) | (*this)(r.flags >> name_shift) << name_shift;
    else if ((r.flags & (trace_record::is_edge | trace_record::is_more | trace_record::is_link |
                         trace_record::is_placement)) == 0)
      r.name = (*this)(r.name);
  }

 private:
  std::vector<name_id> here_;
};

class file_reader {
 public:
  file_reader(const file_bytes& file, trace_sink& to, const tick_window& window)
      : file_(file), to_(to), window_(window) {
    found_.bytes = file.size();
  }

  /// False if there is no start.
  bool read() {
    std::uint64_t at = trace_file_begin.size();
    while (at < file_.size()) {
      const std::uint64_t end = chunk(at);
      if (end != 0) {
        at = end;
        continue;
      }
      const std::uint64_t next = find_chunk(at + 1);
      if (next == file_.size())
        found_.cut_bytes = next - at;
      else
        ++found_.damaged;
      at = next;
    }
    return started_;
  }
  /// Reads the heads alone.
  std::vector<trace_extent> extents() const {
    std::vector<trace_extent> all;
    for (std::uint64_t at = trace_file_begin.size(); at < file_.size();) {
      chunk_head head;
      if (!head_at(at, head)) {
        at = find_chunk(at + 1);
        continue;
      }
      if (is_large(head.kind)) all.push_back({head.first, head.last, head.count});
      at += sizeof head + head.bytes;
    }
    return all;
  }
  /// Reads the start alone. False if there is none.
  bool read_first() {
    (void)chunk(trace_file_begin.size());
    return started_;
  }
  [[nodiscard]] const trace_file_state& found() const noexcept { return found_; }

 private:
  [[nodiscard]] bool head_at(std::uint64_t at, chunk_head& head) const {
    return file_.read(at, reinterpret_cast<char*>(&head), sizeof head) && head.magic == chunk_head::first_bytes &&
           head.head_sum == head_sum(head) && head.bytes <= most_chunk_bytes;
  }

  /// Reads the chunk there; returns its end, or 0 if there is none that is complete.
  std::uint64_t chunk(std::uint64_t at) {
    chunk_head head;
    if (!head_at(at, head)) return 0;
    const std::uint64_t end = at + sizeof head + head.bytes;
    if (skips(head)) return end <= file_.size() ? end : 0;
    payload_.resize(head.bytes + std::size_t{4});  // row_coder::get() reads beyond the end
    if (end > file_.size() || !file_.read(at + sizeof head, payload_.data(), head.bytes)) return 0;
    if (chunk_sum(payload_.data(), head.bytes) != head.payload_sum || !take(head)) ++found_.damaged;
    return end;
  }

  [[nodiscard]] bool skips(const chunk_head& head) const noexcept {
    if (!started_) return false;
    return !window_.overlaps(head.first, head.last) || (window_.only_small && is_large(head.kind));
  }
  static bool is_large(chunk_kind kind) noexcept {
    return kind == chunk_kind::records || kind == chunk_kind::operations || is_of_parcels(kind) || is_of_messages(kind);
  }

  /// The next valid head from there on, or the end of the file.
  [[nodiscard]] std::uint64_t find_chunk(std::uint64_t from) const {
    std::vector<char> some(1u << 16);
    while (from < file_.size()) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(some.size(), file_.size() - from));
      if (n < sizeof(chunk_head) || !file_.read(from, some.data(), n)) break;
      for (std::size_t i = 0; i + 4 <= n; ++i) {
        chunk_head head;
        if (std::memcmp(&some[i], &chunk_head::first_bytes, 4) == 0 && head_at(from + i, head)) return from + i;
      }
      from += n - 3;
    }
    return file_.size();
  }

  /// False if the payload is not valid.
  bool take(const chunk_head& head) {
    if (head.row >= most_rows) return false;
    if (!started_ && head.kind != chunk_kind::start) return false;
    switch (head.kind) {
      case chunk_kind::records:
        return take_records(head);
      case chunk_kind::operations:
        return take_rows<device_operation, row_coder<16, 1>>(
            head,
            [this](const auto& words) {
              device_operation o = operation_of(words);
              o.name = names_(o.name);
              return o;
            },
            [&](std::span<const device_operation> all) { to_.operations(head.row, all); });
      case chunk_kind::sent:
      case chunk_kind::received:
      case chunk_kind::messages_sent:
      case chunk_kind::messages_received:
        return take_rows<trace_parcel, row_coder<12, 1>>(
            head,
            [this](const auto& words) {
              trace_parcel p;
              std::memcpy(static_cast<void*>(&p), words.data(), sizeof p);
              p.name = names_(p.name);
              return p;
            },
            [&](std::span<const trace_parcel> all) {
              to_.parcels(head.kind == chunk_kind::sent || head.kind == chunk_kind::messages_sent, all);
            });
      default:
        return take_small(head.kind, byte_reader({payload_.data(), head.bytes}));
    }
  }

  bool take_records(const chunk_head& head) {
    record_coder coder;
    records_.clear();
    const char *from = payload_.data(), *const end = from + head.bytes;
    for (std::uint32_t i = 0; i < head.count; ++i) {
      trace_record r;
      from = coder.get(from, end, r);
      if (from == nullptr) return false;
      names_.translate(r);
      records_.push_back(r);
    }
    to_.records(head.row, records_);
    found_.records += head.count;
    return from == end;
  }

  template <class T, class Coder, class Convert, class Pass>
  bool take_rows(const chunk_head& head, Convert convert, Pass pass) {
    Coder coder;
    std::vector<T> all;
    const char *from = payload_.data(), *const end = from + head.bytes;
    for (std::uint32_t i = 0; i < head.count; ++i) {
      typename Coder::row words;
      from = coder.get(from, end, words, 0);
      if (from == nullptr) return false;
      all.push_back(convert(words));
    }
    pass(std::span<const T>(all));
    found_.records += head.count;
    return from == end;
  }

  /// Arguments of a braced list are read in order.
  bool take_small(chunk_kind kind, byte_reader in) {
    const auto whole = [&in] { return in.valid() && in.at_end(); };
    switch (kind) {
      case chunk_kind::start: {
        trace_start s;
        s.origin = in.number();
        s.ticks_per_second = in.real();
        s.unix_s = in.real();
        for (std::uint32_t* n : {&s.locality, &s.localities, &s.space, &s.process})
          *n = static_cast<std::uint32_t>(in.number());
        s.host = in.text();
        if (!whole() || started_ || !(s.ticks_per_second > 0)) return false;
        started_ = true;
        to_.begin(s);
        return true;
      }
      case chunk_kind::names: {
        const std::uint64_t id = in.number();
        const std::string text = in.text();
        if (!whole()) return false;
        names_.add(static_cast<name_id>(std::min<std::uint64_t>(id, max_names)), text);
        return true;
      }
      case chunk_kind::row: {
        const std::uint64_t row = in.number(), device = in.number();
        const std::string name = in.text();
        if (!whole() || row >= most_rows) return false;
        to_.row(static_cast<unsigned>(row), name, static_cast<std::uint32_t>(device));
        return true;
      }
      case chunk_kind::sample: {
        trace_sample s;
        s.when = in.number();
        s.value = in.real();
        s.name = in.text();
        if (whole()) to_.sample(s);
        return whole();
      }
      case chunk_kind::mark: {
        trace_mark m{.when = in.number(), .category = in.text(), .text = in.text()};
        if (whole()) to_.mark(m);
        return whole();
      }
      case chunk_kind::clock: {
        const auto locality = static_cast<unsigned>(in.number());
        const double rate = in.real();
        const clock_point p{.there = in.number(), .here = in.number(), .uncertainty = in.number()};
        if (!whole() || !(rate > 0)) return false;
        to_.clock(locality, rate, p);
        return true;
      }
      case chunk_kind::totals: {
        const trace_totals t{
            .records = in.number(), .lost = in.number(), .share = in.real(), .ended = in.number() != 0};
        if (!whole()) return false;
        found_.totals = t;
        to_.totals(t);
        return true;
      }
      default:
        return true;  // of a later version
    }
  }

  const file_bytes& file_;
  trace_sink& to_;
  const tick_window window_;
  trace_file_state found_;
  name_map names_;
  bool started_ = false;
  std::vector<char> payload_;
  std::vector<trace_record> records_;
};

}  // namespace

std::vector<std::string> trace_file_state::warnings(const std::string& path) const {
  std::vector<std::string> lines;
  if (damaged != 0)
    lines.push_back(
        fmt::format("'{}': {} skipped, as the checksum does not match", path, plural(damaged, "damaged part")));
  if (cut_bytes != 0)
    lines.push_back(
        fmt::format("'{}' ends within a chunk: its last {} were not read", path, plural(cut_bytes, "byte")));
  if (!totals.ended) lines.push_back(fmt::format("'{}' has no end: the program was killed, or is still running", path));
  if (totals.lost != 0)
    lines.push_back(fmt::format("'{}': {} of {} records were dropped (buffer full)", path, totals.lost,
                                totals.lost + std::max(records, totals.records)));
  return lines;
}

namespace {

result<file_bytes> open_trace(const std::string& path) {
  auto file = file_bytes::open(path);
  if (!file) return file.error();
  std::string begin(trace_file_begin.size(), '\0');
  if (!file->read(0, begin.data(), begin.size()) || begin != trace_file_begin)
    return error{fmt::format("'{}': expected a file that begins with \"{}\", as PLX_TRACE=1 writes it", path,
                             trace_file_begin.substr(0, trace_file_begin.size() - 1))};
  return file;
}

}  // namespace

result<void> use_clock_of(const std::vector<std::string>& files) {
  const auto start = start_of_trace(files.at(0));
  if (!start) return start.error();
  set_ticks_per_second(start->ticks_per_second);
  return {};
}

result<trace_start> start_of_trace(const std::string& path) {
  struct first final : trace_sink {
    void begin(const trace_start& s) override { start = s; }
    trace_start start;
  } to;
  const auto file = open_trace(path);
  if (!file) return file.error();
  file_reader reader(*file, to, {});
  if (!reader.read_first()) return error{fmt::format("'{}' ends before its first record", path)};
  return to.start;
}

result<std::vector<trace_extent>> extents_of_trace(const std::string& path) {
  trace_sink none;
  const auto file = open_trace(path);
  if (!file) return file.error();
  return file_reader(*file, none, {}).extents();
}

result<trace_file_state> read_trace(const std::string& path, trace_sink& to, const tick_window& window) {
  const auto file = open_trace(path);
  if (!file) return file.error();
  file_reader reader(*file, to, window);
  if (!reader.read()) return error{fmt::format("'{}' ends before its first record", path)};
  return reader.found();
}

}  // namespace plx::probe
