/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdev_world - the world of provider_util.h over the emulated devices that VDEV names
 * (over_vdev). Define EP_MAX_WC before.
 */
#ifndef RPCRDMA_TEST_VDEV_WORLD_H
#define RPCRDMA_TEST_VDEV_WORLD_H

#include "fabric/verbs/vb.h"
#include "provider_util.h"
#include "vdev/vdev.h"

struct subject subject = { .patience_ms = 1000, .longest = SIZE_MAX };
static struct world w;

static bool said(const char *what)
{
	return strstr(subject.said, what);
}

/* What is logged from here on. */
static void listen_to_log(void)
{
	memset(subject.said, 0, sizeof(subject.said));
}

static int vdev_run(const char *name, const struct unit_test *tests, int argc,
		    char **argv)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&subject.addr;

	setvbuf(stdout, NULL, _IOLBF, 0);
	in->sin_family = AF_INET;
	inet_pton(AF_INET, "198.51.100.1", &in->sin_addr);
	subject.addrlen = sizeof(*in);
	subject.ops = subject.cli_ops = &fab_verbs_ops;
	return unit_run(name, tests, argc, argv);
}

#endif /* RPCRDMA_TEST_VDEV_WORLD_H */
