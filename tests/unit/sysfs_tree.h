/* SPDX-License-Identifier: BSD-3-Clause */
/* sysfs_tree - a folder with files such as the kernel has them */
#ifndef RPCRDMA_UNIT_SYSFS_TREE_H
#define RPCRDMA_UNIT_SYSFS_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The root of the tree. */
static char tree[] = "/tmp/sysfs-tree.XXXXXX";

static inline void tree_begin(void)
{
	strcpy(tree + sizeof(tree) - 7, "XXXXXX");
	if (!mkdtemp(tree))
		abort();
}

static inline void tree_end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", tree);
	if (system(command))
		abort();
}

/* Make the directories that lead to @name, and set @path to its path. */
static inline void tree_path(char path[512], const char *name)
{
	snprintf(path, 512, "%s/%s", tree, name);
	for (char *c = path + sizeof(tree); (c = strchr(c, '/')); c++) {
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
}

static inline void tree_put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	tree_path(path, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static inline void tree_link(const char *name, const char *to)
{
	char path[512];

	tree_path(path, name);
	if (symlink(to, path))
		abort();
}

#endif /* RPCRDMA_UNIT_SYSFS_TREE_H */
