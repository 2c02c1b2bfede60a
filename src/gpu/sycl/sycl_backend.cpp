#include "gpu/core/backends.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <sycl/sycl.hpp>
#include <utility>

namespace plx::gpu::sycl {
namespace {

namespace s = ::sycl;

struct device {
  device(const s::device& d) : native(d), context(d) {}
  s::device native;
  s::context context;
  std::atomic<int> failed{0};  // code of the last asynchronous error
};
struct event {
  s::event last;
};
// A native_stream points to its queue.
struct stream : s::queue {
  explicit stream(s::queue q) : s::queue(std::move(q)) {}
  std::atomic<unsigned> put{0};  // number of submissions, counted after each
  std::mutex asking;             // guards the members below
  s::event mark;                 // follows all submissions counted in `marked`
  unsigned marked = ~0u;
};

constexpr int generic_error = 1000, memory_error = 1001, no_such_device = 1002, not_supported = 1003,
              unknown_devices = 1004;

device& of(native_device d) { return *reinterpret_cast<device*>(d); }
s::queue& of(native_stream q) { return *reinterpret_cast<s::queue*>(q); }
stream& all_of(native_stream q) { return static_cast<stream&>(of(q)); }
event& of(native_event e) { return *reinterpret_cast<event*>(e); }

int code_of(const s::exception& e) {
  if (e.code() == s::errc::memory_allocation) return memory_error;
  if (e.code() == s::errc::feature_not_supported) return not_supported;
  return e.code().value() != 0 ? e.code().value() : generic_error;
}

// Called after a submission: an earlier mark does not cover it.
void count_put(native_stream q) { all_of(q).put.fetch_add(1); }

// Calls f(). The outcome is its exception, or a pending asynchronous error of earlier calls.
template <class F>
outcome trying(native_device d, const char* call, F&& f) noexcept {
  try {
    f();
  } catch (const s::exception& e) {
    return {code_of(e), call};
  } catch (...) {
    return {generic_error, call};
  }
  return {d != nullptr ? of(d).failed.load(std::memory_order_acquire) : 0, call};
}

// Submits pending work at once: AdaptiveCpp collects it until a thread waits.
void send_off() {
#if defined(__ACPP__)
  const hipsycl::rt::runtime_keep_alive_token library;
  library.get()->dag().flush_async();
#endif
}

// GPUs only by default: without one, the cpu backend is better than SYCL on the CPU, which serves for tests.
std::optional<s::info::device_type> wanted_devices() {
  const char* const named = std::getenv("PLX_SYCL_DEVICES");
  const std::string_view kind = named == nullptr ? "gpu" : named;
  if (kind == "gpu") return s::info::device_type::gpu;
  if (kind == "cpu") return s::info::device_type::cpu;
  if (kind == "accelerator") return s::info::device_type::accelerator;
  return {};
}
std::vector<s::device> found_devices() {
  return s::device::get_devices(wanted_devices().value_or(s::info::device_type::gpu));
}

outcome count(const backend&, int& n) {
  n = 0;
  if (!wanted_devices()) return {unknown_devices, "PLX_SYCL_DEVICES"};
  const outcome o = trying(nullptr, "device::get_devices", [&] { n = static_cast<int>(found_devices().size()); });
  return o && n == 0 ? outcome{no_such_device, "device::get_devices"} : o;
}
outcome open(const backend&, int index, native_device& d) {
  bool there = false;
  const outcome o = trying(nullptr, "context", [&] {
    const auto all = found_devices();
    there = index >= 0 && static_cast<std::size_t>(index) < all.size();
    if (there) d = reinterpret_cast<native_device>(new device(all[static_cast<std::size_t>(index)]));
  });
  return o && !there ? outcome{no_such_device, "device::get_devices"} : o;
}
void close(native_device d) noexcept { delete &of(d); }
outcome describe(native_device d, device_info& info) {
  return trying(d, "device::get_info", [&] {
    const s::device& n = of(d).native;
    info.name = n.get_info<s::info::device::name>();
    info.memory_bytes = n.get_info<s::info::device::global_mem_size>();
    info.multiprocessors = n.get_info<s::info::device::max_compute_units>();
    info.group_bytes = n.get_info<s::info::device::local_mem_size>();
    info.driver = n.get_info<s::info::device::driver_version>();
    info.architecture = n.get_info<s::info::device::version>();
  });
}

outcome make_stream(native_device d, native_stream& q) {
  return trying(d, "queue", [&] {
    const auto heard = [home = &of(d)](const s::exception_list& all) {
      for (const std::exception_ptr& each : all) {
        try {
          std::rethrow_exception(each);
        } catch (const s::exception& e) {
          home->failed.store(code_of(e), std::memory_order_release);
        } catch (...) {
          home->failed.store(generic_error, std::memory_order_release);
        }
      }
    };
    s::queue made(of(d).context, of(d).native, heard,
                  {s::property::queue::in_order(), s::property::queue::enable_profiling()});
    q = reinterpret_cast<native_stream>(static_cast<s::queue*>(new stream(std::move(made))));
  });
}
void free_stream(native_device, native_stream q) noexcept { delete &all_of(q); }
outcome synchronize(native_device d, native_stream q) {
  return trying(d, "queue::wait_and_throw", [&] { of(q).wait_and_throw(); });
}
// The standard cannot query whether a queue is empty: a mark is submitted, and its event queried from the next call on.
outcome query_stream(native_device d, native_stream q, bool& done) {
  done = false;
  return trying(d, "event::get_info", [&] {
    of(q).throw_asynchronous();
    stream& all = all_of(q);
    const std::lock_guard guard(all.asking);
    if (const unsigned now = all.put.load(); now != all.marked) {
      all.mark = of(q).single_task([] {});
      all.marked = now;
      send_off();
    }
    done = all.mark.get_info<s::info::event::command_execution_status>() == s::info::event_command_status::complete;
  });
}

outcome make_event(native_device d, bool, native_event& e) {
  return trying(d, "event", [&] { e = reinterpret_cast<native_event>(new event); });
}
void free_event(native_device, native_event e) noexcept { delete &of(e); }
// The standard has no barrier: an empty kernel in an in-order queue ends after all earlier work.
outcome record(native_device d, native_event e, native_stream q) {
  return trying(d, "queue::single_task", [&] {
    of(e).last = of(q).single_task([] {});
    count_put(q);
    send_off();
  });
}
outcome query(native_device d, native_event e, bool& done) {
  return trying(d, "event::get_info", [&] {
    done = of(e).last.get_info<s::info::event::command_execution_status>() == s::info::event_command_status::complete;
  });
}
outcome wait(native_device d, native_stream q, native_event e) {
  return trying(d, "handler::depends_on", [&] {
    of(q).submit([&](s::handler& h) {
      h.depends_on(of(e).last);
      h.single_task([] {});
    });
    count_put(q);
  });
}
outcome elapsed(native_device d, native_event begin, native_event end, double& seconds) {
  return trying(d, "event::get_profiling_info", [&] {
    const auto from = of(begin).last.get_profiling_info<s::info::event_profiling::command_end>();
    const auto to = of(end).last.get_profiling_info<s::info::event_profiling::command_end>();
    seconds = 1e-9 * static_cast<double>(to - from);
  });
}

outcome allocate(native_device d, memory_kind kind, std::size_t bytes, void*& p) {
  p = nullptr;
  const outcome o = trying(d, "malloc", [&] {
    p = kind == memory_kind::device ? s::malloc_device(bytes, of(d).native, of(d).context)
                                    : s::malloc_host(bytes, of(d).context);
  });
  return o && p == nullptr ? outcome{memory_error, "malloc"} : o;
}
void release(native_device d, memory_kind, void* p) noexcept {
  static_cast<void>(trying(nullptr, "free", [&] { s::free(p, of(d).context); }));
}
outcome copy(native_device d, native_stream q, void* to, const void* from, std::size_t bytes) {
  return trying(d, "queue::memcpy", [&] {
    of(q).memcpy(to, from, bytes);
    count_put(q);
  });
}
outcome fill(native_device d, native_stream q, void* to, std::uint8_t byte, std::size_t bytes) {
  return trying(d, "queue::memset", [&] {
    of(q).memset(to, byte, bytes);
    count_put(q);
  });
}

// AdaptiveCpp has no host tasks. If it compiles for the host only, a kernel serves as one.
template <class Handler, class F>
void put_host_task(Handler& h, F f) {
  if constexpr (requires { h.host_task(f); }) {
    h.host_task(f);
  } else {
#if defined(__ACPP_ENABLE_OMPHOST_TARGET__) && !defined(__ACPP_ENABLE_CUDA_TARGET__) && \
    !defined(__ACPP_ENABLE_HIP_TARGET__) && !defined(__ACPP_ENABLE_LLVM_SSCP_TARGET__)
    h.single_task(f);
#else
    throw s::exception(s::make_error_code(s::errc::feature_not_supported), "no host_task");
#endif
  }
}

outcome call(native_device d, native_stream q, void (*f)(void*), void* arg) {
  return trying(d, "handler::host_task", [&] {
    of(q).submit([&](s::handler& h) { put_host_task(h, [f, arg] { f(arg); }); });
    count_put(q);
    send_off();
  });
}
outcome write_flag(native_device d, native_stream q, std::uint32_t* flag, std::uint32_t value) {
  return trying(d, "queue::single_task", [&] {
    of(q).single_task([flag, value] {
      s::atomic_ref<std::uint32_t, s::memory_order::relaxed, s::memory_scope::system>(*flag).store(value);
    });
    count_put(q);
    send_off();
  });
}

outcome launch(native_device d, const any_operation& op, const gpu::launch& where, const void* items, unsigned n,
               item_errors) {
  if (op.sycl == nullptr) return {not_supported, "kernel launch"};
  return trying(d, "kernel launch", [&] {
    op.sycl(where, items, n);
    count_put(where.stream);
  });
}

outcome begin_capture(native_device, native_stream) { return {not_supported, "graph"}; }
outcome end_capture(native_device, native_stream, native_graph& g) {
  g = nullptr;
  return {not_supported, "graph"};
}
outcome launch_graph(native_device, native_graph, native_stream) { return {not_supported, "graph"}; }
void free_graph(native_device, native_graph) noexcept {}

std::string_view code_name(int code) {
  switch (code) {
    case memory_error:
      return "memory_allocation";
    case no_such_device:
      return "no_device";
    case not_supported:
      return "feature_not_supported";
    case unknown_devices:
      return "unknown_devices";
    default:
      return "sycl::exception";
  }
}
std::string_view code_text(int code) {
  switch (code) {
    case memory_error:
      return "no memory";
    case no_such_device:
      return "no such device";
    case unknown_devices:
      return "expected gpu, cpu or accelerator";
    case not_supported:
      return "not supported by SYCL or by the device, or the operation has no SYCL kernel";
    default:
      return "the call failed";
  }
}
failure kind_of(int code) {
  switch (code) {
    case 0:
      return failure::none;
    case memory_error:
      return failure::out_of_memory;
    case no_such_device:
      return failure::no_device;
    case not_supported:
      return failure::unsupported;
    case unknown_devices:
      return failure::wrong_use;
    default:
      return failure::device_lost;  // asynchronous errors leave the queue in an unknown state
  }
}

}  // namespace

const backend& table() noexcept {
  static const backend the_table{"sycl",      nullptr,      count,       open,         close,      describe,
                                 make_stream, free_stream,  synchronize, query_stream, make_event, free_event,
                                 record,      query,        wait,        elapsed,      allocate,   release,
                                 copy,        fill,         call,        write_flag,   launch,     begin_capture,
                                 end_capture, launch_graph, free_graph,  code_name,    code_text,  kind_of};
  return the_table;
}

}  // namespace plx::gpu::sycl
