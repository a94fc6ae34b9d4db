/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket that gives statistics: whole documents, also to who reads slowly;
 * what stands in its place; and nothing left over.
 */
#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "stats/socket.h"
#include "unit.h"

#define READERS 8
#define LONG ((size_t)2 << 20) /* more than a socket takes at once */

static char dir[] = "/tmp/stats-socket.XXXXXX";
static char path[64];

static void print(FILE *f, void *ctx)
{
	static const char text[1024];
	size_t n = *(const size_t *)ctx;

	for (; n > sizeof(text); n -= sizeof(text))
		fwrite(text, 1, sizeof(text), f);
	fwrite(text, 1, n, f);
}

static void connect_reader(int fd)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(at.sun_path, path);
	CU_ASSERT_EQUAL_FATAL(
		connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
}

static int open_reader(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	connect_reader(fd);
	return fd;
}

/* How many octets come before the end of the stream. */
static size_t read_all(int fd)
{
	static char buf[65536];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += (size_t)n;
	close(fd);
	return sum;
}

/* The lowest number that the next descriptor may have. */
static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void test_documents(void)
{
	struct stats_socket *s;
	size_t len = 100;
	struct stat st;
	int before = next_fd(), slow[READERS];

	CU_ASSERT_EQUAL_FATAL(stats_socket_start_with(path, print, &len, &s),
			      0);
	CU_ASSERT_EQUAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_mode, S_IFSOCK | 0600);
	for (unsigned int i = 0; i < 3 * READERS; i++)
		CU_ASSERT_EQUAL(read_all(open_reader()), 100);
	/* As many at once as there may be: each has all of it in the end,
	 * whoever is first, and after the thread has waited for them. */
	len = LONG;
	for (unsigned int i = 0; i < READERS; i++)
		slow[i] = open_reader();
	poll(NULL, 0, 500);
	for (unsigned int i = READERS; i--;)
		CU_ASSERT_EQUAL(read_all(slow[i]), LONG);
	/* One that goes without reading is not missed. */
	close(open_reader());
	CU_ASSERT_EQUAL(read_all(open_reader()), LONG);
	/* Readers may be there at the end. */
	slow[0] = open_reader();
	stats_socket_stop(s);
	read_all(slow[0]);
	CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
	CU_ASSERT_EQUAL(next_fd(), before);
	stats_socket_stop(NULL);
}

/* It answers when all descriptors are in use. */
static void test_no_descriptors(void)
{
	struct rlimit limit, few;
	struct stats_socket *s;
	size_t len = 100;
	int before = next_fd(), fd, filler;
	char one;

	CU_ASSERT_EQUAL_FATAL(stats_socket_start_with(path, print, &len, &s),
			      0);
	/* The thread has its reserve when it has answered once. */
	CU_ASSERT_EQUAL(read_all(open_reader()), 100);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &few);
	while ((filler = dup(0)) >= 0)
		few.rlim_max = (rlim_t)filler;
	CU_ASSERT_EQUAL(few.rlim_max, 63);
	connect_reader(fd);
	for (size_t i = 0; i < len; i++)
		CU_ASSERT_EQUAL(read(fd, &one, 1), 1);
	CU_ASSERT_EQUAL(read(fd, &one, 1), 0);
	setrlimit(RLIMIT_NOFILE, &limit);
	close(fd);
	stats_socket_stop(s);
	for (fd = before; fd < 64; fd++)
		close(fd);
}

/* What another has left behind is removed; what is in use, or no socket, stays.
 * A start that fails leaves nothing. */
static void test_places(void)
{
	char far[128], missing[96];
	struct stats_socket *s, *other = NULL;
	size_t len = 1;
	int before = next_fd(), fd;

	memset(far, 'x', sizeof(far));
	far[sizeof(far) - 1] = 0;
	CU_ASSERT_EQUAL(stats_socket_start_with(far, print, &len, &s),
			-ENAMETOOLONG);
	snprintf(missing, sizeof(missing), "%s/none/socket", dir);
	CU_ASSERT_EQUAL(stats_socket_start_with(missing, print, &len, &s),
			-ENOENT);
	CU_ASSERT_EQUAL(next_fd(), before);
	fclose(fopen(path, "w"));
	CU_ASSERT_EQUAL(stats_socket_start_with(path, print, &len, &s),
			-EEXIST);
	CU_ASSERT_EQUAL(access(path, F_OK), 0);
	unlink(path);
	CU_ASSERT_EQUAL_FATAL(stats_socket_start_with(path, print, &len, &s),
			      0);
	CU_ASSERT_EQUAL(stats_socket_start_with(path, print, &len, &other),
			-EADDRINUSE);
	CU_ASSERT_EQUAL(read_all(open_reader()), 1);
	stats_socket_stop(s);
	/* Nobody listens at this one. */
	{
		struct sockaddr_un at = { .sun_family = AF_UNIX };

		strcpy(at.sun_path, path);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		CU_ASSERT_EQUAL(
			bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
		close(fd);
	}
	CU_ASSERT_EQUAL_FATAL(stats_socket_start_with(path, print, &len, &s),
			      0);
	CU_ASSERT_EQUAL(read_all(open_reader()), 1);
	stats_socket_stop(s);
	CU_ASSERT_EQUAL(next_fd(), before);
}

static bool no_memory;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

static void test_no_memory(void)
{
	struct stats_socket *s = NULL;
	size_t len = 100;

	no_memory = true;
	CU_ASSERT_EQUAL(stats_socket_start_with(path, print, &len, &s),
			-ENOMEM);
	no_memory = false;
	CU_ASSERT_PTR_NULL(s);
	CU_ASSERT_EQUAL(access(path, F_OK), -1);
}

static const struct unit_test tests[] = {
	{ "documents", test_documents },
	{ "no descriptors", test_no_descriptors },
	{ "places", test_places },
	{ "no memory", test_no_memory },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	int status;

	if (!mkdtemp(dir))
		return 2;
	snprintf(path, sizeof(path), "%s/socket", dir);
	status = unit_run("stats socket", tests, argc, argv);
	unlink(path);
	rmdir(dir);
	return status;
}
