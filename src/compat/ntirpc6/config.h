/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ntirpc 6.3's headers ask for the config.h that ntirpc was built with, which
 * its packages do not have. It would only turn tracing on: an empty one serves.
 */
