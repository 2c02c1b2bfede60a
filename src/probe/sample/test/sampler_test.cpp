#include "probe/sample/sampler.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace plx::probe {
namespace {

/// CPU time of the calling thread.
double cpu_s() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Calls of the system's functions let ThreadSanitizer deliver signals, which it does not do within a loop.
[[gnu::noinline]] double busy_leaf(double x) {
  for (int i = 0; i < 20000; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}
[[gnu::noinline]] void burn(double for_s) {
  const double end = cpu_s() + for_s;
  double x = 1;
  while (cpu_s() < end) x = busy_leaf(x);
  asm volatile("" : : "g"(&x) : "memory");
}

/// Takes CPU time until there are `n` periods of samples: on a busy machine the kernel may look at its timers rarely.
void burn_until(sampler& s, std::uint64_t n) {
  for (const double end = cpu_s() + 20; cpu_s() < end; s.drain()) {
    if (s.tree().total() >= n) return;
    burn(0.005);
  }
}

sampled_state in_a_task(const sample_source& self) noexcept {
  return {.activity = sampled_activity::task, .task = *static_cast<const name_id*>(self.context), .stack = self.stack};
}

/// `name` must outlive the sampler.
sample_source source_of(const name_id& name) {
  return {.now = in_a_task, .context = const_cast<name_id*>(&name), .stack = stack_of_this_thread()};
}

std::uint64_t below(const sample_tree& t, const std::string& function) {
  std::uint64_t sum = 0;
  const auto calls = t.calls();
  std::vector<bool> counted(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    counted[i] = calls[i].parent != sampled_call::none && counted[calls[i].parent];
    if (counted[i] || calls[i].name.find(function) == std::string::npos) continue;
    sum += calls[i].below;
    counted[i] = true;
  }
  return sum;
}

TEST(Sampler, SamplesCountTheCpuTimeOfAThreadByFunctionAndTask) {
  const name_id name = register_name("sampled");
  auto s = sampler::start(1000);
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_TRUE((*s)->watch(::gettid(), source_of(name)));
  const double begin = cpu_s();
  burn_until(**s, 300);
  const double used = cpu_s() - begin;
  (*s)->stop();
  const sample_tree t = (*s)->tree();
  EXPECT_EQ((*s)->lost(), 0u);
  // The kernel counts the periods; the last of them may not have been delivered.
  EXPECT_GE(static_cast<double>(t.total()), 0.8 * 1000 * used);
  EXPECT_LE(static_cast<double>(t.total()), 1000 * used + 1);
  const auto calls = t.calls();
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls[0].name, "sampled");
  EXPECT_EQ(calls[0].below, t.total());
  if (!walks_stacks()) GTEST_SKIP() << "only the running function is known here";
  EXPECT_GE(10 * below(t, "burn"), 9 * t.total());
  EXPECT_GE(10 * below(t, "main"), 9 * t.total());
}

TEST(Sampler, AThreadThatSleepsIsNotSampled) {
  const name_id name = register_name("sleeper");
  auto s = sampler::start(1000);
  ASSERT_TRUE(s);
  std::atomic<int> id{0};
  std::atomic<bool> end{false};
  std::thread sleeper([&] {
    id = ::gettid();
    while (!end) ::usleep(20'000);
  });
  while (id == 0) ::usleep(100);
  ASSERT_TRUE((*s)->watch(id, {.now = in_a_task, .context = const_cast<name_id*>(&name), .stack = {}}));
  ::usleep(300'000);
  end = true;
  sleeper.join();
  (*s)->stop();
  EXPECT_LE((*s)->tree().total(), 60u);  // awake for less than a fifth of the time
}

TEST(Sampler, ThreadsComeAndGo) {
  const name_id name = register_name("short thread");
  auto s = sampler::start(2000);
  ASSERT_TRUE(s);
  for (int i = 0; i < 20 || ((*s)->tree().total() == 0 && i < 1000); ++i) {
    std::thread t([&] {
      ASSERT_TRUE((*s)->watch(::gettid(), source_of(name)));
      burn(0.005);
      if (i % 2 == 0) (*s)->unwatch(::gettid());  // otherwise it ends while it is watched
    });
    (*s)->drain();
    t.join();
  }
  (*s)->unwatch(1);  // not watched
  (*s)->stop();
  const std::uint64_t total = (*s)->tree().total();
  EXPECT_GT(total, 0u);
  EXPECT_TRUE((*s)->watch(::gettid(), source_of(name)));  // no effect
  burn(0.02);
  (*s)->drain();
  EXPECT_EQ((*s)->tree().total(), total);  // nothing is sampled after stop()
}

/// Sends a thread of this process the signal of the sampler's timer `entry`, as one that comes late.
void send_late(const sampler& s, int thread_id, std::uint64_t entry) {
  siginfo_t info;
  std::memset(&info, 0, sizeof info);
  info.si_signo = s.signal();
  info.si_code = SI_TIMER;
  info.si_value.sival_ptr = reinterpret_cast<void*>(std::uint64_t{0x706c7853} << 32 | entry);
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread_id, s.signal(), &info);
}

/// A thread that a test watches. Its state says for which thread the handler runs.
struct owner {
  std::atomic<int> id{0};
  std::atomic<bool> inside{false}, go{false};
  std::atomic<int> samples{0}, of_others{0};

  static owner& of(const sample_source& s) noexcept { return *static_cast<owner*>(s.context); }
  static sampled_state now(const sample_source& s) noexcept {
    owner& o = of(s);
    o.samples.fetch_add(1);
    if (o.id != ::gettid()) o.of_others.fetch_add(1);
    return {};
  }
  static sampled_state now_and_stay(const sample_source& s) noexcept {
    of(s).inside = true;
    while (!of(s).go) ::usleep(100);
    return {};
  }
};

TEST(Sampler, TheEndOfAWatchWaitsForItsHandlerDespiteALateSignalOfAnotherThread) {
  auto s = sampler::start(1);  // no timer ends within the test: all signals are sent by it
  ASSERT_TRUE(s);
  owner o;
  std::atomic<bool> ended{false};
  std::thread watched([&] {
    o.id = ::gettid();
    while (!ended) ::usleep(100);
  });
  while (o.id == 0) ::usleep(100);
  ASSERT_TRUE((*s)->watch(o.id, {.now = owner::now_and_stay, .context = &o, .stack = {}}));
  while (!o.inside) send_late(**s, o.id, 0), ::usleep(1000);  // all entries are free before: it has the first
  for (int i = 0; i < 10; ++i) send_late(**s, ::gettid(), 0), ::usleep(100);
  std::thread ends([&] {
    (*s)->unwatch(o.id);
    ended = true;
  });
  ::usleep(50'000);
  EXPECT_FALSE(ended) << "the handler still uses the entry";
  o.go = true;
  ends.join();
  watched.join();
}

TEST(Sampler, EntriesAreReusedByThreadsWhileLateSignalsArrive) {
  constexpr std::size_t n_threads = 4;
  auto s = sampler::start(sampler::most_hz);
  ASSERT_TRUE(s);
  std::atomic<int> ids[n_threads] = {};
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      ids[t] = ::gettid();
      for (std::size_t i = 0; !end; ++i) {
        if (const int id = ids[i % n_threads]; id != 0) send_late(**s, id, i / n_threads % n_threads);
        ::usleep(1);
      }
    });
  for (const auto& id : ids)
    while (id == 0) ::usleep(100);
  int samples = 0, of_others = 0;
  for (std::size_t round = 0; round < 500; ++round) {
    auto owners = std::make_unique<owner[]>(n_threads);
    for (std::size_t i = 0; i < n_threads; ++i) {
      owner& o = owners[i];
      o.id = ids[(i + round) % n_threads].load();  // another entry in each round
      ASSERT_TRUE((*s)->watch(o.id, {.now = owner::now, .context = &o, .stack = {}}));
    }
    ::usleep(200);
    for (std::size_t i = 0; i < n_threads; ++i) {
      owner& o = owners[i];
      (*s)->unwatch(o.id);
      samples += o.samples;
      of_others += o.of_others;
    }
  }
  end = true;
  for (std::thread& t : threads) t.join();
  (*s)->stop();
  EXPECT_GT(samples, 0);
  EXPECT_EQ(of_others, 0);
}

TEST(Sampler, APeriodThatTheSystemRefusesIsAnError) {
  auto s = sampler::start(1e-12);
  ASSERT_TRUE(s);
  const name_id name = 0;
  const auto done = (*s)->watch(::gettid(), source_of(name));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("with a period of"), std::string::npos) << done.error().message;
  (*s)->unwatch(::gettid());  // not watched
}

TEST(Sampler, AThreadThatDoesNotExistIsAnError) {
  auto s = sampler::start(100);
  ASSERT_TRUE(s);
  const name_id name = 0;
  const auto done = (*s)->watch(0x3fffff, source_of(name));
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("no timer for thread"), std::string::npos);
}

std::atomic<int> handled{0};
void other_handler(int) { handled.fetch_add(1, std::memory_order_relaxed); }

void handle(int signal) {
  struct sigaction theirs {};
  theirs.sa_handler = other_handler;
  sigaction(signal, &theirs, nullptr);
}

/// The exit code of a process in which the program uses `signals`, and a profiling timer. `expected`: the signal of the
/// sampler; 0: any other.
int with_handlers_of_the_program(const std::vector<int>& signals, int expected) {
  for (const int s : signals) handle(s);
  itimerval often{};
  often.it_interval.tv_usec = often.it_value.tv_usec = 5000;
  setitimer(ITIMER_PROF, &often, nullptr);
  const name_id name = register_name("x");
  auto s = sampler::start(500);
  if (!s || ((*s)->signal() != expected && expected != 0) || !(*s)->watch(::gettid(), source_of(name))) return 1;
  for (const int other : signals)
    if ((*s)->signal() == other) return 2;
  for (int i = 0; i < 1000 && handled < 5; ++i) burn(0.01);
  burn_until(**s, 20);
  (*s)->stop();
  return handled >= 5 && (*s)->tree().total() >= 20 ? 0 : 3;
}

TEST(Sampler, HandlersOfTheProgramAreLeftAlone) {
  EXPECT_EXIT(std::_Exit(with_handlers_of_the_program({SIGPROF}, SIGURG)), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(with_handlers_of_the_program({SIGPROF, SIGURG}, 0)), testing::ExitedWithCode(0), "");
}

/// The same, if the program changes the action of the signal while it is sampled.
int with_a_changed_action(void (*action)(int)) {
  const name_id name = register_name("x");
  auto s = sampler::start(500);
  if (!s || !(*s)->watch(::gettid(), source_of(name))) return 1;
  burn(0.05);
  signal((*s)->signal(), action);
  burn(0.05);  // signals on their way do no harm
  (*s)->drain();
  if ((*s)->failure().empty()) return 2;
  const int before = handled;
  burn(0.1);
  return handled == before ? 0 : 3;
}

TEST(Sampler, AnActionThatTheProgramSetsLaterEndsTheSampling) {
  for (const auto action : {other_handler, SIG_DFL, SIG_IGN})
    EXPECT_EXIT(std::_Exit(with_a_changed_action(action)), testing::ExitedWithCode(0), "");
}

TEST(Sampler, WithoutAFreeSignalItIsAnErrorOfOneLine) {
  EXPECT_EXIT(
      {
        handle(SIGURG);
        handle(SIGPROF);
        for (int i = SIGRTMIN; i <= SIGRTMAX; ++i) handle(i);
        auto s = sampler::start(500);
        std::_Exit(!s && s.error().message.find('\n') == std::string::npos ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Sampler, ASignalThatIsSentByAProcessHasItsUsualEffect) {
  EXPECT_EXIT(
      {
        handle(SIGURG);
        auto s = sampler::start(500);
        ::kill(::getpid(), SIGPROF);
        ::usleep(1'000'000);
      },
      testing::KilledBySignal(SIGPROF), "");
  EXPECT_EXIT(
      {
        auto s = sampler::start(500);
        ::kill(::getpid(), SIGURG);
        ::usleep(1000);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

/// A sampler of this thread, at the highest rate. Ends the process with code 1 if there is none.
std::unique_ptr<sampler> sampled_here() {
  static const name_id name = register_name("x");
  auto s = sampler::start(sampler::most_hz);
  if (!s || !(*s)->watch(::gettid(), source_of(name))) std::_Exit(1);
  return *std::move(s);
}

TEST(Sampler, AProgramThatIsReplacedIsNotKilledByATimer) {
  EXPECT_EXIT(
      {
        auto s = sampled_here();
        burn(0.05);
        ::execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 0", nullptr);
        std::_Exit(2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Sampler, SignalsWithinMallocAndExitDoNoHarm) {
  EXPECT_EXIT(
      {
        auto s = sampled_here();
        std::atomic<bool> sampled{false};
        std::thread drains([&] {
          while (!sampled) s->drain(), ::usleep(1000);
        });
        const double least = cpu_s() + 0.3;
        const double end = least + 20;
        for (std::size_t i = 1; cpu_s() < least || (cpu_s() < end && s->tree().total() < 100); ++i) {
          std::vector<std::string> some(100, std::string(i % 5000 + 100, 'x'));
          if (some.back().empty()) std::_Exit(3);
        }
        sampled = true;
        drains.join();
        if (s->tree().total() < 100) std::_Exit(4);
        std::exit(0);  // while it is sampled
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace plx::probe
