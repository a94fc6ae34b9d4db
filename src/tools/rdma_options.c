/* SPDX-License-Identifier: BSD-3-Clause */
/* rdma_options - options of the programs that connect to a server */
#include "tools/rdma_options.h"

#include <sched.h>

void rdma_options_init(struct rdma_options *o)
{
	rt_config_defaults(&o->config);
	o->provider = "iwarp";
	o->domain.crc = FAB_CRC_AUTO;
}

static const char *set_text(const char **to, const char *value)
{
	*to = value;
	return NULL;
}

static const char *set_service_type(struct fab_domain_params *p,
				    const char *value, struct arg_err *err)
{
	uint32_t type;
	const char *bad = arg_number32(value, 0, UINT8_MAX, &type, err);

	if (bad)
		return bad;
	p->service_type_given = true;
	p->service_type = (uint8_t)type;
	return NULL;
}

static bool has_one_processor(void)
{
	cpu_set_t set;

	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) == 1;
}

bool rdma_options_set(struct rdma_options *o, int opt, const char *value,
		      const char **bad, struct arg_err *err)
{
	struct rt_config *c = &o->config;
	struct hostauth *h = &o->hostauth;

	switch (opt) {
	case RDMA_OPT_SERVER:
		h->server = value;
		*bad = arg_addrs(value, RDMA_SERVER_PORT, &o->server, err);
		break;
	case RDMA_OPT_PROVIDER:
		*bad = arg_provider(value, &o->provider, err);
		break;
	case RDMA_OPT_VERSIONS:
		*bad = arg_rdma_versions(value, &c->versions, err);
		break;
	case RDMA_OPT_EXTENSIONS:
		*bad = arg_extensions(value, &c->extensions, err);
		break;
	case RDMA_OPT_CREDITS:
		*bad = arg_number32(value, RT_MIN(credits), RT_MAX(credits),
				    &c->credits, err);
		break;
	case RDMA_OPT_RECV:
		*bad = arg_number32(value, RT_MIN(recv_size), RT_MAX(recv_size),
				    &c->recv_size, err);
		break;
	case RDMA_OPT_CRC:
		*bad = arg_crc(value, &o->domain.crc, err);
		break;
	case RDMA_OPT_SERVICE_TYPE:
		*bad = set_service_type(&o->domain, value, err);
		break;
	case RDMA_OPT_BUSY_POLL:
		*bad = arg_number32(value, 0, RDMA_BUSY_POLL_MAX,
				    &c->busy_poll_us, err);
		/* Others may need the only one. */
		if (has_one_processor())
			c->busy_poll_us = 0;
		break;
	case RDMA_OPT_HOST_AUTH:
		*bad = hostauth_policy(value, &c->auth, err);
		break;
	case RDMA_OPT_KEYTAB:
		*bad = set_text(&h->keytab, value);
		break;
	case RDMA_OPT_PRINCIPAL:
		*bad = set_text(&h->principal, value);
		break;
	case RDMA_OPT_SERVER_PRINCIPAL:
		*bad = set_text(&h->server_principal, value);
		break;
	case RDMA_OPT_HOST_AUTH_TIMEOUT:
		*bad = hostauth_timeout(value, h, c, err);
		break;
	default:
		return false;
	}
	return true;
}
