/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read_hooks - give Ganesha registered memory for the data of READs
 *
 * With COMPAT_READ2 all READs go through fsal_read2(), whose caller may bring memory and a
 * function that frees it. Without, Ganesha allocates and frees it as all its memory, by the C
 * library: with posix_memalign() for NFSv4, with malloc() for NFSv3. Then its library's calls
 * of these functions are redirected, if the provider is one that needs it. Either way the
 * memory is from ntirpc/read_buffer.h, which offers it only while a READ is executed.
 *
 * FSALs never free this memory: who calls them allocates it.
 */
#include "ganesha/hook/read_hooks.h"

#include <stdlib.h>

#include "compat/ganesha.h"
#include "ganesha/bind/gsh.h"
#include "ganesha/bind/next.h"
#include "ganesha/bind/plt.h"
#include "ganesha/serve/server.h"
#include "ntirpc/read_buffer.h"

GR_EXPORT void fsal_read2(void *obj, bool bypass, void *done,
			  struct gsh_read *read, void *arg);

#define HOOKED(X) X(fsal_read2)

GR_NEXT(HOOKED)

static void put_buffer(void *buffer)
{
	nrt_read_put(buffer);
}

/* Nobody calls it without COMPAT_READ2. */
GR_EXPORT void fsal_read2(void *obj, bool bypass, void *done,
			  struct gsh_read *read, void *arg)
{
	if (COMPAT_READ2 && read->count == 1 && !read->plus &&
	    !read->iov->iov_base) {
		read->iov->iov_base = nrt_read_get(read->iov->iov_len);
		if (read->iov->iov_base) {
			read->release = put_buffer;
			read->release_data = read->iov->iov_base;
		}
	}
	next.fsal_read2(obj, bypass, done, read, arg);
}

static void *read_malloc(size_t size)
{
	void *buffer = nrt_read_get(size);

	return buffer ? buffer : malloc(size);
}

static int read_memalign(void **to, size_t align, size_t size)
{
	void *buffer = align > NRT_READ_ALIGN ? NULL : nrt_read_get(size);

	if (!buffer)
		return posix_memalign(to, align, size);
	*to = buffer;
	return 0;
}

static void read_free(void *p)
{
	if (!nrt_read_put(p))
		free(p);
}

void gr_read_hooks_start(const struct gsh *gsh, const struct gr_server *s)
{
	/* First the one that recognizes the memory. */
	const struct gsh_plt plt[] = {
		{ "free", (void *)(uintptr_t)read_free },
		{ "posix_memalign", (void *)(uintptr_t)read_memalign },
		{ "malloc", (void *)(uintptr_t)read_malloc },
	};

	if (COMPAT_READ2 || !nrt_read_copies(rt_instance_pool(s->inst)))
		return;
	if (!gsh_plt_redirect(*(void *const *)&gsh->init_error_type, plt,
			      sizeof(plt) / sizeof(plt[0])))
		gsh_log(gsh, GSH_INFO,
			"READ data are copied: this Ganesha allocates in another way");
}
