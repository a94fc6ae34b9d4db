/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copies - how much a server moves in its memory
 *
 * Preloaded into it by a test, this takes the place of memcpy() and memmove()
 * for all its libraries, and adds up what goes through them in pieces of 16 KiB
 * and more: that is data, not headers. The sum is the first word of the file
 * that RPCRDMA_COPIES names, where the test may read it at any time.
 *
 * There is no state but that word, which any thread may add to.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define PIECE ((size_t)16 << 10)

EXPORT void *memcpy(void *restrict to, const void *restrict from, size_t n);
EXPORT void *memmove(void *to, const void *from, size_t n);
EXPORT void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
EXPORT void *__memmove_chk(void *to, const void *from, size_t n, size_t room);

static uint64_t *sum;

__attribute__((constructor)) static void share(void)
{
	const char *path = getenv("RPCRDMA_COPIES");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *at = MAP_FAILED;

	if (fd < 0)
		return;
	if (!ftruncate(fd, sizeof(*sum)))
		at = mmap(NULL, sizeof(*sum), PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		sum = at;
}

/* The compiler must not make calls of memmove() of it. */
__attribute__((optimize("no-tree-loop-distribute-patterns"))) static void *
move(void *to, const void *from, size_t n)
{
	const unsigned char *f = from;
	unsigned char *t = to;

	if (n >= PIECE && sum)
		__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
	if ((uintptr_t)t - (uintptr_t)f >= n) {
		while (n--)
			*t++ = *f++;
	} else {
		while (n--)
			t[n] = f[n];
	}
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	return move(to, from, n);
}

void *memmove(void *to, const void *from, size_t n)
{
	return move(to, from, n);
}

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	if (n > room)
		abort();
	return move(to, from, n);
}

void *__memmove_chk(void *to, const void *from, size_t n, size_t room)
{
	if (n > room)
		abort();
	return move(to, from, n);
}
