/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main - worlds of some seeds, and of a seed that fails the fewest steps that do
 *
 * Each world is in a process of its own, which ends at the first thing that does not
 * hold, or crashes, or is ended when it hangs; the parent only looks at how it has
 * ended. So to try whether it fails without some of its steps is to begin once more.
 *
 * Threads: one.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulate.h"
#include "worlds.h"

/* A world takes a second. */
#define HANGS_S 60
#define STEPS_MAX 100000000

/* What a world's process tells its parent, in memory that both have. */
struct report {
	bool failed;
	char text[500];
	unsigned int step;
	uint64_t hash;
	uint64_t rpcs, right, messages, conns;
	bool calm;
	uint32_t reached[RT_NSTATES][EV_COUNT];
	uint32_t counts[SIM_COUNTS];
};

static struct report *report;

static struct {
	uint64_t seed, seeds;
	unsigned int steps;
	unsigned int seconds;
	const struct sim_kind *world;
	bool *left_out;
	bool log, twice, coverage, no_shrink, here;
	uint64_t worlds, failures, steps_made, rpcs, right, messages, conns,
		calm;
	uint32_t reached[RT_NSTATES][EV_COUNT];
	uint32_t counts[SIM_COUNTS];
} opt = { .seed = 1, .seeds = 1, .steps = 2000, .world = sim_worlds };

/* ---- One world -------------------------------------------------------------- */

static void tell(void)
{
	const struct sim_world *w = sim;

	if (!w)
		return;
	report->step = w->step;
	report->hash = w->hash;
	report->rpcs = w->rpcs_done;
	report->right = w->rpcs_right;
	report->messages = w->messages;
	report->conns = w->conns;
	report->calm = w->calm;
	memcpy(report->reached, sim_reached, sizeof(sim_reached));
	memcpy(report->counts, sim_counts, sizeof(sim_counts));
}

void sim_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(report->text, sizeof(report->text), fmt, ap);
	va_end(ap);
	report->failed = true;
	tell();
	sim_log("FAILS: %s", report->text);
	if (opt.here)
		abort();
	_exit(1);
}

static void run_world(unsigned int steps, const bool *left_out)
{
	static struct sim_world w;
	const struct sim_options o = { .seed = opt.seed,
				       .steps = steps,
				       .left_out = left_out,
				       .log = opt.log };

	memset(sim_reached, 0, sizeof(sim_reached));
	memset(sim_counts, 0, sizeof(sim_counts));
	opt.world->open(&w, &o);
	for (unsigned int i = 0; i < steps; i++) {
		/* So that it is known when it crashes. */
		report->step = i;
		if (!left_out || !left_out[i])
			opt.world->step(i);
	}
	opt.world->close(&w);
	sim = &w;
	tell();
	sim = NULL;
}

/* True: all holds. */
static bool try(unsigned int steps, const bool *left_out)
{
	int status;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	if (opt.here) {
		run_world(steps, left_out);
		return true;
	}
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		alarm(HANGS_S);
		run_world(steps, left_out);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		report->failed = true;
		snprintf(report->text, sizeof(report->text),
			 WTERMSIG(status) == SIGALRM ? "hangs: signal %d" :
						       "crashes: signal %d",
			 WTERMSIG(status));
	} else if (WEXITSTATUS(status) && !report->failed) {
		report->failed = true;
		snprintf(report->text, sizeof(report->text),
			 "crashes: exit status %d", WEXITSTATUS(status));
	}
	return !report->failed;
}

/* ---- Fewer steps ------------------------------------------------------------ */

/* What it is, without its numbers. */
static void kind_of(const char *text, char *kind, size_t size)
{
	snprintf(kind, size, "%.*s", (int)strcspn(text, ":"), text);
}

static bool fails_so(unsigned int steps, const bool *left_out, const char *kind)
{
	char now[100];

	if (try(steps, left_out))
		return false;
	kind_of(report->text, now, sizeof(now));
	return !strcmp(now, kind);
}

static unsigned int count(const bool *left_out, unsigned int steps)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < steps; i++)
		n += !left_out[i];
	return n;
}

static void print_steps(const bool *left_out, unsigned int steps)
{
	const char *sep = " --only ";

	for (unsigned int i = 0; i < steps; i++) {
		unsigned int to = i;

		if (left_out[i])
			continue;
		while (to + 1 < steps && !left_out[to + 1])
			to++;
		printf(to > i ? "%s%u-%u" : "%s%u", sep, i, to);
		sep = ",";
		i = to;
	}
}

/* Leave out more and more of what is not needed, in pieces of half the size each
 * time. */
static void shrink(unsigned int steps)
{
	bool *out = calloc(steps, sizeof(*out)), *less;
	char kind[100], text[sizeof(report->text)];

	less = calloc(steps, sizeof(*less));
	if (opt.left_out)
		memcpy(out, opt.left_out, steps * sizeof(*out));
	kind_of(report->text, kind, sizeof(kind));
	strcpy(text, report->text);
	if (report->step + 1 < steps && fails_so(report->step + 1, out, kind))
		steps = report->step + 1;
	for (unsigned int size = (steps + 1) / 2; size; size /= 2) {
		for (unsigned int at = 0; at < steps; at += size) {
			unsigned int to = at + size < steps ? at + size : steps;
			unsigned int n = 0;

			memcpy(less, out, steps * sizeof(*out));
			for (unsigned int i = at; i < to; i++) {
				n += !less[i];
				less[i] = true;
			}
			if (n && fails_so(steps, less, kind)) {
				memcpy(out, less, steps * sizeof(*out));
				strcpy(text, report->text);
			}
		}
	}
	while (steps > 1 && out[steps - 1] && fails_so(steps - 1, out, kind))
		steps--;
	printf("    with %u steps: %s\n", count(out, steps), text);
	printf("    tests/simulate --world %s --seed %llu --steps %u",
	       opt.world->name, (unsigned long long)opt.seed, steps);
	print_steps(out, steps);
	printf("\n");
	free(out);
	free(less);
}

/* ---- Some worlds ------------------------------------------------------------ */

static void add_up(void)
{
	opt.worlds++;
	opt.steps_made += report->step + 1;
	opt.rpcs += report->rpcs;
	opt.right += report->right;
	opt.messages += report->messages;
	opt.conns += report->conns;
	opt.calm += report->calm;
	for (unsigned int s = 0; s < RT_NSTATES; s++)
		for (unsigned int e = 0; e < EV_COUNT; e++)
			opt.reached[s][e] += report->reached[s][e];
	for (unsigned int i = 0; i < SIM_COUNTS; i++)
		opt.counts[i] += report->counts[i];
}

static void one_seed(void)
{
	uint64_t hash;
	bool ok = try(opt.steps, opt.left_out);

	add_up();
	hash = report->hash;
	if (ok && opt.twice) {
		ok = try(opt.steps, opt.left_out);
		if (ok && report->hash != hash) {
			report->failed = true;
			snprintf(
				report->text, sizeof(report->text),
				"repeats: the same seed gives %016llx and %016llx",
				(unsigned long long)hash,
				(unsigned long long)report->hash);
			ok = false;
		}
	}
	if (opt.seeds == 1 && ok)
		printf("seed %llu: %016llx, %llu connections, %llu RPCs, %llu Replies compared, %llu messages\n",
		       (unsigned long long)opt.seed, (unsigned long long)hash,
		       (unsigned long long)report->conns,
		       (unsigned long long)report->rpcs,
		       (unsigned long long)report->right,
		       (unsigned long long)report->messages);
	if (ok)
		return;
	opt.failures++;
	printf("seed %llu fails at step %u: %s\n", (unsigned long long)opt.seed,
	       report->step, report->text);
	fflush(stdout);
	if (!opt.no_shrink && !opt.log && !opt.here &&
	    strncmp(report->text, "repeats", 7))
		shrink(opt.steps);
	fflush(stdout);
}

static double now(void)
{
	struct timespec ts;

	timespec_get(&ts, TIME_UTC);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- Options ---------------------------------------------------------------- */

/* Returns the number that @arg is, from @low to @high; else this is wrong use. */
static uint64_t number(struct argp_state *state, const char *option,
		       const char *arg, uint64_t low, uint64_t high)
{
	unsigned long long n = 0;
	char *end = NULL;

	errno = 0;
	if (*arg >= '0' && *arg <= '9')
		n = strtoull(arg, &end, 0);
	if (!end || *end || errno || n < low || n > high)
		argp_error(state,
			   "--%s: '%s' is not a number from %llu to %llu",
			   option, arg, (unsigned long long)low,
			   (unsigned long long)high);
	return n;
}

/* "3,10-20": only these. */
static void only(struct argp_state *state, char *list)
{
	for (unsigned int i = 0; i < opt.steps; i++)
		opt.left_out[i] = true;
	for (char *part; (part = strsep(&list, ","));) {
		char *last = strchr(part, '-');
		uint64_t from, to;

		if (last)
			*last++ = '\0';
		from = number(state, "only", part, 0, UINT32_MAX);
		to = last ? number(state, "only", last, from, UINT32_MAX) :
			    from;
		for (; from <= to && from < opt.steps; from++)
			opt.left_out[from] = false;
	}
}

static void find_world(struct argp_state *state, const char *name)
{
	opt.world = sim_worlds;
	while (opt.world->name && strcmp(opt.world->name, name))
		opt.world++;
	if (!opt.world->name)
		argp_error(state, "--world: there is no %s", name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static char *list;

	switch (key) {
	case 'w':
		find_world(state, arg);
		return 0;
	case 's':
		opt.seed = number(state, "seed", arg, 0, UINT64_MAX);
		return 0;
	case 'm':
		opt.steps =
			(unsigned int)number(state, "steps", arg, 1, STEPS_MAX);
		return 0;
	case 'n':
		opt.seeds = number(state, "seeds", arg, 1, UINT64_MAX);
		return 0;
	case 't':
		opt.seconds = (unsigned int)number(state, "seconds", arg, 1,
						   UINT32_MAX);
		opt.seeds = UINT64_MAX;
		return 0;
	case 'o':
		list = arg;
		return 0;
	case 'l':
		opt.log = true;
		return 0;
	case 'c':
		opt.coverage = true;
		return 0;
	case '2':
		opt.twice = true;
		return 0;
	case 'S':
		opt.no_shrink = true;
		return 0;
	case 'd':
		opt.here = true;
		return 0;
	case ARGP_KEY_END:
		opt.left_out = calloc(opt.steps, sizeof(bool));
		if (!opt.left_out)
			argp_failure(state, 2, errno, "--steps");
		if (list)
			only(state, list);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "world", 'w', "NAME", 0,
	  "transport, gateway or back: what is in it; transport", 0 },
	{ "seed", 's', "N", 0, "the (first) seed; 1", 0 },
	{ "steps", 'm', "M", 0, "steps of each world; 2000", 0 },
	{ "seeds", 'n', "N", 0, "so many seeds; 1", 0 },
	{ "seconds", 't', "S", 0, "as many seeds as can be had in S seconds",
	  0 },
	{ "only", 'o', "LIST", 0, "only these steps: 3,10-20", 0 },
	{ "log", 'l', NULL, 0, "tell what happens", 0 },
	{ "coverage", 'c', NULL, 0,
	  "tell which events came in which states of connections", 0 },
	{ "twice", '2', NULL, 0, "each world twice: it must be the same", 0 },
	{ "no-shrink", 'S', NULL, 0, "do not look for fewer steps", 0 },
	{ "here", 'd', NULL, 0, "in this process, for a debugger", 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"The transport in one thread, from a seed\v"
		"Exit status: 0 all worlds hold, 1 one does not, 2 wrong use.",
		NULL,
		NULL,
		NULL
	};
	int here = personality(0xffffffff);
	double began;

	/* Where things lie is the same each time as well. Where that is not
	 * allowed it does without. */
	if (here >= 0 && !(here & ADDR_NO_RANDOMIZE) &&
	    personality((unsigned long)here | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	began = now();
	for (uint64_t n = 0; n < opt.seeds; n++, opt.seed++) {
		if (opt.seconds && now() - began >= opt.seconds)
			break;
		one_seed();
	}
	if (opt.seeds > 1)
		printf("%llu worlds, %llu of them calm: %llu steps in %.1f s, %llu connections, %llu RPCs, %llu Replies compared, %llu messages; %llu fail\n",
		       (unsigned long long)opt.worlds,
		       (unsigned long long)opt.calm,
		       (unsigned long long)opt.steps_made, now() - began,
		       (unsigned long long)opt.conns,
		       (unsigned long long)opt.rpcs,
		       (unsigned long long)opt.right,
		       (unsigned long long)opt.messages,
		       (unsigned long long)opt.failures);
	if (opt.coverage && opt.world->count_name)
		sim_print_counts(opt.world, opt.counts);
	else if (opt.coverage)
		sim_coverage_print(opt.reached);
	return opt.failures > 0;
}
