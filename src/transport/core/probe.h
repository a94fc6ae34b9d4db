/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe - places where a tracer can look in (USDT, provider "rpcrdma")
 *
 * A probe is one no-op instruction until a tracer attaches to it, and a note
 * in the file that says where its arguments are. So arguments are what is at
 * hand anyway. docs/operations.md tells them; they are an interface to users'
 * scripts. The first is the connection's number in the instance, always.
 */
#ifndef RPCRDMA_TRANSPORT_PROBE_H
#define RPCRDMA_TRANSPORT_PROBE_H

#ifdef RPCRDMA_PROBES
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define RT_PROBE(name, c, ...) \
	STAP_PROBEV(rpcrdma, name, (c)->who.id, __VA_ARGS__)
#else
#define RT_PROBE(name, c, ...) ((void)0)
#endif

#endif /* RPCRDMA_TRANSPORT_PROBE_H */
