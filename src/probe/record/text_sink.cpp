#include "probe/record/text_sink.hpp"
#include "base/file.hpp"

#if PLX_HAVE_ZLIB
#include <fmt/format.h>
#include <zlib.h>
#endif

namespace plx::probe {
namespace {

class plain_sink final : public text_sink {
 public:
  explicit plain_sink(atomic_file file) : file_(std::move(file)) {}
  result<void> write(std::string_view text) override { return file_.write(text); }
  result<void> commit() override { return file_.commit(); }

 private:
  atomic_file file_;
};

#if PLX_HAVE_ZLIB
class gzip_sink final : public text_sink {
 public:
  explicit gzip_sink(atomic_file file) : file_(std::move(file)), output_(1u << 16, '\0') {
    constexpr int fast = 1, gzip_window = 15 + 16, memory = 8;
    failed_ = deflateInit2(&stream_, fast, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) != Z_OK;
  }
  ~gzip_sink() override { deflateEnd(&stream_); }
  gzip_sink(const gzip_sink&) = delete;
  gzip_sink& operator=(const gzip_sink&) = delete;

  result<void> write(std::string_view text) override { return feed(text, Z_NO_FLUSH); }
  result<void> commit() override {
    if (auto r = feed({}, Z_FINISH); !r) return r;
    return file_.commit();
  }

 private:
  result<void> feed(std::string_view text, int mode) {
    if (failed_)
      return error{"cannot compress a file: zlib is out of memory; free memory, or choose a name without .gz"};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib reads only
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      const int code = deflate(&stream_, mode);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return failed_ = true, error{fmt::format("cannot compress a file: zlib failed with code {}", code)};
      if (auto r = file_.write({output_.data(), output_.size() - stream_.avail_out}); !r) return r;
    } while (stream_.avail_out == 0);
    return {};
  }

  atomic_file file_;
  std::string output_;
  z_stream stream_{};
  bool failed_ = false;
};
#endif

}  // namespace

std::string text_sink::compressed_name(std::string path) {
#if PLX_HAVE_ZLIB
  path += ".gz";
#endif
  return path;
}

result<std::unique_ptr<text_sink>> text_sink::create(const std::string& path) {
  const bool compressed = path.ends_with(".gz");
#if !PLX_HAVE_ZLIB
  if (compressed)
    return error{"cannot write '" + path + "': built without zlib; choose a name that does not end in .gz"};
#endif
  auto file = atomic_file::create(path, durability::unsynced);
  if (!file) return file.error();
#if PLX_HAVE_ZLIB
  if (compressed) return std::unique_ptr<text_sink>(new gzip_sink(std::move(file).value()));
#endif
  return std::unique_ptr<text_sink>(new plain_sink(std::move(file).value()));
}

result<void> write_measurement(const std::string& path, std::string_view content) {
  return write_file(path, content, durability::unsynced);
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted += '"';
}

}  // namespace plx::probe
