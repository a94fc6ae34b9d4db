/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a service manager is told, over sockets with and without a file.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/notify.h"
#include "manager.h"

static void hears(const char *name)
{
	char got[32];
	int fd = manager_at(name);

	setenv("NOTIFY_SOCKET", name, 1);
	CU_ASSERT_EQUAL(base_notify("READY=1"), 0);
	CU_ASSERT_EQUAL(recv(fd, got, sizeof(got), 0), 7);
	CU_ASSERT_EQUAL(memcmp(got, "READY=1", 7), 0);
	close(fd);
	CU_ASSERT_TRUE(base_notify("STOPPING=1") < 0);
}

static void test_file(void)
{
	char dir[] = "/tmp/unit-notify.XXXXXX", path[64];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/socket", dir);
	hears(path);
	unlink(path);
	rmdir(dir);
}

static void test_no_file(void)
{
	char name[64];

	snprintf(name, sizeof(name), "@unit-notify-%d", (int)getpid());
	hears(name);
}

static void test_nobody(void)
{
	char path[200];

	unsetenv("NOTIFY_SOCKET");
	CU_ASSERT_EQUAL(base_notify("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	CU_ASSERT_EQUAL(base_notify("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "relative", 1);
	CU_ASSERT_EQUAL(base_notify("READY=1"), -EINVAL);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	setenv("NOTIFY_SOCKET", path, 1);
	CU_ASSERT_EQUAL(base_notify("READY=1"), -EINVAL);
	setenv("NOTIFY_SOCKET", "/nowhere/at-all", 1);
	CU_ASSERT_EQUAL(base_notify("READY=1"), -ENOENT);
}

static const struct unit_test tests[] = {
	{ "file", test_file },
	{ "no_file", test_no_file },
	{ "nobody", test_nobody },
	{ 0 },
};

UNIT_MAIN("tools-notify", tests)
