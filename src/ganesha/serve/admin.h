/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admin - what the administrator changes while the server runs
 *
 * rpcrdma-ctl asks for it through the methods of stats_dbus.h. The same settings, and those
 * that are by_file, change when ganesha.conf is read again. setting.c marks them as changeable.
 *
 * Each function that takes @text sets it to the answer, or to what is wrong and what to do. It
 * is ASCII. They return false in the latter case, and have had no effect then.
 *
 * Context: any thread, between gr_admin_start() and gr_admin_stop(). The lock is held while the
 * transport is called, whose locks come after it.
 */
#ifndef RPCRDMA_GANESHA_ADMIN_H
#define RPCRDMA_GANESHA_ADMIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "ganesha/config/config.h"
#include "rpcrdma/transport.h"
#include "stats/json.h"

#define GR_ADMIN_ROOM 768

struct gr_admin {
	pthread_mutex_t
		lock; /* protects what follows, and of *cfg what is changeable */
	const struct gsh *gsh;
	struct rt_instance *inst; /* NULL: RDMA is not served */
	struct gr_config *cfg; /* in use */
	struct gr_config file; /* of this what is changeable, as in the file */
	time_t reloaded; /* 0: never */
	bool reload_failed;
	atomic_bool draining;
};

/* Begin with the settings @cfg, which are those of the file. @a must be zeroed. */
void gr_admin_start(struct gr_admin *a, const struct gsh *g,
		    struct rt_instance *inst, struct gr_config *cfg);
/* No effect on one that was not started. */
void gr_admin_stop(struct gr_admin *a);

/* Close the connections of @who, and refuse it for @seconds. @who is an address, a prefix, or a
 * peer as the log and the statistics name it. */
bool gr_admin_evict(struct gr_admin *a, const char *who, unsigned int seconds,
		    char text[GR_ADMIN_ROOM]);
/* Accept no new connections, and close all that there are. Their Calls have @seconds to finish,
 * and GR_DRAIN_MORE_MS more, so that whoever waits so long can see which have not. */
#define GR_DRAIN_MORE_MS 2000
#define GR_DRAIN_MAX 86400
bool gr_admin_drain(struct gr_admin *a, unsigned int seconds,
		    char text[GR_ADMIN_ROOM]);
bool gr_admin_undrain(struct gr_admin *a, char text[GR_ADMIN_ROOM]);
/* Change a setting until the file is read again. @value is as in the file; sizes and addresses
 * need no quotes. */
bool gr_admin_set(struct gr_admin *a, const char *name, const char *value,
		  char text[GR_ADMIN_ROOM]);
/* Take the changeable settings of @file, which has been read and checked. Set @text to the names of
 * those that are others now, and what new limits mean, or to "". gr_server_reload() then opens and
 * closes listeners. */
void gr_admin_reload(struct gr_admin *a, const struct gr_config *file,
		     char text[GR_ADMIN_ROOM]);
/* Note that the file was read again, and whether it, or its RDMA block, had errors and was not
 * applied. */
void gr_admin_reloaded(struct gr_admin *a, bool failed);
/* Set @used to the settings in use, which are @cfg if @a was not started. */
void gr_admin_config(struct gr_admin *a, const struct gr_config *cfg,
		     struct gr_config *used);
/* Set of @out what is known here. The settings that are not those of the file are
 * "NAME = VALUE (file: VALUE), ...". */
void gr_admin_describe(struct gr_admin *a, struct stats_server *out);

#endif /* RPCRDMA_GANESHA_ADMIN_H */
