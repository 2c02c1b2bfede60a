#include "probe/ranges/range_output.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.hpp"
#include "probe/settings.hpp"

namespace {

using namespace plx::probe;

struct counting final : task_observer {
  void on_event(const task_event&) noexcept override { ++events; }
  int events = 0;
};

void send(range_output& out, task_event_kind kind, const char* name, std::uint64_t key = no_key) {
  out.on_event({.kind = kind, .name = register_name(name), .key = key, .worker = 3});
}

TEST(Ranges, KindsThatThisBuildDoesNotHaveAreRefused) {
  EXPECT_EQ(ranges_unavailable(""), "");
  for (const auto& [kind, here, header] :
       {std::tuple("nvtx", PLX_HAVE_NVTX, "nvtx3/nvToolsExt.h"), {"usdt", PLX_HAVE_USDT, "sys/sdt.h"}}) {
    const std::string why = ranges_unavailable(kind);
    EXPECT_EQ(why.empty(), here != 0) << kind;
    EXPECT_TRUE(why.empty() || why.find(header) != std::string::npos) << why;
    const auto s = settings_from_list({std::string("--plx:ranges=") + kind});
    EXPECT_EQ(s.has_value(), here != 0) << kind;
  }
  const auto wrong = settings_from_list({"--plx:ranges=nvt"});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("expects a list of nvtx, usdt, found 'nvt'; did you mean 'nvtx'"),
            std::string::npos)
      << wrong.error().message;
}

TEST(Ranges, EventsArePassedOnToAnotherObserver) {
  range_output out("");
  counting other;
  out.pass_to(&other);
  send(out, task_event_kind::create, "range a");
  send(out, task_event_kind::start, "range a");
  EXPECT_EQ(other.events, 2);
  out.pass_to(nullptr);
  send(out, task_event_kind::stop, "range a");
  EXPECT_EQ(other.events, 2);
}

#if PLX_HAVE_NVTX
/// NVTX loads the tool at its first call in the process.
TEST(Ranges, ATrueToolOfNvtxGetsEachSlice) {
  ::setenv("NVTX_INJECTION64_PATH", FAKE_NVTX, 1);
  void* const tool = ::dlopen(FAKE_NVTX, RTLD_NOW);
  ASSERT_NE(tool, nullptr) << ::dlerror();
  const auto events = reinterpret_cast<const char* (*)()>(::dlsym(tool, "fake_nvtx_events"));
  {
    range_output out("nvtx");
    send(out, task_event_kind::stop, "range before");  // it began before the output did
    send(out, task_event_kind::create, "range flux");
    send(out, task_event_kind::start, "range flux", 42);
    send(out, task_event_kind::suspend, "range flux", 42);
    send(out, task_event_kind::start, "range lost");  // its end is not sent: the next slice ends it
    send(out, task_event_kind::start, "range other");
    send(out, task_event_kind::stop, "range other");
    send(out, task_event_kind::resume, "range flux", 42);
    send(out, task_event_kind::stop, "range flux", 42);
  }
  EXPECT_STREQ(events(),
               "domain plx\nname range flux\npush plx range flux 42\npop\nname range lost\npush plx range lost\npop\n"
               "name range other\npush plx range other\npop\n"
               "push plx range flux 42\npop\nend of the domain\n");
}
#endif

#if PLX_HAVE_USDT
/// Tools find the probes by the notes of the program's file.
TEST(Ranges, TheProgramHasStaticProbes) {
  range_output out("usdt");
  send(out, task_event_kind::start, "range probed", 7);
  send(out, task_event_kind::stop, "range probed", 7);
  const auto own = plx::read_file("/proc/self/exe");
  ASSERT_TRUE(own);
  for (const char* probe : {"task_begin", "task_end"})
    EXPECT_NE(own->find(std::string("parallax\0", 9) + probe), std::string::npos) << probe;
}
#endif

}  // namespace
