/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this build of the transport has: an extension that was left out of it
 * (RPCRDMA_EXTENSIONS) cannot be set, and all else goes on without it.
 */
#include <errno.h>

#include "rt_pair.h"
#include "unit.h"

#ifdef WITH_AUTH
#define AUTH true
#else
#define AUTH false
#endif
#ifdef WITH_RTR
#define RTR true
#else
#define RTR false
#endif
#ifdef WITH_XCHAR
#define XCHAR true
#else
#define XCHAR false
#endif

static const struct rt_auth_ops no_ops;

static int create(struct rt_config cfg)
{
	struct rt_params params = { .provider = &fab_loop_ops,
				    .config = cfg,
				    .auth = &no_ops };
	struct rt_instance *inst;
	int rc = rt_instance_create(&params, &inst);

	if (!rc)
		rt_instance_destroy(inst);
	return rc;
}

static void set(void)
{
	const struct {
		struct rt_config cfg;
		bool built;
	} rows[] = {
		{ { 0 }, true },
		{ { .auth = RT_AUTH_OPTIONAL }, AUTH },
		{ { .extensions = RT_EXT_XCHAR }, XCHAR },
		{ { .extensions = RT_EXT_RTR }, RTR },
		{ { .extensions = RT_EXT_XCHAR | RT_EXT_RTR }, XCHAR && RTR },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(create(rows[i].cfg),
				rows[i].built ? 0 : -EINVAL);
}

/* Each with itself, in both versions; nothing is announced. */
static void unset(void)
{
	struct rt_config cfg = { .request_user_size = sizeof(void *) };
	struct rt_conn_info info;
	struct rt_pair p;

	for (unsigned int version = 1; version <= 2; version++) {
		cfg.versions = 1u << version;
		CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &cfg, NULL));
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 20000, true, 128, 1,
					   20000, 1, 20000));
		rt_conn_info(p.client, &info);
		CU_ASSERT_EQUAL(info.extensions, 0);
		CU_ASSERT_EQUAL(info.version, version);
		rt_pair_close(&p);
	}
}

static const struct unit_test tests[] = {
	{ "set", set },
	{ "unset", unset },
	{ NULL, NULL },
};

UNIT_MAIN("transport-built", tests)
