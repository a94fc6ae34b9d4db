/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library is asked to tell the service manager of the end of the start, with what there
 * is to say of the exports; where no thread can be had to wait for that, it is told
 * that alone, at once.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/notify.h"
#include "ganesha/hook/check.h"
#include "ganesha/hook/ready.h"
#include "manager.h"

#define MANAGER "@unit-ganesha-ready"

static bool no_thread;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	return no_thread ? EAGAIN : __real_pthread_create(t, attr, fn, arg);
}

void rpcrdma_ganesha_ready(const char *exports)
{
	char text[64];

	snprintf(text, sizeof(text), "ready%s", exports);
	notify_manager(text);
}

/* What comes to the manager, or "" if nothing does. */
static const char *told(int fd, int wait)
{
	static char got[256];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n = poll(&p, 1, wait) > 0 ? recv(fd, got, sizeof(got) - 1, 0) :
					    0;

	got[n > 0 ? n : 0] = 0;
	return got;
}

static void test_told(void)
{
	int fd = manager_at(MANAGER);

	setenv("NOTIFY_SOCKET", MANAGER, 1);
	ready_start("");
	CU_ASSERT_STRING_EQUAL(told(fd, 10000), "ready");
	CU_ASSERT_STRING_EQUAL(told(fd, 0), "");
	ready_start("; no exports");
	CU_ASSERT_STRING_EQUAL(told(fd, 10000), "ready; no exports");
	no_thread = true;
	ready_start("");
	CU_ASSERT_STRING_EQUAL(told(fd, 0), "READY=1");
	no_thread = false;
	close(fd);
}

static const struct unit_test tests[] = {
	{ "told", test_told },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-ready", tests)
