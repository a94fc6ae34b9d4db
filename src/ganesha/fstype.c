/* SPDX-License-Identifier: BSD-3-Clause */
/* fstype.h says what this is. */
#include "ganesha/fstype.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sysmacros.h>

#include "ganesha/bind/gsh.h"

_Static_assert(GR_FSTYPE == 32, "the format below");

bool gr_fstype_of(FILE *mounts, dev_t dev, char type[GR_FSTYPE])
{
	unsigned int major, minor;
	bool found = false;
	char *line = NULL;
	const char *end;
	size_t room = 0;

	while (!found && getline(&line, &room, mounts) > 0) {
		if (sscanf(line, "%*u %*u %u:%u ", &major, &minor) != 2 ||
		    makedev(major, minor) != dev)
			continue;
		/* Names have no blanks in there. */
		end = strstr(line, " - ");
		found = end && sscanf(end, " - %31s", type) == 1;
	}
	free(line);
	return found;
}

bool gr_fstype_is_skipped(const char *type)
{
	static const char *const skipped[] = {
		"autofs",     "sysfs",	     "proc",	   "devtmpfs",
		"securityfs", "cgroup",	     "selinuxfs",  "debugfs",
		"hugetlbfs",  "mqueue",	     "pstore",	   "devpts",
		"configfs",   "binfmt_misc", "rpc_pipefs", "vboxsf",
	};

	if (!strncasecmp(type, "nfs", 3) ||
	    (GSH_SKIPS_TMPFS && !strcasecmp(type, "tmpfs")))
		return true;
	for (size_t i = 0; i < sizeof(skipped) / sizeof(*skipped); i++)
		if (!strcasecmp(type, skipped[i]))
			return true;
	return false;
}
