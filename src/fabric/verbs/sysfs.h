/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sysfs - what the kernel says of devices in files
 *
 * Paths are formatted from a root that the caller names, so that tests can make
 * one. Context: any thread, also foreign ones: no device is opened.
 */
#ifndef RPCRDMA_VERBS_SYSFS_H
#define RPCRDMA_VERBS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of a path, and of a line. */
#define VB_SYSFS_PATH 512
#define VB_SYSFS_LINE 128

/* Read the first line of a file, without its newline and with other control
 * characters replaced, into @text. Returns false, and sets it to "", if there is
 * none. */
bool vb_sysfs_line(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Read a decimal number. Returns false, and leaves *@value alone, if the file
 * has none. */
bool vb_sysfs_number(uint64_t *value, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Set @text to the last part of the path that a symbolic link has. Returns false,
 * and sets it to "", if it is none. */
bool vb_sysfs_link(char *text, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool vb_sysfs_exists(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif /* RPCRDMA_VERBS_SYSFS_H */
