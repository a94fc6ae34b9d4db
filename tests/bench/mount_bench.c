// SPDX-License-Identifier: BSD-3-Clause
/*
 * mount_bench.c - load on a mounted file system, by its own client
 *
 *	mount-bench DIR SECONDS TEST:DEPTH...
 *
 * For each TEST, DEPTH threads do one operation after another in DIR for so
 * long:
 *
 *	getattr		attributes of an open file, asked of the server
 *	create		a new file is made, closed and removed
 *	readseq		1 MiB after 1 MiB of one file
 *	writeseq	likewise
 *	read4k		4 KiB anywhere in that file
 *	write4k		likewise
 *
 * Reads and writes pass by the cache of pages (O_DIRECT). What is printed is
 * a line of NAME=VALUE for each. The count of context switches is the
 * whole machine's, for client and server are both in it.
 *
 * The threads share what is constant, and an atomic place in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_SIZE (64UL << 20)
#define LONG_IO (1UL << 20)
#define SHORT_IO 4096UL
#define MAX_DEPTH 64

struct bench;

struct worker {
	struct bench *b;
	unsigned number;
	pthread_t thread;
	void *buffer;
	uint64_t random;
	uint64_t ops;
	int error;
};

struct test {
	const char *name;
	size_t size; /* of an operation's data */
	int (*step)(struct worker *w);
};

struct bench {
	const char *dir;
	const struct test *test;
	int fd;
	atomic_ulong next;
	atomic_bool end;
	struct worker workers[MAX_DEPTH];
};

static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("mount-bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t switches(void)
{
	FILE *f = fopen("/proc/stat", "r");
	unsigned long long n = 0;
	char line[4096];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "ctxt %llu", &n) == 1)
			break;
	fclose(f);
	return n;
}

static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static off_t place(struct worker *w)
{
	size_t size = w->b->test->size;
	size_t places = FILE_SIZE / size;

	if (size == LONG_IO)
		return (off_t)(atomic_fetch_add(&w->b->next, 1) % places *
			       size);
	return (off_t)(next_random(w) % places * size);
}

static int moved(const struct worker *w, ssize_t n)
{
	if (n == (ssize_t)w->b->test->size)
		return 0;
	return n < 0 ? errno : EIO;
}

static int do_getattr(struct worker *w)
{
	struct statx stx;

	return statx(w->b->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC,
		     STATX_BASIC_STATS, &stx) ?
		       errno :
		       0;
}

static int do_create(struct worker *w)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/made-%u-%llu", w->b->dir, w->number,
		 (unsigned long long)w->ops);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
	if (fd < 0 || close(fd) || unlink(path))
		return errno;
	return 0;
}

static int do_read(struct worker *w)
{
	return moved(w, pread(w->b->fd, w->buffer, w->b->test->size, place(w)));
}

static int do_write(struct worker *w)
{
	return moved(w,
		     pwrite(w->b->fd, w->buffer, w->b->test->size, place(w)));
}

static const struct test tests[] = {
	{ "getattr", 0, do_getattr },	   { "create", 0, do_create },
	{ "readseq", LONG_IO, do_read },   { "read4k", SHORT_IO, do_read },
	{ "writeseq", LONG_IO, do_write }, { "write4k", SHORT_IO, do_write },
};

static void *run(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load_explicit(&w->b->end, memory_order_relaxed)) {
		w->error = w->b->test->step(w);
		if (w->error)
			break;
		w->ops++;
	}
	return NULL;
}

/* The file is there in full, so that each read has data. */
static int open_file(const char *dir)
{
	char path[4096], *data;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/bench", dir);
	fd = open(path, O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if ((size_t)st.st_size == FILE_SIZE)
		return fd;
	data = aligned_alloc(SHORT_IO, LONG_IO);
	if (!data)
		die("no memory");
	memset(data, 0x5a, LONG_IO);
	for (size_t at = 0; at < FILE_SIZE; at += LONG_IO)
		if (pwrite(fd, data, LONG_IO, (off_t)at) != (ssize_t)LONG_IO)
			die("%s cannot be written", path);
	free(data);
	return fd;
}

static void measure(struct bench *b, unsigned depth, double seconds)
{
	struct timespec wait = { .tv_sec = (time_t)seconds };
	uint64_t ops = 0, before;
	double start;

	wait.tv_nsec = (long)((seconds - (double)wait.tv_sec) * 1e9);
	atomic_store(&b->end, false);
	atomic_store(&b->next, 0);
	for (unsigned i = 0; i < depth; i++) {
		struct worker *w = &b->workers[i];

		w->ops = 0;
		w->b = b;
		w->number = i;
		w->random = 88172645463325252U + i;
		w->buffer = aligned_alloc(SHORT_IO, LONG_IO);
		if (!w->buffer)
			die("no memory");
		memset(w->buffer, 0xa5, LONG_IO);
	}
	before = switches();
	start = now();
	for (unsigned i = 0; i < depth; i++)
		if (pthread_create(&b->workers[i].thread, NULL, run,
				   &b->workers[i]))
			die("no thread");
	nanosleep(&wait, NULL);
	atomic_store(&b->end, true);
	for (unsigned i = 0; i < depth; i++) {
		struct worker *w = &b->workers[i];

		pthread_join(w->thread, NULL);
		ops += w->ops;
		free(w->buffer);
		if (w->error)
			die("%s: %s", b->test->name, strerror(w->error));
	}
	seconds = now() - start;
	before = switches() - before;
	if (!ops)
		die("%s: nothing was done", b->test->name);
	printf("test=%s depth=%u ops=%llu seconds=%.3f ops_per_s=%.2f "
	       "mb_per_s=%.2f switches_per_op=%.2f\n",
	       b->test->name, depth, (unsigned long long)ops, seconds,
	       (double)ops / seconds,
	       (double)ops * (double)b->test->size / seconds / 1e6,
	       (double)before / (double)ops);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct bench b;
	double seconds;

	if (argc < 4)
		die("DIR SECONDS TEST:DEPTH...");
	b.dir = argv[1];
	seconds = strtod(argv[2], NULL);
	b.fd = open_file(b.dir);
	for (int arg = 3; arg < argc; arg++) {
		char *colon = strchr(argv[arg], ':');
		long depth = colon ? strtol(colon + 1, NULL, 10) : 1;

		if (colon)
			*colon = '\0';
		b.test = NULL;
		for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
			if (!strcmp(tests[i].name, argv[arg]))
				b.test = &tests[i];
		if (!b.test || depth < 1 || depth > MAX_DEPTH || seconds <= 0)
			die("%s: no such test, depth or time", argv[arg]);
		measure(&b, (unsigned)depth, seconds);
	}
	close(b.fd);
	return 0;
}
