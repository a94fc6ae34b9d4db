/* SPDX-License-Identifier: BSD-3-Clause */
/* grace.h says what this is. */
#include "ganesha/grace.h"

#include "ganesha/config/config.h"

struct times {
	uint32_t grace, lease; /* s */
};

unsigned int gr_grace_check(const struct gsh *g, struct gsh_config *tree,
			    FILE *said)
{
	static const struct gsh_config_item items[] = {
		{ .name = "Grace_Period",
		  .type = GSH_CONFIG_UINT32,
		  .u.u32 = { .max = 180, .def = 90, .zero_ok = true },
		  .off = offsetof(struct times, grace) },
		{ .name = "Lease_Lifetime",
		  .type = GSH_CONFIG_UINT32,
		  .u.u32 = { .min = 1, .max = 120, .def = 60 },
		  .off = offsetof(struct times, lease) },
		{ .name = NULL },
	};
	struct gsh_config_block block =
		gr_config_block("org.ganesha.nfsd.config.nfsv4", "NFSv4", items,
				gr_config_accept);
	struct times t = { .grace = 90, .lease = 60 };
	struct gsh_config_errors e;

	if (!g->init_error_type(&e))
		return 0;
	g->load_config_from_parse(tree, &block, &t, true, &e);
	g->report_config_errors(&e, NULL, gr_config_silent);
	if (t.grace >= t.lease)
		return 0;
	fprintf(said,
		"rpcrdma: NFSv4: Grace_Period = %u is shorter than "
		"Lease_Lifetime = %u: clients can lose their locks when the "
		"server restarts: lower Lease_Lifetime, too\n",
		t.grace, t.lease);
	return 1;
}
