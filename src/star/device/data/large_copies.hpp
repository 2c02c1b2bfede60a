// Copies of many rows between pageable host memory and a device, through pinned memory that the workers fill and empty.
//
// A direct copy from or to pageable memory is made by one thread of the device's library: 1.6 GB/s on a virtual machine
// beside an H200 (2026-11-30), where pinned memory is copied with 55 GB/s.
//
// Thread safety, errors: those of machine. The workers are those of the runtime of the calling task; an external thread
// uses those of the oldest living runtime (rt/runtime.hpp). Cost: up to large_copy_bytes in all a direct copy per row,
// or of all rows that follow each other. Above that, up to four pinned buffers of 16 MiB, or of one row, from the pool
// of the device, and the copy of the host by all workers that are free. If there is too little pinned memory, as many
// buffers as there is memory for; direct copies without any.
// Example: star/device/test/large_copies_test.cpp
#pragma once

#include <cstddef>
#include <span>

#include "star/device/data/machine.hpp"

namespace plx::star::device {

inline constexpr std::size_t large_copy_bytes = std::size_t{32} << 20;

/// Copies rows of `row` values each to consecutive places at `to`, or from there. Both wait until the copy is complete,
/// and for all work in the stream before it.
void copy_to_device(machine& on, double* to, std::span<const double* const> rows, std::size_t row);
void copy_from_device(machine& on, std::span<double* const> rows, const double* from, std::size_t row);

}  // namespace plx::star::device
