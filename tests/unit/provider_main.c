/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_main - what every provider must do, over a real one
 *
 *	provider_test --provider iwarp|verbs [--client iwarp|verbs]
 *		[--addr ADDRESS] [--windows any] [--shared MOST]
 *		[--pair-steps STEPS] [--patience MS] [TEST...]
 *
 * With --client, the side that connects is of another provider than the one
 * that listens (siw, which is verbs, and iwarp understand each other). The
 * address is one of this host; on verbs that of a device, by default
 * $RPCRDMA_VERBS_ADDR. With "--windows any", memory windows are used even if
 * those of the device are known for flaws; the tests leave these out. With
 * --shared, Receives are shared, in queues of MOST at most (0: of as many as
 * are promised), and there are more tests. --pair-steps says how many steps the test
 * of that name takes (600), --patience how long a connection waits that is not
 * answered: a device has to be opened and memory registered meanwhile (4000). Exit status 77: there is no such device.
 */
#include "provider_util.h"
#ifdef HAVE_VERBS
#include "fabric/verbs/vb.h"
#endif

struct subject subject = { .pair_steps = 600, .patience_ms = 4000 };

static void any_windows(struct fab_domain *dom)
{
#ifdef HAVE_VERBS
	/* No device is in use yet. */
	vb_domain(dom)->any_windows = true;
	dom->limits.caps |= FAB_CAP_EXPOSE;
#endif
}

static bool is_siw(const struct fab_ops *ops)
{
	bool found = false;
#ifdef HAVE_VERBS
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; ops == &fab_verbs_ops && list && list[i]; i++)
		found |= !strncmp(ibv_get_device_name(list[i]), "siw", 3);
	if (list)
		ibv_free_device_list(list);
#endif
	return found;
}

static int usage(void)
{
	fprintf(stderr, "usage: provider_test --provider NAME "
			"[--client NAME] [--addr ADDRESS] [--windows any] "
			"[--shared MOST] [--pair-steps STEPS] "
			"[--patience MS] [TEST...]\n");
	return 2;
}

static bool parse_addr(const char *text)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&subject.addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&subject.addr;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		subject.addrlen = sizeof(*in);
	} else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		subject.addrlen = sizeof(*in6);
	}
	return subject.addrlen;
}

static int run(const struct unit_test *const *tables, int argc, char **argv)
{
	unsigned int failed, ran;
	CU_pSuite s;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	s = CU_add_suite(subject.cli_ops->name, NULL, NULL);
	for (; s && *tables; tables++)
		for (const struct unit_test *t = *tables; t->name; t++)
			if (unit_wanted(t->name, argc, argv))
				CU_add_test(s, t->name, t->fn);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failed = CU_get_number_of_failures() + CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	CU_cleanup_registry();
	return failed || !ran;
}

int main(int argc, char **argv)
{
	static const struct unit_test *const tables[] = {
		provider_life_tests, provider_data_tests, provider_bad_tests,
		provider_shared_tests, NULL
	};
	const char *name = NULL, *addr = NULL, *windows = NULL, *client = NULL;
	const char *shared = NULL;
	struct fab_domain *dom;
	int i, rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 1; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "--provider"))
			name = argv[i + 1];
		else if (!strcmp(argv[i], "--addr"))
			addr = argv[i + 1];
		else if (!strcmp(argv[i], "--client"))
			client = argv[i + 1];
		else if (!strcmp(argv[i], "--windows"))
			windows = argv[i + 1];
		else if (!strcmp(argv[i], "--shared"))
			shared = argv[i + 1];
		else if (!strcmp(argv[i], "--pair-steps"))
			subject.pair_steps = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--patience"))
			subject.patience_ms = (unsigned int)atoi(argv[i + 1]);
		else
			return usage();
	}
	if (!name)
		return usage();
	client = client ? client : name;
	subject.ops = fab_provider(name);
	subject.cli_ops = fab_provider(client);
	if (!addr && (!strcmp(name, "verbs") || !strcmp(client, "verbs")))
		addr = getenv("RPCRDMA_VERBS_ADDR");
	else if (!addr)
		addr = "127.0.0.1";
	if (!subject.ops || !subject.cli_ops || !addr) {
		printf("no provider %s, or no address for it\n", name);
		return 77;
	}
	if (!parse_addr(addr))
		return usage();
	if (windows) {
		subject.adjust = any_windows;
		subject.flawed_windows = true;
	}
	subject.longest = SIZE_MAX;
	if (shared) {
		subject.shared = true;
		subject.share_most = (unsigned int)strtoul(shared, NULL, 10);
		subject.longest = SHARE_SIZE;
	}
	for (int k = 0; k < 2; k++) {
		rc = fab_domain_open(k ? subject.cli_ops : subject.ops, NULL,
				     &dom);
		if (rc == -ENODEV) {
			printf("no device\n");
			return 77;
		}
		if (rc)
			continue;
		subject.siw |= is_siw(dom->ops);
		fab_domain_close(dom);
	}
	return run(tables, argc - i + 1, argv + i - 1);
}
