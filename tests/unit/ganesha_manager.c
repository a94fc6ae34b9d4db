/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a service manager and the journal are told: that the start is over; how it is with
 * RDMA, and what there is to add, which stays until it is told anew. Without a manager
 * nobody is told anything.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ganesha/hook/manager.h"
#include "manager.h"

#define MANAGER "@unit-ganesha-manager"

static const char *state_now;

static void describe(char state[GR_STATE_ROOM])
{
	snprintf(state, GR_STATE_ROOM, "%s", state_now);
}

static struct gr_manager manager = { .describe = describe,
				     .lock = PTHREAD_MUTEX_INITIALIZER };
static int notified, journal, errors; /* errors: standard error as it was */

/* What has come there, or "". */
static const char *got(int fd)
{
	static char text[2048];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void begin(void)
{
	int pair[2];

	notified = manager_at(MANAGER);
	setenv("NOTIFY_SOCKET", MANAGER, 1);
	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	errors = dup(2);
	dup2(pair[0], 2);
	close(pair[0]);
	journal = pair[1];
	manager.ready = false;
	*manager.details = '\0';
	state_now = "it is so";
}

static void end(void)
{
	dup2(errors, 2);
	close(errors);
	close(journal);
	close(notified);
	unsetenv("NOTIFY_SOCKET");
}

static void check(const char *status, const char *said)
{
	CU_ASSERT_STRING_EQUAL(got(notified), status);
	CU_ASSERT_STRING_EQUAL(got(journal), said);
}

static void ready(void)
{
	begin();
	gr_manager_ready(&manager, "", false);
	check("READY=1\nSTATUS=it is so", "rpcrdma: it is so\n");
	gr_manager_ready(&manager, "; no exports", false);
	check("READY=1\nSTATUS=it is so; no exports",
	      "rpcrdma: it is so; no exports\n");
	/* A fault has been told; what is to be added has not. */
	gr_manager_ready(&manager, "", true);
	check("READY=1\nSTATUS=it is so", "");
	gr_manager_ready(&manager, "; no exports", true);
	check("READY=1\nSTATUS=it is so; no exports",
	      "rpcrdma: it is so; no exports\n");
	end();
}

static void told(void)
{
	begin();
	gr_manager_tell(&manager, "", NULL);
	check("STATUS=it is so", "");
	gr_manager_tell(&manager, "; restart", NULL);
	check("STATUS=it is so; restart", "rpcrdma: it is so; restart\n");
	gr_manager_tell(&manager, "; refused", "refused");
	check("STATUS=it is so; refused", "rpcrdma: refused\n");
	gr_manager_stopping();
	check("STATUS=stopping", "");
	end();
}

/* When the state changes, what stands behind it does not. */
static void again(void)
{
	begin();
	gr_manager_refresh(&manager);
	gr_manager_add(&manager, "; 1 of 2 exports");
	check("", "");
	gr_manager_ready(&manager, "; 1 of 2 exports", false);
	check("READY=1\nSTATUS=it is so; 1 of 2 exports",
	      "rpcrdma: it is so; 1 of 2 exports\n");
	state_now = "it is not";
	gr_manager_refresh(&manager);
	check("STATUS=it is not; 1 of 2 exports",
	      "rpcrdma: it is not; 1 of 2 exports\n");
	gr_manager_tell(&manager, "; restart", "because");
	check("STATUS=it is not; restart", "rpcrdma: because\n");
	state_now = "it is so";
	gr_manager_refresh(&manager);
	check("STATUS=it is so; restart", "rpcrdma: it is so; restart\n");
	gr_manager_add(&manager, "; 1 of 2 exports");
	check("STATUS=it is so; restart; 1 of 2 exports",
	      "rpcrdma: it is so; restart; 1 of 2 exports\n");
	end();
}

static void nobody(void)
{
	begin();
	unsetenv("NOTIFY_SOCKET");
	gr_manager_ready(&manager, "; more", false);
	gr_manager_tell(&manager, "; more", "said");
	gr_manager_refresh(&manager);
	gr_manager_stopping();
	check("", "");
	end();
}

static atomic_bool is_alive = true;

static bool alive(void)
{
	return is_alive;
}

/* What has come until it says WATCHDOG=1, or until nothing has come for @ms. */
static bool pinged(unsigned int ms)
{
	struct pollfd p = { .fd = notified, .events = POLLIN };

	while (poll(&p, 1, (int)ms) == 1)
		if (!strcmp(got(notified), "WATCHDOG=1"))
			return true;
	return false;
}

static void watch(void)
{
	static const struct timespec second = { .tv_sec = 1 };

	begin();
	manager.alive = alive;
	gr_manager_watch(&manager); /* there is no watchdog */
	CU_ASSERT_FALSE(pinged(100));
	setenv("WATCHDOG_USEC", "400000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	gr_manager_watch(&manager); /* or another's */
	CU_ASSERT_FALSE(pinged(500));
	unsetenv("WATCHDOG_PID");
	gr_manager_watch(&manager);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_TRUE(pinged(10000));
	is_alive = false;
	nanosleep(&second, NULL); /* what is under way */
	while (*got(notified))
		;
	CU_ASSERT_FALSE(pinged(1000));
	CU_ASSERT_PTR_NOT_NULL(strstr(got(journal), "a poller hangs"));
	is_alive = true;
	CU_ASSERT_TRUE(pinged(10000));
	is_alive = false; /* the thread stays */
	end();
}

static const struct unit_test tests[] = {
	{ "ready", ready },   { "told", told },	  { "again", again },
	{ "nobody", nobody }, { "watch", watch }, { NULL, NULL },
};

UNIT_MAIN("ganesha-manager", tests)
