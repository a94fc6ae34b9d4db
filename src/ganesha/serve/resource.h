/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resource - what the server needs of this machine: addresses, a provider, locked memory, keys
 *
 * The server uses this when it starts, and --check-config before that, so that both report
 * the same faults. A @fault has GR_FAULT_ROOM bytes, and says what to do.
 *
 * Context: any thread, unless said otherwise. There is no state.
 */
#ifndef RPCRDMA_GANESHA_RESOURCE_H
#define RPCRDMA_GANESHA_RESOURCE_H

#include <sys/socket.h>

#include "ganesha/config/config.h"

/* Room for the reason why RDMA is not served, one line. */
#define GR_FAULT_ROOM 600

struct auth_gss;

/* ---- Addresses ---------------------------------------------------------- */

/* Set @tcp to the address that NFS_Core_Param in @tree gives NFS over TCP: Bind_Addr, by
 * default 0.0.0.0, and NFS_Port. Context: main thread. */
void gr_tcp_address(const struct gsh *g, struct gsh_config *tree,
		    struct sockaddr_storage *tcp);
/*
 * Set @at to the addresses to listen on, with ports: those of Bind_Addr, except a [::] beside
 * others that cannot be served; without Bind_Addr those of NFS over TCP, @tcp (family 0: not
 * known).
 */
void gr_listen_addresses(const struct gr_config *cfg,
			 const struct sockaddr_storage *tcp,
			 struct gr_addrs *at);
/* Returns true if listening on address @i of these may fail with @err without harm: one of the
 * two families, if neither was asked for. */
bool gr_listen_may_fail(const struct gr_config *cfg, unsigned int i, int err);
/* Returns 0, or -EAFNOSUPPORT if Ganesha could not keep the address of a peer that comes to
 * @at, see gr_xprt_create(). */
int gr_listen_check_family(const struct sockaddr_storage *tcp,
			   const struct sockaddr_storage *at);
/* Returns true if @at has the port of NFS over TCP. */
bool gr_listen_is_nfs_port(const struct sockaddr_storage *tcp,
			   const struct sockaddr_storage *at);
/* Set @fault for listening on @at, which failed with @err. */
void gr_listen_fault(const char *provider, const struct gr_config *cfg,
		     const struct sockaddr_storage *tcp,
		     const struct sockaddr_storage *at, int err, char *fault);

/* ---- Provider ----------------------------------------------------------- */

/* With Provider = auto: returns true if every address belongs to an RDMA device, so that verbs
 * is to be used. If not, the reason is logged. */
bool gr_auto_choose_devices(const struct gsh *g, const struct gr_config *cfg,
			    const struct sockaddr_storage *tcp);
/* Returns the same without logging. */
bool gr_auto_has_devices(const struct gr_config *cfg,
			 const struct sockaddr_storage *tcp);
/* Log that verbs was chosen and failed with @err, or with @fault if that is not "". */
void gr_auto_log_fault(const struct gsh *g, int err, const char *fault);
/* Returns 0 if this process may lock the memory that verbs needs for one connection, else
 * -ENOMEM with @fault. */
int gr_memlock_check(const struct gr_config *cfg, char *fault);
/* Returns true if there are files that match the shell pattern @devices but none that match
 * @nodes, as in a container that was given no RDMA device. */
bool gr_device_is_hidden(const char *devices, const char *nodes);
/* Set @fault for provider @name, which could not be opened: @err. @devices: as in struct
 * fab_domain_params. */
void gr_provider_fault(const char *name, const char *devices, int err,
		       char *fault);

/* ---- Keys --------------------------------------------------------------- */

/*
 * Set *@auth to the keys for host authentication, which the caller destroys; it stays NULL
 * without host authentication. Log patterns that match nobody. Returns 0 or a negative errno,
 * for -EINVAL with @fault.
 */
int gr_auth_create(const struct gsh *g, const struct gr_config *cfg,
		   struct auth_gss **auth, char *fault);

#endif /* RPCRDMA_GANESHA_RESOURCE_H */
