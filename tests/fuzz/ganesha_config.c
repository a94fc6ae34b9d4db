/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ganesha_config - the blocks of ganesha.conf that are ours, by the parser of the
 * installed Ganesha
 *
 * The input is a list of settings in three blocks: of each an octet says which it is,
 * others what value it has. Only what Ganesha's parser gets through is made of it: that
 * parser is not looked at. What is left is read as any text by gr_text_read().
 *
 * What must hold: settings that are accepted are those that the transport accepts, and
 * what is printed of them is read as the same; of those that are refused something is
 * said; and gr_text_read() sees the blocks that the parser sees.
 */
#include <ctype.h>

#include "fuzz.h"
#include "ganesha/config/config.h"
#include "ganesha/config/dialect.h"
#include "ganesha/config/text.h"
#include "parsed.h"

/* The parser leaks at each input, which libFuzzer would look into each time. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

#define SETTINGS 16
#define ROOM 8192

static const char *const values[] = {
	"true",
	"false",
	"auto",
	"none",
	"iwarp",
	"verbs",
	"1",
	"2",
	"1, 2",
	"xcharext",
	"rtrext",
	"xcharext, rtrext",
	"optional",
	"required",
	"127.0.0.1",
	"::1",
	"0.0.0.0, ::",
	"\"fe80::1%lo\"",
	"\"\"",
	"\"a text\"",
	"nfsrdma",
	"3, 4, nfsrdma",
	"rpcrdma",
	"4.1",
	"ALL",
	"-1",
	"0x10",
	"\"1.5G\"",
	"\"4k\"",
	"\"64M\"",
	"\"1 000\"",
	"\"2T\"",
	"/run/x",
	"yes",
	"\"host@EXAMPLE\"",
};

static const uint64_t numbers[] = {
	0,	 1,	   2,	       3,	   64,	       100,
	1024,	 4096,	   20049,      65535,	   65536,      262144,
	1 << 20, 16 << 20, 1ull << 30, 1ull << 32, 1ull << 40, UINT64_MAX,
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char text[ROOM], again[ROOM];
static struct gr_config read_first;
static bool good;

static void put_value(FILE *f, struct fuzz_in *in)
{
	uint8_t kind = fuzz_u8(in), k = fuzz_u8(in);
	uint64_t n = numbers[k % COUNT(numbers)];

	switch (kind & 3) {
	case 0:
		fputs(values[k % COUNT(values)], f);
		break;
	case 1:
		fprintf(f, "%llu", (unsigned long long)n + (kind >> 5) - 3);
		break;
	case 2:
		fprintf(f, "\"%llu%c\"", (unsigned long long)n,
			"KMGTkmg "[kind >> 5]);
		break;
	default:
		fputc('"', f);
		for (unsigned int i = 0; i < k % 140u; i++) {
			uint8_t c = kind & 4 ? 'a' : fuzz_u8(in);

			fputc(isalnum(c) || (c && strchr("@/.*-_ :,%", c)) ?
				      c :
				      'x',
			      f);
		}
		fputc('"', f);
		break;
	}
}

/* The name of a setting, or of an item of NFS_Core_Param. */
static const char *name_of(unsigned int i)
{
	unsigned int settings = 0, words = 0;

	while (gr_settings[settings].item.name)
		settings++;
	while (gr_dialect_items[words].name)
		words++;
	i %= settings + words;
	return i < settings ? gr_settings[i].item.name :
			      gr_dialect_items[i - settings].name;
}

/* Returns whether there is an RDMA block. */
static bool make_text(struct fuzz_in *in)
{
	static const char *const blocks[] = { "RDMA", "RDMA_Debug",
					      "NFS_Core_Param" };
	uint8_t set = fuzz_u8(in);
	FILE *f = fmemopen(text, ROOM, "w");

	FUZZ_CHECK(f);
	/* The parser takes no file without any block. */
	fputs("LOG { }\n", f);
	for (unsigned int b = 0; b < 3; b++) {
		if (!(set >> b & 1))
			continue;
		fprintf(f, "%s {\n", blocks[b]);
		for (unsigned int i = fuzz_u8(in) % SETTINGS; i; i--) {
			if (b == 2 && !(fuzz_u8(in) & 3))
				fputs("Protocols = ", f);
			else
				fprintf(f, "%s = ", name_of(fuzz_u8(in)));
			put_value(f, in);
			fputs(";\n", f);
		}
		fputs("}\n", f);
	}
	fclose(f);
	return set & 1;
}

/* Returns true if it can be read again as it is printed. */
static bool load(struct gsh_config *tree)
{
	struct gr_config *cfg = &read_first;
	enum gr_config_result res = gr_config_load(&gsh, tree, cfg);
	struct rt_config rt;
	struct gr_text t;
	FILE *f;

	FUZZ_CHECK(gr_text_read(parsed_path, &t));
	FUZZ_CHECK(!t.brace_line && !t.misspelled_line);
	good = res == GR_CONFIG_GOOD;
	if (res == GR_CONFIG_BAD)
		FUZZ_CHECK(*cfg->fault && said_n);
	FUZZ_CHECK(t.rdma || res == GR_CONFIG_ABSENT || cfg->dialect);
	if (!good)
		return false;
	FUZZ_CHECK(!t.rdma || t.required || !cfg->required);
	gr_config_transport(cfg, &rt);
	FUZZ_CHECK(!rt_config_check(&rt));
	f = fmemopen(again, ROOM, "w");
	FUZZ_CHECK(f);
	gr_config_print(f, cfg);
	fclose(f);
	return !cfg->dialect;
}

static bool load_again(struct gsh_config *tree)
{
	struct gr_config cfg;
	char *differs;
	size_t len;
	FILE *f;

	FUZZ_CHECK(gr_config_load(&gsh, tree, &cfg) == GR_CONFIG_GOOD);
	f = open_memstream(&differs, &len);
	FUZZ_CHECK(f);
	gr_config_differences(f, &read_first, &cfg);
	fclose(f);
	if (len)
		fprintf(stderr, "%s, then %s: %s differ\n", text, again,
			differs);
	FUZZ_CHECK(!len);
	free(differs);
	return true;
}

static void any_text(struct fuzz_in *in)
{
	FILE *f = fopen(parsed_path, "w");
	struct gr_text t;

	FUZZ_CHECK(f);
	fwrite(in->p, 1, in->left, f);
	fclose(f);
	gr_text_read(parsed_path, &t);
	for (unsigned int line = 1; line < 4; line++)
		gr_text_inside_rdma(parsed_path, line);
	unlink(parsed_path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	bool has_block = make_text(&in);

	if (parsed(text, load))
		parsed(again, load_again);
	FUZZ_CHECK(!good || has_block || read_first.dialect);
	if (in.left)
		any_text(&in);
	return 0;
}
