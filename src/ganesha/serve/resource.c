/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/resource.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/memlock.h"
#include "gss/gss.h"
#include "rpcrdma/fabric.h"

/* ---- Addresses -------------------------------------------------------- */

struct core {
	struct sockaddr_storage bind;
	uint16_t port;
};

/* Ganesha reports a wrong value. */
static int store_bind(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, token, &in.sin_addr) == 1)
		memcpy(param, &in, sizeof(in));
	else if (inet_pton(AF_INET6, token, &in6.sin6_addr) == 1)
		memcpy(param, &in6, sizeof(in6));
	return 0;
}

void gr_tcp_address(const struct gsh *g, struct gsh_config *tree,
		    struct sockaddr_storage *tcp)
{
	static const struct gsh_config_item items[] = {
		{ .name = "Bind_addr",
		  .type = GSH_CONFIG_PROC,
		  .u.proc = { .init = gr_block_keep, .handler = store_bind },
		  .off = offsetof(struct core, bind) },
		{ .name = "NFS_Port",
		  .type = GSH_CONFIG_UINT16,
		  .u.u16 = { .max = UINT16_MAX, .def = 2049, .zero_ok = true },
		  .off = offsetof(struct core, port) },
		{ .name = NULL },
	};
	struct core core = { .bind.ss_family = AF_INET, .port = 2049 };

	gr_block_peek(g, g->load_config_from_parse, tree, "NFS_Core_Param",
		      items, NULL, &core);
	*tcp = core.bind;
	base_addr_set_port(tcp, core.port);
}

/* Set @at to where NFS over TCP listens. Its one socket may serve both families; a listener
 * of RDMA serves one. */
static void tcp_addresses(const struct sockaddr_storage *tcp,
			  struct gr_addrs *at)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&at->addr[0];
	struct sockaddr_in6 in6;

	at->n = 1;
	memset(&at->addr[0], 0, sizeof(at->addr[0]));
	in->sin_family = AF_INET;
	if (tcp->ss_family == AF_INET) {
		at->addr[0] = *tcp;
	} else if (tcp->ss_family == AF_INET6) {
		memcpy(&in6, tcp, sizeof(in6));
		if (base_addr_is_any(tcp))
			at->addr[at->n++] = *tcp;
		else if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
			memcpy(&in->sin_addr, in6.sin6_addr.s6_addr + 12, 4);
		else
			at->addr[0] = *tcp;
	}
}

int gr_listen_check_family(const struct sockaddr_storage *tcp,
			   const struct sockaddr_storage *at)
{
	return tcp->ss_family == AF_INET && at->ss_family == AF_INET6 ?
		       -EAFNOSUPPORT :
		       0;
}

void gr_listen_addresses(const struct gr_config *cfg,
			 const struct sockaddr_storage *tcp,
			 struct gr_addrs *at)
{
	const struct gr_addrs *bind = &cfg->bind;

	at->n = 0;
	for (unsigned int i = 0; i < bind->n; i++) {
		if (bind->n == 1 ||
		    !gr_listen_check_family(tcp, &bind->addr[i]) ||
		    !base_addr_is_any(&bind->addr[i]))
			at->addr[at->n++] = bind->addr[i];
	}
	if (!bind->n)
		tcp_addresses(tcp, at);
	for (unsigned int i = 0; i < at->n; i++)
		base_addr_set_port(&at->addr[i], cfg->port);
}

bool gr_listen_may_fail(const struct gr_config *cfg, unsigned int i, int err)
{
	/* The second one: a machine may have only one of the families. */
	return err == -EAFNOSUPPORT && !cfg->bind.n && i;
}

bool gr_listen_is_nfs_port(const struct sockaddr_storage *tcp,
			   const struct sockaddr_storage *at)
{
	return base_addr_port(tcp) && base_addr_port(tcp) == base_addr_port(at);
}

static const char *any_device(const struct gr_config *cfg)
{
	return *cfg->devices.names ? "device in Device" : "RDMA device";
}

void gr_listen_fault(const char *provider, const struct gr_config *cfg,
		     const struct sockaddr_storage *tcp,
		     const struct sockaddr_storage *at, int err, char *fault)
{
	bool device = !strcmp(provider, "verbs");
	char text[64];

	base_addr_name((const struct sockaddr *)at, text, sizeof(text));
	switch (err) {
	case -EAFNOSUPPORT:
		snprintf(
			fault, GR_FAULT_ROOM,
			"cannot listen on %s: NFS over TCP uses IPv4 "
			"only: enable IPv6 on this machine or remove the address from Bind_Addr in the RDMA block",
			text);
		break;
	case -EADDRINUSE:
		if (gr_listen_is_nfs_port(tcp, at))
			snprintf(fault, GR_FAULT_ROOM,
				 "cannot listen on %s: this is the port of NFS "
				 "over TCP (NFS_Port): set another Port in "
				 "the RDMA block",
				 text);
		else
			snprintf(
				fault, GR_FAULT_ROOM,
				"cannot listen on %s: the port is in use: stop the "
				"program that has it (%s shows it) or set another "
				"Port in the RDMA block",
				text,
				device ? "rdma resource show cm_id" :
					 "ss -tlnp");
		break;
	case -EADDRNOTAVAIL:
		snprintf(
			fault, GR_FAULT_ROOM,
			"cannot listen on %s: no %s has this address: correct "
			"%sBind_Addr in %s%s; for an address that comes later: sysctl net.%s.ip_nonlocal_bind=1",
			text, device ? any_device(cfg) : "interface",
			device && *cfg->devices.names ? "Device, or " : "",
			cfg->bind.n ?
				"the RDMA block" :
			device ?
				"NFS_Core_Param, or set one in the RDMA block" :
				"NFS_Core_Param",
			device ? ", or set Provider = iwarp there" : "",
			at->ss_family == AF_INET6 ? "ipv6" : "ipv4");
		break;
	case -EACCES:
		snprintf(
			fault, GR_FAULT_ROOM,
			"cannot listen on %s: ports below 1024 need "
			"CAP_NET_BIND_SERVICE: set another Port in the RDMA block",
			text);
		break;
	default:
		snprintf(fault, GR_FAULT_ROOM, "cannot listen on %s: %s", text,
			 strerror(-err));
	}
}

/* ---- Provider --------------------------------------------------------- */

/* Set @at to the addresses to listen on, @of to the last of them that belongs to a device of
 * @verbs, and @not_of to the last that does not, or to NULL. */
static void find_owners(const struct fab_ops *verbs,
			const struct gr_config *cfg,
			const struct sockaddr_storage *tcp, struct gr_addrs *at,
			const struct sockaddr_storage **of,
			const struct sockaddr_storage **not_of)
{
	*of = *not_of = NULL;
	gr_listen_addresses(cfg, tcp, at);
	for (unsigned int i = 0; i < at->n; i++) {
		if (fab_provider_owns(verbs, (struct sockaddr *)&at->addr[i],
				      cfg->devices.names))
			*of = &at->addr[i];
		else
			*not_of = &at->addr[i];
	}
}

bool gr_auto_choose_devices(const struct gsh *g, const struct gr_config *cfg,
			    const struct sockaddr_storage *tcp)
{
	const struct fab_ops *verbs = fab_provider("verbs");
	const struct sockaddr_storage *of, *not_of;
	struct gr_addrs at;
	/* Who names devices wants one. */
	int level = *cfg->devices.names ? GSH_WARN : GSH_EVENT;
	char has[64], lacks[64];

	if (!verbs) {
		gsh_log(g, GSH_INFO, "Provider = auto: verbs is not built in");
		return false;
	}
	find_owners(verbs, cfg, tcp, &at, &of, &not_of);
	if (not_of)
		base_addr_name((const struct sockaddr *)not_of, lacks,
			       sizeof(lacks));
	if (of)
		base_addr_name((const struct sockaddr *)of, has, sizeof(has));
	if (of && not_of)
		gsh_log(g, GSH_WARN,
			"Provider = auto: %s belongs to an RDMA device, %s does not: iwarp serves both; to use the device, remove the other address from Bind_Addr",
			has, lacks);
	else if (not_of && base_addr_is_any(not_of))
		gsh_log(g, level,
			"Provider = auto: no %s has an active port: using iwarp",
			any_device(cfg));
	else if (not_of)
		gsh_log(g, level, "Provider = auto: no %s has %s: using iwarp",
			any_device(cfg), lacks);
	else if (of)
		gsh_log(g, GSH_EVENT,
			"Provider = auto: an RDMA device has %s: using verbs",
			base_addr_is_any(of) ? "an active port" : has);
	return !not_of;
}

bool gr_auto_has_devices(const struct gr_config *cfg,
			 const struct sockaddr_storage *tcp)
{
	const struct fab_ops *verbs = fab_provider("verbs");
	const struct sockaddr_storage *of, *not_of;
	struct gr_addrs at;

	if (!verbs)
		return false;
	find_owners(verbs, cfg, tcp, &at, &of, &not_of);
	return !not_of;
}

void gr_auto_log_fault(const struct gsh *g, int err, const char *fault)
{
	gsh_log(g, GSH_WARN, "provider verbs cannot be used (%s), using iwarp",
		*fault ? fault : strerror(-err));
}

/* The least, also with shared Receives: they are at least those of one connection. */
int gr_memlock_check(const struct gr_config *cfg, char *fault)
{
	unsigned long long kib, each = (gr_config_receives(cfg) + 1023) / 1024;

	if (!base_memlock_limit(&kib) || kib >= each)
		return 0;
	snprintf(
		fault, GR_FAULT_ROOM,
		"provider verbs cannot serve anybody: the limit of locked "
		"memory, %llu KiB, is less than the %llu KiB that one "
		"connection receives in: raise it (LimitMEMLOCK=infinity in the systemd "
		"unit, or ulimit -l unlimited), or set Provider = iwarp in the RDMA block",
		kib, each);
	return -ENOMEM;
}

static bool matches_a_file(const char *pattern)
{
	glob_t found;
	bool there = !glob(pattern, GLOB_NOSORT, NULL, &found);

	if (there)
		globfree(&found);
	return there;
}

bool gr_device_is_hidden(const char *devices, const char *nodes)
{
	return matches_a_file(devices) && !matches_a_file(nodes);
}

void gr_provider_fault(const char *name, const char *devices, int err,
		       char *fault)
{
	switch (err) {
	case -ENOPROTOOPT:
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s is not built in: set Provider to another "
			 "one in the RDMA block",
			 name);
		break;
	case -EOPNOTSUPP:
		snprintf(
			fault, GR_FAULT_ROOM,
			"provider %s finds no RDMA device that it can use: they "
			"lack reliable connections, or 4 elements in a work "
			"request: set Provider = iwarp",
			name);
		break;
	case -ENODEV:
		if (*devices)
			snprintf(
				fault, GR_FAULT_ROOM,
				"provider %s finds none of the RDMA devices %s: "
				"correct Device in the RDMA block (rdma link "
				"shows devices)",
				name, devices);
		else if (gr_device_is_hidden("/sys/class/infiniband/[a-z]*",
					     "/dev/infiniband/uverbs*"))
			snprintf(fault, GR_FAULT_ROOM,
				 "provider %s finds no RDMA device: this "
				 "machine has one, but no "
				 "/dev/infiniband/uverbs*: modprobe ib_uverbs, "
				 "or give /dev/infiniband to this container",
				 name);
		else
			snprintf(fault, GR_FAULT_ROOM,
				 "provider %s finds no RDMA device: load its "
				 "driver (rdma link shows devices), or set "
				 "Provider = iwarp, which needs none",
				 name);
		break;
	case -ENOMEM:
	case -EPERM:
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s cannot register memory (%s): raise the "
			 "limit of locked memory (LimitMEMLOCK=infinity, "
			 "ulimit -l) or lower Max_Memory",
			 name, strerror(-err));
		break;
	default:
		snprintf(fault, GR_FAULT_ROOM,
			 "provider %s cannot be opened: %s", name,
			 strerror(-err));
	}
}

/* ---- Keys ------------------------------------------------------------- */

int gr_auth_create(const struct gsh *g, const struct gr_config *cfg,
		   struct auth_gss **auth, char *fault)
{
	struct auth_gss_params p = { .keytab = cfg->auth_keytab,
				     .principal = cfg->auth_principal,
				     .allow = cfg->auth_allow };
	const char *allow = cfg->auth_allow;
	char why[RT_AUTH_TEXT];
	int err;

	if (cfg->auth == RT_AUTH_NONE)
		return 0;
	while ((allow = auth_gss_no_realm(allow, why)))
		gsh_log(g, GSH_WARN,
			"Host_Authentication_Allow: %s %s: write %s@REALM", why,
			strpbrk(why, "*?[") ?
				"has no realm, and each host's name ends with one" :
				"matches nobody, as it has no realm",
			why);
	err = auth_gss_create(&p, auth, why);
	if (err == -EINVAL)
		snprintf(
			fault, GR_FAULT_ROOM,
			"Host_Authentication: %s: put a key of nfs/ or host/ "
			"of this host there, or correct "
			"Host_Authentication_Keytab and _Principal in the RDMA "
			"block",
			why);
	return err;
}
