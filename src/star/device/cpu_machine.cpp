#include <cstdlib>
#include <cstring>
#include <new>

#include "star/device/machine.hpp"
#include "star/device/operations.hpp"

namespace plx::star::device {

namespace {

class cpu_machine final : public machine {
 public:
  const char* name() const override { return "cpu"; }
  void* allocate(std::size_t bytes) override {
    void* memory = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }
  void to_device(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void from_device(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void within_device(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void synchronize() override {}

  void advance_stage(const stage_arguments& a) override { advance_stage_cpu(a); }
  void make_ghosts(const ghosts_arguments& a) override { make_ghosts_cpu(a); }
  void correct_fluxes(const correction_arguments& a) override { correct_fluxes_cpu(a); }
  void sum_sides(const side_arguments& a) override { sum_sides_cpu(a); }
  void finish_step(const finish_arguments& a) override { finish_step_cpu(a); }

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
};

}  // namespace

std::unique_ptr<machine> make_cpu_machine() { return std::make_unique<cpu_machine>(); }

}  // namespace plx::star::device
