/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay - run a fuzz target once for each file of a folder, without libFuzzer
 *
 *	replay-TARGET FOLDER|FILE...
 */
#include <dirent.h>
#include <limits.h>

#include "fuzz.h"

static unsigned int ran;

static bool run_file(const char *path)
{
	uint8_t *data = NULL;
	size_t len = 0, room = 0;
	FILE *f = fopen(path, "rb");

	if (!f) {
		perror(path);
		return false;
	}
	do {
		room += 65536;
		data = realloc(data, room);
		FUZZ_CHECK(data);
		len += fread(data + len, 1, room - len, f);
	} while (len == room);
	fclose(f);
	/* So that an abort tells which one it was. */
	printf("%s (%zu octets)\n", path, len);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	ran++;
	return true;
}

static bool run_folder(DIR *dir, const char *path)
{
	const struct dirent *e;
	char name[PATH_MAX];
	bool ok = true;

	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		ok = run_file(name) && ok;
	}
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = argc > 1;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);

		if (!dir) {
			ok = run_file(argv[i]) && ok;
			continue;
		}
		ok = run_folder(dir, argv[i]) && ok;
		closedir(dir);
	}
	printf("%u inputs\n", ran);
	/* An empty corpus tests nothing. */
	return ok && ran ? 0 : 1;
}
