#include "session/attach_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "probe/live/live_server.hpp"
#include "probe/record/recorder.hpp"
#include "session/session.hpp"

namespace plx::probe {
namespace {

constexpr std::string_view greeting = "parallax 1\n", serving = "serve", measuring = "measure";
constexpr std::size_t most_packet_bytes = std::size_t{1} << 16;

}  // namespace

std::string attach_socket_name(int process) { return fmt::format("parallax/{}", process); }

std::string attach_request::text() const {
  std::string t(greeting);
  t += what == kind::serve ? serving : measuring;
  for (const std::string& a : arguments) (t += '\n') += a;
  return t;
}

result<attach_request> attach_request::parse(std::string_view packet) {
  if (!packet.starts_with(greeting)) return error{"expected a request of this version of Parallax"};
  std::vector<std::string> lines;
  packet.remove_prefix(greeting.size());
  for (;;) {
    const std::size_t end = std::min(packet.find('\n'), packet.size());
    lines.emplace_back(packet.substr(0, end));
    if (end == packet.size()) break;
    packet.remove_prefix(end + 1);
  }
  attach_request r;
  if (lines[0] != serving && lines[0] != measuring)
    return error{fmt::format("expected serve or measure, found '{}'", lines[0])};
  r.what = lines[0] == serving ? kind::serve : kind::measure;
  lines.erase(lines.begin());
  r.arguments = std::move(lines);
  return r;
}

result<settings> settings_of_attachment(const std::vector<std::string>& arguments) {
  static constexpr std::string_view allowed[] = {"output",         "profile",         "trace",        "trace-records",
                                                 "sample-counter", "sample-interval", "sample-stacks"};
  for (const std::string& a : arguments) {
    std::string_view key = a;
    if (key.starts_with("--plx:")) key.remove_prefix(6);
    key = key.substr(0, key.find('='));
    if (std::find(std::begin(allowed), std::end(allowed), key) == std::end(allowed))
      return error{
          fmt::format("'{}' cannot be set in a running program: expected one of {}", a, fmt::join(allowed, ", "))};
  }
  auto s = settings_from_list(arguments);
  if (!s) return s.error();
  if (has_word(s->profile, "screen")) return error{"profile: expected csv or tau: the screen is the program's own"};
  if (!s->writes_files()) return error{"expected something to measure, such as --plx:trace=1"};
  s->attached = true;
  return s;
}

#if defined(__linux__)

namespace {

struct client {
  int descriptor = -1;
  ino_t inode = 0;  // of the descriptor
  int process = 0;
  std::uint64_t target = 0;  // what it uses; 0: nothing
  bool measures = false;     // otherwise it reads the live page
};

struct registered {
  std::uint64_t id = 0;
  attach_target target{};
  bool in_work = false;  // begins or ends something, without the lock: it stays, and no other thread changes it
  std::unique_ptr<session> measurement{};
  int measured_by = 0;
  std::unique_ptr<live_server> live{};
};

bool send_packet(int descriptor, const std::string& text) {
  return ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

sockaddr_un address_of(const std::string& name, socklen_t& size) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::memcpy(a.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return a;
}

/// 0: not a socket. A program may close descriptors that it did not open, and get files of its own with their numbers.
ino_t inode_of(int descriptor) {
  struct stat about {};
  return ::fstat(descriptor, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

/// Only its own user, with all three ids, and root may measure a process.
bool may_measure(int descriptor, ucred& peer) {
  uid_t real = 0, effective = 0, saved = 0;
  socklen_t size = sizeof peer;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (::getresuid(&real, &effective, &saved) != 0) return false;
  return peer.uid == 0 || (peer.uid == real && peer.uid == effective && peer.uid == saved);
}

/// The last packet of a measurement, after its files have been written.
std::string end_of(std::unique_ptr<session> s) {
  try {
    const auto done = s->finish({.dying = true});
    const std::string folder = s->asked().output;
    s.reset();
    return done ? "ended\n" + folder : "failed\n" + done.error().message;
  } catch (const std::exception& x) {
    return std::string("failed\n") + x.what();
  }
}

/// Never destroyed: its thread ends with the process.
class server {
 public:
  static server& instance() {
    static server* const one = [] {
      static server* const s = new server;
      ::pthread_atfork([] { s->before_fork(); }, [] { s->after_fork(); }, [] { s->after_fork(), s->forget(); });
      return s;
    }();
    return *one;
  }

  std::uint64_t add(const attach_target& t) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(started_, true)) start();
    if (listening_ < 0) return 0;
    targets_.push_back({.id = ++last_id_, .target = t});
    return last_id_;
  }
  void remove(std::uint64_t id) noexcept {
    std::unique_lock lock(mutex_);
    registered* r = find(id);
    while (r != nullptr && r->in_work) {
      lock.unlock();
      ::usleep(1000);
      lock.lock();
      r = find(id);
    }
    if (r == nullptr) return;
    end(*r, true, true, lock);
    for (client& c : clients_)
      if (std::exchange(c.target, c.target == id ? 0 : c.target) == id) ::shutdown(c.descriptor, SHUT_RDWR);
    std::erase_if(targets_, [id](const registered& x) { return x.id == id; });
  }

 private:
  using lock_type = std::unique_lock<std::mutex>;
  static constexpr std::size_t most_clients = 32;

  /// The child may use its recorders, so that no other thread may hold a lock of one now.
  void before_fork() {
    mutex_.lock();
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (is_first(i)) targets_[i].target.records->lock_for_fork();
  }
  void after_fork() noexcept {
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (is_first(i)) targets_[i].target.records->unlock_after_fork();
    mutex_.unlock();
  }
  /// True for one of the targets that have the same recorder.
  bool is_first(std::size_t i) const noexcept {
    return std::none_of(targets_.begin(), targets_.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const registered& r) { return r.target.records == targets_[i].target.records; });
  }

  /// In the child of a fork, which has one thread: what belongs to the parent, with threads that only that has.
  void forget() noexcept {
    for (const client& c : clients_) ::close(c.descriptor);
    if (listening_ >= 0) ::close(listening_);
    clients_.clear();
    for (registered& r : targets_) (void)r.measurement.release(), (void)r.live.release();
    targets_.clear();
    listening_ = -1, started_ = false;
  }

  void start() {
    // plx-exec would measure the thread as one of the program's.
    if (std::getenv("PLX_EXEC_PROCESS") != nullptr) return;
    if (::getauxval(AT_SECURE) != 0) return;  // runs with the rights of another user
    const int s = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = 0;
    const sockaddr_un address = address_of(attach_socket_name(::getpid()), size);
    if (s < 0 || ::bind(s, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(s, 8) != 0) {
      log_info("{}", file_error("listen at", attach_socket_name(::getpid()), errno).message);
      if (s >= 0) ::close(s);
      return;
    }
    listening_ = s;
    try {
      clients_.reserve(most_clients);
      const no_signals here;  // they are for the program's threads
      std::thread([this, s, inode = inode_of(s)] { loop(s, inode); }).detach();
    } catch (const std::exception&) {
      ::close(std::exchange(listening_, -1));
    }
  }

  /// Ends when the program has closed the socket.
  void loop(int listening, ino_t inode) noexcept {
    pthread_setname_np(pthread_self(), "plx-attach");
    for (bool open = true; open;) {
      pollfd polled[1 + most_clients] = {{listening, POLLIN, 0}};
      nfds_t n = 1;
      {
        const std::lock_guard lock(mutex_);
        for (const client& c : clients_) polled[n++] = {c.descriptor, POLLIN, 0};
      }
      if (::poll(polled, n, -1) < 0) {
        if (errno != EINTR) ::usleep(100'000);  // no memory
        continue;
      }
      for (nfds_t i = 1; i < n; ++i)
        if (polled[i].revents != 0) serve(polled[i].fd);
      if (polled[0].revents != 0) open = accept_one(listening, inode);
    }
    lock_type lock(mutex_);
    listening_ = -1;
    if (inode_of(listening) == inode) ::close(listening);
    while (!clients_.empty()) disconnect(clients_.back(), lock);
  }

  /// False if the program has closed the socket.
  bool accept_one(int listening, ino_t inode) noexcept {
    if (inode_of(listening) != inode) return false;
    const int s = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (s < 0) {
      if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) return false;
      // Until a descriptor or memory is free.
      if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) ::usleep(100'000);
      return true;
    }
    ucred peer{};
    const bool may = may_measure(s, peer);
    {
      const std::lock_guard lock(mutex_);
      if (may && clients_.size() < most_clients) {
        clients_.push_back({.descriptor = s, .inode = inode_of(s), .process = peer.pid});
        return true;
      }
    }
    // Its request is read first: otherwise closing would discard the reply.
    pollfd request{s, POLLIN, 0};
    char some[64];
    if (::poll(&request, 1, 100) == 1) (void)!::recv(s, some, sizeof some, 0);
    const std::string_view why = may ? "error\nit has too many clients" : "error\nit belongs to another user";
    (void)!::send(s, why.data(), why.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(s);
    return true;
  }

  /// A packet of a client, or its end.
  void serve(int descriptor) noexcept {
    lock_type lock(mutex_);
    const auto c =
        std::find_if(clients_.begin(), clients_.end(), [&](const client& x) { return x.descriptor == descriptor; });
    if (c == clients_.end()) return;
    pollfd now{descriptor, POLLIN, 0};
    const bool ours = inode_of(descriptor) == c->inode && ::poll(&now, 1, 0) >= 0;
    const bool left = !ours || (now.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;  // its request may be old
    if (ours) {
      char packet[most_packet_bytes];  // also read if it does not count: closing would discard the last reply
      const ssize_t n = ::recv(descriptor, packet, sizeof packet, MSG_DONTWAIT);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      const bool counts = n > 0 && !left && c->target == 0;
      if (counts && answer(*c, {packet, static_cast<std::size_t>(n)}, lock)) return;
    }
    disconnect(*c, lock);
  }

  /// Also ends what only this client has requested.
  void disconnect(client& c, lock_type& lock) noexcept {
    if (registered* const r = c.target == 0 ? nullptr : find(c.target); r != nullptr && !r->in_work) {
      const bool page_in_use = std::any_of(clients_.begin(), clients_.end(), [&](const client& x) {
        return &x != &c && x.target == r->id && !x.measures;
      });
      end(*r, c.measures, !page_in_use, lock);
    }
    if (inode_of(c.descriptor) == c.inode) ::close(c.descriptor);
    clients_.erase(clients_.begin() + (&c - clients_.data()));
  }

  /// False: the client is to be disconnected.
  bool answer(client& c, std::string_view packet, lock_type& lock) noexcept {
    try {
      const auto request = attach_request::parse(packet);
      const auto done = request ? begin(c, *request, lock) : result<std::string>(request.error());
      return send_packet(c.descriptor, done ? "ok\n" + *done : "error\n" + done.error().message) && done;
    } catch (const std::exception&) {  // no memory for a text
      return false;
    }
  }

  /// The lock is released while it begins, which takes long, and may create other runtimes.
  result<std::string> begin(client& c, const attach_request& request, lock_type& lock) {
    if (targets_.empty()) return error{"it has no runtime of Parallax at present"};
    registered& r = targets_.front();
    if (r.in_work) return error{"its runtime ends at present"};
    const bool measures = request.what == attach_request::kind::measure;
    if (r.measurement != nullptr && measures)
      return error{
          fmt::format("process {} measures it already, into '{}'", r.measured_by, r.measurement->asked().output)};
    const std::uint64_t id = r.id;
    const attach_target target = r.target;
    std::string url = r.live ? r.live->url() : std::string();
    std::unique_ptr<session> measurement;
    std::unique_ptr<live_server> live;
    r.in_work = true;
    lock.unlock();
    const auto done = [&]() -> result<std::string> {
      try {
        if (measures) return begin_measurement(target, request, measurement);
        return url.empty() ? begin_page(target, live) : url;
      } catch (const std::exception& x) {
        measurement.reset();
        return error{fmt::format("the measurement could not begin: {}", x.what())};
      }
    }();
    lock.lock();
    registered& same = *find(id);
    same.in_work = false;
    if (!done) return done;
    if (measures) same.measurement = std::move(measurement), same.measured_by = c.process;
    if (live != nullptr) same.live = std::move(live);
    c.target = id, c.measures = measures;
    return done;
  }

  static result<std::string> begin_page(const attach_target& t, std::unique_ptr<live_server>& live) {
    if (t.own != nullptr)
      if (std::string own = t.own->local_live_url(); !own.empty()) return own;
    sampler* const stacks = t.own != nullptr ? t.own->stacks() : nullptr;
    auto started = live_server::start(*t.records, t.counters(t.context), {.serve = "127.0.0.1:0", .stacks = stacks});
    if (!started) return started.error();
    live = *std::move(started);
    return live->url();
  }

  static result<std::string> begin_measurement(const attach_target& t, const attach_request& request,
                                               std::unique_ptr<session>& measurement) {
    if (t.own != nullptr && t.own->asked().writes_files())
      return error{fmt::format("it has been measured since its start, into '{}'", t.own->asked().output)};
    auto asked = settings_of_attachment(request.arguments);
    if (!asked) return asked.error();
    const std::string folder = asked->output;
    if (!folder.starts_with('/')) return error{fmt::format("output = '{}': expected an absolute path", folder)};
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed || ::access(folder.c_str(), W_OK | X_OK) != 0)
      return file_error("write into", folder, failed ? failed.value() : errno);
    auto s = std::make_unique<session>(*t.records, t.counters(t.context), *std::move(asked));
    std::string why = s->missing();
    try {
      if (sampler* const stacks = s->stacks(); stacks != nullptr && why.empty()) t.sample(t.context, *stacks);
    } catch (const std::exception& x) {
      why = x.what();
    }
    if (!why.empty()) {
      s->abandon();
      return error{std::move(why)};
    }
    measurement = std::move(s);
    const std::string& difference = measurement->difference();
    return difference.empty() ? folder : folder + "\n" + difference;
  }

  /// Writes the files, and reports it to the client, without the lock. Requires: it is not in work.
  void end(registered& r, bool measurement, bool page, lock_type& lock) noexcept {
    std::unique_ptr<session> s = measurement ? std::move(r.measurement) : nullptr;
    std::unique_ptr<live_server> live = page ? std::move(r.live) : nullptr;
    if (s == nullptr && live == nullptr) return;
    const std::uint64_t id = r.id;
    const bool measured = s != nullptr;
    r.in_work = true;
    lock.unlock();
    std::string reply;
    try {
      live.reset();
      if (measured) reply = end_of(std::move(s));
    } catch (const std::exception&) {
      reply = "failed\nmemory";
    }
    lock.lock();
    find(id)->in_work = false;
    for (const client& c : clients_)
      if (measured && c.target == id && c.measures) (void)send_packet(c.descriptor, reply);
  }

  registered* find(std::uint64_t id) {
    const auto r = std::find_if(targets_.begin(), targets_.end(), [id](const registered& x) { return x.id == id; });
    return r == targets_.end() ? nullptr : &*r;
  }

  std::mutex mutex_;  // guards everything; never held while something begins or ends
  bool started_ = false;
  int listening_ = -1;  // -1: the process does not listen
  std::uint64_t last_id_ = 0;
  std::vector<registered> targets_;  // the oldest first
  std::vector<client> clients_;      // only its thread adds and removes them
};

}  // namespace

attach_registration::attach_registration(const attach_target& target) : id_(server::instance().add(target)) {}

attach_registration::~attach_registration() {
  if (id_ != 0) server::instance().remove(id_);
}

#else  // no abstract sockets

attach_registration::attach_registration(const attach_target&) {}
attach_registration::~attach_registration() { (void)id_; }

#endif

}  // namespace plx::probe
