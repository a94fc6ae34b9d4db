/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * needs - what the server needs of this machine: addresses, a provider, keys
 *
 * The server asks when it starts and --check-config beforehand; both take their
 * words from here, so that they say the same. @fault has GR_FAULT_ROOM.
 */
#ifndef RPCRDMA_GANESHA_NEEDS_H
#define RPCRDMA_GANESHA_NEEDS_H

#include <sys/socket.h>

#include "ganesha/config/config.h"

/* Why RDMA is not served, as a line. */
#define GR_FAULT_ROOM 600

struct auth_gss;

/* Set @tcp to where NFS_Core_Param tells NFS over TCP to listen: Bind_Addr, 0.0.0.0 by
 * default, and NFS_Port. Context: main thread. */
void gr_needs_tcp(const struct gsh *g, struct gsh_config *tree,
		  struct sockaddr_storage *tcp);
/*
 * Where to listen, with ports: as configured, but for a [::] beside others that
 * cannot be served; without Bind_Addr where NFS over TCP listens, @tcp (family
 * 0: not known).
 */
void gr_needs_addresses(const struct gr_config *cfg,
			const struct sockaddr_storage *tcp,
			struct gr_addrs *at);
/* Of these, may number @i fail with @err without harm? */
bool gr_needs_spared(const struct gr_config *cfg, unsigned int i, int err);
/* 0, or -EAFNOSUPPORT: Ganesha could not be told of a peer there, see
 * gr_xprt_create(). */
int gr_needs_family(const struct sockaddr_storage *tcp,
		    const struct sockaddr_storage *at);
/* Is it the port of NFS over TCP? */
bool gr_needs_nfs_port(const struct sockaddr_storage *tcp,
		       const struct sockaddr_storage *at);
/* What to do about @err, which listening there ended with. */
void gr_needs_listen_fault(const char *provider, const struct gr_config *cfg,
			   const struct sockaddr_storage *tcp,
			   const struct sockaddr_storage *at, int err,
			   char *fault);

/* Provider = auto: returns true if every address is that of an RDMA device. Logs what
 * keeps it from that. */
bool gr_needs_devices(const struct gsh *g, const struct gr_config *cfg,
		      const struct sockaddr_storage *tcp);
/* The same, silently. */
bool gr_needs_devices_now(const struct gr_config *cfg,
			  const struct sockaddr_storage *tcp);
/* ... it is, but verbs cannot be used: logged, with @fault if that says why. */
void gr_needs_auto_fault(const struct gsh *g, int err, const char *fault);
/* May this thread's process lock what verbs needs for a single connection? 0, or
 * -ENOMEM and @fault. */
int gr_needs_locked(const struct gr_config *cfg, char *fault);
/* Is there something like @devices, as a shell matches names, and nothing like @nodes?
 * So it is with RDMA devices in a container that was given none. */
bool gr_needs_hidden(const char *devices, const char *nodes);
/* What to do about @err, which opening provider @name ended with. */
void gr_needs_provider_fault(const char *name, int err, char *fault);

/*
 * The key for host authentication; *@auth stays NULL without that. 0, or a
 * negative errno, with -EINVAL and @fault. Patterns that match nobody are logged.
 */
int gr_needs_auth(const struct gsh *g, const struct gr_config *cfg,
		  struct auth_gss **auth, char *fault);

#endif /* RPCRDMA_GANESHA_NEEDS_H */
