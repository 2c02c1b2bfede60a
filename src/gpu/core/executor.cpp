#include "gpu/executor.hpp"

#include "base/log.hpp"
#include "gpu/core/device_core.hpp"

namespace plx::gpu {

namespace {

/// One launch: its future, its record, and the error of its item, in one allocation.
struct launched final : plx::detail::future_state<void>, detail::completion {
  launched() noexcept : future_state<void>(plx::detail::destroy_state<launched>, 2) {
    finish = [](completion& self) noexcept {
      auto& me = static_cast<launched&>(self);
      if (me.of_item == nullptr) me.of_item = std::move(me.failed);
      if (me.of_item != nullptr) {
        me.complete_with(std::move(me.of_item));
      } else {
        me.emplace();
        me.complete();
      }
      me.release();
    };
  }
  std::exception_ptr of_item;
};

struct unheard final : detail::completion {
  explicit unheard(const any_operation& o) noexcept : op(o) {
    finish = [](completion& self) noexcept {
      auto* me = &static_cast<unheard&>(self);
      try {
        if (me->of_item == nullptr) me->of_item = std::move(me->failed);
        if (me->of_item != nullptr) std::rethrow_exception(me->of_item);
      } catch (const std::exception& e) {
        log_warning("gpu: a posted launch of '{}' failed: {}", me->op.name, e.what());
      } catch (...) {
        log_warning("gpu: a posted launch of '{}' failed", me->op.name);
      }
      delete me;
    };
  }
  const any_operation& op;
  std::exception_ptr of_item;
};

void put(detail::device_core& d, detail::completion& c, const any_operation& op, const void* item, item_errors error) {
  try {
    return d.launch_for(c, op, item, 1, error, false);
  } catch (...) {
    c.failed = std::current_exception();
  }
  c.finish(c);
}

}  // namespace

plx::future<void> executor::launch(const any_operation& op, const void* item) const {
  auto* l = plx::detail::make_state<launched>();
  auto result = plx::detail::adopt_state<void>(l);
  put(*core_, *l, op, item, &l->of_item);
  return result;
}

void executor::launch_unheard(const any_operation& op, const void* item) const noexcept {
  auto* u = new unheard(op);
  put(*core_, *u, op, item, &u->of_item);
}

}  // namespace plx::gpu
