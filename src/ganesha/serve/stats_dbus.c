/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_dbus - the methods of org.ganesha.nfsd.rdma
 *
 * Ganesha's D-Bus thread calls the methods, and has no other work. So a caller that does not
 * receive the answer, or a bus that hangs, blocks only that thread. The methods hold `lock`
 * while they use the transport, whose locks come after it. None waits for connections to end.
 *
 * Ganesha 4.3 cannot unregister an object, and gives its methods no context. Hence the static
 * structure, which is empty after a stop. It is started once in a process.
 */
#include "ganesha/serve/stats_dbus.h"

#include <dbus/dbus.h>
#include <pthread.h>
#include <stdlib.h>

/* The bus closes the connection of a sender whose message is longer than its limit (32 MiB by
 * default), and Ganesha exits with its connection. So stay well below. */
#define LONGEST (8u << 20)
#define ERROR_NAME(what) STATS_DBUS_INTERFACE ".Error." what

static struct {
	pthread_mutex_t lock;
	const struct stats_source *src; /* NULL: not serving */
	struct gr_admin *admin;
	void (*changed)(void);
} object = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Returns false if nothing is served. */
static bool print_statistics(FILE *f)
{
	bool served;

	pthread_mutex_lock(&object.lock);
	served = object.src;
	if (served)
		stats_json(f, object.src);
	pthread_mutex_unlock(&object.lock);
	return served;
}

static bool append_string(DBusMessage *reply, const char *text)
{
	DBusMessageIter iter;

	dbus_message_iter_init_append(reply, &iter);
	return dbus_message_iter_append_basic(&iter, DBUS_TYPE_STRING, &text);
}

static bool set_error(DBusError *error, const char *name, const char *text)
{
	dbus_set_error_const(error, name, text);
	return false;
}

static bool get_statistics(DBusMessageIter *args, DBusMessage *reply,
			   DBusError *error)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	bool served = f && print_statistics(f);
	/* fclose() sets text and len. */
	bool printed = f && !fclose(f), done = false;

	if (printed && !served)
		set_error(error, ERROR_NAME("NotServing"),
			  "RPC-over-RDMA is no longer served");
	else if (printed && len > LONGEST)
		set_error(
			error, DBUS_ERROR_LIMITS_EXCEEDED,
			"too many connections for one message: read the socket (Stats_Socket) instead");
	else
		done = (printed && append_string(reply, text)) ||
		       set_error(error, DBUS_ERROR_NO_MEMORY, "no memory");
	free(text);
	return done;
}

/* ---- Administration ---------------------------------------------------- */

#define MAX_ARGS 2

struct request {
	const char *text[MAX_ARGS]; /* arguments, in their order */
	uint32_t number;
};

/* Take the arguments whose types are @types. Returns false if there are others. */
static bool take_args(DBusMessageIter *args, const char *types,
		      struct request *r)
{
	unsigned int n = 0;

	*r = (struct request){ .number = 0 };
	for (; *types; types++) {
		if (!args || dbus_message_iter_get_arg_type(args) != *types)
			return false;
		if (*types == DBUS_TYPE_STRING)
			dbus_message_iter_get_basic(args, &r->text[n++]);
		else
			dbus_message_iter_get_basic(args, &r->number);
		dbus_message_iter_next(args);
	}
	return !args ||
	       dbus_message_iter_get_arg_type(args) == DBUS_TYPE_INVALID;
}

/* Have the administrator's request carried out by @act, and answer with its text. */
static bool administer(DBusMessageIter *args, const char *types,
		       DBusMessage *reply, DBusError *error,
		       bool (*act)(struct gr_admin *a, const struct request *r,
				   char text[GR_ADMIN_ROOM]))
{
	char text[GR_ADMIN_ROOM] = "RPC-over-RDMA is no longer served";
	struct request r;
	bool done = false;

	if (!take_args(args, types, &r))
		return set_error(error, DBUS_ERROR_INVALID_ARGS,
				 "the arguments are of other types");
	pthread_mutex_lock(&object.lock);
	if (object.src && object.admin)
		done = act(object.admin, &r, text);
	pthread_mutex_unlock(&object.lock);
	if (!done) {
		/* libdbus keeps a copy. */
		dbus_set_error(error, ERROR_NAME("Refused"), "%s", text);
		return false;
	}
	return append_string(reply, text) ||
	       set_error(error, DBUS_ERROR_NO_MEMORY, "no memory");
}

static bool act_evict(struct gr_admin *a, const struct request *r,
		      char text[GR_ADMIN_ROOM])
{
	return gr_admin_evict(a, r->text[0], r->number, text);
}

static bool act_drain(struct gr_admin *a, const struct request *r,
		      char text[GR_ADMIN_ROOM])
{
	bool done = gr_admin_drain(a, r->number, text);

	if (done && object.changed)
		object.changed();
	return done;
}

static bool act_undrain(struct gr_admin *a, const struct request *r,
			char text[GR_ADMIN_ROOM])
{
	bool done = gr_admin_undrain(a, text);

	if (done && object.changed)
		object.changed();
	return done;
}

static bool act_set(struct gr_admin *a, const struct request *r,
		    char text[GR_ADMIN_ROOM])
{
	return gr_admin_set(a, r->text[0], r->text[1], text);
}

static bool evict(DBusMessageIter *args, DBusMessage *reply, DBusError *error)
{
	return administer(args, "su", reply, error, act_evict);
}

static bool drain(DBusMessageIter *args, DBusMessage *reply, DBusError *error)
{
	return administer(args, "u", reply, error, act_drain);
}

static bool undrain(DBusMessageIter *args, DBusMessage *reply, DBusError *error)
{
	return administer(args, "", reply, error, act_undrain);
}

static bool set(DBusMessageIter *args, DBusMessage *reply, DBusError *error)
{
	return administer(args, "ss", reply, error, act_set);
}

/* ---- The object ------------------------------------------------------- */

static const struct gsh_dbus_method statistics = {
	.name = "GetStatistics",
	.method = get_statistics,
	.args = { { "json", "s", "out" }, { NULL, NULL, NULL } },
};
#define ANSWER                    \
	{ "answer", "s", "out" }, \
	{                         \
		NULL, NULL, NULL  \
	}
static const struct gsh_dbus_method evict_method = {
	.name = "Evict",
	.method = evict,
	.args = { { "who", "s", "in" }, { "seconds", "u", "in" }, ANSWER },
};
static const struct gsh_dbus_method drain_method = {
	.name = "Drain",
	.method = drain,
	.args = { { "seconds", "u", "in" }, ANSWER },
};
static const struct gsh_dbus_method undrain_method = {
	.name = "Undrain",
	.method = undrain,
	.args = { ANSWER },
};
static const struct gsh_dbus_method set_method = {
	.name = "Set",
	.method = set,
	.args = { { "name", "s", "in" }, { "value", "s", "in" }, ANSWER },
};
static const struct gsh_dbus_method *const methods[] = {
	&statistics,	 &evict_method, &drain_method,
	&undrain_method, &set_method,	NULL
};
static const struct gsh_dbus_interface interface = {
	.name = STATS_DBUS_INTERFACE,
	.methods = methods,
};
static const struct gsh_dbus_interface *const interfaces[] = { &interface,
							       NULL };

/*
 * By default libdbus ends the process, without a message, when the bus ends. libdbus shares
 * Ganesha's connection, which is open already. Ganesha's thread then ends with a log line.
 */
static void outlive_the_bus(void)
{
	DBusConnection *conn = dbus_bus_get(DBUS_BUS_SYSTEM, NULL);

	if (!conn)
		return;
	dbus_connection_set_exit_on_disconnect(conn, FALSE);
	dbus_connection_unref(conn);
}

const char *gr_stats_dbus_start(const struct gsh *g,
				const struct stats_source *src,
				struct gr_admin *admin, void (*changed)(void))
{
	if (!g->dbus_register_path)
		return "this Ganesha is built without D-Bus";
	pthread_mutex_lock(&object.lock);
	object.src = src;
	object.admin = admin;
	object.changed = changed;
	pthread_mutex_unlock(&object.lock);
	if (g->dbus_register_path(STATS_DBUS_OBJECT, interfaces) == 1) {
		outlive_the_bus();
		return NULL;
	}
	gr_stats_dbus_stop();
	return "the server is not on the system bus";
}

void gr_stats_dbus_stop(void)
{
	pthread_mutex_lock(&object.lock);
	object.src = NULL;
	pthread_mutex_unlock(&object.lock);
}
