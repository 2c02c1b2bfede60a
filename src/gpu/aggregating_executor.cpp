#include "gpu/aggregating_executor.hpp"

#include "gpu/detail/aggregator.hpp"
#include "gpu/detail/device_core.hpp"

namespace plx::gpu {
namespace {

using item_state = plx::detail::future_state<void>;

}  // namespace

aggregating_executor::aggregating_executor(device& d, aggregation_options o)
    : shared_(new detail::aggregator(d.core(), o), [](detail::aggregator* a) {
        a->flush();
        a->release();
      }) {}

void aggregating_executor::flush() const { shared_->flush(); }
void aggregating_executor::set_most(unsigned most) const noexcept { shared_->set_most(most); }
aggregation_counts aggregating_executor::counts() const noexcept { return shared_->counts(); }

plx::future<void> aggregating_executor::launch(const any_operation& op, const void* item) const {
  auto* s = plx::detail::make_state<item_state>(plx::detail::destroy_state<item_state>, 2u);
  auto result = plx::detail::adopt_state<void>(s);
  shared_->add(op, item, s);
  return result;
}

void aggregating_executor::launch_unheard(const any_operation& op, const void* item) const noexcept {
  shared_->add(op, item, nullptr);
}

}  // namespace plx::gpu
