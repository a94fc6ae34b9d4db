# SPDX-License-Identifier: BSD-3-Clause
find_package(Threads REQUIRED)
add_executable(mount-bench mount_bench.c)
target_link_libraries(mount-bench PRIVATE Threads::Threads)
