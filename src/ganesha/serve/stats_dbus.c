/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats_dbus - the method of org.ganesha.nfsd.rdma
 *
 * Ganesha's D-Bus thread calls the method, and has no other work. So a caller that does not
 * receive the answer, or a bus that hangs, blocks only that thread. The method holds `lock`
 * while it uses the transport, whose locks come after it.
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

/* ---- The object ------------------------------------------------------- */

static const struct gsh_dbus_method statistics = {
	.name = "GetStatistics",
	.method = get_statistics,
	.args = { { "json", "s", "out" }, { NULL, NULL, NULL } },
};
static const struct gsh_dbus_method *const methods[] = { &statistics, NULL };
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
				const struct stats_source *src)
{
	if (!g->dbus_register_path)
		return "this Ganesha is built without D-Bus";
	pthread_mutex_lock(&object.lock);
	object.src = src;
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
