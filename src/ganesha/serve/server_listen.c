/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server_listen - open the provider, and listen, for the server or --check-config
 *
 * Context: the control thread (control.h), or the thread that checks.
 */
#include "ganesha/serve/server.h"

#include <errno.h>
#include <string.h>
#include <syslog.h>

#include "base/addr.h"
#include "ganesha/serve/xprt.h"
#include "gss/gss.h"

static void transport_log(void *ctx, int level, const char *text)
{
	const struct gr_server *s = ctx;
	int l = level <= LOG_ERR     ? GSH_CRIT :
		level == LOG_WARNING ? GSH_WARN :
		level == LOG_NOTICE  ? GSH_EVENT :
		level == LOG_INFO    ? GSH_INFO :
				       GSH_DEBUG;

	gsh_log(s->gsh, l, "%s", text);
}

/* Returns 0 or a negative errno; -ENOMEM may come with @fault. */
static int create_with(struct gr_server *s, const char *name, char *fault)
{
	struct rt_params p = {
		.provider = fab_provider(name),
		.domain = { .log = transport_log,
			    .log_ctx = s,
			    .startup_timeout_ms = s->cfg.startup_timeout * 1000,
			    .crc = s->cfg.crc,
			    .devices = s->cfg.devices.names,
			    .service_type_given = s->cfg.service_type_given,
			    .service_type = (uint8_t)s->cfg.service_type,
			    .ack_timeout = (uint8_t)s->cfg.ack_timeout,
			    .keepalive_ms = s->cfg.keepalive ?
						    s->cfg.keepalive * 1000 :
						    FAB_NEVER },
		.pollers = s->cfg.pollers,
		.foreign_threads = true,
		.log = transport_log,
		.log_ctx = s,
		.auth = &auth_gss_ops,
		.auth_ctx = s->auth,
	};
	int err;

	if (!p.provider)
		return -ENOPROTOOPT;
	gr_config_transport(&s->cfg, &p.config);
	p.config.call_user_size = sizeof(struct gr_call);
	p.config.request_user_size = bc_request_size();
	s->provider = name;
	err = rt_instance_create(&p, &s->inst);
	if (err || strcmp(name, "verbs"))
		return err;
	err = gr_memlock_check(&s->cfg, fault);
	if (err) {
		rt_instance_destroy(s->inst);
		s->inst = NULL;
	}
	return err;
}

int gr_server_create(struct gr_server *s, char *fault)
{
	const char *name = s->cfg.provider == GR_VERBS ? "verbs" : "iwarp";
	int err = -ENODEV;

	s->lacks_device = s->cfg.provider == GR_AUTO &&
			  !gr_auto_choose_devices(s->gsh, &s->cfg, &s->tcp);
	if (s->cfg.provider == GR_AUTO && !s->lacks_device) {
		err = create_with(s, "verbs", fault);
		if (err)
			gr_auto_log_fault(s->gsh, err, fault);
		*fault = '\0';
	}
	if (err)
		err = create_with(s, name, fault);
	if (err && !*fault)
		gr_provider_fault(name, s->cfg.devices.names, err, fault);
	return err;
}

int gr_server_listen(struct gr_server *s, const struct gr_config *cfg,
		     struct gr_listener *l, char *fault)
{
	l->err = gr_listen_check_family(&s->tcp, &l->at);
	if (!l->err)
		l->err = rt_listen(s->inst, (const struct sockaddr *)&l->at,
				   base_addr_len(&l->at), &gr_server_ops, s,
				   &l->l);
	if (l->err)
		gr_listen_fault(s->provider, cfg, &s->tcp, &l->at, l->err,
				fault);
	return l->err;
}
