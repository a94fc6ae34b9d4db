/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counts - what a program asks of the kernel, of memory and of its provider
 *
 * To be put before a program's libraries (LD_PRELOAD). It counts calls of the C
 * library and those of the provider's table, and octets copied, while the program
 * runs, in a file that tests/bench/counts reads: $RPCRDMA_COUNTS/PID, entries of a
 * name of 24 octets and a number of 8.
 *
 * What is not called through the C library's names is not seen: the futexes of
 * its locks, and what it copies itself. Copies of less than COPY_MIN octets are
 * passed over.
 *
 * The provider's table is found by its name in the symbols of the program or of
 * its libraries, which must not be stripped. With RPCRDMA_COUNTS_REGISTERED in the
 * environment it is one that sends registered memory only, as that of devices.
 *
 * Threads: any.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "rpcrdma/fabric.h"

#define EXPORT __attribute__((visibility("default")))
#define COPY_MIN 1024
#define TABLE "fab_iwarp_ops"

/* In the order of the file. */
#define COUNTS(X)                                          \
	X(receives)                                        \
	X(receives_empty) /* nothing was there */          \
	X(received_octets)                                 \
	X(sends)                                           \
	X(sent_octets)                                     \
	X(waits) /* epoll_wait: may sleep */               \
	X(looks) /* epoll_wait without time */             \
	X(events) /* of either: how many gave something */ \
	X(wakes) /* writes of eight octets: eventfds */    \
	X(signals) /* of conditions and semaphores */      \
	X(file_calls)                                      \
	X(file_octets)                                     \
	X(naps)                                            \
	X(timers) /* set or cancelled */                   \
	X(maps) /* mmap, munmap, madvise, by name */       \
	X(allocations)                                     \
	X(allocated_octets)                                \
	X(copies)                                          \
	X(copied_octets)                                   \
	X(posts)                                           \
	X(requests) /* that were posted, but Receives */   \
	X(signaled)                                        \
	X(completions) /* of any kind */                   \
	X(polls)                                           \
	X(receive_posts)                                   \
	X(kicks)                                           \
	X(exposed)                                         \
	X(registrations)

enum count {
#define X(name) name,
	COUNTS(X)
#undef X
		NCOUNTS
};

struct entry {
	char name[24];
	_Atomic uint64_t value;
};

static struct entry early[NCOUNTS];
static struct entry *entries = early;

static void add(enum count c, uint64_t n)
{
	atomic_fetch_add_explicit(&entries[c].value, n, memory_order_relaxed);
}

/* ---- The file ------------------------------------------------------------ */

static void open_file(void)
{
	static const char *const names[] = {
#define X(name) #name,
		COUNTS(X)
#undef X
	};
	const char *dir = getenv("RPCRDMA_COUNTS");
	char path[4096];
	struct entry *e;
	int fd;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%d", dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(early)))
		abort();
	e = mmap(NULL, sizeof(early), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	if (e == MAP_FAILED)
		abort();
	close(fd);
	for (unsigned int i = 0; i < NCOUNTS; i++)
		snprintf(e[i].name, sizeof(e[i].name), "%s", names[i]);
	entries = e;
}

/* The function that would have been called. */
static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

#define NEXT(name)                                             \
	static __typeof__(&(name)) real;                       \
	do {                                                   \
		if (!real)                                     \
			*(void **)(void *)&real = next(#name); \
	} while (0)

/* ---- System calls -------------------------------------------------------- */

static ssize_t received(ssize_t n)
{
	add(receives, 1);
	if (n > 0)
		add(received_octets, (uint64_t)n);
	else if (n < 0 && errno == EAGAIN)
		add(receives_empty, 1);
	return n;
}

static ssize_t sent(ssize_t n)
{
	add(sends, 1);
	if (n > 0)
		add(sent_octets, (uint64_t)n);
	return n;
}

static ssize_t filed(ssize_t n)
{
	add(file_calls, 1);
	if (n > 0)
		add(file_octets, (uint64_t)n);
	return n;
}

EXPORT ssize_t recv(int fd, void *to, size_t len, int flags)
{
	NEXT(recv);
	return received(real(fd, to, len, flags));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	NEXT(recvmsg);
	return received(real(fd, m, flags));
}

EXPORT ssize_t send(int fd, const void *from, size_t len, int flags)
{
	NEXT(send);
	return sent(real(fd, from, len, flags));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	NEXT(sendmsg);
	return sent(real(fd, m, flags));
}

EXPORT ssize_t write(int fd, const void *from, size_t len)
{
	NEXT(write);
	if (len == sizeof(uint64_t))
		add(wakes, 1);
	return real(fd, from, len);
}

EXPORT ssize_t pread(int fd, void *to, size_t len, off_t at)
{
	NEXT(pread);
	return filed(real(fd, to, len, at));
}

EXPORT ssize_t pread64(int fd, void *to, size_t len, off64_t at)
{
	NEXT(pread64);
	return filed(real(fd, to, len, at));
}

EXPORT ssize_t preadv(int fd, const struct iovec *iov, int n, off_t at)
{
	NEXT(preadv);
	return filed(real(fd, iov, n, at));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int n, off64_t at)
{
	NEXT(preadv64);
	return filed(real(fd, iov, n, at));
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t len, off_t at)
{
	NEXT(pwrite);
	return filed(real(fd, from, len, at));
}

EXPORT ssize_t pwrite64(int fd, const void *from, size_t len, off64_t at)
{
	NEXT(pwrite64);
	return filed(real(fd, from, len, at));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t at)
{
	NEXT(pwritev);
	return filed(real(fd, iov, n, at));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *iov, int n, off64_t at)
{
	NEXT(pwritev64);
	return filed(real(fd, iov, n, at));
}

EXPORT int epoll_wait(int fd, struct epoll_event *e, int n, int ms)
{
	int got;

	NEXT(epoll_wait);
	got = real(fd, e, n, ms);
	add(ms ? waits : looks, 1);
	if (got > 0)
		add(events, 1);
	return got;
}

EXPORT int nanosleep(const struct timespec *want, struct timespec *left)
{
	NEXT(nanosleep);
	add(naps, 1);
	return real(want, left);
}

EXPORT int clock_nanosleep(clockid_t clock, int flags,
			   const struct timespec *want, struct timespec *left)
{
	NEXT(clock_nanosleep);
	add(naps, 1);
	return real(clock, flags, want, left);
}

EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *in,
			   struct itimerspec *old)
{
	NEXT(timerfd_settime);
	add(timers, 1);
	return real(fd, flags, in, old);
}

EXPORT void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	NEXT(mmap);
	add(maps, 1);
	return real(at, len, prot, flags, fd, off);
}

EXPORT int munmap(void *at, size_t len)
{
	NEXT(munmap);
	add(maps, 1);
	return real(at, len);
}

EXPORT int madvise(void *at, size_t len, int advice)
{
	NEXT(madvise);
	add(maps, 1);
	return real(at, len, advice);
}

EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
	NEXT(pthread_cond_signal);
	add(signals, 1);
	return real(c);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
	NEXT(pthread_cond_broadcast);
	add(signals, 1);
	return real(c);
}

EXPORT int sem_post(sem_t *s)
{
	NEXT(sem_post);
	add(signals, 1);
	return real(s);
}

/* ---- Memory -------------------------------------------------------------- */

void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *p, size_t len);
void *__libc_memalign(size_t align, size_t len);

static void allocated(size_t len)
{
	add(allocations, 1);
	add(allocated_octets, len);
}

EXPORT void *malloc(size_t len)
{
	allocated(len);
	return __libc_malloc(len);
}

EXPORT void *calloc(size_t n, size_t len)
{
	allocated(n * len);
	return __libc_calloc(n, len);
}

EXPORT void *realloc(void *p, size_t len)
{
	allocated(len);
	return __libc_realloc(p, len);
}

EXPORT void *aligned_alloc(size_t align, size_t len)
{
	allocated(len);
	return __libc_memalign(align, len);
}

EXPORT void *memalign(size_t align, size_t len)
{
	allocated(len);
	return __libc_memalign(align, len);
}

EXPORT int posix_memalign(void **p, size_t align, size_t len)
{
	void *got;

	allocated(len);
	got = __libc_memalign(align, len);
	if (!got)
		return ENOMEM;
	*p = got;
	return 0;
}

typedef void *copy_fn(void *, const void *, size_t);
static copy_fn *real_copy, *real_move;

/* Before they are known. */
static void *slowly(void *to, const void *from, size_t len)
{
	volatile uint8_t *t = to;
	const volatile uint8_t *f = from;

	if ((uintptr_t)to <= (uintptr_t)from)
		for (size_t i = 0; i < len; i++)
			t[i] = f[i];
	else
		while (len--)
			t[len] = f[len];
	return to;
}

static void *copy(copy_fn *real, void *to, const void *from, size_t len)
{
	if (len >= COPY_MIN) {
		add(copies, 1);
		add(copied_octets, len);
	}
	return real ? real(to, from, len) : slowly(to, from, len);
}

EXPORT void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
	return copy(real_copy, to, from, len);
}

EXPORT void *memmove(void *to, const void *from, size_t len)
{
	return copy(real_move, to, from, len);
}

void *__memcpy_chk(void *to, const void *from, size_t len, size_t room);
EXPORT void *__memcpy_chk(void *to, const void *from, size_t len, size_t room)
{
	if (len > room)
		abort();
	return copy(real_copy, to, from, len);
}

/* ---- The provider -------------------------------------------------------- */

static struct fab_ops table; /* as it was */

/* As a device does it: only registered memory is sent. */
static int registered_open(const struct fab_domain_params *p,
			   struct fab_domain **d)
{
	int err = table.domain_open(p, d);

	if (!err)
		(*d)->limits.caps &= ~(unsigned int)FAB_CAP_ANY_LOCAL;
	return err;
}

static int counted_reg(struct fab_domain *d, void *addr, size_t len,
		       struct fab_mr **mr)
{
	add(registrations, 1);
	return table.reg(d, addr, len, mr);
}

static int counted_expose(struct fab_conn *c, struct fab_mr *mr, void *addr,
			  size_t len, unsigned int access, uint32_t *handle,
			  uint64_t *offset)
{
	add(exposed, 1);
	return table.expose(c, mr, addr, len, access, handle, offset);
}

static int counted_post(struct fab_conn *c, struct fab_wr *chain)
{
	add(posts, 1);
	for (const struct fab_wr *wr = chain; wr; wr = wr->next) {
		add(requests, 1);
		add(signaled,
		    wr->op == FAB_READ || (wr->flags & FAB_F_SIGNALED));
	}
	return table.post(c, chain);
}

static int counted_post_recv(struct fab_conn *c, struct fab_wr *chain)
{
	add(receive_posts, 1);
	return table.post_recv(c, chain);
}

static int counted_poll(struct fab_conn *c, struct fab_wc *wc, int n)
{
	int got = table.poll(c, wc, n);

	add(polls, 1);
	add(completions, got > 0 ? (uint64_t)got : 0);
	return got;
}

static void counted_kick(struct fab_conn *c)
{
	add(kicks, 1);
	table.schedule(c);
}

static void take_table(struct fab_ops *t)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)t & ~(page - 1);
	uintptr_t end = (uintptr_t)(t + 1) + page - 1;

	/* It is among what the loader has made read-only. */
	if (mprotect((void *)first, (end & ~(page - 1)) - first,
		     PROT_READ | PROT_WRITE))
		abort();
	table = *t;
	if (getenv("RPCRDMA_COUNTS_REGISTERED"))
		t->domain_open = registered_open;
	t->reg = counted_reg;
	t->expose = counted_expose;
	t->post = counted_post;
	t->post_recv = counted_post_recv;
	t->poll = counted_poll;
	t->schedule = counted_kick;
}

/* The symbol's value in this file, or 0. */
static ElfW(Addr) look_up(const uint8_t *file, const char *name)
{
	const ElfW(Ehdr) *head = (const void *)file;
	const ElfW(Shdr) *s = (const void *)(file + head->e_shoff);

	for (unsigned int i = 0; i < head->e_shnum; i++) {
		const ElfW(Sym) *sym = (const void *)(file + s[i].sh_offset);
		const char *names;

		if (s[i].sh_type != SHT_SYMTAB)
			continue;
		names = (const char *)file + s[s[i].sh_link].sh_offset;
		for (size_t n = s[i].sh_size / sizeof(*sym); n--; sym++)
			if (sym->st_value &&
			    !strcmp(names + sym->st_name, name))
				return sym->st_value;
	}
	return 0;
}

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = *info->dlpi_name ? info->dlpi_name :
					      "/proc/self/exe";
	ElfW(Addr) at = 0;
	struct stat st;
	uint8_t *file;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && st.st_size > 0) {
		file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			    fd, 0);
		if (file != MAP_FAILED) {
			at = look_up(file, TABLE);
			munmap(file, (size_t)st.st_size);
		}
	}
	close(fd);
	if (at)
		take_table((struct fab_ops *)(info->dlpi_addr + at));
	return at != 0;
}

/* ---- Beginning ----------------------------------------------------------- */

/* So that what is loaded with it is seen as well: Ganesha's FSALs. */
EXPORT void *dlopen(const char *file, int mode)
{
	NEXT(dlopen);
	return real(file, mode & ~RTLD_DEEPBIND);
}

__attribute__((constructor)) static void begin(void)
{
	*(void **)(void *)&real_move = next("memmove");
	*(void **)(void *)&real_copy = next("memcpy");
	open_file();
	dl_iterate_phdr(look_into, NULL);
}
