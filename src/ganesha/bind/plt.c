/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/bind/plt.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __aarch64__
#define IS_FUNCTION_SLOT(type) \
	((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_FUNCTION_SLOT(type) \
	((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#endif

struct library {
	const void *address; /* what it is looked for by */
	uintptr_t base;
	uintptr_t relro, relro_end; /* what the loader has made read-only */
	const ElfW(Sym) * symbols;
	const char *names;
	/* The relocations of calls, and others. */
	const ElfW(Rela) * relocations[2];
	size_t octets[2];
};

static void read_dynamic(struct library *lib, const ElfW(Dyn) * d)
{
	/* The loader has relocated the addresses. */
	for (; d->d_tag != DT_NULL; d++) {
		const void *at = (const void *)d->d_un.d_ptr;

		switch (d->d_tag) {
		case DT_SYMTAB:
			lib->symbols = at;
			break;
		case DT_STRTAB:
			lib->names = at;
			break;
		case DT_JMPREL:
			lib->relocations[0] = at;
			break;
		case DT_PLTRELSZ:
			lib->octets[0] = d->d_un.d_val;
			break;
		case DT_RELA:
			lib->relocations[1] = at;
			break;
		case DT_RELASZ:
			lib->octets[1] = d->d_un.d_val;
			break;
		}
	}
}

static int look_into(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct library *lib = arg;
	uintptr_t wanted = (uintptr_t)lib->address - info->dlpi_addr;
	const ElfW(Phdr) *end = info->dlpi_phdr + info->dlpi_phnum;
	const ElfW(Dyn) *dynamic = NULL;
	bool is = false;

	for (const ElfW(Phdr) *p = info->dlpi_phdr; p < end; p++)
		is |= p->p_type == PT_LOAD && wanted - p->p_vaddr < p->p_memsz;
	if (!is)
		return 0;
	lib->base = info->dlpi_addr;
	for (const ElfW(Phdr) *p = info->dlpi_phdr; p < end; p++) {
		uintptr_t at = lib->base + p->p_vaddr;

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)at;
		if (p->p_type == PT_GNU_RELRO) {
			lib->relro = at;
			lib->relro_end = at + p->p_memsz;
		}
	}
	if (dynamic)
		read_dynamic(lib, dynamic);
	return 1;
}

static bool store(const struct library *lib, void **slot, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)slot;
	bool relro = at >= lib->relro && at < lib->relro_end;
	void *start = (void *)(at & ~(page - 1));

	if (relro && mprotect(start, page, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(slot, to, __ATOMIC_RELEASE);
	if (relro)
		mprotect(start, page, PROT_READ);
	return true;
}

/* Returns how many slots there are of @plt, after storing there unless @test. */
static unsigned int visit(const struct library *lib, const struct gsh_plt *plt,
			  bool test)
{
	unsigned int n = 0;

	for (unsigned int t = 0; t < 2; t++) {
		const ElfW(Rela) *r = lib->relocations[t];
		size_t left = lib->octets[t] / sizeof(*r);

		for (; left--; r++) {
			const ElfW(Sym) *s =
				&lib->symbols[ELF64_R_SYM(r->r_info)];

			if (!IS_FUNCTION_SLOT(ELF64_R_TYPE(r->r_info)) ||
			    strcmp(lib->names + s->st_name, plt->name))
				continue;
			n += test ||
			     store(lib, (void **)(lib->base + r->r_offset),
				   plt->to);
		}
	}
	return n;
}

bool gsh_plt_redirect(const void *address, const struct gsh_plt *plt,
		      unsigned int n)
{
	struct library lib = { .address = address };

	if (!dl_iterate_phdr(look_into, &lib) || !lib.symbols || !lib.names)
		return false;
	for (unsigned int i = 0; i < n; i++)
		if (!visit(&lib, &plt[i], true))
			return false;
	for (unsigned int i = 0; i < n; i++)
		if (!visit(&lib, &plt[i], false))
			return false;
	return true;
}
