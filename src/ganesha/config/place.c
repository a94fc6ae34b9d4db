/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/config/place.h"

#include <stdlib.h>
#include <string.h>

bool gr_place_read(const char *message, struct gr_place *at)
{
	static const char begin[] = "Config File (", behind[] = "): ";
	const char *path = strstr(message, begin);
	const char *end = path ? strstr(path, behind) : NULL;
	const char *colon = end;

	if (!end)
		return false;
	path += sizeof(begin) - 1;
	while (colon > path && *colon != ':')
		colon--;
	if (colon == path || (size_t)(colon - path) >= sizeof(at->path))
		return false;
	memcpy(at->path, path, (size_t)(colon - path));
	at->path[colon - path] = '\0';
	at->line = (unsigned int)strtoul(colon + 1, NULL, 10);
	at->text = end + sizeof(behind) - 1;
	return true;
}
