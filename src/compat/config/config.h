/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of ntirpc 6.3 and 7.2 ask for the config.h that ntirpc was built with, which
 * their packages do not have. It would only turn tracing on: an empty one serves.
 */
