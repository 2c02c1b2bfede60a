#include "probe/live/live_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/live/http_server.hpp"
#include "probe/live/live_pages.hpp"

namespace plx::probe {
namespace {

// Per worker, 32 bytes each; used unless the flight recorder is enabled already.
constexpr std::size_t timeline_records = std::size_t{1} << 14;

/// Creates a file that only its owner can read at any time, and that exists completely or not at all.
result<void> write_secret(const std::string& path, const std::string& text) {
  const std::string fresh = fmt::format("{}.{}.new", path, getpid());
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return file_error("write", path, errno);
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  int number = whole ? 0 : errno;
  if (::close(fd) != 0 && number == 0) number = errno;
  if (number == 0 && ::rename(fresh.c_str(), path.c_str()) == 0) return {};
  if (number == 0) number = errno;
  ::unlink(fresh.c_str());
  return file_error("write", path, number);
}

/// A browser cannot open the address "any"; the machine's name replaces it.
live_address reachable(live_address a) {
  char name[256] = {};
  if ((a.host == "0.0.0.0" || a.host == "::") && gethostname(name, sizeof name - 1) == 0 && name[0] != '\0')
    a.host = name;
  return a;
}

}  // namespace

struct live_server::state {
  state(recorder& r, counter_registry& c, live_options o) : counters(c), options(std::move(o)), pages(r, c) {}

  counter_registry& counters;
  const live_options options;
  live_pages pages;
  std::unique_ptr<http_server> server;  // uses pages
  std::string url, file;
  bool made_folder = false;
  std::vector<registration> registrations;  // use the server and the pages

  void add_counters();
  void write_file();
};

void live_server::state::add_counters() {
  const auto add = [this](const char* name, const char* unit, const char* help, bool monotonic, const auto& from) {
    registrations.push_back(counters.add({fmt::format("/live/{}", name), unit, help, monotonic},
                                         [&from] { return from.load(std::memory_order_relaxed); }));
  };
  const http_counts& http = server->counts();
  const live_refusals& refused = pages.refusals();
  add("requests/answered", "1", "Requests of the live page that were answered", true, http.answered);
  add("requests/refused", "1", "Requests of the live page that were refused, for any reason", true, http.refused);
  add("refused/malformed", "1", "Refused requests that are invalid, too large, or use a method other than GET", true,
      http.malformed);
  add("refused/token", "1", "Refused requests without the token, or with a wrong one", true, refused.token);
  add("refused/host", "1", "Refused requests for a host name that is not this machine's", true, refused.host);
  add("refused/path", "1", "Refused requests for a nonexistent path", true, refused.path);
  add("connections/open", "1", "Open connections to the live page", false, http.open);
  add("connections/timed-out", "1", "Connections closed because the client did not send or read in time", true,
      http.timed_out);
  add("connections/turned-away", "1", "Connections closed because there were too many, or no file descriptors left",
      true, http.turned_away);
  add("bytes/sent", "bytes", "Bytes sent to clients of the live page", true, http.bytes_sent);
  add("time/cpu", "s", "Processor time of the thread that serves the live page", true, http.cpu_s);
}

void live_server::state::write_file() {
  if (options.folder.empty()) return;
  std::error_code failed;
  made_folder = std::filesystem::create_directories(options.folder, failed);  // if this fails, so does the next line
  file = options.folder + "/live.url";
  if (auto r = write_secret(file, url + "\n"); !r) {
    log_warning("{}; the live page is served nevertheless", r.error().message);
    file.clear();
  }
}

live_server::live_server(std::unique_ptr<state> s) : state_(std::move(s)) {}

result<std::unique_ptr<live_server>> live_server::start(recorder& r, counter_registry& counters, live_options options) {
  const auto where = parse_live_address(options.serve, options.beyond_loopback);
  if (!where) return where.error();
  if (r.worker_count() > 0 && r.worker(0).flight() == nullptr) r.flight(timeline_records);
  auto s = std::make_unique<state>(r, counters, std::move(options));
  auto server = http_server::start(*where, s->pages);
  if (!server) return server.error();
  s->server = *std::move(server);
  s->url = fmt::format("http://{}/?token={}", reachable(s->server->where()).text(), s->pages.token().text());
  s->add_counters();
  s->write_file();
  return std::unique_ptr<live_server>(new live_server(std::move(s)));
}

live_server::~live_server() {
  state_->pages.end();
  // The last answers are made before the counters are removed, so that they contain the same list; the counts stay
  // until then.
  state_->server->stop();
  state_->registrations.clear();
  // Another run in the same folder may have written its own file since.
  if (!state_->file.empty())
    if (const auto text = read_file(state_->file); text && *text == state_->url + "\n") ::unlink(state_->file.c_str());
  if (state_->made_folder) ::rmdir(state_->options.folder.c_str());  // stays if it is not empty
}

const std::string& live_server::url() const noexcept { return state_->url; }
picture_board& live_server::pictures() noexcept { return state_->pages.pictures(); }

}  // namespace plx::probe
