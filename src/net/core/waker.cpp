#include "net/core/waker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "rt/runtime.hpp"

namespace plx::net {

waker::waker(runtime& rt, int fd) : runtime_(rt), fd_(fd) {
  if (pipe2(end_pipe_, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::runtime_error(std::string("cannot create a pipe: ") + std::strerror(errno));
  thread_ = std::thread([this] { run(); });
}

waker::~waker() {
  stop_.store(true, std::memory_order_release);
  armed_.fetch_add(1, std::memory_order_release);
  armed_.notify_one();
  [[maybe_unused]] const auto written = ::write(end_pipe_[1], "x", 1);
  thread_.join();
  close(end_pipe_[0]), close(end_pipe_[1]);
}

void waker::armed() noexcept {
  armed_.store(1, std::memory_order_release);  // pairs with the acquire in wait_until_armed()
  armed_.notify_one();
}

bool waker::wait_until_armed() {
  while (armed_.load(std::memory_order_acquire) == 0) armed_.wait(0, std::memory_order_acquire);
  return !stop_.load(std::memory_order_acquire);
}

void waker::run() {
  while (wait_until_armed()) {
    pollfd both[2] = {{fd_, POLLIN, 0}, {end_pipe_[0], POLLIN, 0}};
    while (::poll(both, 2, -1) < 0 && errno == EINTR) {
    }
    if (stop_.load(std::memory_order_acquire)) return;
    armed_.store(0, std::memory_order_release);
    runtime_.ask_pollers();
  }
}

}  // namespace plx::net
